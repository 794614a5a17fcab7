#!/usr/bin/env python3
"""Makes the models of this folder with LightGBM (4.6) and XGBoost (Debian 12: python3-xgboost 1.7.4), and
what they say of some rows. Not needed for make check: run it only to add models. Debian lacks LightGBM.

    rows.csv      the rows; values are missing or infinite, the last column is a category
    NAME          a model; NAME.out: for each row, scores | predictions | leaves (may be empty)
"""
import json

import lightgbm
import numpy as np
import xgboost

SHOWN = 24
rng = np.random.default_rng(5)
rows = rng.normal(size=(300, 4)).round(2)
rows[:, 1] *= rng.random(300) < 0.6
rows[rng.random(rows.shape) < 0.1] = np.nan
rows = np.column_stack([rows, rng.choice([0, 1, 2, 31, 32, 40], size=300)])
full = np.nan_to_num(rows)
target = 2 * full[:, 0] + full[:, 1] * full[:, 2] + (full[:, 4] > 31) + 0.1 * rng.normal(size=300)
three = np.digitize(target, [-0.5, 0.8])
some = rows[:SHOWN].copy()
some[18:22, :4] = np.array([[1e-35, np.nan, np.inf, -np.inf]]).T
some[22:] = [[0, -0.0, 0, 0, 33], [1, 2, 3, 4, np.nan]]


def line(values):
    return ",".join("%.17g" % v for v in np.ravel(values))


def record(name, *parts):
    parts = [np.asarray(p).reshape(SHOWN, -1) for p in parts]
    with open(name + ".out", "w") as f:
        for i in range(SHOWN):
            f.write("|".join(line(p[i]) for p in parts) + "\n")


def light(name, label, rounds, dump=False, **params):
    data = lightgbm.Dataset(rows[:, :params.pop("columns", 5)], label, categorical_feature=params.pop("sets", "auto"))
    params = dict(params, verbose=-1, num_threads=1, seed=1, min_data_in_leaf=15, min_data_per_group=5)
    model = lightgbm.train(params, data, rounds)
    text = model.model_to_string()
    text = text[:text.index("\nfeature_importances") + 1]
    text = "".join(s + "\n" for s in text.split("\n") if not s.startswith(("split_gain", "internal_v",
                   "internal_w", "leaf_weight", "tree_sizes", "monotone")))
    model = lightgbm.Booster(model_str=text)
    if dump:
        json.dump(model.dump_model(), open(name, "w"), separators=(",", ":"))
    else:
        open(name, "w").write(text)
    x = some[:, :model.num_feature()]
    record(name, model.predict(x, raw_score=True), model.predict(x), model.predict(x, pred_leaf=True))


def extreme(name, label, rounds, **params):
    data = xgboost.DMatrix(rows[:, :4].clip(-9, 9), label=label)
    model = xgboost.train(dict(params, seed=1, nthread=1, max_depth=3), data, rounds)
    model.save_model(name)
    x = xgboost.DMatrix(some[:, :4].clip(-9, 9))
    leaves = np.zeros((SHOWN, 0)) if params.get("booster") == "gblinear" else model.predict(x, pred_leaf=True)
    record(name, model.predict(x, output_margin=True), model.predict(x), leaves)


light("linear.txt", target, 3, linear_tree=True, num_leaves=6)
light("linear.json", target, 2, True, linear_tree=True, num_leaves=4, sets=[4])
light("linear_one.txt", target, 1, linear_tree=True, num_leaves=6, min_gain_to_split=1e6)
light("forest.txt", target > 0, 4, objective="binary", boosting="rf", bagging_fraction=0.5, bagging_freq=1,
      num_leaves=5)
light("forest_three.txt", three, 3, objective="multiclass", num_class=3, boosting="rf", bagging_fraction=0.5,
      bagging_freq=1, num_leaves=4)
light("infinite.json", 3 * np.isnan(rows[:, 0]) + 0.01 * target, 3, True, num_leaves=4)
light("sets.txt", target, 3, sets=[4], max_cat_to_onehot=1, num_leaves=6, zero_as_missing=True)
extreme("lines.model", target, 4, booster="gblinear")
extreme("targets.model", np.column_stack([target > 0, target > 1]), 2, objective="binary:logistic")
with open("rows.csv", "w") as f:
    for row in some:
        f.write(line(row).replace("nan", "") + "\n")
