/* imatrix: an importance matrix: how much each column of a weight matrix matters,
 * measured as the mean square of what it is multiplied with.
 *
 * Two file formats carry one. The newer is a GGUF model (general.type is
 * "imatrix") with a tensor NAME.in_sum2, sums of squares, columns × matrices,
 * and a tensor NAME.counts, how many went into each matrix. The older ("dat"):
 *
 *     1. i32 number of entries
 *     2. each: i32 length of name, name, i32 calls, i32 n, f32[n] sums
 *     3. perhaps: i32 chunks, i32 length, name of the data set
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

/* All zero is an empty one. */
struct imatrix {
	struct imatrix_entry *entries; /* by name once read */
	size_t n, cap;
	char *dataset;     /* or NULL */
	uint64_t chunks;   /* 0: not known */
};

/* Does a file begin like the older format? Its first four bytes are a number. */
bool imatrix_is_dat(const uint8_t *head, size_t n);

/* Read one or the other. ERR_CORRUPT for what is damaged, ERR_FORMAT for a model
 * that is no importance matrix. imatrix_free in every case. */
int imatrix_read_dat(struct imatrix *m, struct reader *r, struct err *e);
int imatrix_read_model(struct imatrix *m, struct source *s, struct err *e);

/* Drop entries: those whose name holds text (exclude), or all others (include:
 * of several texts any will do). Returns how many went. */
size_t imatrix_exclude(struct imatrix *m, const char *text);
size_t imatrix_include(struct imatrix *m, const char *const *texts, size_t n);

/* After names have changed: entries are found again. */
void imatrix_sort(struct imatrix *m);

/* The entry of a tensor, or NULL. */
struct imatrix_entry *imatrix_find(struct imatrix *m, const char *name);

void imatrix_free(struct imatrix *m);

#endif
