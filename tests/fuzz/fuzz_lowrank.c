/* fuzz_lowrank: factors of matrices (lowrank/lowrank.h). Any input is a model of a few small tensors:
 *
 *     u8 what the key of the factors says: 0 nothing, else JSON with that number of matrices
 *     then for each tensor, at most 6: u8 name, u8 type, u8 sizes of two dimensions, 4 bits each,
 *     of which 0 is a dimension that is not there; and its values as long as there are bytes
 *
 *     1. Factors are multiplied, or refused: they are damaged, or there are none.
 *     2. The result has no factors, no name twice, and as many bytes as its plan says.
 *     3. A matrix has the rows of its left factor and the columns of its right one.
 *     4. The same bytes come for one thread and for three.
 *     5. Matrices of the result become factors again, or are refused; those are multiplied.
 */
#include "fuzz.h"

#include "../unit/model_made.h"
#include "lowrank/lowrank.h"

#define TENSORS 6
#define MOST 8192 /* bytes of a result */

static const uint8_t *in;
static size_t left;

static uint8_t
next(void)
{
	if (left == 0)
		return 0;
	left--;
	return *in++;
}

static void
add(struct made *m)
{
	static const char *const stems[] = { "a", "b.weight", "blk.0.x", "" },
		*const ends[] = { LOWRANK_LEFT, LOWRANK_RIGHT, "", LOWRANK_RIGHT LOWRANK_LEFT },
		*const types[] = { "F32", "F16", "BF16", "F64", "Q8_0", "I32" };
	uint8_t name = next(), type = next(), sizes = next();
	uint64_t dims[] = { sizes >> 4, sizes & 15 };
	unsigned ndim = dims[0] && dims[1] ? 2 : 1;
	struct err e = ERR_INIT;
	struct tensor *t;
	char text[64];
	uint8_t *p;
	size_t i;

	if (ndim == 1)
		dims[0] |= dims[1];
	if (strcmp(types[type % 6], "Q8_0") == 0)
		dims[ndim - 1] *= 32;
	snprintf(text, sizeof text, "%s%s", stems[name & 3], ends[name >> 2 & 3]);
	t = tensor_new(text, strlen(text), dtype_by_name(types[type % 6]), ndim, dims,
	               TENSOR_OWN_SIZE, "in", &e);
	if (!t)
		return;
	p = memory_add(&m->memory, t);
	for (i = 0; i < tensor_bytes(t); i++)
		p[i] = next();
}

static void
make(struct made *m, const uint8_t *data, size_t size)
{
	char text[64];
	uint8_t key;
	size_t i;

	in = data;
	left = size;
	made_open(m);
	key = next();
	if (key > 0) {
		snprintf(text, sizeof text, "{\"tensors\":%u}", key - 1u);
		made_text(m, LOWRANK_KEY, text);
	}
	for (i = 0; i < TENSORS && left > 0; i++)
		add(m);
}

static bool
ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

static void
check_result(const struct lowrank *l)
{
	const struct model *from = merge_input_plan(l->in);
	size_t i, k;

	for (i = 0; i < l->out.tensor_count; i++) {
		const struct tensor *t = l->out.tensors[i];
		const struct lowrank_row *row = &l->rows[i];

		for (k = 0; k < i; k++)
			must(strcmp(tensor_name(t), tensor_name(l->out.tensors[k])) != 0);
		if (row->from == LOWRANK_COPY) {
			must(!ends_in(tensor_name(t), LOWRANK_LEFT) && !ends_in(tensor_name(t), LOWRANK_RIGHT));
			continue;
		}
		must(tensor_ndim(t) == 2 && tensor_dims(t)[0] == tensor_dims(from->tensors[row->tensor])[0] &&
		     tensor_dims(t)[1] == tensor_dims(from->tensors[row->right])[1]);
	}
}

/* The bytes of the result, or -1. */
static long
drain(struct lowrank *l, unsigned jobs, uint8_t *to, struct err *e)
{
	struct source *s = lowrank_source(l, jobs, e);
	long n;

	must(s);
	n = made_drain(s, to, MOST, e);
	must((n < 0) == (e->code != ERR_NONE));
	must(n < 0 || (uint64_t)n == model_tensor_bytes(&l->out));
	source_close(s);
	return n;
}

static void
met(void *ctx, const struct lowrank_met *m)
{
	must(m->rank <= 15);
	*(size_t *)ctx += m->rank > 0;
}

/* Factors of rank 1 of the model that was made of data. */
static void
split(const uint8_t *data, size_t size)
{
	size_t factored = 0;
	struct pattern any = { 0 };
	struct made m;
	struct lowrank l = { .in = &m.input };
	struct err e = ERR_INIT;
	const struct lowrank_how how = { .rank = 1, .targets = &any, .target_count = 1, .jobs = 1,
		.met = met, .ctx = &factored };
	uint8_t out[MOST];

	must(pattern_open(&any, ".", &e) == 0);
	make(&m, data, size);
	if (made_read(&m) == 0 && lowrank_split(&l, &how, &e) == 0) {
		must(factored == l.factored && factored > 0);
		drain(&l, 1, out, &e);
	}
	if (e.code != ERR_NONE)
		fuzz_refused(&e, true);
	pattern_close(&any);
	lowrank_free(&l);
	made_close(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made m;
	struct lowrank l = { .in = &m.input };
	struct err e = ERR_INIT, other = ERR_INIT;
	uint8_t one[MOST], three[MOST];
	long n = -1;

	make(&m, data, size);
	if (made_read(&m) < 0)
		e = m.e;
	else if (lowrank_join(&l, &e) == 0) {
		check_result(&l);
		n = drain(&l, 1, one, &e);
		must(drain(&l, 3, three, &other) == n && (n < 0 || memcmp(one, three, (size_t)n) == 0));
	}
	if (e.code != ERR_NONE)
		fuzz_refused(&e, true);
	lowrank_free(&l);
	made_close(&m);
	split(data, size);
	return 0;
}
