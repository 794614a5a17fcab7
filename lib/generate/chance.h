/* chance: pseudorandom numbers that are the same everywhere for the same seed: xoshiro256++,
 * whose state splitmix64 fills from the seed.
 *
 * Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021;
 * Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
 */
#ifndef GENERATE_CHANCE_H
#define GENERATE_CHANCE_H

#include <stdint.h>

struct chance {
	uint64_t s[4];
};

static inline uint64_t
chance_split(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline void
chance_begin(struct chance *c, uint64_t seed)
{
	int i;

	for (i = 0; i < 4; i++)
		c->s[i] = chance_split(&seed);
}

static inline uint64_t
chance_turned(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static inline uint64_t
chance_next(struct chance *c)
{
	uint64_t *s = c->s, value = chance_turned(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = chance_turned(s[3], 45);
	return value;
}

/* In [0, 1), in steps of 2^-53. */
static inline double
chance_unit(struct chance *c)
{
	return (double)(chance_next(c) >> 11) * 0x1p-53;
}

#endif
