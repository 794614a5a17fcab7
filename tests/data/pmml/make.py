#!/usr/bin/env python3
"""Writes models of scikit-learn and XGBoost (Debian 12: python3-sklearn 1.2.1, python3-xgboost 1.7.4) as PMML, in the
forms that converters use, and what the libraries predict. Not needed for make check.

    NAME.pmml      a model
    NAME.csv       rows with a header
    NAME.out       for each row: the prediction, then the probabilities, if there are any
"""
import json
import warnings

import numpy as np
import xgboost
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

warnings.filterwarnings("ignore")
rng = np.random.RandomState(27)
SHOWN = 40


def num(v):
    return repr(float(v))


def floor32(v):
    """The largest float that is not above a threshold: floats are compared with it, and not with the double."""
    f = np.float32(v)
    return float(f if float(f) <= v else np.nextafter(f, np.float32(-np.inf)))


class Document:
    def __init__(self, names, classes, dtype):
        self.names, self.classes, self.dtype = names, classes, dtype

    def schema(self, target=True):
        fields = "".join('<MiningField name="%s"/>' % n for n in self.names)
        return "<MiningSchema>%s%s</MiningSchema>" % (
            '<MiningField name="y" usageType="target"/>' if target else "", fields)

    def text(self, model):
        values = "".join('<Value value="%s"/>' % c for c in self.classes or [])
        y = ('<DataField name="y" optype="categorical" dataType="string">%s</DataField>' % values if self.classes
             else '<DataField name="y" optype="continuous" dataType="double"/>')
        fields = "".join('<DataField name="%s" optype="continuous" dataType="%s"/>' % (n, self.dtype)
                         for n in self.names)
        return ('<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
                "<Header/>\n<DataDictionary>%s%s</DataDictionary>\n%s\n</PMML>\n" % (y, fields, model))


def function(classes):
    return "classification" if classes else "regression"


def sklearn_node(tree, i, predicate, names, leaf):
    """A Node and those below it: "x <= t" and "x > t", as floats."""
    if tree.children_left[i] < 0:
        score, inside = leaf(tree.value[i])
        return '<Node id="%d" score="%s" recordCount="%d">%s%s</Node>\n' % (
            i, score, tree.n_node_samples[i], predicate, inside)
    field, t = names[tree.feature[i]], num(floor32(tree.threshold[i]))
    sides = ((tree.children_left[i], "lessOrEqual"), (tree.children_right[i], "greaterThan"))
    return '<Node id="%d" recordCount="%d">%s%s</Node>\n' % (i, tree.n_node_samples[i], predicate, "".join(
        sklearn_node(tree, c, '<SimplePredicate field="%s" operator="%s" value="%s"/>' % (field, op, t), names, leaf)
        for c, op in sides))


def number_leaf(factor=1.0):
    return lambda v: (num(v.ravel()[0] * factor), "")


def class_leaf(classes):
    def leaf(v):
        v = v.ravel()
        return classes[int(np.argmax(v))], "".join(
            '<ScoreDistribution value="%s" recordCount="%s"/>' % (c, num(n)) for c, n in zip(classes, v))
    return leaf


def sklearn_tree(doc, tree, leaf, classes=None, target=True):
    return '<TreeModel functionName="%s" splitCharacteristic="binarySplit">%s%s</TreeModel>' % (
        function(classes), doc.schema(target), sklearn_node(tree, 0, "<True/>", doc.names, leaf))


def ensemble(doc, method, models, classes=None, more="", weights=None, context=""):
    segments = "".join("<Segment id=\"%d\"%s><True/>%s</Segment>" % (
        i, ' weight="%s"' % num(weights[i]) if weights else "", m) for i, m in enumerate(models))
    return '<MiningModel functionName="%s"%s>%s%s<Segmentation multipleModelMethod="%s">%s</Segmentation></MiningModel>' % (
        function(classes), context, doc.schema(classes is not None), more, method, segments)


def targets(constant):
    return '<Targets><Target rescaleConstant="%s"/></Targets>' % num(constant)


