#!/usr/bin/env python3
"""Makes the models of this folder whose rows have texts among numbers (mixed.csv), with scikit-learn 1.2.1, and
what it predicts; as make.py does. Appends their names to models.txt.
"""
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from recorded import record, write_list

warnings.filterwarnings("ignore")
rng = np.random.RandomState(5)
n, shown = 150, 24
colors = rng.choice(["red", "green", "dark blue", "ünï"], n).astype(object)
sizes = rng.choice(["s", "m", "l"], n).astype(object)
sizes[rng.rand(n) < 0.2] = np.nan
a, b, month = rng.randn(n).round(4), rng.randn(n).round(4), rng.choice([1.0, 3.0, 4.0, 12.0], n)
b[rng.rand(n) < 0.2] = np.nan
x = np.empty((n, 5), dtype=object)
for i, column in enumerate((a, colors, b, sizes, month)):
    x[:, i] = column
y = ((a > 0) ^ (colors == "red") | (month > 3)).astype(int)
fresh = x[:shown].copy()
fresh[3, 1], fresh[5, 1], fresh[7, 3] = "violet", "", "xxl"  # categories that training did not see
fresh[5, 1] = np.nan
known = x[:shown]


def put_rows(name, rows):
    with open(name, "w") as f:
        for row in rows:
            f.write(",".join("" if v != v else v if isinstance(v, str) else repr(float(v)) for v in row) + "\n")


put_rows("mixed.csv", known)
put_rows("mixed_fresh.csv", fresh)

numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
both = ColumnTransformer([("numbers", numbers, [0, 2]), ("texts", texts, [1, 3])], remainder="passthrough")
record("columns_logistic", make_pipeline(both, LogisticRegression()).fit(x, y), "mixed_fresh.csv", fresh)
record("columns_ridge", make_pipeline(ColumnTransformer(
    [("one", OneHotEncoder(drop="first"), [1]), ("scaled", MinMaxScaler(), [4, 0])]), Ridge()).fit(x, a + y),
    "mixed.csv", known)
record("columns_forest", make_pipeline(ColumnTransformer(
    [("codes", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), [3, 1]),
     ("rest", "passthrough", [4, 0])]), RandomForestClassifier(5, max_depth=4, random_state=0)).fit(x, y),
    "mixed_fresh.csv", fresh)
record("columns_boosted", make_pipeline(ColumnTransformer(
    [("codes", OrdinalEncoder(), [1, 3]), ("rest", "passthrough", [0, 2])]),
    HistGradientBoostingClassifier(max_iter=8, random_state=0)).fit(x, y), "mixed.csv", known)
record("columns_alone", ColumnTransformer(
    [("dropped", "drop", [0]), ("month", OneHotEncoder(drop="if_binary"), [4]),
     ("projected", make_pipeline(SimpleImputer(), PCA(2)), [0, 2, 4]),
     ("constant", make_pipeline(SimpleImputer(strategy="constant", fill_value="m"), OneHotEncoder()), [3])]).fit(x, y),
    "mixed.csv", known)
record("encoder", OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(x[:, [1, 3]]), "pairs.csv",
       fresh[:, [1, 3]])
put_rows("pairs.csv", fresh[:, [1, 3]])
record("codes", make_pipeline(OrdinalEncoder(), Ridge()).fit(np.c_[month, month > 3], a), "months.csv",
       np.c_[month, month > 3][:shown])
put_rows("months.csv", np.c_[month, month > 3][:shown])

# Columns by name: rows of named.csv have others too, in another order.
table = pd.DataFrame({"a": a, "color": colors, "b": b, "size": sizes, "month": month})
record("columns_named", make_pipeline(ColumnTransformer(
    [("numbers", numbers, ["b", "a"]), ("texts", OneHotEncoder(handle_unknown="ignore"), ["color"])]),
    LogisticRegression()).fit(table, y), "mixed.csv", table[:shown])

write_list(keep=True)
