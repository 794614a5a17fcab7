/* fuzz_form: what is asked of the tensors of classical models (predict/form.h) and of the writers.
 *
 *     1. Any tensors and any key give a model, or a refusal with a message that a terminal can show.
 *     2. A model that was read predicts for any row, and has contributions if it has covers.
 *     3. As tensors again it predicts the same, bit for bit.
 *     4. What a writer writes is read again, and as a payload of APR version 1 it has the same nodes.
 *
 * The input: u16 bytes of the key, the key, then for each tensor a byte with its kind, u16 bytes, and
 * these. The mutator changes values of the key and numbers.
 */
#include "mutate.h"

#include <math.h>

#include "dice.h"
#include "predict/apr1_write.h"
#include "predict/contrib.h"
#include "predict/form.h"
#include "predict/tensors.h"
#include "predict/writers.h"

#define ROWS 3
#define ROOM 512

static const struct {
	const char *name, *type;
	unsigned bytes;
} kinds[64] = {
	{ "forest.counts", "I32", 4 }, { "forest.groups", "I32", 4 }, { "forest.features", "I32", 4 },
	{ "forest.thresholds", "F64", 8 }, { "forest.left", "I32", 4 }, { "forest.flags", "I8", 1 },
	{ "forest.ids", "I32", 4 }, { "forest.values", "F64", 8 }, { "forest.sets", "I32", 4 },
	{ "forest.covers", "F64", 8 }, { "forest.words", "I32", 4 }, { "forest.base", "F64", 8 },
	{ "forest.bias", "F64", 8 }, { "linear.weights", "F64", 8 }, { "linear.bias", "F64", 8 },
	{ "other", "I8", 1 }, { "step.0.a", "F64", 8 }, { "step.0.b", "F64", 8 }, { "step.0.c", "F64", 8 },
	{ "step.0.list", "I32", 4 }, { "step.1.a", "F64", 8 }, { "step.1.b", "F64", 8 }, { "step.1.c", "F64", 8 },
	{ "step.1.list", "I32", 4 }, { "step.2.a", "F64", 8 }, { "step.2.b", "F64", 8 }, { "step.2.c", "F64", 8 },
	{ "step.2.list", "I32", 4 }, { "pairs.platt", "F64", 8 }, { "step.3.a", "F64", 8 },
	{ "step.3.b", "F64", 8 }, { "step.3.list", "I32", 4 }, { "step.3.c", "F64", 8 },
	{ "step.0.terms", "I8", 1 }, { "step.1.terms", "I8", 1 }, { "step.2.terms", "I8", 1 },
	{ "step.3.terms", "I8", 1 }, { "step.4.a", "F64", 8 }, { "step.4.b", "F64", 8 }, { "step.4.c", "F64", 8 },
	{ "step.4.list", "I32", 4 }, { "step.4.terms", "I8", 1 }, { "step.5.a", "F64", 8 },
	{ "step.5.b", "F64", 8 }, { "step.5.c", "F64", 8 }, { "step.5.list", "I32", 4 },
	{ "step.5.terms", "I8", 1 }, { "step.6.a", "F64", 8 }, { "step.6.b", "F64", 8 }, { "step.6.c", "F64", 8 },
	{ "step.6.list", "I32", 4 }, { "step.6.terms", "I8", 1 }, { "step.7.a", "F64", 8 },
	{ "step.7.b", "F64", 8 }, { "step.7.c", "F64", 8 }, { "step.7.list", "I32", 4 },
	{ "step.7.terms", "I8", 1 }, { "step.8.a", "F64", 8 }, { "step.8.b", "F64", 8 }, { "step.8.c", "F64", 8 },
	{ "step.8.list", "I32", 4 }, { "step.8.terms", "I8", 1 }, { "step.9.a", "F64", 8 },
	{ "step.9.list", "I32", 4 },
};

/* ---- tensors in memory ---- */

struct held {
	struct model plan;
	struct weights w;
	const uint8_t *tensors[64];
};

static void
hold(struct held *h, const uint8_t *json, size_t n)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };

	must(model_init(&h->plan, &e) == 0);
	buf_u64(&wire, n);
	buf_put(&wire, json, n);
	must(model_add_meta(&h->plan, FORM_KEY, strlen(FORM_KEY), (struct value_type){ 0, VALUE_STRING },
	                    wire.p, wire.n, &e) == 0);
	buf_free(&wire);
	h->w = (struct weights){ .name = "in", .plan = &h->plan, .tensors = h->tensors };
}

