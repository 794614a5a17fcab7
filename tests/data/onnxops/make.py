#!/usr/bin/env python3
"""Makes the pipelines of this folder, in the operators that skl2onnx writes, and rows for them. record.mjs then has
ONNX Runtime predict each row. Not needed for make check; needs python3-onnx. The argument
is a folder for what record.mjs needs: the models without ZipMap, whose maps it cannot take, and their inputs.

    NAME.onnx    a model
    NAME.csv     rows, with a header if there are several inputs; NAME.txt if a row is a text
    NAME.out     what ONNX Runtime gives: the label, if there is one, then all numbers
"""
import json
import sys

import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper

rng = np.random.default_rng(27)


class Graph:
    def __init__(self, name, inputs, opset=17, ml=3):
        self.name, self.opset, self.ml = name, opset, ml
        self.inputs = [h.make_tensor_value_info(n, t, s) for n, t, s in inputs]
        self.nodes, self.constants, self.count = [], [], 0

    def const(self, a):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(a), name))
        return name

    def add(self, op, *inputs, out=None, outputs=1, domain="", **attributes):
        names = [i if isinstance(i, str) else self.const(i) for i in inputs]
        if out is None:
            out = []
            for _ in range(outputs):
                self.count += 1
                out.append(f"t{self.count}")
        out = [out] if isinstance(out, str) else out
        self.nodes.append(h.make_node(op, names, out, domain=domain, **attributes))
        return out[0] if len(out) == 1 else out

    def ml_(self, op, *inputs, **attributes):
        return self.add(op, *inputs, domain="ai.onnx.ml", **attributes)

    def ms(self, op, *inputs, **attributes):
        return self.add(op, *inputs, domain="com.microsoft", **attributes)

    def write(self, outputs, rows, header=None):
        outs = [h.make_tensor_value_info(n, t, None) if t else h.make_empty_tensor_value_info(n) for n, t in outputs]
        graph = h.make_graph(self.nodes, self.name, self.inputs, outs, self.constants)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", self.opset), h.make_opsetid("ai.onnx.ml", self.ml),
                                                   h.make_opsetid("com.microsoft", 1)], ir_version=8)
        self.remember(model)
        data = model.SerializeToString()
        open(f"{self.name}.onnx", "wb").write(data)
        open(f"../../fuzz/corpus/predict/onnx-ops-{self.name}", "wb").write(data)
        text = isinstance(rows, list) and isinstance(rows[0], str)
        with open(f"{self.name}.{'txt' if text else 'csv'}", "w") as f:
            if header:
                print(header, file=f)
            for row in rows:
                print(row if text else ",".join(str(v) if isinstance(v, str) else f"{v:.9g}" for v in row), file=f)


    def remember(self, model):
        """The model whose outputs are tensors, and its inputs: name, type, rank, width."""
        zips = {n.output[0]: n.input[0] for n in self.nodes if n.op_type == "ZipMap"}
        other = type(model)()
        other.CopyFrom(model)
        kept = [n for n in other.graph.node if n.op_type != "ZipMap"]
        del other.graph.node[:]
        for n in kept:
            if n.op_type == "StringNormalizer":  # the one that every machine has
                n.attribute.append(h.make_attribute("locale", "C.UTF-8"))
        other.graph.node.extend(kept)
        for o in other.graph.output:
            if o.name in zips:
                o.CopyFrom(h.make_tensor_value_info(zips[o.name], T.FLOAT, None))
        open(f"{sys.argv[1]}/{self.name}.onnx", "wb").write(other.SerializeToString())
        INPUTS[self.name] = [(i.name, T.DataType.Name(i.type.tensor_type.elem_type), len(i.type.tensor_type.shape.dim),
                              i.type.tensor_type.shape.dim[-1].dim_value or 1) for i in self.inputs]


INPUTS = {}
F, I, S, D = T.FLOAT, T.INT64, T.STRING, T.DOUBLE


def quarters(*shape):
    return (rng.integers(-12, 13, shape) / 4).astype("f4")


TEXTS = ["The cat sat on the mat", "a dog and a CAT", "", "the the the mat!", "DOGS, cats; mats: 2.5 dogs?",
         "\u00c9t\u00e9 caf\u00e9 \u00c9T\u00c9 cat_9", "sat sat mat cat", "  on   the   dog  ", "x", "\u03a3\u03bf\u03c6\u03af\u03b1 the cat"]


