/* private: what infer.c and sequence.c share. */
#ifndef INFER_PRIVATE_H
#define INFER_PRIVATE_H

#include "infer/decoder.h"
#include "infer/infer.h"
#include "infer/net.h"
#include "infer/ops.h"

struct infer {
	const struct weights *weights;
	const struct ops *ops;
	struct device *device;
	struct net net;
	struct pass pass;
	enum cache_type cache;
	size_t context, batch;
	unsigned threads;
	struct round8 *round8;  /* infer/round8.h; NULL: weights are multiplied as they are */
	float *logits;          /* one row */
};

#endif
