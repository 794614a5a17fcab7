#!/usr/bin/env python3
"""Makes models of more kinds, with scikit-learn 1.2.1, and what it predicts; as make.py does. Appends their names to
models.txt. Rows: groups of features that training never saw empty, texts in columns, rare categories.
"""
import pickle
import sys
import warnings

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor,
                              ExtraTreesRegressor, IsolationForest, RandomForestClassifier, StackingClassifier,
                              StackingRegressor, VotingClassifier, VotingRegressor)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import (RFE, SelectFpr, SelectFromModel, SelectKBest, SelectPercentile,
                                       VarianceThreshold)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import (GammaRegressor, HuberRegressor, Lasso, LogisticRegression, PassiveAggressiveClassifier,
                                  PassiveAggressiveRegressor, Perceptron, PoissonRegressor, Ridge, SGDOneClassSVM,
                                  SGDRegressor, TweedieRegressor)
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (FunctionTransformer, KBinsDiscretizer, OneHotEncoder, PolynomialFeatures,
                                   PowerTransformer, QuantileTransformer, StandardScaler)
from sklearn.decomposition import PCA
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from recorded import lines, record, write_list

warnings.filterwarnings("ignore")
rng = np.random.RandomState(7)
shown = 24

# The same rows as in make.py, so that its tables serve.
x3, y3 = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
                             class_sep=0.8, random_state=1)
x2, y2 = make_classification(100, 5, n_informative=3, n_redundant=0, random_state=2)
xr, yr = make_regression(80, 5, noise=4, random_state=3)
holes = np.genfromtxt("holes.csv", delimiter=",")
yh = y3[:len(holes)]
tables = {"three": (x3, y3), "two": (x2, y2), "values": (xr, yr), "positive": (xr, np.exp(yr / 100)),
          "both": (xr, np.c_[yr, yr ** 2 / 100]), "holes": (holes, yh),
          "names": (x3, np.array(["low", "middle, or so", "high"])[y3]),
          "signs": (x3, np.array(["a", "\u00fc\u20ac", "\U0001f600 \U0001d518"])[y3])}


def model(name, estimator, rows):
    x, y = tables[rows]
    estimator.fit(x, y)
    rows = {"positive": "values", "both": "values", "names": "three", "signs": "three"}.get(rows, rows)
    record(name, estimator, rows + ".csv", x[:shown])


scaled = StandardScaler
model("lda", LinearDiscriminantAnalysis(), "three")
model("lda_two", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1), "two")
model("qda", QuadraticDiscriminantAnalysis(reg_param=0.05), "names")
model("signs", NearestCentroid(), "signs")
model("qda_two", QuadraticDiscriminantAnalysis(), "two")
model("centroids", NearestCentroid(), "names")
model("centroids_sums", NearestCentroid(metric="manhattan", shrink_threshold=0.1), "three")
for kind in ("full", "tied", "diag", "spherical"):
    model("mixture_" + kind, GaussianMixture(3, covariance_type=kind, random_state=0), "three")
model("isolation", IsolationForest(n_estimators=5, random_state=0, max_samples=32), "three")
model("isolation_some", make_pipeline(scaled(), IsolationForest(n_estimators=4, max_features=3, max_samples=24,
                                                                contamination=0.2, random_state=0)), "two")
model("one_class", OneClassSVM(nu=0.2), "two")
model("one_class_linear", SGDOneClassSVM(nu=0.2, random_state=0), "two")
model("poisson", PoissonRegressor(), "positive")
model("gamma", GammaRegressor(), "positive")
model("tweedie", TweedieRegressor(power=1.5), "positive")
model("tweedie_normal", TweedieRegressor(power=0), "values")
model("huber", HuberRegressor(), "values")
model("aggressive", PassiveAggressiveRegressor(random_state=0), "values")
model("aggressive_classes", PassiveAggressiveClassifier(random_state=0), "three")
model("perceptron", Perceptron(random_state=0), "names")
model("gradient_values", SGDRegressor(random_state=0), "values")
model("extra_values", ExtraTreesRegressor(3, max_depth=4, random_state=0), "values")

# ---- features ----

model("products", make_pipeline(PolynomialFeatures(3), Ridge()), "values")
model("products_alone", PolynomialFeatures(degree=(2, 4), interaction_only=True, include_bias=False), "values")
model("bins", make_pipeline(KBinsDiscretizer(4), LogisticRegression()), "three")
model("bins_numbers", KBinsDiscretizer(5, encode="ordinal", strategy="uniform"), "three")
model("quantiles", make_pipeline(QuantileTransformer(n_quantiles=20, output_distribution="normal"), Ridge()), "values")
model("quantiles_even", QuantileTransformer(n_quantiles=12), "three")
model("powers", make_pipeline(PowerTransformer(), LogisticRegression()), "three")
model("powers_plain", make_pipeline(FunctionTransformer(np.abs), PowerTransformer(method="box-cox", standardize=False)),
      "three")
