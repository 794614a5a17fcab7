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
 * Importance is sum / count. The older format counts parts of the text, not tokens: its sums
 * are means of a token times the number of parts. Source: llama.cpp's imatrix tool.
 *
 * All of it is held in memory: 4 bytes for each column of each matrix.
 */
#ifndef QUANT_IMATRIX_H
#define QUANT_IMATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/out.h"
#include "core/reader.h"
#include "model/flow.h"

struct imatrix_entry {
	char *name;        /* of the tensor */
	float *values;     /* sums, or means after imatrix_means; finite, not negative */
	size_t n;          /* columns × matrices */
	float *counts;     /* of matrices, or one for all */
	size_t count_n;
	bool used;
};

/* All zero is an empty matrix. */
struct imatrix {
	struct imatrix_entry *entries; /* sorted by name after reading */
	size_t n, cap;
	char **datasets;   /* names of the texts, */
	size_t dataset_count, dataset_cap;
	uint64_t chunks;   /* parts of the text; 0: unknown */
	uint64_t chunk_tokens; /* tokens of a part; 0: unknown */
	bool by_chunk;     /* counts are numbers of parts */
};

/* True if a file begins like the older format, from its first four bytes as a number. */
bool imatrix_is_dat(const uint8_t *head, size_t n);

/* Read either format: its sums and counts. ERR_CORRUPT for a damaged file, ERR_FORMAT for a model
 * that is not an importance matrix. Call imatrix_free in every case. */
int imatrix_read_dat(struct imatrix *m, struct reader *r, struct err *e);
int imatrix_read_model(struct imatrix *m, struct source *s, struct err *e);

/* Turn sums into means. A matrix that was never used weighs all columns alike. 0, or -1 with e
 * filled (ERR_CORRUPT: a mean is not finite). */
int imatrix_means(struct imatrix *m, struct err *e);

/* Append an entry of zero sums and counts; NULL with e filled (ERR_MEMORY). */
struct imatrix_entry *imatrix_add(struct imatrix *m, const char *name, size_t columns,
                                  size_t matrices, struct err *e);
/* Append the name of a text. */
int imatrix_add_dataset(struct imatrix *m, const char *name, size_t n, struct err *e);

/* Add the sums and counts of `from`, which read from name. A part of the older format stands for
 * chunk_tokens tokens. 0, or -1 with e filled: ERR_INVALID if an entry has another size. */
int imatrix_merge(struct imatrix *m, const struct imatrix *from, uint64_t chunk_tokens,
                  const char *name, struct err *e);

/* Both formats, in the order of names, as llama.cpp writes them. chunk_tokens: tokens of a part.
 * dat: counts become numbers of parts, rounded up, and a matrix that was never used weighs all
 * columns alike. 0 or -1. */
int imatrix_write_dat(const struct imatrix *m, uint64_t chunk_tokens, struct out *o,
                      struct err *e);
int imatrix_write_model(const struct imatrix *m, uint64_t chunk_tokens, struct sink *sink,
                        struct err *e);

/* Drop entries: those whose name contains text (exclude), or all others (include; with
 * several texts any may match). Returns the number dropped. */
size_t imatrix_exclude(struct imatrix *m, const char *text);
size_t imatrix_include(struct imatrix *m, const char *const *texts, size_t n);

/* Sort again after names have changed, so that entries are found. */
void imatrix_sort(struct imatrix *m);

/* The entry of a tensor, or NULL. */
struct imatrix_entry *imatrix_find(const struct imatrix *m, const char *name);

void imatrix_free(struct imatrix *m);

#endif
