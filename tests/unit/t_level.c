/* level: which way to compute is used; one that computes differently steps aside. */
#include "kernels/level.h"

#include <stdio.h>
#include <string.h>

#include "kernels/common/search.h"
#include "kernels/cpu.h"
#include "kernels/kernel.h"
#include "kernels/numbers.h"
#include "kernels/ref/types.h"

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
	unsigned count = 0;

	test_ok(level_begin("sse9", note, &e) < 0 && e.code == ERR_USAGE &&
	        strstr(e.fact, "sse9"), "a name that is not a level is refused");
	test_ok(strstr(e.hint, "this CPU has ref") != NULL, "and those that are named: %s", e.hint);
	e = (struct err)ERR_INIT;
	test_ok(level_begin("ref", note, &e) == 0 && level_now() == &level_ref &&
	        search == &search_ref && numbers == &ref_numbers, "ref is plain C");
	while (level_row(count))
		count++;
	test_ok(level_row(0) == &level_ref && count > 0, "plain C is everywhere");
}

/* Each level of this CPU gives the bytes of plain C. */
static void
levels_are_used(void)
{
	const struct level *l;
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 1; (l = level_row(i)) != NULL; i++) {
		*said = 0;
		test_ok(level_begin(l->name, note, &e) == 0 && level_now() == l &&
		        search == l->search && search != &search_ref && !*said,
		        "%s gives the same bytes and is used", l->name);
	}
	test_ok(level_begin(NULL, note, &e) == 0 && level_now() == level_row(i - 1),
	        "without a name the last is: %s", level_now()->name);
}

static bool wrong;

static void
other_encode(const float *x, uint8_t *y, size_t n)
{
	ref_q8_0.encode(x, y, n);
	y[3] ^= wrong;
}

static double
other_deviations(const double *v, size_t n, double from)
{
	return ref_numbers.deviations(v, n, from) + 1;
}

static void
other_checksum(const uint8_t *x, size_t n, uint64_t first[8], uint64_t second[8])
{
	ref_numbers.checksum(x, n, first, second);
	second[7]++;
}

/* A level of our own, which differs from the best of this CPU in what is given. */
static void
steps_aside(void)
{
	static const struct kernel q8_0 = { .dtype = "Q8_0", .encode = other_encode };
	static const struct kernel *const kernels[] = { &q8_0, NULL };
	struct numbers sums = ref_numbers;
	struct level l;

	level_begin(NULL, note, NULL);
	l = *level_now();
	l.name = "other";
	l.kernels = kernels;
	*said = 0;
	level_use(&l, note);
	test_ok(level_now() == &l && !*said, "a level that gives the same bytes is used");
	wrong = true;
	level_use(&l, note);
	test_ok(search == &search_ref && level_now() == &level_ref,
	        "one that gives others is not");
	test_ok(!strcmp(said, "other computes Q8_0 differently here: plain C is used"),
	        "and this is said: %s", said);
	l.kernels = NULL;
	sums.deviations = other_deviations;
	l.numbers = &sums;
	level_use(&l, note);
	test_ok(level_now() == &level_ref && strstr(said, "computes sums differently"),
	        "nor one whose sums are others: %s", said);
	sums = ref_numbers;
	sums.checksum = other_checksum;
	*said = 0;
	level_use(&l, note);
	test_ok(level_now() == &level_ref && strstr(said, "computes sums differently"),
	        "nor one whose checksums are others: %s", said);
}

int
main(void)
{
	test_ok(cpu_has(0) && !cpu_has(1u << 31), "no feature is always there, an unknown never");
	names();
	levels_are_used();
	steps_aside();
	return test_done();
}
