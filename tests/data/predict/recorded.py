"""Writes what make.py, more.py and columns.py record: NAME.pkl, NAME.out, and the lines of models.txt."""
import pickle

import numpy as np
from sklearn.ensemble import BaggingClassifier

lines = []


def show(values):
    """Each row as its line of NAME.out has it: a sparse one as column:value."""
    if hasattr(values, "tocsr"):
        rows = values.tocsr()
        rows.sort_indices()
        return [" ".join("%d:%.12g" % pair for pair in zip(rows.indices[a:b], rows.data[a:b]))
                for a, b in zip(rows.indptr, rows.indptr[1:])]
    values = np.asarray(values)
    if values.dtype.kind in "OU" and values.ndim == 1:
        return [str(v) for v in values]
    return [",".join("%.12g" % v for v in np.atleast_1d(row)) for row in values.astype(float)]


def record(name, model, rows, source, dense=True):
    """Keeps a fitted model and what it makes of source, the rows of the file named rows."""
    with open(name + ".pkl", "wb") as f:
        pickle.dump(model, f, protocol=4)
    parts = [[""] * len(source)] * 3
    if hasattr(model, "predict"):
        parts[0] = show(model.predict(source))
    else:
        made = model.transform(source)
        parts[0] = show(made.toarray() if dense and hasattr(made, "toarray") else made)
    if hasattr(model, "decision_function") and not isinstance(model, BaggingClassifier):  # --raw prints the votes
        parts[1] = show(model.decision_function(source))
    if hasattr(model, "predict_proba"):
        try:
            parts[2] = show(model.predict_proba(source))
        except AttributeError:
            pass
    with open(name + ".out", "w") as f:
        for row in zip(*parts):
            f.write("|".join(row) + "\n")
    lines.append(name + " " + rows)


def write_list(keep):
    """Writes models.txt: its lines now, if they are kept, then those of the models recorded."""
    old = []
    if keep:
        with open("models.txt") as f:
            old = [line for line in f.read().splitlines() if line not in lines]
    with open("models.txt", "w") as f:
        f.write("\n".join(old + lines) + "\n")
