/* tflite: files of TensorFlow Lite (LiteRT), version 3 of the schema.
 *
 *     Model              version, operator codes, subgraphs, description, buffers, metadata
 *      SubGraph          tensors, inputs, outputs, operators, name
 *       Tensor           shape, type, number of a buffer, name, quantization
 *      Buffer            bytes, or their offset and size from the beginning of the file, for what
 *                        lies behind the 2 GB that FlatBuffers can address
 *
 * Tensors are those with bytes in a buffer: weights and other constants. Names are those of the
 * file; those of a subgraph after the first have its name and a slash in front, and a name that
 * a subgraph uses again gets "#" and the number of the tensor. Operators are left out.
 *
 * What a tensor's bytes mean beyond its type is in the key tflite.tensors:
 * {"NAME":{"scale":S,"zero_point":Z,"axis":A,"layout":"OHWI","type":"INT4"},…}. Scale and zero
 * point are lists if the tensor is quantized along an axis. The layout is that of the operator
 * whose weights they are: O outputs, I inputs, H height, W width, D depth. Types of less than a
 * byte become I8 or U8.
 *
 * A sparse tensor has levels: one for each dimension, in any order, then one for each dimension of
 * blocks. A dense level has all indices; a sparse one lists them, with a segment of the list for each
 * node of the level above. The values are those of the nodes of the last level. They are made dense
 * with --dense.
 *
 *     SparsityParameters  traversal order, block map, a DimensionMetadata for each level
 *     DimensionMetadata   form (0 dense, 1 sparse), size of a dense level, segments, indices: each a
 *                         table with a vector of numbers of 4, 2 or 1 bytes
 *
 * Source: the documents of LiteRT, and schema.fbs of TensorFlow 2.19 for the numbers of fields,
 * types and operators.
 */
#ifndef IMPORTS_TFLITE_TFLITE_H
#define IMPORTS_TFLITE_TFLITE_H

#include "imports/dense.h"
#include "imports/import.h"
#include "wire/flatbuffers.h"

#define TFLITE_TENSORS_KEY "tflite.tensors"

/* A row of TensorType. */
struct tflite_type {
	const char *name;  /* "FLOAT32" */
	const char *type;  /* of the plan's tensor: "F32"; NULL: a tensor of this type is refused */
	uint8_t bits;      /* of a value; 0: not known */
	bool sign;         /* of values below a byte */
};
const struct tflite_type *tflite_type_of(uint64_t number); /* NULL: not known */

/* A tensor with bytes. */
struct tflite_tensor {
	struct flat_table table;
	const char *name;
	size_t name_bytes;
	const char *within;   /* name of a later subgraph, else NULL */
	size_t within_bytes;
	size_t graph, number; /* in its subgraph */
	const char *layout;   /* NULL: not known */
	const uint8_t *p;
	uint64_t bytes;
	bool again;           /* its subgraph uses the name before */
};

struct tflite {
	struct import import;
	struct flat flat;
	struct flat_table model;
	struct flat_vector buffers, codes;
	struct tflite_tensor *tensors;
	size_t count, cap;
	uint64_t operators, texts; /* that are left out */
	struct buf relations;      /* the value of TFLITE_TENSORS_KEY */
	struct tflite_sparse *sparse, *sparse_now; /* all sparse tensors; the one that is being read */
	uint64_t dense_bytes;      /* of them */
	uint64_t unread;           /* of them, left out of a report */
};

/* Add the keys of the file; and what the quantization of a tensor with this name means. 0 or
 * -1. */
int tflite_add_keys(struct tflite *x);
int tflite_relate(struct tflite *x, const struct tflite_tensor *t, const struct buf *name,
                  const struct tflite_type *type);

/* The shape of a tensor. */
struct tflite_shape {
	uint64_t dims[TENSOR_DIMS], values;
	unsigned ndim;
};

/* Read the levels of a sparse tensor whose values have this many bits. place has the stored values
 * before, and the dense ones after. tflite_begin begins to make them, tflite_make_dense goes
 * on. */
int tflite_sparse(struct tflite *x, const struct tflite_tensor *t, const char *name,
                  const struct tflite_shape *shape, unsigned bits, struct import_place *place);
int tflite_begin(struct import *im, struct import_place *place);
void tflite_make_dense(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to);
void tflite_sparse_free(struct tflite *x);

/* The bytes of a buffer: *n is 0 if it has none. 0, or -1 if the buffer does not exist. */
int tflite_buffer(struct tflite *x, uint64_t number, const uint8_t **p, uint64_t *n);

/* The first fault that was found in the structure: -1 with the error filled, or 0. */
int tflite_check(struct tflite *x);

/* Numbers of fields. */
enum { TFLITE_VERSION, TFLITE_CODES, TFLITE_GRAPHS, TFLITE_DESCRIPTION, TFLITE_BUFFERS,
	TFLITE_METADATA = 6 };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS, GRAPH_NAME };
enum { TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_LABEL, TENSOR_QUANTIZATION,
	TENSOR_SPARSITY = 6 };
enum { QUANT_SCALE = 2, QUANT_ZERO_POINT, QUANT_DETAILS, QUANT_AXIS = 6 };

#endif
