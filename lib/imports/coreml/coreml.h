/* coreml: model files of Core ML (.mlmodel), protocol buffers:
 *
 *     Model           1 version, 2 description (100 metadata), and one of the types in coreml.c
 *     Pipeline        1 Model, …
 *     NeuralNetwork   1 layers, …: 1 name, and one message of a layer's own number
 *     WeightParams    1 f32 packed, 2 f16, 30 raw bits, 31 i8; 40: 1 bits, 101 linear (1 scales,
 *                     2 biases, f32 packed), 102 lookup table (1 f32 packed)
 *     GLM             1 (1 f64 packed), …: a row each; 2 f64 packed: offsets
 *
 * Raw bits are values of 1 to 8 bits, the first one in the highest bits. With scales a value is
 * scale × bits + bias, one scale for all or for each row; with a table the bits are an index.
 *
 * A tensor is called LAYER.PART, as dense_1.weights; in pipelines with models.N. in front.
 * Shapes are those that the layer states, rows first, as Core ML documents them.
 *
 * Source: Model.proto and NeuralNetwork.proto of coremltools; its quantization_utils for the order
 * of bits.
 */
#ifndef IMPORTS_COREML_COREML_H
#define IMPORTS_COREML_COREML_H

#include "imports/import.h"
#include "wire/protobuf.h"

/* The way from bits to values; a chain that the source owns. */
struct coreml_code {
	struct coreml_code *next;
	const uint8_t *scales, *biases, *table; /* f32; NULL: none */
	uint64_t group;  /* values of a scale */
	unsigned bits;
	bool is_signed;
};

/* ---- packages (coreml_package.c) ----
 *
 *     NAME.mlpackage/Manifest.json      rootModelIdentifier, itemInfoEntries: ID: path below Data
 *     NAME.mlpackage/Data/com.apple.CoreML/model.mlmodel
 *     NAME.mlpackage/Data/com.apple.CoreML/weights/weight.bin
 *
 * Paths are made of plain names; links are not followed.
 */
struct coreml_package {
	int folder;          /* of the package, or of a model alone; -1: not open */
	char *path;          /* of the folder, for messages */
	char *inside;        /* the model's folder in the package, with a slash; NULL: none */
	char *label;         /* of the model, for messages */
	struct reader model;
};

struct coreml_value;

/* A weight file of a program. */
struct coreml_file {
	char *path;          /* in the folder */
	const uint8_t *p;
	uint64_t n;
	const struct map *map;
};

#define COREML_FILES 16 /* maximum number of weight files */

struct coreml {
	struct import import;
	struct coreml_code *codes;
	uint64_t decoded;   /* tensors */
	uint64_t left_out;  /* layers that may have weights */

	/* Of programs: */
	uint64_t arguments;          /* constants that are not weights */
	struct coreml_value *values;
	struct coreml_file files[COREML_FILES];
	size_t file_count;
	struct coreml_package package;
};

/* Add the tensors of a program (coreml_program.h). 0 or -1. */
int coreml_program(struct coreml *s, const struct protobuf_field *program);

/* Release what programs own. */
void coreml_values_free(struct coreml *s);
void coreml_blobs_free(struct coreml *s);

/* Open the model of the package at path. 1; 0: path is not a package; or -1. The caller frees p
 * in each case. */
int coreml_package_open(struct coreml_package *p, const char *path, struct err *e);
void coreml_package_free(struct coreml_package *p);

/* Add the tensors of a layer. name: of the layer, with a prefix. 0 or -1. */
int coreml_layer(struct coreml *s, const struct buf *name, uint32_t number,
                 const struct protobuf_field *layer);

/* Add a tensor from a WeightParams. The shape must have as many values. */
int coreml_weights(struct coreml *s, const char *name, const struct protobuf_field *weights,
                   unsigned ndim, const uint64_t *dims);

#endif
