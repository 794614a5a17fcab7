#!/usr/bin/env bash
# predict_rows.sh: a million rows through apr-predict, from an array of NumPy and from CSV, and through
# the libraries that the models came from.
#
# Needs Debian's python3-xgboost and python3-sklearn, whose Python is $PYTHON (/usr/bin/python3), and
# 2 GB in $BENCH_DIR. Models are random trees for XGBoost and fitted forests of scikit-learn, with 100
# features. Prints seconds of CPU time (user and system) of one thread: of whole processes for
# apr-predict, of the prediction alone for the libraries, whose rows are in memory, and of reading CSV and
# predicting: by XGBoost from its own reader, and by pandas (if it is there) and numpy.loadtxt in front of
# either library. The libraries compute LIBRARY rows; their times are scaled. Starting Python, importing and
# loading models are not counted.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
predict=$root/bin/apr-predict
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import xgboost, sklearn' 2>/dev/null || {
  echo "no xgboost or sklearn for $python"
  exit 0
}

folder=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1

"$python" - "$predict" "${ROWS:-1000000}" "${LIBRARY:-200000}" "${TREES:-100 1000}" "${DEPTHS:-6 10}" <<'END'
import json, os, pickle, resource, subprocess, sys, time
import numpy as np
import sklearn.ensemble
import xgboost

predict, count, library = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(1)
features = 100
rows = rng.random((count, features), dtype=np.float32)
part = rows[:4096]
np.savetxt("part", part, fmt="%.9g", delimiter=",")
with open("part", "rb") as f:
    text = f.read()
def write_csv(name, blocks):
    with open(name, "wb") as f:
        for _ in range(blocks):
            f.write(text)
    return blocks * 4096
count = write_csv("rows.csv", count // 4096)
library = write_csv("library.csv", max(1, library // 4096))
np.save("rows.npy", rows[:count])

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
        return made | {"categories": [], "categories_nodes": [], "categories_segments": [],
                       "categories_sizes": [], "id": number, "tree_param": {
                           "num_deleted": "0", "num_feature": str(features), "num_nodes": str(n),
                           "size_leaf_vector": "0"}}
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
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps(model).encode()))
    booster.save_model("model.ubj")
    booster.set_param({"nthread": 1})
    readers["XGBoost"] = lambda name: booster.predict(xgboost.DMatrix(name + "?format=csv", nthread=1))
    return "model.ubj", lambda x: booster.inplace_predict(x)

def sklearn_forest(trees, depth):
    made = sklearn.ensemble.RandomForestRegressor(trees, max_depth=depth, max_features=0.05)
    made.fit(rng.random((2000, features)), rng.random(2000))
    with open("model.pkl", "wb") as f:
        pickle.dump(made, f, 4)
    return "model.pkl", made.predict

readers = {}
try:
    import pandas
    frame = lambda name: pandas.read_csv(name, header=None, dtype=np.float32).values
except ImportError:
    frame = None

def seconds(work, *words):
    begin = time.process_time()
    result = work(*words)
    return (time.process_time() - begin) * count / library, result

def from_csv(name, compute):
    ways = [(readers.get(name), "its own reader"), (frame and (lambda f: compute(frame(f))), "pandas"),
            (lambda f: compute(np.loadtxt(f, delimiter=",", dtype=np.float32)), "numpy.loadtxt")]
    return ", ".join(f"{about} {seconds(way, 'library.csv')[0]:.2f} s" for way, about in ways if way)

def process(model, file):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open("out", "wb") as f:
        subprocess.run([predict, "-j1", model, file], check=True, stdout=f)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

for name, make in ("XGBoost", xgboost_forest), ("scikit-learn", sklearn_forest):
    for depth in map(int, sys.argv[5].split()):
        for trees in map(int, sys.argv[4].split()):
            model, compute = make(trees, depth)
            npy = process(model, "rows.npy")
            got = np.load("out")
            csv = process(model, "rows.csv")
            own, expected = seconds(compute, rows[:library])
            same = np.array_equal(got[:library], expected)
            print(f"{name:12} {trees:4} trees of depth {depth:2}, {count} rows: NPY {npy:6.2f} s, CSV {csv:6.2f} s "
                  f"({os.path.getsize('rows.csv') / csv / 1e6:.0f} MB/s), library {own:6.2f} s "
                  f"({own / npy:.1f} and {own / csv:.1f} times), "
                  f"predictions {'are the same' if same else 'DIFFER'}; library from CSV: {from_csv(name, compute)}",
                  flush=True)
END
