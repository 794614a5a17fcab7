#!/usr/bin/env bash
# predict.sh: forests of XGBoost and of scikit-learn, computed by the libraries and by this project.
#
# Needs Debian's python3-xgboost and python3-sklearn, whose Python is $PYTHON (/usr/bin/python3). Models
# are 100 and 1000 trees of depth 6 and 10 with 100 features: random trees for XGBoost, forests
# that were fitted to random numbers for scikit-learn. In each of $PAIRS rounds both compute the same
# rows with one thread, alone and in one block. Prints medians of CPU time in microseconds a row.
# Scores have to be the same numbers. Then CPU time of bin/apr-predict from its start to the first
# prediction, for the forms of a model of XGBoost and as tensors, for CatBoost's JSON and LightGBM's text, in
# turn with --version; and random trees in pairs with a walk by pointers.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
bench=${APR_BENCH:-$root/build/release/tests/bench}/predict
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import xgboost, sklearn' 2>/dev/null || {
  echo "no xgboost or sklearn for $python"
  exit 0
}

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1

"$python" - "$bench" "${PAIRS:-5}" "${TREES:-100 1000}" "${DEPTHS:-6 10}" "$root/bin" <<'END'
import json, pickle, resource, subprocess, sys, time
import numpy as np
import sklearn.ensemble
import xgboost

bench, pairs = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(1)
features = 100
rows = rng.random((4096, features), dtype=np.float32)
rows.astype("<f8").tofile("rows")

def xgboost_forest(trees, depth):
    n, inner = 2 ** (depth + 1) - 1, 2 ** depth - 1
    below = np.arange(n) < inner
    def tree(number):
        columns = {
            "left_children": np.where(below, 2 * np.arange(n) + 1, -1),
            "right_children": np.where(below, 2 * np.arange(n) + 2, -1),
            "parents": np.where(np.arange(n) > 0, (np.arange(n) - 1) // 2, 2147483647),
            "split_indices": np.where(below, rng.integers(0, features, n), 0),
            "split_conditions": rng.random(n, dtype=np.float32),
            "default_left": rng.integers(0, 2, n),
            "base_weights": np.zeros(n), "loss_changes": np.zeros(n),
            "sum_hessian": np.ones(n), "split_type": np.zeros(n, dtype=int)}
        made = {name: values.tolist() for name, values in columns.items()}
        made |= {"categories": [], "categories_nodes": [], "categories_segments": [],
                 "categories_sizes": [], "id": number, "tree_param": {
                     "num_deleted": "0", "num_feature": str(features), "num_nodes": str(n),
                     "size_leaf_vector": "0"}}
        return made
    model = {"learner": {
        "attributes": {}, "feature_names": [], "feature_types": [],
        "gradient_booster": {"name": "gbtree", "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(trees),
                                   "size_leaf_vector": "0"},
            "tree_info": [0] * trees, "trees": [tree(i) for i in range(trees)]}},
        "learner_model_param": {"base_score": "5E-1", "num_class": "0",
                                "num_feature": str(features), "num_target": "1"},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}},
        "version": [1, 7, 4]}
    with open("model", "w") as f:
        json.dump(model, f)
    booster = xgboost.Booster()
    with open("model", "rb") as f:
        booster.load_model(bytearray(f.read()))
    for name in "start.json", "start.ubj", "start.old":
        booster.save_model(name)
    booster.set_param({"nthread": 1})
    return lambda x: booster.inplace_predict(x).astype(np.float64)

def sklearn_forest(trees, depth):
    made = sklearn.ensemble.RandomForestRegressor(trees, max_depth=depth, max_features=0.05)
    made.fit(rng.random((2000, features)), rng.random(2000))
    with open("model", "wb") as f:
        pickle.dump(made, f, 4)
    return made.predict

def join(values, form):
    return " ".join(form % v for v in values)

