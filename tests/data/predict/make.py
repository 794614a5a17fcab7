#!/usr/bin/env python3
"""Makes the models of this folder with scikit-learn (Debian 12: python3-sklearn 1.2.1), and what it
predicts with them. Not needed for make check: run it only to add models.

    NUMBERS.csv    rows of numbers; TEXTS.txt: a text on each line
    NAME.pkl       a model
    NAME.out       for each row: prediction | decision function | probabilities, each maybe empty
    models.txt     lines: NAME ROWS
    messages.tsv   written by hand: ham or spam, a text; every third pair is for the test
"""
import pickle
import subprocess
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (ExtraTreesClassifier, GradientBoostingClassifier,
                              GradientBoostingRegressor, HistGradientBoostingClassifier,
                              HistGradientBoostingRegressor, RandomForestClassifier)
from sklearn.feature_extraction.text import (CountVectorizer, HashingVectorizer, TfidfTransformer,
                                             TfidfVectorizer)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (LogisticRegression, Ridge, RidgeClassifier, SGDClassifier)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler,
                                   StandardScaler)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeRegressor

from recorded import record, write_list

warnings.filterwarnings("ignore")
rng = np.random.RandomState(0)
SHOWN = 24  # rows whose predictions are recorded


def numbers(name, x):
    with open(name, "w") as f:
        for row in x[:SHOWN]:
            f.write(",".join("" if np.isnan(v) else repr(float(v)) for v in row) + "\n")


x3, y3 = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=3,
                             n_clusters_per_class=1, class_sep=0.8, random_state=1)
x2, y2 = make_classification(100, 5, n_informative=3, n_redundant=0, random_state=2)
xr, yr = make_regression(80, 5, noise=4, random_state=3)
counts = rng.poisson(np.abs(x3) + 0.5)
holes = x3.copy()
holes[rng.rand(*holes.shape) < 0.15] = np.nan
groups = np.c_[x2[:, :4], rng.choice([0, 1, 2, 5, 7, 40, 200], len(x2))]
groups[rng.rand(len(x2)) < 0.1, 4] = np.nan
y2g = ((groups[:, 4] % 3 == 1) | (x2[:, 0] > 0.5)).astype(int)
words = np.array(["low", "middle, or so", "high"])[y3]
for name, x in (("three.csv", x3), ("two.csv", x2), ("values.csv", xr), ("counts.csv", counts),
                ("holes.csv", holes), ("groups.csv", groups)):
    numbers(name, x)


def model(name, estimator, rows):
    x, y = {"three": (x3, y3), "two": (x2, y2), "values": (xr, yr), "counts": (counts, y3),
            "holes": (holes, y3), "groups": (groups, y2g), "words": (x3, words),
            "both": (xr, np.c_[yr, yr ** 2 / 100])}[rows]
    estimator.fit(x, y)
    rows = {"words": "three", "both": "values"}.get(rows, rows)
    record(name, estimator, rows + ".csv", x[:SHOWN], dense=False)


scaled = StandardScaler
model("gauss", GaussianNB(), "words")
model("multinomial", MultinomialNB(), "counts")
model("complement", ComplementNB(norm=True), "counts")
model("complement_plain", ComplementNB(), "counts")
model("bernoulli", BernoulliNB(binarize=1.5), "counts")
model("bernoulli_none", make_pipeline(Binarizer(threshold=0.5), BernoulliNB(binarize=None)), "three")
for metric in ("euclidean", "manhattan", "chebyshev", "cosine"):
    model("near_" + metric, KNeighborsClassifier(5, metric=metric), "three")
    model("near_%s_weighed" % metric, KNeighborsClassifier(7, metric=metric, weights="distance"), "words")
model("near_minkowski", KNeighborsClassifier(3, p=3), "two")
model("near_values", KNeighborsRegressor(4), "values")
model("near_values_weighed", KNeighborsRegressor(3, weights="distance", p=1), "both")
for kernel in ("linear", "poly", "rbf", "sigmoid"):
    model("svm_" + kernel, SVC(kernel=kernel, probability=True, coef0=0.25, random_state=0,
                               decision_function_shape="ovo"), "three")
    model("svm2_" + kernel, make_pipeline(scaled(), SVC(kernel=kernel, probability=kernel != "poly",
                                                        random_state=0)), "two")
model("svm_nu", NuSVC(nu=0.3, decision_function_shape="ovo"), "words")
model("svm_linear_only", make_pipeline(MinMaxScaler(clip=True), LinearSVC()), "three")
model("svm_values", SVR(C=10), "values")
model("pca", PCA(3), "three")
model("pca_white", make_pipeline(RobustScaler(), PCA(2, whiten=True)), "three")
model("svd", TruncatedSVD(2), "two")
model("scalers", make_pipeline(Normalizer("l1"), MaxAbsScaler(), MinMaxScaler((-1, 1))), "three")
model("imputed", make_pipeline(SimpleImputer(strategy="median"), scaled(), LogisticRegression()), "holes")
model("each", LogisticRegression(multi_class="ovr"), "three")
model("liblinear", LogisticRegression(solver="liblinear"), "words")
model("gradient", SGDClassifier(loss="log_loss", random_state=0), "three")
model("hinge", SGDClassifier(random_state=0), "two")
model("ridge", Ridge(), "values")
model("ridge_classes", RidgeClassifier(), "three")
model("ridge_words", RidgeClassifier(), "words")
for activation in ("identity", "logistic", "tanh", "relu"):
    model("net_" + activation, MLPClassifier((6, 4), activation=activation, max_iter=40,
                                             random_state=0), "three")
