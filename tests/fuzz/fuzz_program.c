/* fuzz_program: what a program computes with any bytes, by the headers of the library alone: as a
 * tokenizer, as a model that says something, as a model that predicts.
 *
 *     1. Each call ends well, or with an error that a terminal can show; memory stays within the limits
 *        that were given.
 *     2. What was computed once is computed again.
 *     3. Counts hold for any room that the program gives.
 */
#include "fuzz.h"

#include <math.h>

#include "api/aprml.h"

#define ROOM 4096     /* features and columns of a model that is tried */
#define VOCABULARY 4096

static const char text[] = "The cat\tsat on  the mat. \xc3\x89t\xc3\xa9 1234 <s></s> \xff\n";

static void
said(int status, const struct aprml_error *e)
{
	if (status >= 0)
		return;
	must(e->text[0] && e->code >= 0);
	fuzz_printable(e->text);
}

/* ---- tokens ---- */

static void
decode(struct aprml_tokenizer *t, const uint32_t *id, size_t n)
{
	struct aprml_error e;
	char all[3000], part[3];
	size_t bytes, again;
	int status = aprml_tokenizer_decode(t, id, n, APRML_SPECIAL, all, sizeof all, &bytes, &e);

	said(status, &e);
	if (status < 0)
		return;
	must(aprml_tokenizer_decode(t, id, n, APRML_SPECIAL, part, sizeof part, &again, &e) == 0);
	must(again == bytes && memcmp(part, all, bytes < sizeof part ? bytes : sizeof part) == 0);
}

static void
tokenize(struct aprml_tokenizer *t, uint32_t dice)
{
	struct aprml_error e;
	uint32_t id[500], one;
	size_t n, i, again, bytes;
	const char *spelled;
	int status;

	status = aprml_tokenizer_encode(t, text, sizeof text - 1, dice & 3, id, 500, &n, &e);
	said(status, &e);
	if (status == 0) {
		must(aprml_tokenizer_encode(t, text, sizeof text - 1, dice & 3, &one, 1, &again, &e) == 0);
		must(again == n && (n == 0 || one == id[0]));
		for (i = 0; i < n && i < 500; i++)
			must(id[i] < aprml_tokenizer_count(t));
		decode(t, id, n < 500 ? n : 500);
	}
	for (i = 0; i <= APRML_MASK; i++) {
		one = aprml_tokenizer_special(t, (enum aprml_special)i);
		must(one == APRML_NO_TOKEN || one < aprml_tokenizer_count(t));
	}
	for (i = 0; i < 20 && i < aprml_tokenizer_count(t); i++) {
		spelled = aprml_tokenizer_text(t, (uint32_t)i, &bytes);
		must(spelled && (bytes == 0 || aprml_tokenizer_find(t, spelled, bytes) < aprml_tokenizer_count(t)));
		aprml_tokenizer_ends(t, (uint32_t)i);
	}
	must(!aprml_tokenizer_text(t, (uint32_t)aprml_tokenizer_count(t), &bytes));
}

/* ---- what follows two tokens ---- */

struct words {
	uint32_t id[3];
	size_t n;
};

static int
keep(void *ctx, const struct aprml_token *t)
{
	struct words *w = ctx;

	must(w->n < 3 && t->logprob <= 1e-5 && (t->bytes == 0 || t->text));
	w->id[w->n++] = t->id;
	return 0;
}

static void
generate(struct aprml_run *r, const uint32_t id[2], uint32_t dice, struct words *to)
{
	struct aprml_sampling s = APRML_SAMPLING;
	struct aprml_result result = { .bytes = sizeof result };
	struct aprml_error e;
	int status;

	to->n = 0;
	s.temperature = dice & 4 ? 1 : 0;
	s.repeat_penalty = dice & 8 ? 2 : 1;
	s.seed = dice;
	s.count = 3;
	must(aprml_run_rewind(r, 0) == 0);
	status = aprml_run_generate(r, id, 2, &s, keep, to, &e);
	said(status, &e);
	if (status == 0)
		must(aprml_run_result(r, &result) == 0 && result.made >= to->n &&
		     result.end != APRML_RUNNING && aprml_run_position(r) >= 2);
	else
		to->n = 0;
}

static void
run(struct aprml_weights *w, uint32_t dice)
{
	const struct aprml_run_options o = { .bytes = sizeof o, .context = 6, .memory = 64 << 20,
		.cache = dice & 16 ? "q8_0" : NULL };
	struct words once, twice;
	struct aprml_error e;
	struct aprml_run *r = aprml_run_open(w, &o, &e);
	uint32_t id[2] = { 0, 0 };
	int status;

	said(r ? 0 : -1, &e);
	if (!r)
		return;
	if (aprml_run_context(r) >= 3 && aprml_run_vocabulary(r) <= VOCABULARY) {
		id[1] = (uint32_t)(dice % aprml_run_vocabulary(r));
		status = aprml_run_feed(r, id, 2, NULL, NULL, &e);
		said(status, &e);
		must((aprml_run_logits(r) != NULL) == (status == 0));
		generate(r, id, dice, &once);
		generate(r, id, dice, &twice);
		must(once.n == twice.n && memcmp(once.id, twice.id, once.n * sizeof *once.id) == 0);
	}
	aprml_run_close(r);
}

