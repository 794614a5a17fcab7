/* work: what one text may cost, whatever a file says is to be done with it: steps of
 * work, and bytes by which the text may grow. All parts of the work on a text take from
 * one such budget; when it is used up, the text is refused.
 *
 * A step is a look at one character by a part of a pattern that repeats, one way that a
 * pattern tries and gives up, or a search in a table: some ten nanoseconds at most.
 */
#ifndef CORE_WORK_H
#define CORE_WORK_H

#include <stddef.h>
#include <stdint.h>

/* For a text of n bytes: n times as many, and some in any case. Each pattern that a
 * model is published with takes fewer than 8 steps a byte of the worst text; no published
 * normalizer makes a text 16 times as long. */
#define WORK_STEPS_PER_BYTE 256
#define WORK_STEPS_LEAST 16384
#define WORK_GROWTH_PER_BYTE 32
#define WORK_GROWTH_LEAST 65536
#define WORK_GROWTH_MOST ((uint64_t)1 << 30)

struct work {
	uint64_t steps;   /* that are left */
	uint64_t growth;  /* bytes by which the text may still grow */
};

static inline struct work
work_of(size_t n)
{
	uint64_t growth = WORK_GROWTH_MOST;

	if (n < WORK_GROWTH_MOST / WORK_GROWTH_PER_BYTE - WORK_GROWTH_LEAST)
		growth = (uint64_t)n * WORK_GROWTH_PER_BYTE + WORK_GROWTH_LEAST;
	return (struct work){ (uint64_t)n * WORK_STEPS_PER_BYTE + WORK_STEPS_LEAST, growth };
}

/* Take n steps: 0, or -1 where fewer are left; none are then. */
static inline int
work_take(struct work *w, uint64_t n)
{
	if (n > w->steps) {
		w->steps = 0;
		return -1;
	}
	w->steps -= n;
	return 0;
}

/* A text of before bytes has become one of after bytes: 0, or -1 where that is more
 * than it may grow. */
static inline int
work_grow(struct work *w, size_t before, size_t after)
{
	size_t more = after > before ? after - before : 0;

	if (more > w->growth)
		return -1;
	w->growth -= more;
	return 0;
}

#endif
