#!/usr/bin/env python3
"""Writes models of ../predict in the form of skops (Debian has no skops): a tree of nodes as JSON, and
arrays beside it. Not needed for make check.

    NAME.skops    the same model as ../predict/NAME.pkl
"""
import io
import json
import pickle
import sys
import types
import zipfile

import numpy as np
import scipy.sparse

NAMES = """gauss multinomial bernoulli near_euclidean near_values svm_rbf svm2_linear svm_values net_relu
net_values forest extra tree_values boosted boosted_values histogram histogram_three ridge liblinear
centers scalers pca imputed words_pairs tfidf text_bayes""".split()


def node(loader, of, **members):
    module = getattr(of, "__module__", None) or "builtins"
    return {"__class__": of.__name__, "__module__": module, "__loader__": loader, **members}


def state(x, files):
    """The node of an object."""
    t = type(x)
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype == object:
        return node("NdArrayNode", np.ndarray, type="json", content=state(x.tolist(), files)["content"],
                    shape=state(x.shape, files))
    if isinstance(x, (np.ndarray, np.generic)):
        b = io.BytesIO()
        np.save(b, x, allow_pickle=False)
        name = "%d.npy" % (140000000000000 + len(files))
        files[name] = b.getvalue()
        return node("NdArrayNode", t, type="numpy", file=name)
    if scipy.sparse.issparse(x):
        b = io.BytesIO()
        scipy.sparse.save_npz(b, x)
        name = "%d.npz" % (140000000000000 + len(files))
        files[name] = b.getvalue()
        return node("SparseMatrixNode", t, type="scipy", file=name)
    if isinstance(x, np.random.RandomState):
        return node("RandomStateNode", t, content=state(x.get_state(legacy=False), files))
    if isinstance(x, type):
        return node("TypeNode", x)
    if isinstance(x, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)):
        return {"__class__": x.__name__, "__module__": getattr(x, "__module__", None) or "numpy",
                "__loader__": "FunctionNode"}
    if isinstance(x, dict):
        return node("DictNode", t, content={str(k): state(v, files) for k, v in x.items()},
                    key_types=node("ListNode", list, content=[node("TypeNode", type(k)) for k in x]))
    if isinstance(x, (list, tuple, set, frozenset)):
        loader = "ListNode" if t is list else "TupleNode" if isinstance(x, tuple) else "SetNode"
        return node(loader, t, content=[state(v, files) for v in x])
    if x is None or isinstance(x, (bool, int, float, str)):
        return node("JsonNode", str, content=json.dumps(x), is_json=True)
    if isinstance(x, np.dtype):
        return {"__class__": "dtype", "__module__": "numpy", "__loader__": "DTypeNode",
                "content": state(np.ndarray(0, dtype=x), files)}
    if t.__name__ == "Tree":
        parts = x.__reduce__()
        return node("TreeNode", t, content=state(parts[2], files),
                    __reduce__={"args": state(parts[1], files)})
    if t.__module__.startswith("sklearn._loss._loss") or t.__module__.endswith("_sgd_fast"):
        return node("LossNode", t, content=state({}, files),
                    __reduce__={"args": state(x.__reduce__()[1], files)})
    if hasattr(x, "__getstate__"):
        return node("ObjectNode", t, content=state(x.__getstate__(), files))
    return node("ObjectNode", t)


for name in sys.argv[1:] or NAMES:
    with open("../predict/%s.pkl" % name, "rb") as f:
        model = pickle.load(f)
    files = {}
    root = state(model, files)
    root.update(protocol=2, _skops_version="0.13.0")
    with zipfile.ZipFile(name + ".skops", "w", zipfile.ZIP_DEFLATED) as z:
        for key, value in files.items():
            z.writestr(zipfile.ZipInfo(key), value, zipfile.ZIP_DEFLATED)
        z.writestr(zipfile.ZipInfo("schema.json"), json.dumps(root, indent=2), zipfile.ZIP_DEFLATED)
