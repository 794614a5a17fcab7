#!/usr/bin/env python3
"""Writes small documents of PMML, and what they predict by the rules of the specification, computed here. Not needed
for make check. The files are those of make.py; an empty field is a missing value."""
import math


def rows(name, fields, model, header, lines, more=""):
    names = "".join("<DataField name='%s' optype='%s' dataType='%s'>%s</DataField>" % f for f in fields)
    with open(name + ".pmml", "w") as f:
        f.write("<?xml version='1.0'?>\n<PMML version='4.2' xmlns='http://www.dmg.org/PMML-4_2'><Header/>\n"
                "<DataDictionary>%s</DataDictionary>%s\n%s\n</PMML>\n" % (names, more, model))
    with open(name + ".csv", "w") as f:
        f.write(header + "\n" + "".join(x + "\n" for x, _ in lines))
    with open(name + ".out", "w") as f:
        f.write("".join(",".join(v if isinstance(v, str) else repr(float(v)) for v in y) + "\n" for _, y in lines))


def number(name, inside=""):
    return name, "continuous", "double", inside


def text(name, *values):
    return name, "categorical", "string", "".join("<Value value='%s'/>" % v for v in values)


def schema(*names, target="y", **more):
    return "<MiningSchema>%s%s</MiningSchema>" % (
        "<MiningField name='%s' usageType='target'/>" % target if target else "",
        "".join("<MiningField name='%s' %s/>" % (n, more.get(n, "")) for n in names))


def simple(field, op, value=None):
    return "<SimplePredicate field='%s' operator='%s'%s/>" % (field, op, "" if value is None else " value='%s'" % value)


# The golf tree of the specification, shortened.
counts = lambda a, b: ("<ScoreDistribution value='play' recordCount='%d'/><ScoreDistribution value='no' "
                       "recordCount='%d'/>" % (a, b))
golf = [text("outlook", "sunny", "rain", "overcast"), number("humidity"), ("windy", "categorical", "boolean", ""),
        text("y", "play", "no")]
nodes = ("<Node id='1' score='play' recordCount='100'><True/>%s"
         "<Node id='2' score='play' recordCount='50'>%s%s"
         "<Node id='3' score='play' recordCount='40'>%s%s</Node><Node id='4' score='no' recordCount='10'>%s%s</Node></Node>"
         "<Node id='5' score='no' recordCount='50'><CompoundPredicate booleanOperator='surrogate'>"
         "<SimpleSetPredicate field='outlook' booleanOperator='isIn'><Array type='string' n='2'>rain \"overcast\"</Array>"
         "</SimpleSetPredicate>%s</CompoundPredicate>%s</Node></Node>" % (
             counts(60, 40), simple("outlook", "equal", "sunny"), counts(45, 5), simple("humidity", "lessThan", 80),
             counts(36, 4), simple("humidity", "greaterOrEqual", 80), counts(2, 8), simple("windy", "equal", "true"),
             counts(15, 35)))
for strategy, unknown in (("lastPrediction", [("play", .6, .4), ("play", .9, .1)]),
                          ("none", [("no", .3, .7), ("nan", "nan", "nan")])):
    rows("golf_" + strategy.lower()[:4], golf, "<TreeModel functionName='classification' missingValueStrategy='%s'>%s%s"
         "</TreeModel>" % (strategy, schema("outlook", "humidity", "windy"), nodes), "outlook,humidity,windy",
         [("sunny,79.9,false", ("play", .9, .1)), ("sunny,80,", ("no", .2, .8)), ("rain,,", ("no", .3, .7)),
          ("overcast,1,false", ("no", .3, .7)), (",5,true", unknown[0]), ("sunny,,true", unknown[1])])

# Derived fields: each adds its own digit.
apply_ = lambda f, *x: "<Apply function='%s'>%s</Apply>" % (f, "".join(x))
ref = lambda f: "<FieldRef field='%s'/>" % f
const = lambda v: "<Constant>%s</Constant>" % v
derived = [
    ("f1", "<NormContinuous field='a' outliers='asExtremeValues'><LinearNorm orig='0' norm='0'/><LinearNorm orig='10' "
           "norm='5'/><LinearNorm orig='20' norm='6'/></NormContinuous>"),
    ("f2", "<NormDiscrete field='c' value='red' mapMissingTo='2'/>"),
    ("f3", "<Discretize field='a' defaultValue='9' mapMissingTo='8'><DiscretizeBin binValue='1'><Interval closure='openClosed' "
           "rightMargin='0'/></DiscretizeBin><DiscretizeBin binValue='2'><Interval closure='openOpen' leftMargin='0' "
           "rightMargin='10'/></DiscretizeBin></Discretize>"),
    ("f4", "<MapValues outputColumn='to' defaultValue='7' mapMissingTo='6'><FieldColumnPair field='c' column='from'/>"
           "<InlineTable><row><from>red</from><to>1</to></row><row><from>blue</from><to>3</to></row></InlineTable>"
           "</MapValues>"),
    ("f5", apply_("if", apply_("isMissing", ref("a")), const(4), apply_("if", apply_("equal", ref("c"), const("green")),
                  apply_("max", ref("a"), const(5)), apply_("floor", apply_("sqrt", apply_("abs", ref("a"))))))),
]
dictionary = "<TransformationDictionary>%s</TransformationDictionary>" % "".join(
    "<DerivedField name='%s' optype='continuous' dataType='double'>%s</DerivedField>" % d for d in derived)
