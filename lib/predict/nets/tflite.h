/* tflite: networks of TensorFlow Lite whose operators follow one another, as steps (net.h).
 *
 * Rows have real values, also for networks of integers: the tensors of these hold multiples of a scale
 * between two limits, and each value becomes the nearest one where the file says so. Sums are in double
 * precision. Kernels of integers round products once more on the way, so one of their values may
 * be the next one. Probabilities of the last operator are not rounded.
 *
 * Source: schema.fbs of TensorFlow 2.19; the documents of LiteRT on quantization.
 */
#ifndef PREDICT_TFLITE_H
#define PREDICT_TFLITE_H

#include "predict/nets/keras.h"
#include "predict/predict.h"
#include "wire/flatbuffers.h"

/* ---- for operators (tflite_layers.c) ---- */

#define NONE UINT32_MAX /* an input that is left out */

struct tflite_net {
	struct keras_net k;    /* the row so far, and messages: the layer is the tensor that an operator makes */
	struct weights w;      /* its name alone */
	struct flat f;
	struct flat_vector tensors, buffers, codes;
	struct flat_vector inputs; /* of the operator */
	struct flat_table options;
	uint32_t now, to;      /* tensors: of the row so far, and what the operator makes */
	char name[80], kind[40];
};

/* All dimensions of a tensor. 0 or -1. */
int tflite_shape(struct tflite_net *x, uint32_t number, size_t *ndim, size_t dims[KERAS_SHAPE + 1]);

/* A constant of this number of values, multiplied by its scales. NULL with an error. */
double *tflite_constant(struct tflite_net *x, uint32_t number, uint64_t items);

/* Input i of the operator. */
uint32_t tflite_input(const struct tflite_net *x, uint64_t i);

/* All that are read; the last one has no name. read appends steps. 0 or -1. */
struct tflite_operator {
	uint32_t code;
	const char *name;
	int (*read)(struct tflite_net *x);
	bool smooth; /* its values are not rounded: they are probabilities */
};
extern const struct tflite_operator tflite_operators[];

#endif