model("marked", make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()), "holes")
model("marks", MissingIndicator(features="all"), "holes")
model("filled", make_pipeline(SimpleImputer(strategy="constant", fill_value=-3), DecisionTreeClassifier(max_depth=3)),
      "holes")
model("variance", make_pipeline(VarianceThreshold(0.9), Ridge()), "values")
model("best", make_pipeline(SelectKBest(k=3), scaled(), LogisticRegression()), "three")
model("best_share", make_pipeline(SelectPercentile(percentile=60), GaussianNB()), "three")
model("best_likely", make_pipeline(SelectFpr(alpha=0.2), LogisticRegression()), "two")
model("selected", make_pipeline(SelectFromModel(Lasso(alpha=1.0)), Ridge()), "values")
model("eliminated", make_pipeline(RFE(LogisticRegression(), n_features_to_select=2), LogisticRegression()), "three")
model("union", make_pipeline(FeatureUnion([("pca", PCA(2)), ("scaled", make_pipeline(scaled(), PolynomialFeatures(2))),
                                           ("same", "passthrough"), ("gone", "drop")],
                                          transformer_weights={"pca": 0.3}), LogisticRegression()), "three")
model("functions", make_pipeline(FunctionTransformer(np.abs), FunctionTransformer(np.log1p), scaled(), Ridge()), "values")

# ---- models of models ----

model("search", GridSearchCV(make_pipeline(scaled(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2),
      "names")
model("search_random", RandomizedSearchCV(DecisionTreeRegressor(random_state=0), {"max_depth": [2, 3]}, n_iter=2, cv=2,
                                          random_state=0), "values")
parts = [("a", LogisticRegression()), ("b", GaussianNB()), ("c", make_pipeline(scaled(), DecisionTreeClassifier(
    max_depth=3, random_state=0)))]
model("vote", VotingClassifier(parts, weights=[1, 2, 1.5]), "names")
model("vote_soft", VotingClassifier(parts + [("d", "drop")], voting="soft", weights=[1, 2, 3, 4]), "three")
model("vote_values", VotingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3, random_state=0))]),
      "values")
model("bagging", BaggingClassifier(KNeighborsClassifier(3), n_estimators=3, max_samples=0.2, max_features=0.6,
                                   random_state=0), "names")
model("bagging_votes", BaggingClassifier(LinearSVC(random_state=0), n_estimators=5, random_state=0), "two")
model("bagging_values", BaggingRegressor(n_estimators=3, max_samples=0.3, random_state=0), "values")
model("ada", AdaBoostClassifier(n_estimators=5, random_state=0), "names")
model("ada_two", AdaBoostClassifier(n_estimators=5, random_state=0), "two")
model("ada_votes", AdaBoostClassifier(n_estimators=5, algorithm="SAMME", random_state=0), "three")
model("ada_values", AdaBoostRegressor(n_estimators=5, random_state=0), "values")
model("stack", StackingClassifier(parts, cv=2), "names")
model("stack_two", StackingClassifier([("a", LinearSVC(random_state=0)), ("b", GaussianNB())], cv=2, passthrough=True,
                                      final_estimator=RandomForestClassifier(3, max_depth=3, random_state=0)), "two")
model("stack_values", StackingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3, random_state=0))],
                                        cv=2), "values")
model("calibrated", CalibratedClassifierCV(LinearSVC(random_state=0), cv=2), "names")
model("calibrated_line", CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"), "two")
model("calibrated_two", make_pipeline(scaled(), CalibratedClassifierCV(SVC(), cv=2)), "two")
model("calibrated_lines", CalibratedClassifierCV(RandomForestClassifier(3, max_depth=3, random_state=0), cv=2,
                                                 method="isotonic"), "three")
model("rest", OneVsRestClassifier(LogisticRegression()), "names")
model("rest_svm", OneVsRestClassifier(SVC(random_state=0)), "three")
model("rest_trees", OneVsRestClassifier(DecisionTreeClassifier(max_depth=3, random_state=0)), "three")
model("rest_two", OneVsRestClassifier(LinearSVC(random_state=0)), "two")
model("outputs", MultiOutputRegressor(Ridge()), "both")
model("target", TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), "positive")
model("target_scaled", TransformedTargetRegressor(make_pipeline(scaled(), Ridge()), transformer=StandardScaler()), "values")

# ---- texts ----

messages = [line.rstrip("\n").split("\t") for line in open("messages.tsv")]
texts = [text for _, text in messages]
labels = np.array([label for label, _ in messages])
with open("texts.txt") as f:
    seen = f.read().splitlines()[:shown]


def text(name, estimator):
    estimator.fit(texts, labels)
    record(name, estimator, "texts.txt", seen)


text("text_union", make_pipeline(make_union(TfidfVectorizer(max_features=60), CountVectorizer(
    analyzer="char_wb", ngram_range=(2, 3), max_features=40)), LogisticRegression()))
text("text_vote", VotingClassifier([("a", make_pipeline(TfidfVectorizer(max_features=50), LogisticRegression())),
                                    ("b", make_pipeline(CountVectorizer(max_features=40), MultinomialNB()))],
                                   voting="soft"))