sums = "".join("<NumericPredictor name='f%d' coefficient='%s'/>" % (i + 1, 10 ** -i) for i in range(5))
expected = [("0,red", (0, 1, 1, 1, 0)), ("5,blue", (2.5, 0, 2, 3, 2)), ("10,green", (5, 0, 9, 7, 10)),
            ("15,red", (5.5, 1, 9, 1, 3)), ("99,green", (6, 0, 9, 7, 99)), ("-4,blue", (0, 0, 1, 3, 2))]
rows("derived", [number("a"), ("c", "categorical", "string", ""), number("y")],
     "<RegressionModel functionName='regression'>%s<RegressionTable intercept='100'>%s</RegressionTable></RegressionModel>"
     % (schema("a", "c"), sums), "a,c",
     [(x, (100 + sum(v * 10 ** -i for i, v in enumerate(f)),)) for x, f in expected] + [(",red", ("nan",))], dictionary)

# What becomes of values before they are used.
rows("treated", [number("a", "<Interval closure='closedOpen' leftMargin='0' rightMargin='100'/>"), number("b"),
                 text("c", "red", "blue"), number("y")],
     "<RegressionModel functionName='regression'>%s<RegressionTable intercept='0'><NumericPredictor name='a' "
     "coefficient='1'/><NumericPredictor name='b' coefficient='1000'/><CategoricalPredictor name='c' value='red' "
     "coefficient='0.5'/><CategoricalPredictor name='c' value='blue' coefficient='0.25'/></RegressionTable>"
     "</RegressionModel>" % schema(
         "a", "b", "c", a="missingValueReplacement='7' invalidValueTreatment='asMissing'",
         b="outliers='asExtremeValues' lowValue='-1' highValue='1'",
         c="missingValueReplacement='blue' invalidValueTreatment='asMissing'"), "a,b,c",
     [("5,0.5,red", (505.5,)), (",0.5,blue", (507.25,)), ("100,2,", (1007.25,)), ("-1,-7,odd", (-992.75,)),
      ("0,0,red", (.5,)), ("99.5,0,red", (100,))])

# Powers and products, categories; and each normalization.
terms = ("<NumericPredictor name='a' exponent='2' coefficient='3'/><CategoricalPredictor name='c' value='red' "
         "coefficient='10'/><PredictorTerm coefficient='0.5'><FieldRef field='a'/><FieldRef field='b'/></PredictorTerm>")
rows("terms", [number("a"), number("b"), ("c", "categorical", "string", ""), number("y")],
     "<RegressionModel functionName='regression'>%s<RegressionTable intercept='1'>%s</RegressionTable></RegressionModel>"
     % (schema("a", "b", "c"), terms), "a,b,c",
     [("2,4,red", (27,)), ("-1,3,blue", (2.5,)), ("0,0,", (1,)), (",1,red", ("nan",))])
points = [-3.0, -0.5, 0.0, 0.25, 2.0]
normal = lambda v: (1 + math.erf(v / math.sqrt(2))) / 2
for method, f in (("logit", lambda v: 1 / (1 + math.exp(-v))), ("probit", normal), ("exp", math.exp),
                  ("cloglog", lambda v: 1 - math.exp(-math.exp(v))), ("loglog", lambda v: math.exp(-math.exp(-v))),
                  ("cauchit", lambda v: .5 + math.atan(v) / math.pi), ("softmax", lambda v: 1 / (1 + math.exp(-v)))):
    rows("link_" + method, [number("a"), number("y")],
         "<RegressionModel functionName='regression' normalizationMethod='%s'>%s<RegressionTable intercept='0'>"
         "<NumericPredictor name='a' coefficient='1'/></RegressionTable></RegressionModel>" % (method, schema("a")),
         "a,z", [("%r,1" % v, (f(v),)) for v in points])