def words():
    """TfidfVectorizer and LogisticRegression."""
    g = Graph("words", [("text", S, [None, 1])])
    t = g.add("Reshape", "text", np.array([-1]))
    t = g.add("StringNormalizer", t, case_change_action="LOWER", is_case_sensitive=0, stopwords=["a", "and"])
    t = g.ms("Tokenizer", t, mark=0, mincharnum=1, pad_value="#", tokenexp="[a-zA-Z0-9_]+")
    t = g.add("Flatten", t)
    pool = ["cat", "dog", "mat", "sat", "the", "on", "cat_9", "t", "the", "cat", "sat", "on", "the", "mat", "sat", "sat"]
    grams = 8 + 4
    t = g.add("TfIdfVectorizer", t, mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
              ngram_counts=[0, 8], ngram_indexes=list(rng.permutation(grams)), pool_strings=pool, weights=[1.0] * grams)
    t = g.add("Mul", t, (quarters(1, grams) ** 2 + 1).astype("f4"))
    t = g.ml_("Normalizer", t, norm="L2")
    w, b = quarters(3, grams), quarters(3)
    g.ml_("LinearClassifier", t, out=["label", "p"], coefficients=w.ravel().tolist(), intercepts=b.tolist(), multi_class=1,
          classlabels_strings=["bad", "good", "so so"], post_transform="SOFTMAX")
    g.ml_("ZipMap", "p", out="probabilities", classlabels_strings=["bad", "good", "so so"])
    g.write([("label", S), ("probabilities", 0)], TEXTS)


def separators():
    g = Graph("separators", [("text", S, [None, 1])])
    t = g.ms("Tokenizer", "text", mark=1, mincharnum=2, pad_value="#", separators=[" ", "[.]", "\\?", ",", ";", ":", "\\!"])
    t = g.add("Squeeze", t, np.array([1]))
    pool = ["cat", "dog", "mat", "the", "\x02", "the", "cat", "sat", "mat", "the", "mat", "sat", "on", "the", "\x02", "the", "mat",
            "sat", "sat", "mat"]
    g.add("TfIdfVectorizer", t, out="y", mode="IDF", min_gram_length=2, max_gram_length=3, max_skip_count=2,
          ngram_counts=[0, 5, 11], ngram_indexes=[3, 1, 0, 2, 5, 4, 6, 7, 8, 9, 10], pool_strings=pool,
          weights=(quarters(11) + 4).tolist())
    g.write([("y", F)], TEXTS)


def letters():
    g = Graph("letters", [("text", S, [None])])
    t = g.ms("Tokenizer", "text", mark=0, mincharnum=1, pad_value="#", separators=[""])
    pool = list("abcdet ") + ["\u00e9", "t", "h", "h", "e", "a", "t", "t", "\u00e9", "a", "e"]
    t = g.add("TfIdfVectorizer", t, mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 8],
              ngram_indexes=list(range(13)), pool_strings=pool, weights=(quarters(13) + 4).tolist())
    g.add("Softmax", t, out="y", axis=1)
    g.write([("y", F)], TEXTS)


def numbers():
    """n-grams of numbers, with skips."""
    g = Graph("numbers", [("x", I, [None, 8])])
    pool = [1, 2, 3, 1, 2, 2, 3, 3, 1, 1, 1, 1, 2, 3, 2, 1, 2]
    g.add("TfIdfVectorizer", "x", out="y", mode="TF", min_gram_length=1, max_gram_length=3, max_skip_count=3,
          ngram_counts=[0, 3, 11], ngram_indexes=[0, 1, 2, 6, 5, 4, 3, 7, 8], pool_int64s=pool)
    g.write([("y", F)], rng.integers(0, 4, (12, 8)).astype("f4"))