def output(name):
    return '<Output><OutputField name="%s" optype="continuous" dataType="double" isFinalResult="false"/></Output>' % name


def tables(doc, method, rows, names, classes=None, schema=None, context=""):
    inside = "".join('<RegressionTable intercept="%s"%s>%s</RegressionTable>' % (
        num(b), ' targetCategory="%s"' % classes[i] if classes else "",
        "".join('<NumericPredictor name="%s" coefficient="%s"/>' % (n, num(c)) for n, c in zip(names[i], w)))
        for i, (w, b) in enumerate(rows))
    return '<RegressionModel functionName="%s" normalizationMethod="%s"%s>%s%s</RegressionModel>' % (
        function(classes), method, context, schema or doc.schema(), inside)


def inner_schema(names):
    return "<MiningSchema>%s</MiningSchema>" % "".join('<MiningField name="%s"/>' % n for n in names)


def record(name, doc, model, rows, predicted, probabilities=None):
    with open(name + ".pmml", "w") as f:
        f.write(doc.text(model))
    with open(name + ".csv", "w") as f:
        f.write(",".join(doc.names) + "\n")
        for row in rows:
            f.write(",".join("" if np.isnan(v) else repr(float(v)) for v in row) + "\n")
    with open(name + ".out", "w") as f:
        for i, p in enumerate(predicted):
            line = [str(p) if isinstance(p, str) else num(p)]
            line += [num(v) for v in probabilities[i]] if probabilities is not None else []
            f.write(",".join(line) + "\n")


names = ["a", "b", "c", "d", "e"]
x3, y3 = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
x2, y2 = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=2)
xv, yv = make_regression(300, 5, n_informative=4, noise=3.0, random_state=3)
x3, x2, xv = (x.astype(np.float32).astype(np.float64) for x in (x3, x2, xv))
kinds, pair = ["cat", "dog", "eel"], ["no", "yes"]


def on_edges(tree, rows):
    """Rows whose values are thresholds, rounded to floats: the next side of a split is one digit away."""
    rows = rows[:SHOWN].copy()
    for i, row in enumerate(rows):
        k = rng.randint(tree.node_count)
        if tree.feature[k] >= 0:
            row[tree.feature[k]] = np.float32(tree.threshold[k])
    return rows


def classes_of(model, rows, labels):
    return [labels[k] for k in model.predict(rows)]


doc = Document(names, None, "float")
m = DecisionTreeRegressor(max_depth=6, random_state=0).fit(xv, yv)
rows = on_edges(m.tree_, xv)
record("tree_value", doc, sklearn_tree(doc, m.tree_, number_leaf()), rows, m.predict(rows))
m = RandomForestRegressor(6, max_depth=4, random_state=0).fit(xv, yv)
record("forest_value", doc, ensemble(doc, "average", [sklearn_tree(doc, t.tree_, number_leaf(), target=False) for t in m]),
       rows, m.predict(rows))
m = GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0).fit(xv, yv)
record("boosted_value", doc, ensemble(doc, "sum", [sklearn_tree(doc, t[0].tree_, number_leaf(0.1), target=False)
                                                   for t in m.estimators_], more=targets(m.init_.constant_[0, 0])),
       rows, m.predict(rows))
doc = Document(names, kinds, "float")
m = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x3, y3)
rows = on_edges(m.tree_, x3)
record("tree_class", doc, sklearn_tree(doc, m.tree_, class_leaf(kinds), kinds), rows, classes_of(m, rows, kinds),
       m.predict_proba(rows))
m = RandomForestClassifier(6, max_depth=3, random_state=0).fit(x3, y3)
trees = [sklearn_tree(doc, t.tree_, class_leaf(kinds), kinds, False) for t in m]
record("forest_class", doc, ensemble(doc, "average", trees, kinds), rows, classes_of(m, rows, kinds),
       m.predict_proba(rows))
weights = [0.5, 1.0, 2.0, 0.25, 3.0, 1.5]
shares = sum(w * t.predict_proba(rows) for w, t in zip(weights, m)) / sum(weights)
record("forest_weighted", doc, ensemble(doc, "weightedAverage", trees, kinds, weights=weights), rows,
       [kinds[k] for k in shares.argmax(1)], shares)
