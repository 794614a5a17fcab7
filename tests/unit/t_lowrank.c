/* lowrank: pairs of factors that contradict, types of factors, and names of a result. */
#include "lowrank/lowrank.h"
#include "model_made.h"
#include "test.h"

static struct made m;
static struct lowrank l;
static uint8_t out[1 << 16];

static void
begin(void)
{
	made_open(&m);
	l = (struct lowrank){ .in = &m.input };
}

static void
end(void)
{
	lowrank_free(&l);
	made_close(&m);
}

/* Multiply the factors of the model. Returns the number of bytes of the result in out, or -1. */
static long
join(struct err *e)
{
	struct source *s;
	long n = -1;

	*e = (struct err)ERR_INIT;
	if (made_read(&m) < 0) {
		*e = m.e;
		return -1;
	}
	if (lowrank_join(&l, e) < 0)
		return -1;
	s = lowrank_source(&l, 2, e);
	if (s)
		n = made_drain(s, out, sizeof out, e);
	source_close(s);
	return n;
}

static void
refused(enum err_code code, const char *fact, const char *name)
{
	struct err e;
	long n = join(&e);

	if (!test_ok(n < 0 && e.code == code && strstr(e.fact, fact), "%s", name))
		printf("# %d %s\n", (int)e.code, e.fact);
	end();
}

static float
value(size_t i)
{
	return le_f32(out + 4 * i);
}

/* A product of 1 × 2 and 2 × 2. */
static void
test_types(void)
{
	struct err e;
	uint8_t *p;
	long n;

	begin();
	p = made_tensor(&m, "a.svd_u", "F64", 1, 2);
	le_f64_put(p, 2);
	le_f64_put(p + 8, 3);
	made_floats(&m, "a.svd_v", 2, 2, 1);
	n = join(&e);
	test_ok(n == 8 && strcmp(tensor_type(l.out.tensors[0])->name, "F32") == 0 &&
	        value(0) == 11 && value(1) == 16, "a factor of F64 has a product of F32");
	end();

	begin();
	p = made_tensor(&m, "a.svd_u", "F16", 1, 2);
	le16_put(p, 0x5bff);
	made_floats(&m, "a.svd_v", 2, 2, 1000);
	refused(ERR_INVALID, "are not numbers that F16 can hold", "a product that F16 cannot hold");
}

static void
test_pairs(void)
{
	begin();
	made_floats(&m, "a.svd_u", 3, 2, 1);
	made_floats(&m, "a.svd_v", 3, 4, 1);
	refused(ERR_CORRUPT, "they cannot be multiplied", "factors of two ranks");

	begin();
	made_floats(&m, "a.svd_u", 3, 2, 1);
	made_floats(&m, "a.svd_v", 0, 2, 1);
	refused(ERR_CORRUPT, "they cannot be multiplied", "a factor with one dimension");

	begin();
	made_floats(&m, "a.svd_u", 3, 2, 1);
	made_tensor(&m, "a.svd_v", "I32", 2, 4);
	refused(ERR_CORRUPT, "they cannot be multiplied", "a factor of integers");

	begin();
	made_floats(&m, "a.svd_u", 3, 2, 1);
	made_floats(&m, "b.svd_v", 2, 3, 1);
	refused(ERR_CORRUPT, "its other factor, svd_v, is missing", "factors of two matrices");

	begin();
	made_floats(&m, "a.svd_u", 2, 1, 1);
	made_floats(&m, "a.svd_v", 1, 2, 1);
	made_floats(&m, "a", 2, 2, 1);
	refused(ERR_CORRUPT, "", "a product with the name of another tensor");

	begin();
	made_text(&m, LOWRANK_KEY, "{\"tensors\":2}");
	made_floats(&m, "a.svd_u", 2, 1, 1);
	made_floats(&m, "a.svd_v", 1, 2, 1);
	refused(ERR_CORRUPT, "which are not those of its key", "fewer factors than the key says");
}

/* ---- factors are found ---- */

static void
met(void *ctx, const struct lowrank_met *x)
{
	(void)ctx, (void)x;
}

static int
split(double energy, uint64_t rank, struct imatrix *x, const char *pattern, struct err *e)
{
	struct pattern target = { 0 };
	const struct lowrank_how how = { .rank = rank, .energy = energy, .imatrix = x,
		.imatrix_name = "x", .targets = &target, .target_count = 1, .jobs = 1, .met = met };
	int r;

	*e = (struct err)ERR_INIT;
	if (pattern_open(&target, pattern, e) < 0 || made_read(&m) < 0)
		exit(1);
	r = lowrank_split(&l, &how, e);
	pattern_close(&target);
	return r;
}

static void
test_split(void)
{
	struct imatrix x = { 0 };
	struct imatrix_entry *entry;
	struct err e = ERR_INIT;

	begin();
	made_floats(&m, "a.weight", 4, 8, 1);
	made_floats(&m, "a.weight.svd_u", 0, 8, 1);
	test_ok(split(0, 1, NULL, "a.weight$", &e) < 0 && e.code == ERR_CORRUPT,
	        "a factor with the name of another tensor");
	end();

	/* A matrix of full rank stays, and the importance matrix lacks it. */
	if (!(entry = imatrix_add(&x, "a.weight", 8, 1, &e)))
		exit(1);
	entry->values[0] = 1;
	begin();
	made_floats(&m, "a.weight", 8, 8, 1);
	le32_put(made_tensor(&m, "b.weight", "F32", 2, 2), 0x3f800000);
	le32_put(m.memory.data[1] + 12, 0x3f800000);
	test_ok(split(0.99, 0, &x, "weight", &e) == 0 && l.factored == 1 && l.whole == 1,
	        "an importance matrix that knows one of two matrices");
	if (e.code != ERR_NONE)
		printf("# %s\n", e.fact);
	end();
	begin();
	made_floats(&m, "c.weight", 8, 8, 1);
	test_ok(split(0, 1, &x, "weight", &e) < 0 && strstr(e.fact, "it is of another model"),
	        "an importance matrix that knows none");
	end();
	imatrix_free(&x);
}

int
main(void)
{
	test_types();
	test_pairs();
	test_split();
	return test_done();
}