text("text_calibrated", make_pipeline(HashingVectorizer(n_features=256), CalibratedClassifierCV(LinearSVC(), cv=2)))

n = len(texts)
table = np.empty((n, 4), dtype=object)
table[:, 0] = rng.randn(n).round(3)
table[:, 1] = texts
table[:, 2] = rng.choice(["web", "phone", "shop", "fair", "letter"], n, p=[0.5, 0.3, 0.1, 0.05, 0.05])
table[:, 3] = [text.split()[0] for text in texts]


def put_table(name, rows):
    quote = lambda v: '"%s"' % v.replace('"', '""') if isinstance(v, str) else repr(float(v))
    with open(name, "w") as f:
        for row in rows:
            f.write(",".join(map(quote, row)) + "\n")


put_table("messages.csv", table[:shown])
for name, last in (("table_texts", LogisticRegression()), ("table_forest", RandomForestClassifier(
        3, max_depth=4, random_state=0))):
    parts = ColumnTransformer([("number", scaled(), [0]), ("text", TfidfVectorizer(max_features=50), 1),
                               ("way", OneHotEncoder(min_frequency=12, handle_unknown="infrequent_if_exist"), [2]),
                               ("first", make_union(CountVectorizer(max_features=20), HashingVectorizer(n_features=16)),
                                3)])
    record(name, make_pipeline(parts, last).fit(table, labels), "messages.csv", table[:shown])
record("table_vote", VotingClassifier([("a", make_pipeline(ColumnTransformer(
    [("way", OneHotEncoder(), [2]), ("number", scaled(), [0])]), LogisticRegression())), ("b", make_pipeline(ColumnTransformer(
        [("way", OneHotEncoder(drop="first"), [2]), ("text", CountVectorizer(max_features=30), 1)]), MultinomialNB()))],
    voting="soft").fit(table, labels), "messages.csv", table[:shown])

# ---- rare categories ----

letters = rng.choice(list("abcdefg"), (150, 2), p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]).astype(object)
fresh = letters[:shown].copy()
fresh[2, 0], fresh[4, 1] = "z", "y"
put = lambda name, rows: open(name, "w").write("".join(",".join(row) + "\n" for row in rows))
put("letters.csv", letters[:shown])
put("letters_fresh.csv", fresh)
record("rare", OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist", sparse_output=False).fit(letters),
       "letters_fresh.csv", fresh)
record("rare_most", OneHotEncoder(max_categories=3, handle_unknown="ignore", sparse_output=False).fit(letters),
       "letters_fresh.csv", fresh)
record("rare_dropped", OneHotEncoder(max_categories=4, drop="first", sparse_output=False).fit(letters), "letters.csv",
       letters[:shown])
record("rare_named", OneHotEncoder(min_frequency=0.1, drop=["a", "b"], sparse_output=False).fit(letters), "letters.csv",
       letters[:shown])

differ = [("ab"[i], make_pipeline(OneHotEncoder(categories=[list("abcdefgh"[:7 + i])] * 2), MultinomialNB())) for i in range(2)]
with open("refused_labels.pkl", "wb") as f:
    pickle.dump(OneVsRestClassifier(LogisticRegression()).fit(np.eye(6)[:, :2], np.eye(6)[:, :3]), f, protocol=4)
with open("refused_vote.pkl", "wb") as f:
    pickle.dump(VotingClassifier(differ, voting="soft").fit(letters, letters[:, 0] == "a"), f, protocol=4)

# ---- files of joblib ----


def with_joblib(name, model, rows, source, old=False):
    make = joblib.numpy_pickle.NumpyPickler._create_array_wrapper

    def unaligned(self, array):  # as before joblib 1.2
        wrapper = make(self, array)
        del wrapper.__dict__["numpy_array_alignment_bytes"]
        return wrapper

    record(name, model, rows, source)
    if old:
        joblib.numpy_pickle.NumpyPickler._create_array_wrapper = unaligned
    joblib.dump(model, name + ".pkl", protocol=3 if old else None)
    joblib.numpy_pickle.NumpyPickler._create_array_wrapper = make


flowers, kinds = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
                                     class_sep=0.8, random_state=1)  # three.csv of make.py
called = np.array(["low", "middle, or so", "high"], dtype=object)[kinds]
with_joblib("joblib_tree", DecisionTreeClassifier(max_depth=3).fit(flowers, called), "three.csv", flowers[:shown])
with_joblib("joblib_pca", make_pipeline(PCA(3), SVC(probability=True, random_state=0)).fit(flowers[:30], kinds[:30] > 0),
            "three.csv", flowers[:shown])
with_joblib("joblib_old", make_pipeline(PCA(2), LogisticRegression()).fit(flowers, called), "three.csv", flowers[:shown],
            True)
plain = make_pipeline(StandardScaler(), SVC()).fit(flowers[:30], kinds[:30] > 0)
record("protocol_two", plain, "three.csv", flowers[:shown])
with open("protocol_two.pkl", "wb") as f:
    pickle.dump(plain, f, protocol=2)

write_list(keep=True)
print(len(lines), "models", file=sys.stderr)
