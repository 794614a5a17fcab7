/* fuzz_form: what is asked of the tensors of classical models (predict/form.h) and of the writers.
 *
 *     1. Any tensors and any key give a model, or a refusal with a message that a terminal can show.
 *     2. A model that was read predicts for any row, and has contributions if it has covers.
 *     3. As tensors again it predicts the same, bit for bit.
 *     4. What a writer writes is read again, and as a payload of APR version 1 it has the same nodes.
 *
 * The input: u16 bytes of the key, the key, then for each tensor a byte with its kind (and 64: it belongs to a
 * model inside, whose number follows in a byte), u16 bytes, and these. The mutator changes values of the key and
 * numbers, and puts a model into others.
 */
#include "mutate.h"

#include <limits.h>
#include <math.h>

#include "dice.h"
#include "predict/apr1_write.h"
#include "predict/contrib.h"
#include "predict/form.h"
#include "predict/tensors.h"
#include "predict/writers.h"

#define ROWS 3
#define ROOM 512
#define TENSORS 256
#define INSIDE 64 /* of a kind: the number of a model follows */

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
	const uint8_t **tensors;
};

static void
hold(struct held *h, const uint8_t *json, size_t n, size_t tensors)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };

	must(model_init(&h->plan, &e) == 0);
	buf_u64(&wire, n);
	buf_put(&wire, json, n);
	must(model_add_meta(&h->plan, FORM_KEY, strlen(FORM_KEY), (struct value_type){ 0, VALUE_STRING },
	                    wire.p, wire.n, &e) == 0);
	buf_free(&wire);
	h->tensors = calloc(tensors + 1, sizeof *h->tensors);
	must(h->tensors);
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

