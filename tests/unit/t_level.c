/* level: which way to compute is used; one that computes differently steps aside.
 * The kernel under test is put in the place of each level's for Q8_0.
 */
#define avx2_q8_0 other_q8_0
#define avx512_q8_0 other_q8_0
#define neon_q8_0 other_q8_0
#include "../../lib/kernels/level.c"

#include "test.h"

static char said[200];

static void
note(const char *text)
{
	snprintf(said, sizeof said, "%s", text);
}

static void
names(void)
{
	struct err e = ERR_INIT;

	test_ok(level_begin("sse9", note, &e) < 0 && e.code == ERR_USAGE &&
	        strstr(e.fact, "sse9"), "a name that is no level is refused");
	test_ok(strstr(e.hint, "this CPU has ref") != NULL, "and those that are named: %s", e.hint);
	e = (struct err)ERR_INIT;
	test_ok(level_begin("ref", note, &e) == 0 && level_now() == &ways[0].level &&
	        search == &search_ref, "ref is plain C");
	test_ok(!strcmp(level_row(0)->name, "ref") && !level_row(WAYS),
	        "plain C is everywhere");
}

static bool wrong;

static void
other_encode(const float *x, uint8_t *y, size_t n)
{
	ref_q8_0.encode(x, y, n);
	y[3] ^= wrong;
}

const struct kernel other_q8_0 = { .dtype = "Q8_0", .encode = other_encode };

static void
steps_aside(void)
{
	const struct level *best = level_row(0);
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 1; level_row(i); i++) {
		best = level_row(i);
		test_ok(level_begin(best->name, note, &e) == 0 && level_now() == best &&
		        search != &search_ref && !*said, "%s gives the same bytes and is used",
		        best->name);
	}
	if (best == level_row(0)) {
		test_skip("a level that computes differently", "this CPU has no other");
		return;
	}
	wrong = true;
	test_ok(level_begin(NULL, note, &e) == 0 && search == &search_ref &&
	        level_now() == level_row(0), "one that gives others is not");
	test_ok(strstr(said, " computes Q8_0 differently") && strstr(said, best->name) == said,
	        "and this is said: %s", said);
}

int
main(void)
{
	names();
	steps_aside();
	return test_done();
}
