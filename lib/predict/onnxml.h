/* onnxml: what the files that read classical models in ONNX share (onnxml.c). */
#ifndef PREDICT_ONNXML_H
#define PREDICT_ONNXML_H

#include "predict/predict.h"
#include "wire/protobuf.h"

#define ONNXML_ATTRIBUTES 64

struct onnxml_part {
	const uint8_t *p;
	size_t n;
};

struct onnxml {
	struct predictor *m;
	const char *where;
	struct err *e;
	size_t width;      /* values of a row so far; 0: not known */
	bool seen, done;   /* the first input; the last model */
	struct onnxml_part names[ONNXML_ATTRIBUTES], attributes[ONNXML_ATTRIBUTES]; /* of a node */
	size_t count;
	struct onnxml_part input, output; /* the first of each, of a node */
	struct onnxml_part last;          /* output of the node before; .p is NULL in front of the first */
	void *more;        /* of who reads a list of texts */
};

/* Attributes of the node that is read. Numbers are doubles; an attribute that is missing has none. */
bool onnxml_has(struct onnxml *x, const char *name);
bool onnxml_is(struct onnxml *x, const char *name, const char *text);
double onnxml_float(struct onnxml *x, const char *name, double missing);
int onnxml_numbers(struct onnxml *x, const char *name, bool floats, struct buf *to);
int onnxml_texts(struct onnxml *x, const char *name,
                 int (*take)(struct onnxml *x, struct onnxml_part text));

/* Sets labels; task and link. 0 or -1. */
int onnxml_labels(struct onnxml *x);
int onnxml_link(struct onnxml *x, bool classes);

int onnxml_wrong(struct onnxml *x, const char *what); /* -1 */

int onnxml_tree_values(struct onnxml *x);
int onnxml_tree_classes(struct onnxml *x);

/* A LinearRegressor that was the model becomes step s, since other nodes follow. */
void onnxml_go_on(struct onnxml *x, struct step *s);
int onnxml_relu(struct onnxml *x);
int onnxml_tanh(struct onnxml *x);
int onnxml_sigmoid(struct onnxml *x);
int onnxml_softmax(struct onnxml *x);

int onnxml_svm_values(struct onnxml *x);
int onnxml_svm_classes(struct onnxml *x);

#endif
