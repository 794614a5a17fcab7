/* packed_kind: the tensors that make a packed weight, by the ends of their names, and what is
 * proved and computed. Internal to packed*.c.
 */
#ifndef ADAPT_PACKED_KIND_H
#define ADAPT_PACKED_KIND_H

#include "adapt/packed/packed.h"

/* What quantization_config says. */
struct packed_config {
	unsigned bits;
	uint64_t group;      /* columns that share a scale; 0: all */
	uint64_t block[2];   /* rows and columns that share a scale; 0: not by blocks */
	uint64_t zero;       /* what is added to zero points, or stands for them */
	bool needs_zero;     /* each weight has zero points */
	bool integers;       /* weights are I8, else F8 */
};

/* Work in progress on one weight. */
struct packed_shape {
	const struct packed_config *config;
	uint64_t dims[3];
	unsigned ndim;
	struct err *e;
};

struct packed_kind {
	const char *anchor;  /* the end of the name that shows such a weight */
	enum packed_part anchor_part;
	struct packed_end {
		const char *text; /* instead of the anchor's end; NULL: no more parts */
		enum packed_part part;
		bool optional;
	} others[5];
	const char *result;  /* instead of the anchor's end: the name of the weight */
	const char *type;    /* of the weight */
	enum packed_place place;
	uint64_t pick, of;   /* row r is row r * of + pick of the source */

	/* Prove types and shapes of all parts. Fills dims and the numbers of p. 0 or -1. */
	int (*prove)(struct packed *p, struct packed_shape *s);
	/* packed_rows for rows that exist, with p->scratch bytes for each. */
	int (*rows)(const struct packed *p, const struct packed_reader *in, uint64_t first,
	            size_t rows, float *dst, struct err *e);
};

/* Weights with scales beside them; packed integers of compressed-tensors, GPTQ, AWQ; ternary
 * weights of BitNet; MXFP4 of gpt-oss. The last row has no anchor. */
extern const struct packed_kind packed_scaled[], packed_words[], packed_gptq[], packed_awq[],
	packed_ternary[], packed_mxfp4[];

/* The proofs (packed_prove.c). */
int packed_prove_scaled(struct packed *p, struct packed_shape *s);
int packed_prove_words(struct packed *p, struct packed_shape *s);
int packed_prove_gptq(struct packed *p, struct packed_shape *s);
int packed_prove_awq(struct packed *p, struct packed_shape *s);
int packed_prove_ternary(struct packed *p, struct packed_shape *s);
int packed_prove_mxfp4(struct packed *p, struct packed_shape *s);

/* The methods of quantization_config (packed_config.c). Returns the kinds of weights that the
 * folder may have, or NULL with e empty if it is not quantized, or with e filled. */
const struct packed_kind *packed_method(const struct subject *s, struct packed_config *c,
                                        struct err *e);

#endif
