/* level: which way to compute is used; one that computes differently steps aside.
 * The level under test is put in the place of AVX2's.
 */
#define search_avx2 search_other
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

#ifdef __x86_64__
static bool wrong;

static void
other_line(const struct lanes *l, const struct line_range *r, struct line_fit *f)
{
	search_ref.line(l, r, f);
	if (wrong && r->most == 31)
		f->scale[5] *= 1.01f;
}

/* The rest is plain C, by a way around. */
static void
other_load(struct lanes *l, const float *x, int depth, int count)
{
	search_ref.load(l, x, depth, count);
}

static void
other_root(struct lanes *l)
{
	search_ref.weigh_root(l);
}

static void
other_scale(const struct lanes *l, int most, struct scale_fit *f)
{
	search_ref.scale(l, most, f);
}

static void
other_scale_codes(const struct lanes *l, const struct scale_fit *f, const float *d, int most,
                  uint8_t *code)
{
	search_ref.scale_codes(l, f, d, most, code);
}

static void
other_line_codes(const struct lanes *l, const struct line_fit *f, const float *d,
                 const float *offset, int most, uint8_t *code)
{
	search_ref.line_codes(l, f, d, offset, most, code);
}

static void
other_level_sums(const struct lanes *l, const float *inverse, float *xq, float *qq)
{
	search_ref.level_sums(l, inverse, xq, qq);
}

const struct search search_other = {
	other_load, other_root, other_scale, other_line, other_scale_codes,
	other_line_codes, other_level_sums
};

static void
steps_aside(void)
{
	struct err e = ERR_INIT;

	if (!level_row(1)) {
		test_skip("a level that computes differently", "this CPU has no other");
		return;
	}
	test_ok(level_begin("avx2", note, &e) == 0 && search == &search_other && !*said,
	        "one that gives the same bytes is used");
	wrong = true;
	test_ok(level_begin(NULL, note, &e) == 0 && search == &search_ref &&
	        level_now() == level_row(0), "one that gives others is not");
	test_ok(strstr(said, "avx2 computes Q5_") != NULL, "and this is said: %s", said);
}
#endif

int
main(void)
{
	names();
#ifdef __x86_64__
	steps_aside();
#endif
	return test_done();
}
