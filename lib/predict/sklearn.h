/* sklearn: estimators of scikit-learn inside a pickle; nothing in it is called (wire/pickle.h).
 *
 * Arrays are those of NumPy: _reconstruct(ndarray, (0,), b'b') with the state
 * (1, SHAPE, DTYPE, FORTRAN, BYTES), or in protocol 5 _frombuffer(BYTES, DTYPE, SHAPE, 'C').
 * The nodes of a tree are structures of 56 bytes, or 64 since 1.3: i64 left child, i64 right
 * child, i64 feature, f64 threshold, f64, i64, f64, and in the longer form u8 whether a missing
 * value goes left.
 */
#ifndef PREDICT_SKLEARN_H
#define PREDICT_SKLEARN_H

#include "predict/predict.h"
#include "wire/pickle.h"

enum { SKLEARN_CLASS = PICKLE_MEANING, SKLEARN_MAKE, SKLEARN_ARRAY, SKLEARN_TYPE, SKLEARN_SCALAR,
	SKLEARN_ENCODE, SKLEARN_BUFFER };

struct sklearn {
	struct pickle k;
	struct predictor *m;
	const char *where;
	struct err *e;
	double version; /* 1.02 for 1.2; 0: unknown */
};

/* An array: numbers as doubles in row-major order, or objects. */
struct sklearn_array {
	unsigned ndim;
	size_t dims[4], n;
	char code[8];        /* "f8", "i8", "O", "U5", "V56", … */
	struct buf raw;      /* bytes of the values; empty for objects */
	double *v;           /* NULL for objects, texts and structures */
	pickle_ref list;     /* of objects */
};

/* The last part of the name of an object's class, "" if it is not an object of scikit-learn. */
void sklearn_class(const struct sklearn *s, pickle_ref r, char name[64]);

/* An attribute of an object, or PICKLE_NOTHING. */
pickle_ref sklearn_field(const struct sklearn *s, pickle_ref object, const char *name);

/* A number, also one of NumPy. 0, or -1 without an error. */
int sklearn_number(const struct sklearn *s, pickle_ref r, double *v);

/* Reads an array. 0, or -1 with an error; sklearn_array_free in any case. */
int sklearn_array(struct sklearn *s, pickle_ref r, struct sklearn_array *a);
void sklearn_array_free(struct sklearn_array *a);

/* An error about an attribute. -1. */
int sklearn_wrong(const struct sklearn *s, const char *what);

/* ---- kinds of estimators: 0, or -1 with an error ---- */

int sklearn_tree(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_forest(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_boosting(struct sklearn *s, pickle_ref r, bool classes);

#endif
