#!/usr/bin/env python3
"""Makes the models of this folder with XGBoost (Debian 12: python3-xgboost 1.7.4), and what it says
of some rows. Not needed for make check: run it only to add models.

    NAME.json     a model
    NAME.out      for each row: scores | contributions, features and bias of each score
    rows.csv      the rows; values are missing, the last column is a category
"""
import numpy as np
import xgboost

SHOWN = 24
rng = np.random.default_rng(7)
rows = rng.normal(size=(300, 6)).round(2)
rows[rng.random(rows.shape) < 0.1] = np.nan
category = rng.integers(0, 9, size=300).astype(float)
rows = np.column_stack([rows, category])
full = np.nan_to_num(rows)
target = 2 * full[:, 0] + full[:, 1] * full[:, 2] + (category % 3 == 0) + 0.1 * rng.normal(size=300)


def line(values):
    return ",".join("%.9g" % v for v in np.ravel(values))


def make(name, label, rounds, categories=True, **params):
    x = {"feature_types": ["float"] * 6 + ["c"], "enable_categorical": True} if categories else {}
    if categories:
        params["tree_method"] = "hist"
    model = xgboost.train(dict(params, seed=1), xgboost.DMatrix(rows, label=label, **x), rounds)
    model.save_model(name + ".json")
    some = xgboost.DMatrix(rows[:SHOWN], **x)
    scores = model.predict(some, output_margin=True)
    parts = model.predict(some, pred_contribs=True)
    with open(name + ".out", "w") as f:
        for i in range(SHOWN):
            f.write(line(scores[i]) + "|" + line(parts[i]) + "\n")


make("values", target, 6, max_depth=4, eta=0.4, max_cat_to_onehot=4)
make("one_hot", target, 4, max_depth=4, max_cat_to_onehot=100)
make("two", (target > 0) * 1.0, 5, max_depth=5, objective="binary:logistic", base_score=0.3,
     max_cat_to_onehot=4)
make("three", np.digitize(target, [-0.5, 0.8]), 4, max_depth=3, objective="multi:softprob", num_class=3,
     max_cat_to_onehot=4)
make("dart", target, 6, False, booster="dart", rate_drop=0.4, max_depth=3)
make("linear", target, 6, False, booster="gblinear")
make("linear_three", np.digitize(target, [-0.5, 0.8]), 6, False, booster="gblinear",
     objective="multi:softprob", num_class=3)
with open("rows.csv", "w") as f:
    for row in rows[:SHOWN]:
        f.write(line(row).replace("nan", "") + "\n")