static void
hold_tensor(struct held *h, const char *name, const char *type, uint64_t items, const uint8_t *p)
{
	struct err e = ERR_INIT;

	h->tensors[h->plan.tensor_count] = p ? p : (const uint8_t *)"";
	must(model_add_tensor(&h->plan, tensor_new(name, strlen(name), dtype_by_name(type), 1, &items,
	                                           TENSOR_OWN_SIZE, "in", &e), &e) == 0);
}

/* ---- what is asked ---- */

static void
fill(double *rows, size_t n)
{
	static const double values[] = { 0, 1, NAN, -1, 2.5, 33, 1e300, -3, 0.25, 7, INFINITY };
	size_t i;

	for (i = 0; i < n; i++)
		rows[i] = values[i * 7 % 11];
}

static double *
scores_of(const struct predictor *m)
{
	static const char text[] = "the cat sat, a1 b2 the the";
	struct step_text texts[ROWS] = { { text, 26 }, { text + 4, 9 }, { text, 0 } };
	struct buf pool = { 0 };
	double *rows = calloc(ROWS * m->features + 1, sizeof *rows);
	double *scores = calloc(ROWS * m->outputs + 1, sizeof *scores);
	double *to = calloc(predict_columns(m) + predict_room(m) + 1, sizeof *to);
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;

	must(rows && scores && to && step_rows_begin(&x, ROWS, m->features, &e) == 0);
	fill(rows, ROWS * m->features);
	memcpy(step_row(&x, 0), rows, ROWS * m->features * sizeof *rows);
	step_pool_put(&pool, text, 12);
	x.pool = &pool;
	x.texts = m->texts ? texts : NULL;
	if (predict_block(m, &x, &spare, true, scores, NULL, &e) < 0)
		must(e.code != ERR_NONE); /* memory, an unknown category, or no text where one is read */
	if (m->sparse && e.code == ERR_NONE && step_rows_dense(&x, &spare, &e) == 0)
		memcpy(scores, step_row(&x, 0), ROWS * m->outputs * sizeof *scores);
	predict_link(m, scores, to);
	must(m->task == PREDICT_VALUE || predict_label(m, scores) < m->classes);
	buf_free(&pool);
	step_rows_free(&x);
	step_rows_free(&spare);
	free(rows);
	free(to);
	return scores;
}

static void
check_contributions(struct predictor *m)
{
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	double *to;

	if (contrib_begin(m, &e) == 0 && contrib_columns(m) < ROOM * 8) {
		must(step_rows_begin(&x, 1, m->features, &e) == 0);
		fill(step_row(&x, 0), m->features);
		to = calloc(contrib_columns(m) + 1, sizeof *to);
		must(to && contrib_block(m, &x, &spare, to, &e) == 0);
		free(to);
	}
	step_rows_free(&x);
	step_rows_free(&spare);
}