static void
drop(struct held *h)
{
	model_free(&h->plan);
	free(h->tensors);
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
	hold(&h, f.json.p, f.json.n, f.count);
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
	drop(&h);
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

/* The next tensor of an input. */
static bool
take_tensor(struct held *h, const uint8_t **data, size_t *size)
{
	char name[64] = "";
	unsigned kind = *size > 4 ? **data : 0;
	size_t n, head = kind & INSIDE ? 4 : 3;
	const uint8_t *p = *data + head;

	if (*size <= 4)
		return false;
	if (kind & INSIDE)
		snprintf(name, sizeof name, "part.%u.", (*data)[1]);
	strcat(name, kinds[kind & 63].name);
	n = p[-2] | (size_t)p[-1] << 8;
	n = n > *size - head ? *size - head : n;
	hold_tensor(h, name, kinds[kind & 63].type, n / kinds[kind & 63].bytes, p);
	*data = p + n;
	*size -= head + n;
	return true;
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
	hold(&h, data + 2, n, TENSORS);
	data += 2 + n;
	size -= 2 + n;
	while (h.plan.tensor_count < TENSORS && take_tensor(&h, &data, &size))
		;
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
	drop(&h);
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

/* ---- models inside ---- */

/* The number behind a name of the key, or 1. */
static unsigned
number_of(const struct buf *key, const char *name)
{
	const uint8_t *at = memmem(key->p, key->n, name, strlen(name));
	unsigned long v = at ? strtoul((const char *)at + strlen(name), NULL, 10) : 1;

	return v > 0 && v < ROOM ? (unsigned)v : 1;
}

static void
put_tensor(struct buf *to, unsigned kind, unsigned model, const uint8_t *p, size_t n)
{
	buf_u8(to, (uint8_t)(kind | (model != UINT_MAX ? INSIDE : 0)));
	if (model != UINT_MAX)
		buf_u8(to, (uint8_t)model);
	buf_u16(to, (uint16_t)n);
	buf_put(to, p, n);
}

/* The tensors of an input, for a model that gets the number `at`, and those inside of it `copies` more. */
static void
put_inside(struct buf *to, const uint8_t *p, size_t size, unsigned at, unsigned copies)
{
	while (size > 4) {
		unsigned kind = p[0] & 63u, head = p[0] & INSIDE ? 4 : 3;
		size_t n = p[head - 2] | (size_t)p[head - 1] << 8;

		n = n > size - head ? size - head : n;
		put_tensor(to, kind, p[0] & INSIDE ? p[1] + copies : at, p + head, n);
		p += head + n;
		size -= head + n;
	}
}

/* The numbers of the first models inside, which `copies` more stand in front of. */
static void
move_first(struct buf *key, unsigned copies)
{
	static const char name[] = "\"first\":";
	uint8_t *p = key->p, *at;

	while ((at = memmem(p, key->n - (size_t)(p - key->p), name, 8))) {
		p = at + 8;
		if (p < key->p + key->n && *p >= '0' && *p <= '8')
			*p = (uint8_t)(*p + copies);
	}
}

/* Puts a model into another one, once or twice: a sum of what they say. Returns the new size. */
static size_t
nest(uint8_t *data, size_t size, size_t n, size_t max, struct dice *d)
{
	struct buf key = { 0 }, json = { 0 }, all = { 0 };
	unsigned copies = 1 + (memmem(data + 2, n, "first", 5) == NULL && roll(d, 2)), features, outputs, i, k;
	double weight = 1;
	size_t made;

	buf_put(&key, data + 2, n);
	features = number_of(&key, "\"features\":");
	outputs = number_of(&key, "\"outputs\":");
	move_first(&key, copies);
	buf_printf(&json, "{\"version\":1,\"form\":\"steps\",\"task\":\"value\",\"link\":\"none\",\"features\":%u,"
	           "\"outputs\":%u,\"sharpness\":1,\"inner\":%u,\"steps\":[{\"kind\":\"models%s\",\"in\":%u,\"out\":%u,"
	           "\"n\":0,\"k\":0,\"mode\":0,\"weigh\":0,\"x\":0,\"y\":0,\"median\":%s,\"passes\":false,\"first\":0,"
	           "\"models\":[", features, outputs, outputs, memmem(key.p, key.n, "letters", 7) ? " of texts" : "",
	           features, outputs, roll(d, 4) ? "false" : "true");
	for (k = 0; k < copies; k++) {
		buf_text(&json, k ? "," : "");
		buf_put(&json, key.p, key.n);
	}
	buf_text(&json, "]}]}");
	buf_u16(&all, (uint16_t)json.n);
	buf_put(&all, json.p, json.n);
	buf_clear(&key);
	for (k = 0; k < copies; k++)
		buf_put(&key, &weight, sizeof weight);
	put_tensor(&all, 16, UINT_MAX, key.p, key.n);
	buf_clear(&key);
	for (k = 0; k < copies; k++) {
		buf_u32(&key, roll(d, 4) ? 0 : roll(d, 4));
		buf_u32(&key, UINT32_MAX);
		buf_u32(&key, outputs);
		for (i = 0; i < outputs; i++)
			buf_u32(&key, i);
	}
	put_tensor(&all, 19, UINT_MAX, key.p, key.n);
	for (k = 0; k < copies; k++)
		put_inside(&all, data + 2 + n, size - 2 - n, k, copies);
	made = buf_ok(&all) && json.n <= UINT16_MAX && all.n <= max ? all.n : 0;
	if (made)
		memcpy(data, all.p, made);
	buf_free(&key);
	buf_free(&json);
	buf_free(&all);
	return made ? made : size;
}

/* A value of the key, a number of a tensor, or a model inside of another one. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const char *const words[] = { "true", "false", "\"steps\"", "\"pairs\"", "1", "0", "65536",
		"\"classes\"", "\"binary\"", "\"softmax\"", "\"share\"", "\"linear\"", "\"centers\"", "\"trees\"",
		"2", "3", "4", "\"shift\"", "\"layer\"", "\"support\"", "\"vote\"", "\"project\"", "\"tfidf\"", "\"gauss\"", "\"select\"",
		"\"poly\"", "\"bins\"", "\"interpolate\"", "\"power\"", "\"function\"", "\"quadratic\"", "\"onehot\"", "\"ordinal\"",
		"\"words\"", "\"parts\"", "\"texts\"", "\"models\"", "\"models of texts\"",
		"\"grams\"", "\"marks\"", "\"text\"", "null", "[]", "4294967295" };
	struct dice d = { .state = seed };
	size_t n = size > 2 ? data[0] | (size_t)data[1] << 8 : 0, from, to;
	const char *word = ONE_OF(&d, words);

	if (roll(&d, 4) == 0 || n == 0 || n > size - 2)
		return LLVMFuzzerMutate(data, size, max);
	if (roll(&d, 8) == 0)
		return nest(data, size, n, max, &d);
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