votes = sum(w * np.eye(3)[t.predict_proba(rows).argmax(1)] for w, t in zip(weights, m)) / sum(weights)
record("forest_votes", doc, ensemble(doc, "weightedMajorityVote", trees, kinds, weights=weights), rows,
       [kinds[k] for k in votes.argmax(1)], votes)
m = GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0).fit(x3, y3)
inner = [ensemble(doc, "sum", [sklearn_tree(doc, t[k].tree_, number_leaf(0.1), target=False) for t in m.estimators_],
                  more=output("f%d" % k) + targets(np.log(m.init_.class_prior_[k]))) for k in range(3)]
last = tables(doc, "softmax", [([1.0], 0.0)] * 3, [["f0"], ["f1"], ["f2"]], kinds, inner_schema(["f0", "f1", "f2"]))
record("boosted_three", doc, ensemble(doc, "modelChain", inner + [last], kinds), rows, classes_of(m, rows, kinds),
       m.predict_proba(rows))
doc = Document(names, pair, "float")
m = GradientBoostingClassifier(n_estimators=10, max_depth=3, random_state=0).fit(x2, y2)
rows = on_edges(m.estimators_[0][0].tree_, x2)
prior = m.init_.class_prior_[1]
inner = ensemble(doc, "sum", [sklearn_tree(doc, t[0].tree_, number_leaf(0.1), target=False) for t in m.estimators_],
                 more=output("margin") + targets(np.log(prior / (1 - prior))))
last = tables(doc, "logit", [([1.0], 0.0), ([], 0.0)], [["margin"], []], pair[::-1], inner_schema(["margin"]))
record("boosted_two", doc, ensemble(doc, "modelChain", [inner, last], pair), rows, classes_of(m, rows, pair),
       m.predict_proba(rows))

doc = Document(names, pair, "double")
m = LogisticRegression().fit(x2, y2)
record("logistic", doc, tables(doc, "logit", [(m.coef_[0], m.intercept_[0]), ([], 0.0)], [names, []], pair[::-1]),
       x2[:SHOWN], classes_of(m, x2[:SHOWN], pair), m.predict_proba(x2[:SHOWN]))
doc = Document(names, kinds, "double")
m = LogisticRegression(max_iter=500).fit(x3, y3)
record("multinomial", doc, tables(doc, "softmax", list(zip(m.coef_, m.intercept_)), [names] * 3, kinds), x3[:SHOWN],
       classes_of(m, x3[:SHOWN], kinds), m.predict_proba(x3[:SHOWN]))
m = GaussianNB().fit(x3, y3)
counts = "".join('<TargetValueCount value="%s" count="%s"/>' % (k, num(n)) for k, n in zip(kinds, m.class_count_))
inputs = "".join('<BayesInput fieldName="%s"><TargetValueStats>%s</TargetValueStats></BayesInput>' % (n, "".join(
    '<TargetValueStat value="%s"><GaussianDistribution mean="%s" variance="%s"/></TargetValueStat>' % (
        kinds[k], num(m.theta_[k, i]), num(m.var_[k, i])) for k in range(3))) for i, n in enumerate(names))
record("bayes", doc, '<NaiveBayesModel functionName="classification" threshold="1e-300">%s<BayesInputs>%s</BayesInputs>'
       '<BayesOutput fieldName="y"><TargetValueCounts>%s</TargetValueCounts></BayesOutput></NaiveBayesModel>' % (
           doc.schema(), inputs, counts), x3[:SHOWN], classes_of(m, x3[:SHOWN], kinds), m.predict_proba(x3[:SHOWN]))
doc = Document(names, None, "double")
m = LinearRegression().fit(xv, yv)
record("linear", doc, tables(doc, "none", [(m.coef_, m.intercept_)], [names]), xv[:SHOWN], m.predict(xv[:SHOWN]))
m = KMeans(4, n_init=3, random_state=0).fit(x3)
clusters = "".join('<Cluster id="c%d"><Array type="real" n="5">%s</Array></Cluster>' % (i, " ".join(map(num, c)))
                   for i, c in enumerate(m.cluster_centers_))