static void
check_form(const struct predictor *m)
{
	struct held h = { .w = { .name = NULL } };
	struct predictor again = { .covers = true };
	struct err e = ERR_INIT;
	struct form f;
	double *a, *b;
	size_t i;

	must(form_make(m, "in", &f, &e) == 0);
	hold(&h, f.json.p, f.json.n);
	for (i = 0; i < f.count; i++)
		hold_tensor(&h, f.parts[i]->name, f.parts[i]->type,
		            f.parts[i]->dims[0] * (f.parts[i]->ndim == 2 ? f.parts[i]->dims[1] : 1),
		            f.parts[i]->data.p);
	must(predict_tensors(&again, &h.w, &e) == 0);
	a = scores_of(m);
	b = scores_of(&again);
	for (i = 0; i < ROWS * m->outputs; i++)
		must(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
	free(a);
	free(b);
	predictor_free(&again);
	model_free(&h.plan);
	form_free(&f);
}

static void
check_writer(const struct predictor *m, predict_writer *writer)
{
	struct predictor again = { .covers = true };
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	if (writer(m, "in", NULL, &b, &e) == 0) {
		must(buf_ok(&b) && predict_probe(b.p, b.n));
		if (predict_read(&again, predict_probe(b.p, b.n), b.p, b.n, "written", &e) < 0)
			must(e.code != ERR_NONE); /* numbers that are not finite in single precision */
		predictor_free(&again);
	} else {
		must(e.code != ERR_NONE);
	}
	buf_free(&b);
}

static void
check_payload(const struct predictor *m)
{
	struct apr1_payload p;
	struct err e = ERR_INIT;
	char why[256] = "";
	int r = apr1_payload_make(m, &p, why, &e);

	must(r == 1 ? p.layout && p.count > 0 : r == 0 ? *why != 0 : e.code != ERR_NONE);
	apr1_payload_free(&p);
}

/* Rows behind each step are short enough to try. */
static bool
narrow(const struct predictor *m)
{
	size_t i;

	for (i = 0; i < m->step_count && m->steps[i].out < ROOM * 8; i++)
		;
	return i == m->step_count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held h = { .w = { .name = NULL } };
	struct predictor m = { .covers = true };
	struct err e = ERR_INIT;
	size_t n = size > 2 ? data[0] | (size_t)data[1] << 8 : 0;

	if (n == 0 || n > size - 2)
		return 0;
	hold(&h, data + 2, n);
	data += 2 + n;
	size -= 2 + n;
	while (size > 3 && h.plan.tensor_count < 64) {
		unsigned kind = *data & 63;

		n = data[1] | (size_t)data[2] << 8;
		data += 3;
		size -= 3;
		n = n > size ? size : n;
		hold_tensor(&h, kinds[kind].name, kinds[kind].type, n / kinds[kind].bytes, data);
		data += n;
		size -= n;
	}
	if (predict_tensors(&m, &h.w, &e) < 0) {
		must(e.code != ERR_NONE);
		fuzz_refused(&e, false);
	} else if (m.features < ROOM && m.outputs < ROOM && m.inner < ROOM && narrow(&m)) {
		free(scores_of(&m));
		check_contributions(&m);
		check_form(&m);
		check_writer(&m, xgboost_write);
		check_writer(&m, onnxml_write);
		check_payload(&m);
	}
	predictor_free(&m);
	model_free(&h.plan);
	return 0;
}

/* Writes a number over one in the tensors, or copies one. */
static void
change_word(uint8_t *p, size_t n, struct dice *d)
{
	static const uint64_t numbers[] = { 0, 1, 2, 3, UINT64_MAX, 0x7fffffff, 0x80000000, 0x7ff8000000000000,
		0x7ff0000000000000, 0x3ff0000000000000 };
	uint64_t v = ONE_OF(d, numbers);
	size_t bytes = roll(d, 2) ? 4 : 8, to = roll(d, (unsigned)(n - 8)), from = roll(d, (unsigned)(n - 8));

	if (roll(d, 3))
		memcpy(p + to, &v, bytes);
	else
		memmove(p + to, p + from, bytes);
}

/* A value of the key, or a number of a tensor. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const char *const words[] = { "true", "false", "\"steps\"", "\"pairs\"", "1", "0", "65536",
		"\"classes\"", "\"binary\"", "\"softmax\"", "\"share\"", "\"linear\"", "\"centers\"", "\"trees\"",
		"2", "3", "4", "\"shift\"", "\"layer\"", "\"support\"", "\"vote\"", "\"project\"", "\"tfidf\"", "\"gauss\"", "\"select\"",
		"\"poly\"", "\"bins\"", "\"interpolate\"", "\"power\"", "\"function\"", "\"quadratic\"", "\"onehot\"", "\"ordinal\"",
		"\"words\"", "\"parts\"", "\"texts\"", "\"marks\"", "\"text\"", "null", "[]", "4294967295" };
	struct dice d = { .state = seed };
	size_t n = size > 2 ? data[0] | (size_t)data[1] << 8 : 0, from, to;
	const char *word = ONE_OF(&d, words);

	if (roll(&d, 4) == 0 || n == 0 || n > size - 2)
		return LLVMFuzzerMutate(data, size, max);
	if (roll(&d, 3)) {
		if (size - 2 - n > 8)
			change_word(data + 2 + n, size - 2 - n, &d);
		return size;
	}
	from = 2 + roll(&d, (unsigned)n);
	while (from < 2 + n && data[from] != ':')
		from++;
	for (to = from; to < 2 + n && data[to] != ',' && data[to] != '}'; to++)
		;
	if (from < 2 + n && size - (to - from) + 1 + strlen(word) <= max) {
		memmove(data + from + 1 + strlen(word), data + to, size - to);
		memcpy(data + from + 1, word, strlen(word));
		size = size - (to - from) + 1 + strlen(word);
		n = n - (to - from) + 1 + strlen(word);
		data[0] = (uint8_t)n;
		data[1] = (uint8_t)(n >> 8);
	}
	return size;
}
