/* onnxml: what the files that read classical models in ONNX share (onnxml.c). */
#ifndef PREDICT_ONNXML_H
#define PREDICT_ONNXML_H

#include "predict/predict.h"
#include "wire/protobuf.h"

#define ONNXML_ATTRIBUTES 64
#define ONNXML_ENDS 8 /* inputs and outputs of a node that are kept */

/* Fields of the messages. */
enum { MODEL_GRAPH = 7, MODEL_OPSET, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT };
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_OP = 4, NODE_ATTRIBUTE, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F, ATTRIBUTE_I, ATTRIBUTE_S, ATTRIBUTE_T, ATTRIBUTE_FLOATS = 7, ATTRIBUTE_INTS,
	ATTRIBUTE_STRINGS };
enum { INPUT_NAME = 1, INPUT_TYPE, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE, SHAPE_DIMENSION = 1,
	DIMENSION_VALUE = 1 };

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
	struct onnxml_part input, output; /* the first of each that has a name, of a node */
	struct onnxml_part inputs[ONNXML_ENDS], outputs[ONNXML_ENDS], domain;
	size_t input_count, output_count; /* all of them; more than ONNXML_ENDS are not kept */
	struct onnxml_part last;          /* output of the node before; .p is NULL in front of the first */
	void *more;        /* of who reads a list of texts */
};

/* Texts, and the last field of a number and form 2 in a message: false if there is none. */
bool onnxml_equal(struct onnxml_part a, struct onnxml_part b);
bool onnxml_same(struct onnxml_part a, const char *text);
bool onnxml_inside(struct onnxml *x, struct onnxml_part of, uint32_t number, struct onnxml_part *to);

/* Reads inputs, outputs and attributes of a node, and what it computes. 0 or -1. */
int onnxml_node(struct onnxml *x, struct onnxml_part node, struct onnxml_part *op);
bool onnxml_find(struct onnxml *x, const char *name, struct onnxml_part *to);

/* Attributes of the node that is read. Numbers are doubles; an attribute that is missing has none, and so has `to`
 * after an error. */
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

/* Reads trees, or a linear model or support vectors, from the attributes of a node. 0 or -1. */
int onnxml_model(struct onnxml *x, const char *op);

/* What a row of n singles is divided by, and then by (enum step_norm). */
void onnxml_divisors(const double *v, size_t n, unsigned norm, double by[2]);

int onnxml_tree_values(struct onnxml *x);
int onnxml_tree_classes(struct onnxml *x);
int onnxml_tree_ensemble(struct onnxml *x);

/* A LinearRegressor that was the model becomes step s, since other nodes follow. */
void onnxml_go_on(struct onnxml *x, struct step *s);
int onnxml_relu(struct onnxml *x);
int onnxml_tanh(struct onnxml *x);
int onnxml_sigmoid(struct onnxml *x);
int onnxml_softmax(struct onnxml *x);

int onnxml_svm_values(struct onnxml *x);
int onnxml_svm_classes(struct onnxml *x);

/* Forgets what was read, so that another way can be tried. */
void onnxml_again(struct predictor *m);

#endif