static void
compute(const uint8_t *data, size_t size, uint32_t dice)
{
	const struct aprml_weights_options o = { .bytes = sizeof o, .memory = 64 << 20,
		.copy = dice >> 5 & 1 };
	struct aprml_error e;
	struct aprml *m = aprml_open_memory(data, size, &e);
	struct aprml_tokenizer *t = m ? aprml_tokenizer_open(m, &e) : NULL;
	struct aprml_weights *w = m ? aprml_weights_open(m, &o, &e) : NULL;

	aprml_close(m);
	if (t)
		tokenize(t, dice);
	aprml_tokenizer_close(t);
	if (w)
		run(w, dice);
	aprml_weights_close(w);
}

/* ---- predictions ---- */

static bool
same(const double *a, const double *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
			return false;
	return true;
}

static int
ask(const struct aprml_predictor *p, enum aprml_what what, const double *rows, size_t n, double *to)
{
	static const char *const texts[] = { text, "a", "" };
	static const size_t bytes[] = { 20, 1, 0 };
	struct aprml_predictor_info info = { .bytes = sizeof info };
	struct aprml_error e;
	int status;

	must(aprml_predictor_info(p, &info) == 0);
	status = info.texts ? aprml_predict_texts(p, what, texts, bytes, n, to, &e)
	                    : aprml_predict(p, what, rows, n, to, &e);
	said(status, &e);
	return status;
}

/* Three rows, with texts wherever the model takes them and for every eleventh value. */
static void
ask_mixed(const struct aprml_predictor *p, const double *rows, size_t features, double *to)
{
	static const char *texts[3 * ROOM];
	static size_t bytes[3 * ROOM];
	struct aprml_error e;
	double v;
	size_t i;

	for (i = 0; i < 3 * features; i++) {
		texts[i] = i % 11 == 10 || aprml_predictor_word(p, i % features, "a", 1, &v) == 2 ? text + i % 5 : NULL;
		bytes[i] = i % 9;
	}
	said(aprml_predict_mixed(p, APRML_PREDICTION, rows, texts, bytes, 3, to, &e), &e);
}

/* Three rows, and the first of them alone. */
static void
predict(struct aprml_predictor *p, uint32_t dice)
{
	static double rows[3 * ROOM], y[3 * ROOM], again[ROOM];
	struct aprml_predictor_info info = { .bytes = sizeof info };
	struct aprml_error e;
	size_t i, columns;
	unsigned what;

	must(aprml_predictor_info(p, &info) == 0 && info.kind);
	if (info.features > ROOM)
		return;
	for (i = 0; i < 3 * info.features; i++)
		rows[i] = dice >> i % 31 & 1 ? (double)i - 3 : i % 7 == 6 && dice & 64 ? (double)NAN : 0.5;
	said(aprml_predictor_explain(p, &e), &e);
	for (what = APRML_PREDICTION; what <= APRML_CONTRIBUTIONS; what++) {
		columns = aprml_predict_columns(p, (enum aprml_what)what);
		if (columns == 0 || columns > ROOM) {
			if (columns == 0)
				must(ask(p, (enum aprml_what)what, rows, 1, y) < 0);
			continue;
		}
		if (ask(p, (enum aprml_what)what, rows, 3, y) == 0) {
			must(ask(p, (enum aprml_what)what, rows, 1, again) == 0 && same(y, again, columns));
			if (what == APRML_PREDICTION && info.classes)
				must(*y >= 0);
		}
	}
	columns = aprml_predict_columns(p, APRML_PREDICTION);
	if (columns <= ROOM && !info.texts)
		ask_mixed(p, rows, info.features, y);
	for (i = 0; i < 5; i++) {
		aprml_predictor_feature(p, i);
		aprml_predictor_label(p, i);
		aprml_predictor_word(p, i, "blue", 4, y);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t dice = fuzz_way >= 0 ? (uint32_t)fuzz_way * 2654435761u : crc32_add(0, data, size);
	struct aprml_error e;
	struct aprml_tokenizer *t = aprml_tokenizer_open_memory(data, size, &e);
	struct aprml_predictor *p;

	said(t ? 0 : -1, &e);
	if (t)
		tokenize(t, dice);
	aprml_tokenizer_close(t);
	compute(data, size, dice);
	p = aprml_predictor_open_memory(data, size, &e);
	said(p ? 0 : -1, &e);
	if (p)
		predict(p, dice);
	aprml_predictor_close(p);
	return 0;
}
