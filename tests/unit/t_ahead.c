/* ahead: each distance is tried as often, with each matrix of a block, and the best is
 * kept; chance is no reason to ask ahead. */
#include "infer/cpu/ahead.h"

#include <stdint.h>
#include <string.h>

#include "test.h"

enum { DISTANCES = 4, MATRICES = 4 };
static const size_t distance[DISTANCES] = { 0, 256, 512, 1024 };

static size_t
number_of(size_t bytes)
{
	size_t i;

	for (i = 0; i < DISTANCES && distance[i] != bytes; i++)
		;
	return i;
}

/* What is chosen where they take so long. One product in five is disturbed, and each
 * matrix has its own speed. Each distance is to meet each matrix as often, or nearly. */
static size_t
chosen(const double took[DISTANCES])
{
	static const double speed[MATRICES] = { 1, 1.3, 0.9, 1.1 };
	size_t met[DISTANCES][MATRICES] = { { 0 } }, i, k, at, least = SIZE_MAX, most = 0;
	struct ahead a;

	memset(&a, 0, sizeof a);
	for (i = 0; !ahead_done(&a); i++) {
		at = number_of(ahead_bytes(&a));
		if (at == DISTANCES)
			break;
		met[at][i % MATRICES]++;
		ahead_took(&a, took[at] * speed[i % MATRICES] * (i % 5 == 2 ? 7 : 1));
	}
	for (i = 0; i < DISTANCES; i++)
		for (k = 0; k < MATRICES; k++) {
			least = met[i][k] < least ? met[i][k] : least;
			most = met[i][k] > most ? met[i][k] : most;
		}
	test_ok(least > 0 && most <= least + 2, "each distance meets each matrix");
	test_ok(ahead_done(&a), "an end is found");
	return ahead_bytes(&a);
}

int
main(void)
{
	struct ahead a;

	memset(&a, 0, sizeof a);
	test_ok(!ahead_done(&a), "nothing is known at first");
	test_ok(chosen((double[]){ 10, 9, 8, 11 }) == 512, "the fastest is taken");
	test_ok(chosen((double[]){ 10, 9, 8, 6 }) == 1024, "the last may be the fastest");
	test_ok(chosen((double[]){ 10, 12, 13, 20 }) == 0, "none, where asking makes it slower");
	test_ok(chosen((double[]){ 10, 9.9, 9.8, 10 }) == 0, "none, where little is gained");
	test_ok(chosen((double[]){ 10, 9, 9, 9 }) == 256, "of equals, the nearest");
	return test_done();
}