model("net_two", MLPClassifier((5,), max_iter=40, random_state=0), "two")
model("net_values", MLPRegressor((5,), max_iter=40, random_state=0), "both")
model("histogram", HistGradientBoostingClassifier(max_iter=6, categorical_features=[4],
                                                  min_samples_leaf=5), "groups")
model("histogram_three", HistGradientBoostingClassifier(max_iter=4, max_depth=3), "holes")
model("histogram_poisson", HistGradientBoostingRegressor(loss="poisson", max_iter=4), "counts")
model("forest", make_pipeline(scaled(), RandomForestClassifier(3, max_depth=4, random_state=0)), "three")
model("extra", ExtraTreesClassifier(3, max_depth=4, random_state=0), "words")
model("boosted", GradientBoostingClassifier(n_estimators=4, random_state=0), "three")
model("boosted_two", GradientBoostingClassifier(n_estimators=4, random_state=0), "two")
model("boosted_values", GradientBoostingRegressor(n_estimators=4, loss="huber", random_state=0), "values")
model("tree_values", DecisionTreeRegressor(max_depth=4, random_state=0), "values")
model("centers", make_pipeline(scaled(), KMeans(4, n_init=2, random_state=0)), "three")

# ---- texts ----

lines = [line.rstrip("\n").split("\t") for line in open("messages.tsv")]
texts = [text for _, text in lines]
labels = np.array([label for label, _ in lines])
odd = ["", "   ", "\u00c9 D\u00e9j\u00e0-vu \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u03a3\u039f\u03a6\u039f\u03a3.",
       "\u0130stanbul STRASSE \u00df, na\u00efve caf\u00e9 \ufb01ne", "\u00bd x\u00b2 \u2167 \u01c5 \u017f \u212a",
       "\u65e5\u672c\u8a9e \u30c6\u30ad\u30b9\u30c8 42 a_b __init__", "nbsp\u00a0x  two   spaces\ttab",
       "don't re-do it's 3.14 'quoted' \"q\"", "ab a b abc", "e\u0301 combining e\u0301"]
shown = texts[:14] + odd
everything = texts + odd
answers = np.append(labels, ["odd"] * len(odd))
with open("texts.txt", "w") as f:
    f.write("\n".join(shown) + "\n")


def text(name, estimator):
    estimator.fit(everything, answers)
    record(name, estimator, "texts.txt", shown, dense=False)


text("words", CountVectorizer())
text("words_pairs", CountVectorizer(ngram_range=(1, 2), stop_words="english", max_features=300))
text("words_once", CountVectorizer(binary=True, token_pattern=r"(?u)\b\w+\b", lowercase=False))
text("words_pattern", CountVectorizer(token_pattern=r"[A-Za-z']+", stop_words=["the", "and"]))
text("words_plain", CountVectorizer(strip_accents="ascii", max_features=200, token_pattern=r"\S+"))
text("words_marks", CountVectorizer(strip_accents="unicode", ngram_range=(2, 2), max_features=200))
text("letters", CountVectorizer(analyzer="char", ngram_range=(1, 3), max_features=200))
text("letters_inside", CountVectorizer(analyzer="char_wb", ngram_range=(2, 6), max_features=300))
text("tfidf", TfidfVectorizer())
text("tfidf_sublinear", TfidfVectorizer(sublinear_tf=True, norm="l1", ngram_range=(1, 2),
                                        max_features=300))
text("tfidf_counts", make_pipeline(CountVectorizer(max_features=100), TfidfTransformer(smooth_idf=False)))
text("hashes", HashingVectorizer(n_features=1000))
text("hashes_pairs", HashingVectorizer(n_features=2 ** 18, alternate_sign=False, norm="l1",
                                       ngram_range=(1, 2), stop_words="english"))
text("hashes_once", HashingVectorizer(n_features=777, norm=None, binary=True))
text("text_bayes", make_pipeline(CountVectorizer(max_features=150), MultinomialNB()))
text("text_forest", make_pipeline(TfidfVectorizer(max_features=60),
                                  RandomForestClassifier(3, max_depth=4, random_state=0)))
text("text_svm", make_pipeline(HashingVectorizer(n_features=2 ** 10), LinearSVC()))
text("text_net", make_pipeline(TfidfVectorizer(max_features=100), TruncatedSVD(4, random_state=0),
                               MLPClassifier((4,), max_iter=40, random_state=0)))

# ---- tokenize | vectorize | classify ----

ids = subprocess.run(["../../../bin/apr-tok", "encode", "--lines", "--bare",
                      "../shakespeare-BF16.gguf"], input="\n".join(texts) + "\n", text=True,
                     capture_output=True, check=True).stdout.splitlines()
train = [i for i in range(len(ids)) if i // 2 % 3 != 2]
counter = TfidfVectorizer(token_pattern=r"\S+", sublinear_tf=True)
seen = counter.fit_transform([ids[i] for i in train])
bayes = ComplementNB().fit(seen, labels[train])
test = [i for i in range(len(ids)) if i // 2 % 3 == 2]
right = (bayes.predict(counter.transform([ids[i] for i in test])) == labels[test]).sum()
print("%d of %d messages are classified correctly" % (right, len(test)))
for name, part in (("message_vectorizer", counter), ("message_classifier", bayes)):
    with open(name + ".pkl", "wb") as f:
        pickle.dump(part, f, protocol=4)

write_list(keep=False)
