/* coreml_program: programs of Core ML (mlProgram), the weights of a package:
 *
 *     Program    2 functions: name, Function
 *     Function   2 opset, 3 blocks: opset, Block (the one of the function's opset is read)
 *     Block      3 operations
 *     Operation  1 type, 2 inputs: name, Argument; 3 outputs: 1 name; 4 Blocks;
 *                5 attributes: name, Value
 *     Argument   1 Binding: 1 name of a value, or 2 Value
 *     Value      2 type, and 3 immediate or 5 blob: 1 file, 2 offset of a record
 *     TensorType 1 type, 2 rank, 3 dimensions: 1 constant: 1 size
 *     immediate  1 tensor: 1 floats, 2 ints, 3 bools, 4 texts, 5 longs, 6 doubles, 7 bytes:
 *                each a message whose field 1 has the values
 *
 * A weight file ("@model_path/weights/weight.bin"; little-endian):
 *
 *     0   u32   number of records
 *     4   u32   version, 2
 *     64  ...   records and values
 *
 * A record of 64 bytes: u32 0xdeadbeef, u32 type, u64 bytes, u64 offset of the values in the
 * file, u64 unused bits of the last byte, for types below 8 bits (old writers leave random bytes in
 * it and behind it).
 *
 * An operation "const" gives its output the value of the attribute "val". Weights are those in
 * files, and immediate floats with a dimension at least: shapes, axes and scalars are arguments of
 * operations. An operation "constexpr_..." makes a value of others; its operands are inputs (iOS
 * 18) or attributes (iOS 16), and are not tensors of their own:
 *
 *     affine_dequantize      scale × (quantized_data - zero_point), along an axis
 *     blockwise_shift_scale  scale × (data - offset), in blocks
 *     lut_to_dense           lut[indices], a table for all or for each block; a table may have
 *                            vectors, which lie along vector_axis
 *     sparse_to_dense        nonzero_data where mask has a bit, else 0
 *     cast                   source_val as F32
 *     lut_to_sparse, sparse_blockwise_shift_scale
 *                            as lut_to_dense and blockwise_shift_scale, of the values where a mask
 *                            has a bit; two outputs, the mask and these values, from which
 *                            sparse_to_dense makes a tensor
 *
 * Values of less than 8 bits are packed, the first one in the lowest bits.
 *
 * A tensor has the name of its value, with FUNCTION. in front if a program has several functions.
 *
 * Sources: MIL.proto of coremltools, StorageFormat.hpp and BlobDataType.hpp of its MILBlob, and
 * the definitions of its constexpr operations.
 */
#ifndef IMPORTS_COREML_COREML_PROGRAM_H
#define IMPORTS_COREML_COREML_PROGRAM_H

#include "imports/coreml/coreml.h"

#define COREML_DIMS (TENSOR_DIMS + 2) /* tables have two dimensions more than what they give */

struct coreml_type {
	uint32_t number;  /* in a TensorType */
	uint32_t blob;    /* in a record; 0: none */
	unsigned bits;
	enum { COREML_FLOAT, COREML_SIGNED, COREML_UNSIGNED } kind;
	const char *dtype; /* NULL: none of ours */
};

/* A type by its number, or NULL; the unsigned one of this many bits, or NULL. */
const struct coreml_type *coreml_type(uint32_t number);
const struct coreml_type *coreml_type_of_bits(unsigned bits);

/* A tensor of a program: values that are stored, or made from others. */
struct coreml_value {
	struct coreml_value *next;      /* of those that the source owns */
	const struct coreml_type *type;
	unsigned ndim;
	uint64_t dims[COREML_DIMS];
	uint64_t items;
	float (*at)(const struct coreml_value *v, uint64_t i);

	const uint8_t *p;               /* stored: the values */
	const struct map *map;          /* of the weight file; NULL: in the message */
	uint8_t *owned;                 /* p, if the values were expanded */
	bool in_file;
	unsigned depth;                 /* 0: stored; else 1 more than that of its operands */

	/* Made: */
	const struct coreml_value *data, *scale, *offset; /* or indices and lut, or mask and values */
	uint64_t scales[COREML_DIMS], offsets[COREML_DIMS]; /* their dimensions */
	unsigned axis;                  /* of vectors */
	uint64_t palettes, vector;      /* values of a table, and numbers of a value */
	uint64_t *counts;               /* set bits of the mask before each COREML_STEP bits; owned */

	/* Sparse: */
	const struct coreml_value *dense; /* an output of an operation with two: what sparse_to_dense
	                                 * makes of both; it has no values of its own */
	bool (*hole)(const struct coreml_value *v, uint64_t i); /* of what is dense: true if value i
	                                 * is 0 because the mask has no bit for it; or NULL */
	const uint8_t *mask;            /* of these two: the bits of the mask */
};

#define COREML_STEP 512u

/* A stored value, as a float or as a whole number. */
float coreml_stored(const struct coreml_value *v, uint64_t i);
int64_t coreml_integer(const struct coreml_value *v, uint64_t i);

/* Read a Value; name: of the tensor, for messages. 1; 0: it is not a tensor of numbers; or -1.
 * The fields of v are overwritten, except that v->owned must be freed in each case. */
int coreml_value_read(struct coreml *s, const char *name, const struct protobuf_field *from,
                      struct coreml_value *v);

/* A new empty value that the source owns, or NULL. */
struct coreml_value *coreml_value_new(struct coreml *s);

/* Find the values of a BlobFileValue. 1 or -1. */
int coreml_blob(struct coreml *s, const char *name, const struct protobuf_field *from,
                struct coreml_value *v);

/* Prove that this many bytes hold the values. 0 or -1. */
int coreml_prove_size(struct coreml *s, const char *name, const struct coreml_value *v,
                      uint64_t bytes);

/* ---- values that are made (coreml_constexpr.c) ---- */

/* Finds an operand by its name: *v is NULL if the operation does not have it. 0 or -1. */
struct coreml_operands {
	int (*find)(const struct coreml_operands *from, const char *name,
	            const struct coreml_value **v);
};

#define COREML_MADE 4 /* maximum depth */

/* Report that a value exceeds it. -1. */
int coreml_too_deep(const struct coreml *s, const char *name);

/* The number of values that an operation of this type makes; 0: it is not known here. */
unsigned coreml_constexpr_outputs(const char *type);

/* Make the value of such an operation from its operands; name: of the tensor. 0 or -1. */
int coreml_constexpr(struct coreml *s, const char *type, const char *name,
                     const struct coreml_operands *operands, struct coreml_value *v);

/* Add the tensor of a value of the source. 0 or -1. */
int coreml_value_add(struct coreml *s, const char *name, const struct coreml_value *v);

#endif
