/* t_apr1_models: models of APR version 1 as tensors that are computed by a definition of ours or of
 * aprender: counts of n-grams. Numbers are worked out by hand. */
#include <math.h>
#include <string.h>

#include "core/buf.h"
#include "predict/readers.h"
#include "predict/tensors.h"
#include "test.h"

/* ---- models of tensors ---- */

#define PARTS 32

struct made {
	struct model plan;
	struct buf data[PARTS];
	const uint8_t *bytes[PARTS];
	struct predictor m;
	struct err e;
};

static struct buf *
tensor(struct made *x, const char *name, const char *type, unsigned ndim, uint64_t n)
{
	size_t i = x->plan.tensor_count;

	const struct dtype *t = dtype_by_name(type);

	model_add_tensor(&x->plan, tensor_new(name, strlen(name), t, ndim, &n, TENSOR_OWN_SIZE, "m",
	                                      &x->e), &x->e);
	return &x->data[i];
}

static void
word(struct made *x, const char *name, uint64_t v)
{
	buf_u64(tensor(x, name, "U64", 0, 1), v);
}

/* Reads them as the payload. 0 or -1. */
static int
load(struct made *x, const char *payload)
{
	struct weights w = { .name = "m", .plan = &x->plan, .tensors = x->bytes };
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < x->plan.tensor_count; i++)
		x->bytes[i] = x->data[i].p ? x->data[i].p : (const uint8_t *)"";
	buf_u64(&b, strlen(payload));
	buf_text(&b, payload);
	model_add_meta(&x->plan, "apr1.payload", 12, (struct value_type){ 0, VALUE_STRING }, b.p, b.n, &x->e);
	buf_free(&b);
	return predict_tensors(&x->m, &w, &x->e);
}

static void
clear(struct made *x)
{
	size_t i;

	predictor_free(&x->m);
	model_free(&x->plan);
	for (i = 0; i < PARTS; i++)
		buf_free(&x->data[i]);
	*x = (struct made){ .e = ERR_INIT };
}

/* ---- counts of n-grams ---- */

/* "git" began 3 lines and "ls" one; status followed git twice, commit once, "-m" "git commit" once. */
static void
put_texts(struct made *x, const char *text, const char *lengths, const char *const *list, size_t n)
{
	struct buf *b;
	size_t i, bytes = 0;

	for (i = 0; i < n; i++)
		bytes += strlen(list[i]);
	b = tensor(x, text, "U8", 1, bytes);
	for (i = 0; i < n; i++)
		buf_text(b, list[i]);
	b = tensor(x, lengths, "U64", 1, n);
	for (i = 0; i < n; i++)
		buf_u64(b, strlen(list[i]));
}

static int
make(struct made *x, uint64_t order, const char *fourth, const char *fifth, uint64_t last)
{
	static const uint32_t counts[] = { 1, 3, 2, 1, 1 };
	const char *const contexts[] = { "", "git", "git commit", fourth };
	const char *const next[] = { "ls", "git", "status", "commit", fifth };
	const uint64_t sizes[] = { 2, 2, 1, last };
	struct buf *b;
	size_t i;

	*x = (struct made){ .e = ERR_INIT };
	put_texts(x, "ngrams_text", "ngrams_lengths", contexts, 4);
	put_texts(x, "ngrams_next_text", "ngrams_next_lengths", next, 5);
	b = tensor(x, "ngrams_sizes", "U64", 1, 4);
	for (i = 0; i < 4; i++)
		buf_u64(b, sizes[i]);
	b = tensor(x, "ngrams_counts", "U32", 1, 5);
	for (i = 0; i < 5; i++)
		buf_u32(b, counts[i]);
	word(x, "n", order);
	return load(x, "MarkovModel.1");
}

static bool
scores(const struct made *x, const char *text, double log, double words, double unknown)
{
	struct step_text t = { text, strlen(text) };
	struct step_rows rows = { .n = 1, .width = 1, .texts = &t }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	double v[3] = { 0 };
	bool ok = predict_block(&x->m, &rows, &spare, true, v, NULL, &e) == 0 && fabs(v[0] - log) < 1e-12 &&
	          v[1] == words && v[2] == unknown;

	if (!ok)
		printf("# %s: %.17g %g %g\n", text, v[0], v[1], v[2]);
	step_rows_free(&rows);
	step_rows_free(&spare);
	return ok;
}