record("clusters", doc, '<ClusteringModel functionName="clustering" modelClass="centerBased" numberOfClusters="4">%s'
       '<ComparisonMeasure kind="distance"><squaredEuclidean/></ComparisonMeasure>%s%s</ClusteringModel>' % (
           doc.schema(False), "".join('<ClusteringField field="%s"/>' % n for n in names), clusters), x3[:SHOWN],
       ["c%d" % k for k in m.predict(x3[:SHOWN])])


def xgb_node(nodes, node, predicate):
    """A Node of XGBoost: "x < t" in single precision, a child for missing values."""
    if "leaf" in node:
        return '<Node id="%d" score="%s">%s</Node>\n' % (node["nodeid"], num(np.float32(node["leaf"])), predicate)
    children = {c["nodeid"]: c for c in node["children"]}
    sides = ((node["yes"], "lessThan"), (node["no"], "greaterOrEqual"))
    t = num(np.float32(node["split_condition"]))
    return '<Node id="%d" defaultChild="%d">%s%s</Node>\n' % (node["nodeid"], node["missing"], predicate, "".join(
        xgb_node(nodes, children[c], '<SimplePredicate field="%s" operator="%s" value="%s"/>' % (
            node["split"], op, t)) for c, op in sides))


FLOAT = ' x-mathContext="float"'


def xgb_tree(doc, dump):
    return ('<TreeModel functionName="regression" missingValueStrategy="defaultChild" '
            'splitCharacteristic="binarySplit"%s>%s%s</TreeModel>' % (FLOAT, doc.schema(False),
                                                                      xgb_node(None, json.loads(dump), "<True/>")))


def holes(x):
    x = x.copy()
    x[rng.rand(*x.shape) < 0.2] = np.nan
    return x


for name, x, y, labels, objective in (("xgboost_value", xv, yv, None, "reg:squarederror"),
                                      ("xgboost_two", x2, y2, pair, "binary:logistic"),
                                      ("xgboost_three", x3, y3, kinds, "multi:softprob")):
    x = holes(x)
    doc = Document(names, labels, "float")
    matrix = xgboost.DMatrix(x, y, feature_names=names)
    more = {"num_class": 3} if labels == kinds else {}
    b = xgboost.train(dict(objective=objective, max_depth=4, base_score=0.5, **more), matrix, 6)
    dumps = b.get_dump(dump_format="json")
    rows = x[:SHOWN].astype(np.float32).astype(float)
    p = b.predict(xgboost.DMatrix(rows, feature_names=names)).astype(float)
    trees = [xgb_tree(doc, d) for d in dumps]
    if not labels:
        model = ensemble(doc, "sum", trees, more=targets(0.5), context=FLOAT)
        record(name, doc, model, rows, p)
    elif len(labels) == 2:
        inner = ensemble(doc, "sum", trees, more=output("xgbValue"), context=FLOAT)
        last = tables(doc, "logit", [([1.0], 0.0), ([], 0.0)], [["xgbValue"], []], labels[::-1],
                      inner_schema(["xgbValue"]), FLOAT)
        record(name, doc, ensemble(doc, "modelChain", [inner, last], labels, context=FLOAT), rows,
               [labels[int(v > 0.5)] for v in p], np.stack([1 - p, p], 1))
    else:
        inner = [ensemble(doc, "sum", trees[k::3], more=output("xgbValue(%d)" % k) + targets(0.5), context=FLOAT)
                 for k in range(3)]
        fields = ["xgbValue(%d)" % k for k in range(3)]
        last = tables(doc, "softmax", [([1.0], 0.0)] * 3, [[f] for f in fields], labels, inner_schema(fields), FLOAT)
        record(name, doc, ensemble(doc, "modelChain", inner + [last], labels, context=FLOAT), rows,
               [labels[int(k)] for k in p.argmax(1)], p)