# The text of LightGBM for trees of full depth that grew leaf by leaf in any order.
def lightgbm_text(trees, depth):
    inner, lines = 2 ** depth - 1, ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1",
        f"max_feature_idx={features - 1}", "objective=regression", ""]
    for tree in range(trees):
        children, ready = [[], []], [(None, 0, 0, 0)]
        for i in range(inner):
            parent, side, leaf, level = ready.pop(rng.integers(len(ready)))
            if parent is not None:
                children[side][parent] = i
            children[0].append(~leaf)
            children[1].append(~(i + 1))
            if level + 1 < depth:
                ready += [(i, 0, leaf, level + 1), (i, 1, i + 1, level + 1)]
        lines += [f"Tree={tree}", f"num_leaves={inner + 1}", "num_cat=0",
            "split_feature=" + join(rng.integers(0, features, inner), "%d"),
            "split_gain=" + join(rng.random(inner) * 50, "%g"),
            "threshold=" + join(rng.random(inner), "%.17g"),
            "decision_type=" + join(rng.integers(0, 2, inner) * 8 + 2, "%d"),
            "left_child=" + join(children[0], "%d"), "right_child=" + join(children[1], "%d"),
            "leaf_value=" + join((rng.random(inner + 1) - .5) / 10, "%.17g"),
            "leaf_weight=" + join(rng.random(inner + 1) * 50, "%.17g"),
            "leaf_count=" + join(rng.integers(20, 2000, inner + 1), "%d"),
            "internal_value=" + join(rng.random(inner), "%g"),
            "internal_weight=" + join(rng.random(inner) * 1000, "%g"),
            "internal_count=" + join(rng.integers(100, 60000, inner), "%d"), "is_linear=0", "shrinkage=0.1", "", ""]
    return "\n".join(lines + ["end of trees", ""])

def catboost_json(trees, depth):
    borders = np.sort(rng.random((features, 254), dtype=np.float32), axis=1).tolist()
    def split():
        at, border = int(rng.integers(features)), int(rng.integers(254))
        return {"border": borders[at][border], "float_feature_index": at, "split_index": 254 * at + border,
                "split_type": "FloatFeature"}
    return json.dumps({"features_info": {"float_features": [
            {"borders": borders[i], "feature_index": i, "flat_feature_index": i, "has_nans": False,
             "nan_value_treatment": "AsIs"} for i in range(features)]},
        "oblivious_trees": [{"leaf_values": ((rng.random(2 ** depth) - .5) / 10).tolist(),
            "leaf_weights": rng.integers(0, 500, 2 ** depth).tolist(),
            "splits": [split() for _ in range(depth)]} for _ in range(trees)],
        "scale_and_bias": [1, [0.5]]}, separators=(",", ":"))

def cpu(compute, x, times):
    begin = time.process_time()
    for _ in range(times):
        y = compute(x)
    return (time.process_time() - begin) / times / len(x) * 1e6, y

def process(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.argv[5] + "/apr-predict", *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3

def starts(trees, depth):
    xgboost_forest(trees, depth)
    with open("start.lightgbm", "w") as f:
        f.write(lightgbm_text(trees, depth))
    with open("start.catboost", "w") as f:
        f.write(catboost_json(trees, depth))
    np.savetxt("one", rows[:1], delimiter=",")
    subprocess.run("%s/apr-unpack start.json | %s/apr-pack -t apr2 -o start.apr" % (sys.argv[5], sys.argv[5]),
                   shell=True, check=True)
    ways = [("--version",)] + [("start." + s, "one") for s in ("apr", "old", "ubj", "json", "catboost", "lightgbm")]
    figures = np.median([[process(*w) for w in ways] for _ in range(31)], axis=0)
    print(f"start with {trees} trees of depth {depth}: " +
          ", ".join(f"{w[0]} {t:.2f} ms" for w, t in zip(ways, figures)), flush=True)

for name, make in ("XGBoost", xgboost_forest), ("scikit-learn", sklearn_forest):
    for depth in map(int, sys.argv[4].split()):
        for trees in map(int, sys.argv[3].split()):
            compute, figures = make(trees, depth), []
            for _ in range(pairs):
                one, _ = cpu(compute, rows[:1].copy(), 20)
                block, expected = cpu(compute, rows, 1)
                out = subprocess.run([bench, "model", "rows", "scores"], check=True,
                                     capture_output=True, text=True).stdout.split()
                same = np.array_equal(np.fromfile("scores"), expected)
                figures.append([one, block] + [float(v) for v in out])
            one, block, own_one, own_block, load = np.median(figures, axis=0)
            print(f"{name:12} {trees:4} trees of depth {depth:2}: one row {one:9.1f} and "
                  f"{own_one:6.2f} ({one / own_one:5.1f} times), block {block:7.2f} and "
                  f"{own_block:5.2f} ({block / own_block:4.1f} times), read in {load:.0f} ms, "
                  f"scores {'are the same' if same else 'DIFFER'}", flush=True)
for depth in map(int, sys.argv[4].split()):
    for trees in map(int, sys.argv[3].split()):
        starts(trees, depth)
END

for depth in ${DEPTHS:-6 10}; do
  for trees in ${TREES:-100 1000}; do
    "$bench" "$trees" "$depth" 100 3 "${WALKED:-16384}"
  done
done