rows("link_probit_two", [number("a"), text("y", "no", "yes")],
     "<RegressionModel functionName='classification' normalizationMethod='probit'>%s<RegressionTable targetCategory='yes' "
     "intercept='0'><NumericPredictor name='a' coefficient='1'/></RegressionTable><RegressionTable targetCategory='no' "
     "intercept='0'/></RegressionModel>" % schema("a"), "a,z",
     [("%r,1" % v, ("yes" if v >= 0 else "no", 1 - normal(v), normal(v))) for v in points])
rows("link_simplemax", [number("a"), text("y", "p", "q", "r")],
     "<RegressionModel functionName='classification' normalizationMethod='simplemax'>%s%s</RegressionModel>" % (
         schema("a"), "".join("<RegressionTable targetCategory='%s' intercept='%s'>%s</RegressionTable>" % t for t in (
             ("p", 1, "<NumericPredictor name='a' coefficient='1'/>"), ("q", 3, ""), ("r", 2, "")))), "a,z",
     [("%r,1" % v, ("p" if v > 2 else "q", (v + 1) / (v + 6), 3 / (v + 6), 2 / (v + 6))) for v in (0.0, 1.5, 7.0)])

# Segments.
tree = lambda function, score, more="": ("<TreeModel functionName='%s'>%s<Node score='%s'>%s</Node></TreeModel>" % (
    function, schema("a", target=None), score, more or "<True/>"))
cut = lambda v: ("<True/><Node score='cat'>%s</Node><Node score='dog'>%s</Node>" % (
    simple("a", "lessOrEqual", v), simple("a", "greaterThan", v)))
votes = "".join("<Segment weight='%s'><True/>%s</Segment>" % (w, tree("classification", "cat", cut(v)))
                for v, w in ((1, 2), (2, 1), (3, 4)))
vote = "<MiningModel functionName='classification'>%s<Segmentation multipleModelMethod='%s'>%s</Segmentation></MiningModel>"
for method, ws in (("majorityVote", (1, 1, 1)), ("weightedMajorityVote", (2, 1, 4))):
    lines = []
    for v in (0.5, 1.5, 2.5, 3.5):
        dog = sum(w for c, w in zip((1, 2, 3), ws) if v > c) / sum(ws)
        lines.append(("%r,1" % v, ("dog" if dog > .5 else "cat", 1 - dog, dog)))
    rows(method.lower(), [number("a"), text("y", "cat", "dog")], vote % (schema("a"), method, votes), "a,z", lines)
segments = lambda *x: "".join("<Segment>%s%s</Segment>" % s for s in x)
whole = "<MiningModel functionName='regression'>%s%s<Segmentation multipleModelMethod='%s'>%s</Segmentation></MiningModel>"
three = segments((simple("a", "lessThan", 0), tree("regression", 1)), (simple("c", "equal", "red"), tree("regression", 20)),
                 ("<True/>", tree("regression", 300)))
fields = [number("a"), text("c", "red", "blue"), number("y")]
rows("select_first", fields, whole % (schema("a", "c"), "", "selectFirst", three), "a,c",
     [("-1,red", (1,)), ("1,red", (20,)), ("1,blue", (300,)), (",blue", (300,)), (",red", (20,)), ("-1,", (1,)), (",", (300,))])
rescaled = "<Targets><Target field='y' rescaleFactor='2' rescaleConstant='0.5'/></Targets>"
rows("sum_some", fields, whole % (schema("a", "c"), rescaled, "sum", three), "a,c",
     [("-1,red", (642.5,)), ("1,red", (640.5,)), ("1,blue", (600.5,)), (",blue", (600.5,)), (",", (600.5,))])

# Naive Bayes of words: 4 rows of p, 6 of q.
pairs = {"red": (3, 1), "blue": (1, 2), "odd": (0, 3)}
counted = "".join("<PairCounts value='%s'><TargetValueCounts><TargetValueCount value='p' count='%d'/><TargetValueCount "
                  "value='q' count='%d'/></TargetValueCounts></PairCounts>" % ((k,) + v) for k, v in pairs.items())
lines = []
for value in ("red", "blue", "odd", ""):
    p = 4 * max(pairs[value][0] / 4, .001) if value else 4
    q = 6 * pairs[value][1] / 6 if value else 6
    lines.append((value + ",1", ("p" if p > q else "q", p / (p + q), q / (p + q))))
rows("bayes_words", [text("c", "red", "blue", "odd"), text("y", "p", "q")],
     "<NaiveBayesModel functionName='classification' threshold='0.001'>%s<BayesInputs><BayesInput fieldName='c'>%s"
     "</BayesInput></BayesInputs><BayesOutput fieldName='y'><TargetValueCounts><TargetValueCount value='p' count='4'/>"
     "<TargetValueCount value='q' count='6'/></TargetValueCounts></BayesOutput></NaiveBayesModel>" % (schema("c"), counted),
     "c,z", lines)
