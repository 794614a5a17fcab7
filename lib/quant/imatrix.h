/* imatrix: an importance matrix: how much each column of a weight matrix matters,
 * measured as the mean square of the activations it is multiplied with.
 *
 * Two file formats carry one. The newer is a GGUF model (general.type is
 * "imatrix") with a tensor NAME.in_sum2, sums of squares, columns × matrices,
 * and a tensor NAME.counts, how many went into each matrix. The older ("dat"):
 *
 *     1. i32 number of entries
 *     2. each: i32 length of name, name, i32 calls, i32 n, f32[n] sums
 *     3. optional: i32 chunks, i32 length, name of the data set
 *
 * Importance is sum / count. Source: llama.cpp's imatrix tool.
 *
 * All of it is held in memory: 4 bytes for each column of each matrix.
 */
#ifndef QUANT_IMATRIX_H
#define QUANT_IMATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/reader.h"
#include "model/flow.h"

struct imatrix_entry {
	char *name;        /* of the tensor */
	float *values;     /* finite, not negative */
	size_t n;          /* columns × matrices */
	float *counts;     /* while reading */
	size_t count_n;
	bool used;
};

/* All zero is an empty matrix. */
struct imatrix {
	struct imatrix_entry *entries; /* sorted by name after reading */
	size_t n, cap;
	char *dataset;     /* or NULL */
	uint64_t chunks;   /* 0: unknown */
};

/* True if a file begins like the older format, from its first four bytes as a number. */
bool imatrix_is_dat(const uint8_t *head, size_t n);

/* Read either format. ERR_CORRUPT for a damaged file, ERR_FORMAT for a model
 * that is not an importance matrix. Call imatrix_free in every case. */
int imatrix_read_dat(struct imatrix *m, struct reader *r, struct err *e);
int imatrix_read_model(struct imatrix *m, struct source *s, struct err *e);

/* Drop entries: those whose name contains text (exclude), or all others (include; with
 * several texts any may match). Returns the number dropped. */
size_t imatrix_exclude(struct imatrix *m, const char *text);
size_t imatrix_include(struct imatrix *m, const char *const *texts, size_t n);

/* Sort again after names have changed, so that entries are found. */
void imatrix_sort(struct imatrix *m);

/* The entry of a tensor, or NULL. */
struct imatrix_entry *imatrix_find(struct imatrix *m, const char *name);

void imatrix_free(struct imatrix *m);

#endif
