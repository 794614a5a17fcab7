/* cuts: which exit of a tree each of many rows takes, by comparing all rows with all thresholds.
 *
 * Rows come as ranks (predict/ranks.h): for each column CUTS_ROWS small integers. A tree, or the top
 * of a large one, is a list of cuts, children before parents. A cut compares a column with a rank
 * and takes, for each row, the result of its left or right side: a number of an exit, or what
 * another cut has put in a slot. Neither branches nor addresses depend on a row, so each
 * step handles as many rows as a vector has lanes. The work grows with the nodes of the tree, not
 * with its depth.
 *
 * Plain C (cuts.c) defines the results; they are integers, so all levels give the same ones.
 */
#ifndef PREDICT_CUTS_H
#define PREDICT_CUTS_H

#include <stddef.h>
#include <stdint.h>

#define CUTS_ROWS 128
#define CUTS_EXITS 128       /* of a tree, at most */
#define CUTS_SLOTS (CUTS_EXITS / 2)
#define CUTS_EXIT 0x8000u    /* a side is an exit, not a slot */
#define CUTS_ALIGN 64

struct cut {
	uint16_t column;
	int16_t rank;            /* right if the rank of the row is greater */
	uint16_t left, right;    /* number of a slot, or of an exit with CUTS_EXIT */
	uint16_t to;             /* slot */
};

/* Cuts from `from` to `both` have two exits as sides, numbers n and n + 1; those up to `to` have any. The
 * last one is the root. */
struct cuts {
	const struct cut *from, *both, *to;
};

/* Memory of one thread. */
struct cuts_room {
	_Alignas(CUTS_ALIGN) int16_t slots[CUTS_SLOTS * CUTS_ROWS];
	_Alignas(CUTS_ALIGN) int16_t exits[CUTS_EXITS * CUTS_ALIGN / 2]; /* each number in all lanes */
};

/* Sorted thresholds in single precision for searches without branches. */
#define CUTS_LEVELS 6
#define CUTS_PIVOTS (1 << CUTS_LEVELS)
struct cuts_list {
	const float *pivots; /* CUTS_PIVOTS: the last of each part of 2^(levels - CUTS_LEVELS) thresholds */
	const float *values; /* 2^levels, filled up with infinities */
	unsigned levels;     /* CUTS_LEVELS at least */
};

/* Three levels of a tree as a heap, for one row: node i has the children 2i and 2i + 1; node 0 is not used. */
#define CUTS_TRIPLE 8
#define CUTS_TREES 8      /* together */
#define CUTS_COLUMNS 256  /* of their rows, at most */
struct cuts_triple {
	uint16_t column[CUTS_TRIPLE];
	int16_t rank[CUTS_TRIPLE]; /* right if the rank of the row is greater; that of node 0 is INT16_MAX */
};

/* CUTS_TREES trees of six levels: what is below a side of the first three levels of each. */
struct cuts_trees {
	struct cuts_triple top[CUTS_TREES], below[CUTS_TREES][CUTS_TRIPLE];
};

/* Lists beside each other: where each begins in one array, and half its length. */
#define CUTS_LISTS 256
struct cuts_lists {
	const float *values;
	const uint32_t *from, *half;
};

struct cuts_level {
	const char *name; /* as in APR_CPU */
	/* The ranks of n values, a multiple of 16, each in its own list. NULL: none. */
	void (*search_lists)(const struct cuts_lists *l, const float *x, size_t n, uint32_t *rank);
	/* The ranks of CUTS_ROWS values, the number of thresholds below each; 0 for NaN. NULL: none. */
	void (*search)(const struct cuts_list *l, const float *x, uint32_t *rank);
	/* The places below the six levels, from CUTS_TRIPLE * CUTS_TRIPLE on, that a row of CUTS_COLUMNS
	 * ranks reaches in each tree. NULL: none. */
	void (*trees)(const struct cuts_trees *t, const int16_t *ranks, uint32_t *at);
	/* The exits of CUTS_ROWS rows, in c. ranks: column after column, aligned. */
	const int8_t *(*bytes)(const struct cuts *c, const int8_t *ranks, struct cuts_room *r);
	const int16_t *(*words)(const struct cuts *c, const int16_t *ranks, struct cuts_room *r);
};

/* Prepares the exits of a room, for ranks of one byte or two. */
void cuts_room_begin(struct cuts_room *r, size_t bytes);

/* The levels that this CPU has, from plain C up; NULL past the last. */
const struct cuts_level *cuts_level(unsigned index);
/* The best of them, or plain C if the environment has APR_CPU=ref. */
const struct cuts_level *cuts_best(void);

extern const struct cuts_level cuts_plain, cuts_avx2, cuts_avx512;

#endif