static void
test_scores(void)
{
	struct made x;

	test_ok(make(&x, 2, "zzz", "-m", 0) == 0 && x.m.texts, "counts of n-grams are a model of texts");
	test_ok(scores(&x, "git status", log10(3. / 4 * 2 / 3), 2, 0), "a word that followed has its share");
	test_ok(scores(&x, " git\tcommit  -m ", log10(3. / 4 / 3), 3, 0), "contexts of two words, any white space");
	test_ok(scores(&x, "git ls", log10(3. / 4 * 0.4 / 4), 2, 0), "a shorter context weighs 0.4");
	test_ok(scores(&x, "git commit ls", log10(3. / 4 / 3 * 0.16 / 4), 3, 0), "and again, if it is not there");
	test_ok(scores(&x, "ls git commit -m", log10(1. / 4 * 0.4 * 3 / 4 * 0.4 / 3), 4, 0),
	        "only the last two words are a context");
	test_ok(scores(&x, "svn git", -100 + log10(0.4 * 3 / 4), 2, 1), "a word that never followed is unknown");
	test_ok(scores(&x, "", 0, 0, 0), "an empty line");
	clear(&x);
	test_ok(make(&x, 1, "commit", "-m", 0) == 0 && scores(&x, "git commit -m", log10(3. / 4 / 3) - 100, 3, 1),
	        "the order of the model is the longest context");
	clear(&x);
}

static void
test_texts(void)
{
	struct made x;
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	size_t i, git = 0, status = 0, other = 0;

	make(&x, 2, "zzz", "-m", 0);
	for (i = 0; i < 1000; i++) {
		buf_clear(&b);
		if (arpa_generate(&x.m, 7, i, &b, &e) < 0 || !buf_string(&b))
			break;
		git += memcmp(b.p, "git ", 4) == 0;
		status += strcmp((char *)b.p, "git status\n") == 0;
		other += strcmp((char *)b.p, "git status\n") != 0 && strcmp((char *)b.p, "ls\n") != 0 &&
		         strcmp((char *)b.p, "git commit -m\n") != 0;
	}
	test_ok(i == 1000 && other == 0, "texts by chance end where no word followed");
	test_ok(git > 690 && git < 810 && status > 430 && status < 570, "words are as frequent as their counts");
	printf("# %zu git, %zu status of 1000\n", git, status);
	buf_free(&b);
	clear(&x);
}

static void
test_refused(void)
{
	static const struct {
		uint64_t order;
		const char *fourth, *fifth, *fact;
		uint64_t last;
	} cases[] = {
		{ 0, "zzz", "-m", "n-grams of 0 words", 0 },
		{ 17, "zzz", "-m", "n-grams of 17 words", 0 },
		{ 2, "", "-m", "a context is there twice", 0 },
		{ 2, "git", "-m", "", 0 },
		{ 2, "zzz", "-m", "the contexts have another length than their texts", 1 },
		{ 2, "zzz", "a b", "a word has white space", 0 },
		{ 2, "z\xff", "-m", "the contexts have another length than their texts", 0 },
		{ 2, "zzz", "a\xff", "the words have another length than their texts", 0 },
	};
	struct made x;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		test_ok(make(&x, cases[i].order, cases[i].fourth, cases[i].fifth, cases[i].last) < 0 &&
		        strstr(x.e.fact, cases[i].fact), "refused: %s", cases[i].fact);
		if (!strstr(x.e.fact, cases[i].fact))
			printf("# %s\n", x.e.fact);
		clear(&x);
	}
}

/* Bytes of any tensor are others: the model is refused, or it works. Sanitizers see the rest. */
static void
test_damage(void)
{
	struct made x;
	struct weights w = { .name = "m", .plan = &x.plan, .tensors = x.bytes };
	struct buf b = { 0 };
	uint32_t chance = 1, i, refused = 0;

	for (i = 0; i < 3000; i++) {
		struct buf *data;

		make(&x, 2, "zzz", "-m", 0);
		predictor_free(&x.m);
		x.m = (struct predictor){ .kind = NULL };
		chance = chance * 1664525 + 1013904223;
		data = &x.data[(chance >> 28) % 7];
		data->p[(chance >> 8) % data->n] = (chance >> 26 & 3) == 0 ? 0xff : (uint8_t)(chance >> 20 & 7);
		if (predict_tensors(&x.m, &w, &x.e) < 0)
			refused++;
		else if (arpa_generate(&x.m, 0, 0, &b, &x.e) < 0 || !x.m.texts)
			break;
		buf_clear(&b);
		clear(&x);
	}
	test_ok(i == 3000 && refused > 300 && refused < 2900, "damaged counts are refused, or are others");
	buf_free(&b);
}

int
main(void)
{
	test_scores();
	test_texts();
	test_refused();
	test_damage();
	return test_done();
}