def tree(g, x, labels, width, classes):
    """One tree of depth 2 a class; leaves have weights of their class."""
    ids, nodes, features, values, modes, yes, no = [], [], [], [], [], [], []
    cids, cnodes, cclass, cweights = [], [], [], []
    for t in range(classes):
        for n in range(7):
            leaf = n >= 3
            ids.append(t)
            nodes.append(n)
            features.append(0 if leaf else int(rng.integers(0, width)))
            values.append(0.0 if leaf else float(quarters(1)[0]) / 4)
            modes.append("LEAF" if leaf else "BRANCH_LEQ")
            yes.append(0 if leaf else 2 * n + 1)
            no.append(0 if leaf else 2 * n + 2)
            if leaf:
                cids.append(t)
                cnodes.append(n)
                cclass.append(t)
                cweights.append(float(quarters(1)[0]))
    return g.ml_("TreeEnsembleClassifier", x, outputs=2, nodes_treeids=ids, nodes_nodeids=nodes, nodes_featureids=features,
                 nodes_values=values, nodes_modes=modes, nodes_truenodeids=yes, nodes_falsenodeids=no, class_treeids=cids,
                 class_nodeids=cnodes, class_ids=cclass, class_weights=cweights, post_transform="SOFTMAX", **labels)


def columns():
    """ColumnTransformer: numbers that are missing, categories in texts and numbers, then trees."""
    g = Graph("columns", [("age", F, [None, 1]), ("city", S, [None, 1]), ("size", F, [None, 2]), ("color", S, [None, 1]),
                          ("shop", I, [None, 1])])
    n = g.add("Concat", "age", "size", axis=1)
    n = g.ml_("Imputer", n, imputed_value_floats=[30.0, 1.5, -0.5], replaced_value_float=float("nan"))
    n = g.ml_("Scaler", n, offset=[31.5, 0.0, 0.25], scale=[0.125, 1.0, 2.0])
    c = g.add("Concat", "city", "color", axis=1)
    city = g.ml_("OneHotEncoder", g.ml_("ArrayFeatureExtractor", c, np.array([0])), cats_strings=["Bonn", "Paris", "Rome"], zeros=1)
    city = g.add("Reshape", city, np.array([-1, 3]))
    shop = g.add("Flatten", g.ml_("OneHotEncoder", "shop", cats_int64s=[3, 1, 7], zeros=1))
    color = g.ml_("LabelEncoder", "color", keys_strings=["red", "blue", "green", "red"], values_int64s=[4, 5, 6, 7], default_int64=-3)
    other = g.ml_("CategoryMapper", "color", cats_strings=["green", "red"], cats_int64s=[10, 20], default_int64=-1)
    both = g.add("Cast", g.add("Concat", color, other, axis=-1), to=F)
    x = g.ml_("FeatureVectorizer", n, city, shop, both, inputdimensions=[3, 3, 3, 2])
    label, p = tree(g, x, {"classlabels_int64s": [0, 1, 2]}, 11, 3)
    g.ml_("LabelEncoder", label, out="label", keys_int64s=[0, 1, 2], values_strings=["low", "mid", "high"], default_string="?")
    g.add("Identity", p, out="probabilities")
    rows = []
    for i in range(24):
        v = quarters(3)
        rows.append([float("nan") if i % 5 == 0 else float(v[0]) * 10 + 30, ["Bonn", "Rome", "Oslo", "Paris"][i % 4], float(v[1]),
                     float("nan") if i % 7 == 3 else float(v[2]), ["red", "green", "blue", "grey"][i // 3 % 4], [3, 7, 2, 1][i // 2 % 4]])
    g.write([("label", S), ("probabilities", F)], rows, "age,city,size_0,size_1,color,shop")


def labels():
    """LabelEncoder with all kinds of keys and values, and defaults that are not given."""
    g = Graph("labels", [("x", F, [None, 1]), ("t", S, [None, 1]), ("i", I, [None, 1])])
    outs = []
    keys = {"strings": ["a", "b", "a", "c"], "int64s": [1, 2, 1, -3], "floats": [1.5, float("nan"), 1.5, -0.0]}
    values = {"strings": ["one", "two", "three", "four"], "int64s": [11, 12, 13, 14], "floats": [0.5, 1.5, 2.5, 3.5]}
    for k, source in (("strings", "t"), ("int64s", "i"), ("floats", "x")):
        for v in values:
            if k == v and k != "strings":
                continue
            y = g.ml_("LabelEncoder", source, **{f"keys_{k}": keys[k], f"values_{v}": values[v]})
            if v == "strings":
                y = g.ml_("LabelEncoder", y, keys_strings=values["strings"] + ["_Unused"], values_int64s=[1, 2, 3, 4, 5])
            outs.append(g.add("Cast", y, to=F))
    g.add("Concat", *outs, out="y", axis=1)
    rows = [[1.5, "a", 1], [float("nan"), "b", 2], [0, "c", -3], [7, "d", 0], [-0.0, "", 3]]
    g.write([("y", F)], rows, "x,t,i")


def neighbours(name, weighted):
    """KNeighborsClassifier with CDist."""
    g = Graph(name, [("x", F, [None, 3])])
    train, y, k = quarters(20, 3) + rng.normal(0, 0.01, (20, 3)).astype("f4"), rng.integers(0, 3, 20), 5
    d = g.ms("CDist", "x", train, metric="euclidean")
    top, at = g.add("TopK", d, np.array([k]), outputs=2, axis=-1, largest=0, sorted=1)
    shape = g.add("Shape", at)
    found = g.ml_("ArrayFeatureExtractor", y.astype("i8"), g.add("Flatten", at))
    found = g.add("Reshape", found, shape)
    weights = g.add("Reciprocal", g.add("Max", top, np.array([1e-6], "f4")))
    shares = []
    for c in range(3):
        e = g.add("Cast", g.add("Equal", found, np.array([c])), to=F)
        e = g.add("Mul", e, weights) if weighted else e
        shares.append(g.add("ReduceSum", e, np.array([1])))
    all_ = g.add("Concat", *shares, axis=1)
    total = g.add("ReduceSum", all_, np.array([1]), keepdims=1)
    best = g.add("ArgMax", all_, axis=1, keepdims=0)
    g.add("Div", all_, total, out="probabilities")
    g.add("Reshape", g.ml_("ArrayFeatureExtractor", np.array([10, 20, 30]), best), np.array([-1]), out="label")
    g.write([("label", I), ("probabilities", F)], quarters(16, 3))


def bayes():
    """GaussianNB."""
    g = Graph("bayes", [("x", F, [None, 4])])
    theta, sigma, prior = quarters(1, 3, 4), (quarters(1, 3, 4) ** 2 + 0.5).astype("f4"), np.log([0.2, 0.5, 0.3]).astype("f4")
    x = g.add("Reshape", "x", np.array([-1, 1, 4]))
    d = g.add("Div", g.add("Pow", g.add("Sub", x, theta), np.array([2], "f4")), sigma)
    nij = g.add("Sub", (-0.5 * np.log(2 * np.pi * sigma).sum(2)).astype("f4"),
                g.add("Mul", g.add("ReduceSum", d, np.array([2]), keepdims=0), np.array([0.5], "f4")))
    jll = g.add("Add", nij, prior.reshape(1, 3))
    best = g.add("ArgMax", jll, axis=1, keepdims=0)
    norm = g.add("ReduceLogSumExp", jll, axes=[1], keepdims=0)
    p = g.add("Exp", g.add("Sub", jll, g.add("Reshape", norm, np.array([-1, 1]))), out="probabilities")
    label = g.ml_("ArrayFeatureExtractor", numpy_strings(g, ["no", "perhaps", "yes"]), best)
    g.add("Reshape", label, np.array([-1]), out="label")
    g.write([("label", S), ("probabilities", F)], quarters(16, 4))


def numpy_strings(g, texts):
    g.count += 1
    g.constants.append(h.make_tensor(f"c{g.count}", S, [len(texts)], [t.encode() for t in texts]))
    return f"c{g.count}"


def mixture():
    """GaussianMixture with whole covariances."""
    g = Graph("mixture", [("x", F, [None, 3])], opset=13)
    parts = []
    for c in range(2):
        prec = (np.tril(quarters(3, 3)) + 2 * np.eye(3)).astype("f4")
        y = g.add("Gemm", "x", prec, (-quarters(1, 3) @ prec).astype("f4"), alpha=1.0, beta=1.0)
        parts.append(g.add("ReduceSumSquare", y, axes=[1]))
    log = g.add("Concat", *parts, axis=1)
    w = g.add("Add", g.add("Mul", g.add("Add", log, np.array([3 * np.log(2 * np.pi)], "f4")), np.array([-0.5], "f4")),
              np.array([[0.25, -0.5]], "f4"))
    g.add("ArgMax", w, axis=1, out="label")
    norm = g.add("ReduceLogSumExp", w, axes=[1])
    g.add("Exp", g.add("Sub", w, norm), out="probabilities")
    g.write([("label", I), ("probabilities", F)], quarters(12, 3) / 4)


def means():
    """PCA, then KMeans."""
    g = Graph("clusters", [("x", F, [None, 4])], opset=18)
    x = g.add("MatMul", g.add("Sub", "x", quarters(4)), quarters(4, 2))
    c = quarters(3, 2)
    zz = g.add("ReduceSumSquare", x, np.array([1]), keepdims=1)
    y2 = g.add("Add", zz, g.add("Gemm", x, c, alpha=-2.0, transB=1))
    y2 = g.add("Max", g.add("Add", (c ** 2).sum(1).reshape(1, 3).astype("f4"), y2), np.array([0], "f4"))
    g.add("ArgMin", y2, axis=1, keepdims=0, out="label")
    g.add("Sqrt", y2, out="scores")
    g.write([("label", I), ("scores", F)], quarters(12, 4))


def linear():
    """LogisticRegression, one against the rest: a sigmoid of each class, then shares."""
    g = Graph("rest", [("x", F, [None, 3])])
    g.ml_("LinearClassifier", "x", out=["label", "raw"], coefficients=quarters(12).tolist(), intercepts=quarters(4).tolist(),
          multi_class=0, classlabels_ints=[5, -1, 7, 9], post_transform="LOGISTIC")
    g.ml_("Normalizer", "raw", out="p", norm="L1")
    g.ml_("ZipMap", "p", out="probabilities", classlabels_int64s=[5, -1, 7, 9])
    g.write([("label", I), ("probabilities", 0)], quarters(12, 3))


def reviews():
    """A text among other columns, and texts that are compared."""
    g = Graph("reviews", [("stars", F, [None, 1]), ("title", S, [None, 1]), ("maker", S, [None, 1]), ("seller", S, [None, 1])], opset=19)
    t = g.add("StringNormalizer", g.add("Reshape", "title", np.array([-1])), case_change_action="LOWER", is_case_sensitive=1)
    t = g.add("Flatten", g.ms("Tokenizer", t, mark=0, mincharnum=1, pad_value="#", tokenexp="[a-z]+"))
    t = g.add("TfIdfVectorizer", t, mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
              ngram_indexes=[0, 1, 2], pool_strings=["good", "bad", "cat"])
    same = g.add("Cast", g.add("Equal", "maker", "seller"), to=F)
    x = g.add("Concat", t, "stars", same, axis=1)
    label, p = g.ml_("LinearClassifier", x, outputs=2, coefficients=quarters(5).tolist() + quarters(5).tolist(), intercepts=[0.1, -0.2],
                     classlabels_strings=["no", "yes"], post_transform="SOFTMAX")
    g.add("Identity", label, out="label")
    g.add("Identity", p, out="probabilities")
    rows = [[v, w, a, b] for v, w, a, b in ((5, "Good good CAT", "A", "A"), (1, "bad", "A", "B"), (-2.5, "a Bad cat", "x y", "x y"),
                                            (0, "nothing", "c", "d"), (3, "good", "e", "e"), (2, "CAT cat good bad", "", "B"))]
    g.write([("label", S), ("probabilities", F)], rows, "stars,title,maker,seller")


def links():
    """Models whose answers become others."""
    g = Graph("links", [("x", F, [None, 3])])
    outs = []
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        out = [f"l{post}", f"s{post}"]
        g.ml_("LinearClassifier", "x", out=out, coefficients=quarters(9).tolist(), intercepts=quarters(3).tolist(),
              classlabels_ints=[0, 1, 2], post_transform=post)
        outs += [g.add("Cast", g.add("Reshape", out[0], np.array([-1, 1])), to=F), out[1]]
    r = g.ml_("LinearRegressor", "x", coefficients=quarters(6).tolist(), intercepts=quarters(2).tolist(), targets=2)
    two = quarters(3)
    for post in ("NONE", "LOGISTIC"):
        out = [f"b{post}", f"d{post}"]
        g.ml_("LinearClassifier", "x", out=out, coefficients=np.concatenate([-two, two]).tolist(), intercepts=[-0.5, 0.5],
              classlabels_ints=[0, 1], post_transform=post)
        outs += [g.add("Cast", g.add("Reshape", out[0], np.array([-1, 1])), to=F), out[1]]
    g.add("Concat", r, *outs, out="y", axis=1)
    g.write([("y", F)], quarters(12, 3))


def vectors():
    """Support vectors beside other nodes: probabilities, decisions, a regressor."""
    g = Graph("vectors", [("x", F, [None, 2])])
    outs = []
    for k, platt in ((2, True), (3, True), (2, False), (3, False)):
        n, pairs = 3 * k, k * (k - 1) // 2
        more = {"prob_a": (-np.abs(quarters(pairs)) - 1).tolist(), "prob_b": quarters(pairs).tolist()} if platt else {}
        out = [f"l{k}{platt}", f"s{k}{platt}"]
        g.ml_("SVMClassifier", "x", out=out, kernel_type="RBF", kernel_params=[0.25, 0.0, 3.0], support_vectors=quarters(2 * n).tolist(),
              coefficients=quarters(n * (k - 1)).tolist(), rho=(quarters(pairs) + 0.1).tolist(), vectors_per_class=[3] * k,
              classlabels_ints=list(range(k)), post_transform="NONE", **more)
        outs += [g.add("Cast", g.add("Reshape", out[0], np.array([-1, 1])), to=F), out[1]]
    outs.append(g.ml_("SVMRegressor", "x", kernel_type="POLY", kernel_params=[0.5, 1.0, 2.0], support_vectors=quarters(8).tolist(),
                      coefficients=quarters(4).tolist(), rho=[0.25], n_supports=4))
    g.add("Concat", *outs, out="y", axis=1)
    g.write([("y", F)], quarters(12, 2))


def planes():
    """Support vector machines of mode LINEAR."""
    g = Graph("planes", [("x", F, [None, 3])])
    label, p = g.ml_("SVMClassifier", "x", outputs=2, kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0],
                     coefficients=quarters(9).tolist(), rho=[0.75], classlabels_strings=["a", "b", "c"], post_transform="NONE")
    v = g.ml_("SVMRegressor", "x", kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], coefficients=quarters(3).tolist(), rho=[-0.25],
              n_supports=0)
    g.add("Identity", label, out="label")
    g.add("Concat", p, v, out="scores", axis=1)
    g.write([("label", S), ("scores", F)], quarters(12, 3))


def layers():
    """MLPClassifier of two classes, in double precision."""
    g = Graph("layers", [("x", D, [None, 4])])
    x = g.add("Cast", "x", to=D)
    x = g.add("Relu", g.add("Add", g.add("MatMul", x, quarters(4, 5).astype("f8")), quarters(1, 5).astype("f8")))
    x = g.add("Sigmoid", g.add("Add", g.add("MatMul", x, quarters(5, 1).astype("f8") / 4), quarters(1, 1).astype("f8")))
    p = g.add("Concat", g.add("Sub", np.array([1.0]), x), x, axis=1, out="probabilities")
    best = g.add("Cast", g.add("ArgMax", p, axis=1, keepdims=0), to=I)
    g.add("Reshape", g.ml_("ArrayFeatureExtractor", np.array([4, 8]), best), np.array([-1]), out="label")
    g.write([("label", I), ("probabilities", D)], quarters(12, 4))


def arithmetic():
    """All operators on numbers."""
    g = Graph("arithmetic", [("x", F, [None, 6])])
    outs = []

    def flat(t):
        outs.append(g.add("Flatten", g.add("Cast", t, to=F)))

    for op in ("Abs", "Neg", "Exp", "Floor", "Ceil", "Round", "Sign", "Erf", "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign",
               "Sin", "Cos", "IsNaN", "LeakyRelu", "Reciprocal"):
        flat(g.add(op, "x"))
    flat(g.add("Log", g.add("Sqrt", g.add("Abs", "x"))))
    flat(g.add("Clip", "x", np.float32(-1), np.float32(1.5)))
    c = quarters(3, 1)
    y = g.add("Reshape", "x", np.array([1, 2, 1, 3]))
    for op in ("Add", "Sub", "Mul", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "Max", "Min", "Sum", "Mean"):
        flat(g.add(op, y, c))
    flat(g.add("Div", y, np.array([2, -4, 0.5], "f4")))
    flat(g.add("Pow", g.add("Abs", y), np.array([0.5, 2, 3], "f4")))
    i = g.add("Cast", g.add("Mul", y, np.array([8], "f4")), to=I)
    flat(g.add("Div", i, np.array([3, -5, 7])))
    a, b = g.add("Greater", y, np.float32(0)), g.add("Less", y, np.float32(1))
    for op in ("And", "Or", "Xor"):
        flat(g.add(op, a, b))
    flat(g.add("Where", g.add("Not", a), y, c))
    for op in ("ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp"):
        flat(g.add(op, y, axes=[1, -1], keepdims=0))
        flat(g.add(op, y, keepdims=1))
    flat(g.add("ReduceLogSum", g.add("Abs", y), axes=[3]))
    flat(g.add("ReduceSum", y, np.array([3, 1]), keepdims=1))
    for op in ("ArgMax", "ArgMin"):
        flat(g.add(op, y, axis=3))
        flat(g.add(op, y, axis=1, keepdims=0, select_last_index=1))
    for axis in (1, 3):
        flat(g.add("Softmax", y, axis=axis))
        flat(g.add("LogSoftmax", y, axis=axis))
    for n, largest in ((2, 1), (1, 0)):
        for t in g.add("TopK", y, np.array([n]), outputs=2, axis=3, largest=largest):
            flat(t)
    flat(g.add("CumSum", y, np.array(3), reverse=1))
    flat(g.add("CumSum", y, np.array(1), exclusive=1))
    m = g.add("Reshape", "x", np.array([2, 3]))
    flat(g.add("MatMul", m, quarters(3, 2)))
    flat(g.add("MatMul", y, quarters(3)))
    flat(g.add("MatMul", quarters(2, 1, 4, 1), y))
    flat(g.add("Gemm", m, quarters(2, 4), quarters(4), alpha=0.5, beta=2.0, transA=1))
    outs = [g.add("Reshape", t, np.array([1, -1])) for t in outs]
    g.add("Concat", *outs, out="y", axis=1)
    g.write([("y", F)], quarters(8, 6) + 0.125)


def shapes():
    """All operators on shapes."""
    g = Graph("shapes", [("x", F, [None, 6])])
    outs = []

    def flat(t):
        outs.append(g.add("Reshape", g.add("Cast", t, to=F), np.array([1, -1])))

    y = g.add("Reshape", "x", np.array([0, 3, -1]))
    flat(g.add("Transpose", y, perm=[2, 0, 1]))
    flat(g.add("Transpose", y))
    for t in g.add("Split", y, np.array([1, 2]), outputs=2, axis=1):
        flat(t)
    for t in g.add("Split", "x", outputs=3, axis=-1):
        flat(t)
    flat(g.add("Slice", y, np.array([-1, 0]), np.array([-10, 9]), np.array([1, 2]), np.array([-2, 1])))
    flat(g.add("Slice", "x", np.array([1]), np.array([np.iinfo("i8").max]), np.array([1]), np.array([2])))
    flat(g.add("Gather", y, np.array([[2, -3], [1, 1]]), axis=1))
    flat(g.add("Gather", y, np.array(1), axis=2))
    flat(g.add("Squeeze", g.add("Unsqueeze", y, np.array([0, -1])), np.array([0, 1])))
    flat(g.add("Expand", g.add("Unsqueeze", "x", np.array([1])), np.array([2, 2, 1])))
    flat(g.add("Shape", y))
    flat(g.add("Size", y))
    flat(g.add("ConstantOfShape", g.add("Shape", y), value=h.make_tensor("v", I, [1], [7])))
    flat(g.add("Flatten", y, axis=2))
    flat(g.add("Concat", y, y, axis=-1))
    flat(g.add("Cast", "x", to=I))
    flat(g.add("Cast", "x", to=T.BOOL))
    flat(g.ml_("Binarizer", "x", threshold=0.5))
    for norm in ("L1", "L2", "MAX"):
        flat(g.ml_("Normalizer", "x", norm=norm))
    flat(g.ml_("ArrayFeatureExtractor", "x", np.array([[4, 0, 4]])))
    flat(g.add("Constant", value=numpy_helper.from_array(quarters(2))))
    g.add("Concat", *outs, out="y", axis=1)
    g.write([("y", F)], quarters(8, 6))


words()
separators()
letters()
numbers()
columns()
labels()
neighbours("nearest", False)
neighbours("weighted", True)
bayes()
mixture()
means()
linear()
links()
vectors()
layers()
arithmetic()
shapes()
reviews()
planes()
json.dump(INPUTS, open(f"{sys.argv[1]}/inputs.json", "w"))
