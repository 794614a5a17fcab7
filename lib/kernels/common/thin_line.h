/* thin_line: the lines of kernels/thin.h. Internal to kernels. */
#ifndef KERNELS_THIN_LINE_H
#define KERNELS_THIN_LINE_H

#include "core/le.h"
#include "kernels/thin.h"

enum { THIN_LINE = 64, THIN_SUMS = 32, THIN_HEAD = 8, THIN_PAIRED = 32, THIN_VALUE = 2 };

static inline size_t
thin_lines(size_t columns)
{
	return (columns + THIN_LINE - 1) / THIN_LINE;
}

/* A row that is read line by line. */
struct thin_line {
	size_t count;
	uint8_t place[THIN_LINE];    /* of each value of this line: its column */
	const uint8_t *head, *values; /* of the next line */
};

static inline void
thin_line_begin(struct thin_line *l, const uint8_t *row, size_t columns)
{
	l->head = row;
	l->values = row + thin_lines(columns) * THIN_HEAD;
}

/* Go to the next line. Returns its values. */
static inline const uint8_t *
thin_line_next(struct thin_line *l, enum thin_kind kind)
{
	const uint8_t *values = l->values;
	const uint64_t bits = le64(l->head);
	uint8_t i;

	l->count = 0;
	for (i = 0; kind == THIN_PAIRS && i < THIN_PAIRED; i++)
		l->place[l->count++] = (uint8_t)(i / 2 * 4 + (bits >> 2 * i & 3));
	for (i = 0; kind == THIN_BITMAP && i < THIN_LINE; i++)
		if (bits >> i & 1)
			l->place[l->count++] = i;
	l->head += THIN_HEAD;
	l->values += l->count * THIN_VALUE;
	return values;
}

#endif
