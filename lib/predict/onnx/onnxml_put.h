/* onnxml_put: what the files that write models in ONNX share. */
#ifndef PREDICT_ONNXML_PUT_H
#define PREDICT_ONNXML_PUT_H

#include "core/buf.h"
#include "predict/writers.h"

/* Numbers of fields, by message. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1,
	OPSET_VERSION = 2, GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_VALUE = 13,
	NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7,
	ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_FLOATS = 7, ATTRIBUTE_INTS = 8,
	ATTRIBUTE_STRINGS = 9, ATTRIBUTE_TYPE = 20, VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1,
	TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIMENSION = 1, DIMENSION_VALUE = 1, DIMENSION_NAME = 2 };
enum { OF_FLOAT = 1, OF_INT = 2, OF_STRING = 3, OF_FLOATS = 6, OF_INTS = 7, OF_STRINGS = 8 }; /* of attributes */
enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ELEMENT_STRING = 8 };

/* Fields of protocol buffers. A message or a list is freed once it is written. */
void onnx_put_number(struct buf *b, unsigned field, uint64_t v);
void onnx_put_bytes(struct buf *b, unsigned field, const void *p, size_t n);
void onnx_put_text(struct buf *b, unsigned field, const char *text);
void onnx_put_message(struct buf *b, unsigned field, struct buf *inner);

/* Attributes of a node; values have been added to a list, with the tags of their field. */
void onnx_put_attribute(struct buf *node, const char *name, unsigned type, struct buf *values);
void onnx_put_word(struct buf *node, const char *name, const char *text);
void onnx_add_int(struct buf *list, uint64_t v);
void onnx_add_float(struct buf *list, float v);

/* A value of the graph: rows of some columns, 0 for none. */
void onnx_put_value(struct buf *graph, unsigned field, const char *name, unsigned element, size_t columns);

/* Coefficients and intercepts: w is out x in, or turned: in x out. targets: their number, too. */
void onnx_put_products(struct buf *node, const double *w, const double *bias, size_t out, size_t in,
                       bool turned, bool targets);
void onnx_put_layer(struct buf *node, const struct step *s, bool targets);

/* Support vectors; platt may be NULL. */
void onnx_put_support(struct buf *node, const struct step *s, const double *platt, bool classes);

/* Nodes that follow one another. */
struct onnx_chain {
	const struct writer *w;
	struct buf *graph;
	char in[32]; /* the value that the next node takes */
	size_t count;
	bool model;  /* a model follows the steps */
};

/* The steps in front of the last operator, which computes what a linear layer or support vectors at the
 * end do; all of them if there is no such step. */
size_t onnx_steps(const struct predictor *m);

/* Writes n steps. 0, or -1 with e filled: ERR_INVALID for what no operator does. */
int onnx_put_steps(struct onnx_chain *c, size_t n);

#endif
