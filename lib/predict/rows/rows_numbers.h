/* rows_numbers: the numbers of a line of a table, several at a time.
 *
 * A field is read here if it is a number, with or without a space in front, or if it is empty. Other
 * fields stop the reading, and the caller reads them by rows_field. Plain C, decimal_read, defines the
 * values; since they are the nearest doubles, all levels give the same ones.
 */
#ifndef PREDICT_ROWS_NUMBERS_H
#define PREDICT_ROWS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#define ROWS_NUMBERS_SLACK 96 /* bytes behind a line that a level other than plain C may read */

struct rows_numbers {
	const char *name; /* as in APR_CPU */
	/* Reads at most n fields from *p, which is before end or at it, and moves *p behind the character
	 * that ends the last of them; NULL if that is the end of the line. An empty field is NaN; with spaces
	 * between the fields there is none. json: fields begin with a digit or a minus, and are not empty.
	 * Returns the number of fields. */
	size_t (*read)(const char **p, const char *end, char between, bool json, double *to, size_t n);
	/* The same for integers of at most 8 digits; all else stops the reading. */
	size_t (*integers)(const char **p, const char *end, char between, double *to, size_t n);
};

/* The levels that this CPU has, from plain C up; NULL past the last. */
const struct rows_numbers *rows_numbers_level(unsigned index);
/* The best of them, at most the one that the environment names in APR_CPU. */
const struct rows_numbers *rows_numbers_best(void);
/* The best for files of models, most of whose numbers have 17 digits or an exponent: AVX-512 reads those one by
 * one, and later than AVX2. */
const struct rows_numbers *rows_numbers_long(void);

/* integers of the levels with vectors. */
size_t rows_integers_avx2(const char **p, const char *end, char between, double *to, size_t n);

extern const struct rows_numbers rows_numbers_plain, rows_numbers_avx2, rows_numbers_avx512;

#endif
