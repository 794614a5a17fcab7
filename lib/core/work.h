/* work: a budget for processing one text by rules from a file: steps of work, and bytes by
 * which the text may grow. All stages take from the same budget; when it is used up, the
 * text is refused.
 *
 * A step is one character compared by a repeated part of a pattern, one alternative that a
 * pattern tries and abandons, or one lookup in a table: about ten nanoseconds at most.
 */
#ifndef CORE_WORK_H
#define CORE_WORK_H

#include <stddef.h>
#include <stdint.h>

/* The budget for n bytes: a minimum plus a number per byte. Patterns of published models
 * take fewer than 8 steps per byte on their worst text; no published normalizer makes a
 * text 16 times as long. */
#define WORK_STEPS_PER_BYTE 256
#define WORK_STEPS_LEAST 16384
#define WORK_GROWTH_PER_BYTE 32
#define WORK_GROWTH_LEAST 65536
#define WORK_GROWTH_MOST ((uint64_t)1 << 30)

struct work {
	uint64_t steps;   /* left */
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

/* Takes n steps. Returns 0; or -1 if fewer are left, and then none remain. */
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

/* Records that a text of `before` bytes became one of `after` bytes: 0, or -1 if it may not
 * grow that much. */
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
