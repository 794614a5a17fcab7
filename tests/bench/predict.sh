#!/usr/bin/env bash
# predict.sh: forests of XGBoost and of scikit-learn, computed by the libraries and by this project.
#
# Needs Debian's python3-xgboost and python3-sklearn, whose Python is $PYTHON (/usr/bin/python3). Models
# are 100 and 1000 trees of depth 6 and 10 with 100 features: random trees for XGBoost, forests
# that were fitted to random numbers for scikit-learn. In each of $PAIRS rounds both compute the same
# rows with one thread, alone and in one block. Prints medians of CPU time in microseconds a row.
# Scores have to be the same numbers. Then CPU time of bin/apr-predict from its start to the first
# prediction, for the forms of a model of XGBoost and as tensors, in turn with --version; and random
# trees in pairs with a walk by pointers.
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
    np.savetxt("one", rows[:1], delimiter=",")
    subprocess.run("%s/apr-unpack start.json | %s/apr-pack -t apr2 -o start.apr" % (sys.argv[5], sys.argv[5]),
                   shell=True, check=True)
    ways = [("--version",)] + [("start." + s, "one") for s in ("apr", "old", "ubj", "json")]
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
