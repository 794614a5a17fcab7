/* dice: choices of a mutator. */
#ifndef DICE_H
#define DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
	uint64_t state;
	bool odd; /* what is being written may hold odd items */
};

static unsigned
roll(struct dice *d, unsigned n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(d->state >> 33) % n;
}

#define ONE_OF(d, list) ((list)[roll(d, sizeof(list) / sizeof *(list))])

#endif
