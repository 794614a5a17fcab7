/* onnxnet: networks of ONNX whose operators follow one another, as steps (net.h).
 *
 * The tensor that flows from operator to operator has its dimension of rows somewhere, mostly in front;
 * the steps compute one row. Where ONNX has channels in front of height and width, steps have them
 * behind: values are moved once before the first window and back before an operator that needs
 * the order of the file. Sums are in double precision.
 *
 * Source: onnx.proto, and the operators of the domain ai.onnx in the documentation of ONNX, versions 1
 * to 22 of the set.
 */
#ifndef PREDICT_ONNXNET_H
#define PREDICT_ONNXNET_H

#include "predict/nets/keras.h"
#include "predict/onnx/onnxml.h"

#define ONNXNET_NODES 4096
#define ONNXNET_CONSTANTS 8192
#define ONNXNET_SHAPE (KERAS_SHAPE + 1)

struct onnxnet_constant {
	struct onnxml_part name, tensor; /* tensor: the message */
	uint64_t type;
	size_t ndim, dims[ONNXNET_SHAPE];
	uint64_t items;
};

struct onnxnet {
	struct onnxml x;       /* the node that is read */
	struct keras_net k;    /* the row so far as steps have it, and messages */
	struct weights w;      /* its name alone */
	struct buf constants;  /* struct onnxnet_constant */
	struct buf uses;       /* struct onnxml_part: inputs of all nodes */
	struct onnxml_part now, end; /* the tensor so far; the output of the graph */
	size_t inputs, outputs, nodes;
	size_t batch;          /* the dimension of rows in the tensor */
	bool other;            /* not a sequence of layers */
	bool rows;             /* the dimension of rows of the input was read */
	bool turned;           /* steps have the first dimension of the row, its channels, as the last one */
	uint64_t version;      /* of the set of operators */
	uint64_t left;         /* values of constants that may still be copied */
	char name[80], kind[60];
};

/* ---- for operators ---- */

/* Input i of the node, if it is a constant; else NULL, also if it is left out. */
const struct onnxnet_constant *onnxnet_constant(const struct onnxnet *x, size_t i);
bool onnxnet_given(const struct onnxnet *x, size_t i);

/* The values of a constant, which the caller frees. NULL with an error: not this number of values. */
double *onnxnet_values(struct onnxnet *x, const struct onnxnet_constant *c, uint64_t items);

/* Whether a node or the graph uses the tensor. */
bool onnxnet_used(const struct onnxnet *x, struct onnxml_part name);

/* An attribute of n integers from low to 2^24. Without it, `to` is unchanged. 0 or -1. */
int onnxnet_sizes(struct onnxnet *x, const char *name, size_t n, size_t low, size_t *to);

/* All dimensions of the tensor, in the order of the file, with 1 for the rows; their number. */
size_t onnxnet_shape(const struct onnxnet *x, size_t dims[ONNXNET_SHAPE]);

/* Moves the values: channels behind, or the order of the file. 0 or -1. */
int onnxnet_channels_last(struct onnxnet *x);
int onnxnet_as_stored(struct onnxnet *x);

/* Operators. 0 or -1. */
struct onnxnet_operator {
	const char *name;
	int (*read)(struct onnxnet *x);
};
extern const struct onnxnet_operator onnxnet_operators[]; /* the last one has no name */

/* onnxnet_shapes.c */
int onnxnet_reshape(struct onnxnet *x);
int onnxnet_flatten(struct onnxnet *x);
int onnxnet_squeeze(struct onnxnet *x);
int onnxnet_unsqueeze(struct onnxnet *x);
int onnxnet_transpose(struct onnxnet *x);

/* onnxnet_recurrent.c */
int onnxnet_recurrent(struct onnxnet *x);

#endif
