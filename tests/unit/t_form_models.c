/* t_form_models: models of models and lists of n-grams as tensors. Each one of tests/data/predict predicts the same bits behind them;
 * what is damaged is refused with a message, or predicts. */
#include <math.h>
#include <string.h>

#include "forms.h"
#include "predict/readers.h"
#include "predict/step_models.h"
#include "recorded.h"

#define ROWS 8u

/* What a model says of some rows, behind the link too. *n: the number of values. NULL: it refuses them. */
static double *
predicted(const struct predictor *m, size_t *n, struct err *e)
{
	static const char *const lines[ROWS] = { "the cat sat", "a dog", "", "win a prize now", "to be or not to be",
		"call me", "free free free", "see you at nine" };
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct step_text texts[ROWS];
	struct buf pool = { 0 };
	size_t i, columns = predict_columns(m);
	double *to = calloc(ROWS * (m->outputs + columns) + predict_room(m) + 1, sizeof *to);
	int r = to ? step_rows_begin(&x, ROWS, m->features, e) : -1;

	*n = ROWS * (m->outputs + columns);
	for (i = 0; i < ROWS; i++) {
		texts[i] = (struct step_text){ lines[i], strlen(lines[i]) };
		step_pool_put(&pool, lines[i], strlen(lines[i]));
	}
	for (i = 0; r == 0 && i < ROWS * m->features; i++)
		step_row(&x, 0)[i] = predict_reads(m, i % m->features) != PREDICT_NUMBER ? 0 : (double)(i * 7919 % 31) / 4 - 2;
	x.pool = &pool;
	x.texts = m->texts ? texts : NULL;
	if (r == 0)
		r = predict_block(m, &x, &spare, true, to, NULL, e);
	for (i = 0; r == 0 && i < ROWS; i++) {
		predict_link(m, to + i * m->outputs, to + ROWS * m->outputs + i * columns);
		if (m->task != PREDICT_VALUE && predict_label(m, to + i * m->outputs) >= m->classes)
			abort();
	}
	step_rows_free(&x);
	step_rows_free(&spare);
	buf_free(&pool);
	if (r < 0)
		free(to);
	return r < 0 ? NULL : to;
}

/* A path of no file: this text. */
static const char arpa[] = "arpa";
static const char arpa_text[] = "\\data\\\nngram 1=5\nngram 2=4\nngram 3=1\n\n\\1-grams:\n-1.0\t<unk>\n-99\t<s>\t-0.5\n"
	"-0.7\t</s>\n-0.6\tthe\t-0.2\n-0.9\tcat\t-0.1\n\n\\2-grams:\n-0.3\t<s> the\t-0.05\n-0.4\tthe cat\n"
	"-0.2\tcat </s>\n-0.8\tthe the\n\n\\3-grams:\n-0.1\t<s> the cat\n\n\\end\\\n";

static int
load(struct predictor *m, const char *path, struct err *e)
{
	struct buf b = { 0 };
	int r = -1;

	*m = (struct predictor){ .covers = true };
	if (path == arpa)
		buf_text(&b, arpa_text);
	if ((b.n || recorded_read(&b, "%s", path) == 0) && predict_probe(b.p, b.n))
		r = predict_read(m, predict_probe(b.p, b.n), b.p, b.n, path, e);
	buf_free(&b);
	return r;
}

/* A model and its form. */
static int
take(const char *path, struct predictor *m, struct forms *f, struct err *e)
{
	return load(m, path, e) < 0 || form_make(m, "model", &f->form, e) < 0 ? -1 : 0;
}

/* ---- the same bits ---- */

static bool
has_models(const struct predictor *m)
{
	size_t i;

	for (i = 0; i < m->step_count; i++)
		if (m->steps[i].kind == &step_models || m->steps[i].kind == &step_models_texts)
			return true;
	return false;
}

static bool
same(const struct predictor *a, const struct predictor *b, struct err *e)
{
	size_t n = 0, other = 0;
	double *x = predicted(a, &n, e), *y = predicted(b, &other, e);
	bool good = x && y && n == other && memcmp(x, y, n * sizeof *x) == 0 && a->task == b->task &&
	            a->link == b->link && a->label_count == b->label_count && a->name_count == b->name_count;

	free(x);
	free(y);
	return good;
}

static void
test_same(const char *path)
{
	struct predictor m, again = { .covers = true };
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;

	test_ok(take(path, &m, &f, &e) == 0 && forms_weigh(&f, &e) == 0 && predict_tensors(&again, &f.w, &e) == 0 &&
	        same(&m, &again, &e), "%s: the same bits %s", path, e.fact);
	predictor_free(&m);
	predictor_free(&again);
	forms_free(&f);
}

/* All of the list that have models inside. */
static void
test_all(void)
{
	struct buf list = { 0 };
	struct predictor m;
	struct err e = ERR_INIT;
	size_t n = 0;
	char *p, *line, path[100];

	recorded_read(&list, "tests/data/predict/models.txt");
	for (p = (char *)list.p; p && (line = recorded_line(&p)); ) {
		line[strcspn(line, " ")] = 0;
		snprintf(path, sizeof path, "tests/data/predict/%.60s.pkl", line);
		if (load(&m, path, &e) == 0 && has_models(&m)) {
			test_same(path);
			n++;
		}
		predictor_free(&m);
	}
	buf_free(&list);
	test_ok(n >= 29, "%zu models of models", n);
}

/* ---- hostile forms ---- */

/* Reads a form, which must be refused with the words. */
static void
refused(struct forms *f, const char *what, const char *said)
{
	struct predictor again = { .covers = true };
	struct err e = ERR_INIT;

	forms_weigh(f, &e);
	test_ok(predict_tensors(&again, &f->w, &e) < 0 && strstr(e.fact, said), "%s: %s", what, e.fact);
	predictor_free(&again);
	forms_free(f);
}

/* Puts another text in the first place of one in the key. */
static void
replace(struct buf *json, const char *from, const char *to)
{
	struct buf b = { 0 };
	uint8_t *at = memmem(json->p, json->n, from, strlen(from));

	if (!at)
		return;
	buf_put(&b, json->p, (size_t)(at - json->p));
	buf_put(&b, to, strlen(to));
	buf_put(&b, at + strlen(from), json->n - (size_t)(at - json->p) - strlen(from));
	buf_free(json);
	*json = b;
}

static const char vote[] = "tests/data/predict/vote.pkl";

static void
spoil_key(const char *from, const char *to, const char *said)
{
	struct predictor m;
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;

	take(vote, &m, &f, &e);
	replace(&f.form.json, from, to);
	predictor_free(&m);
	refused(&f, from, said);
}

/* Writes a number over one of a tensor. */
static void
spoil_word(const char *path, const char *name, size_t at, uint32_t v, const char *said)
{
	struct predictor m;
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;
	size_t i;

	take(path, &m, &f, &e);
	for (i = 0; i < f.form.count && strcmp(f.form.parts[i]->name, name) != 0; i++)
		;
	if (i < f.form.count)
		memcpy(f.form.parts[i]->data.p + 4 * at, &v, sizeof v);
	predictor_free(&m);
	refused(&f, name, said);
}

/* A tensor gets another name: it is missing. */
static void
spoil_name(const char *path, const char *name, const char *said)
{
	struct predictor m;
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;
	size_t i;

	take(path, &m, &f, &e);
	for (i = 0; i < f.form.count; i++)
		if (strcmp(f.form.parts[i]->name, name) == 0)
			memcpy(f.form.parts[i]->name, "other", 6);
	predictor_free(&m);
	refused(&f, name, said);
}

static void
test_hostile(void)
{
	spoil_key("\"first\":0", "\"first\":1", "the number of its first model is wrong");
	spoil_key("\"first\":0", "\"first\":-1", "the number of its first model is wrong");
	spoil_key("\"models\":[", "\"modes\":[", "no models, or too many");
	spoil_key("\"passes\":false", "\"passes\":true", "");
	spoil_key("\"kind\":\"models\"", "\"kind\":\"models of texts\"", "does not read what the step does");
	spoil_key("\"version\":1", "\"version\":2", "version that is not known");
	spoil_key("\"models\":[{", "\"models\":[3,{", "");
	spoil_word(vote, "step.0.list", 0, 9, "features or values of a model inside are wrong");
	spoil_word(vote, "step.0.list", 1, 0x7fffffff, "features or values of a model inside are wrong");
	spoil_word(vote, "step.0.list", 1, 1, "features or values of a model inside are wrong");
	spoil_word(vote, "step.0.list", 2, 0xffffffff, "features or values of a model inside are wrong");
	spoil_word(vote, "step.0.list", 2, 1, "");
	spoil_word(vote, "step.0.list", 3, 70000, "features or values of a model inside are wrong");
	spoil_word(vote, "step.0.a", 1, 0x7ff80000, "not finite");
	spoil_name(vote, "step.0.list", "step.0.list of type I32 is missing");
	spoil_name(vote, "step.0.a", "step.0.a of type F64 is missing");
	spoil_name(vote, "part.0.linear.weights", "part.0.linear.weights of type F64 is missing");
}

static void
test_grams(void)
{
	struct predictor m, again = { .covers = true };
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;
	struct buf a = { 0 }, b = { 0 };
	uint64_t i;

	test_same(arpa);
	if (take(arpa, &m, &f, &e) == 0 && forms_weigh(&f, &e) == 0 && predict_tensors(&again, &f.w, &e) == 0)
		for (i = 0; i < 50; i++) {
			arpa_generate(&m, 1, i, &a, &e);
			arpa_generate(&again, 1, i, &b, &e);
		}
	test_ok(a.n > 100 && a.n == b.n && memcmp(a.p, b.p, a.n) == 0, "n-grams: the same texts %s", e.fact);
	buf_free(&a);
	buf_free(&b);
	predictor_free(&m);
	predictor_free(&again);
	forms_free(&f);
	spoil_word(arpa, "step.0.list", 0, 0, "the number of lengths of its n-grams is wrong");
	spoil_word(arpa, "step.0.list", 0, 17, "the number of lengths of its n-grams is wrong");
	spoil_word(arpa, "step.0.list", 0, 13, "the number of lengths of its n-grams is wrong");
	spoil_word(arpa, "step.0.list", 1, 4, "another number of words");
	spoil_word(arpa, "step.0.list", 3, 2, "other n-grams than its lists say");
	spoil_word(arpa, "step.0.list", 3, 0xffffffff, "other n-grams than its lists say");
	spoil_word(arpa, "step.0.list", 4, 0xffffffff, "another number of words");
	spoil_word(arpa, "step.0.list", 4, 0, "another number of words");
	spoil_word(arpa, "step.0.terms", 0, 0x61616120, "another number of words"); /* a space comes first */
	spoil_word(arpa, "step.0.terms", 0, 0x6161ff61, "another number of words");
	spoil_word(arpa, "step.0.terms", 2, 0x733c203e, "another number of words");
	spoil_word(arpa, "step.0.a", 1, 0x3ff00000, "a probability is greater than 1");
	spoil_word(arpa, "step.0.b", 1, 0x7ff00000, "not finite");
	spoil_name(arpa, "step.0.terms", "step.0.terms of type I8 is missing");
	spoil_name(arpa, "step.0.list", "have a list");
	spoil_name(arpa, "step.0.b", "step.0.b of type F64 is missing");
}

/* Models around each other, which are votes of one: as many levels as there may be, or one more. */
static int
around(struct predictor *m, size_t levels, struct err *e)
{
	size_t i, k;

	for (i = 0; i < levels; i++) {
		struct predictor *inside = calloc(1, sizeof *inside);
		struct step_models *x = calloc(1, sizeof *x);
		struct step *s;

		*inside = *m;
		*m = (struct predictor){ .kind = inside->kind, .form = PREDICT_STEPS, .task = PREDICT_VALUE, .sharpness = 1 };
		s = predictor_add_step(m);
		x->n = 1;
		x->models = calloc(1, sizeof *x->models);
		*x->models = (struct step_model){ .m = inside, .width = inside->features, .give = MODELS_SCORES, .weight = 1,
			.gives = inside->outputs, .to = calloc(inside->outputs, sizeof(uint32_t)) };
		for (k = 0; k < inside->outputs; k++)
			x->models->to[k] = (uint32_t)k;
		*s = (struct step){ .kind = &step_models, .in = inside->features, .out = inside->outputs, .more = x,
			.free_more = step_models_free };
		if (predictor_finish(m, "around", e) < 0)
			return -1;
	}
	return 0;
}

static void
test_depth(void)
{
	struct predictor m, again = { .covers = true };
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;

	load(&m, "tests/data/predict/ridge.pkl", &e);
	test_ok(around(&m, FORM_DEPTH, &e) == 0 && form_make(&m, "model", &f.form, &e) == 0 && forms_weigh(&f, &e) == 0 &&
	        predict_tensors(&again, &f.w, &e) == 0 && same(&m, &again, &e), "%d levels %s", FORM_DEPTH, e.fact);
	predictor_free(&again);
	forms_free(&f);
	test_ok(around(&m, 1, &e) == 0 && form_make(&m, "model", &f.form, &e) < 0 && strstr(e.fact, "12 levels"),
	        "more levels: %s", e.fact);
	forms_free(&f);
	predictor_free(&m);
}

/* A key that has more levels than a form is written with: each is a copy of the one around it. */
static void
test_deep_key(void)
{
	struct predictor m;
	struct forms f = { .w = { .name = NULL } };
	struct err e = ERR_INIT;
	struct buf one = { 0 };
	const char *at;
	size_t i, head;

	load(&m, "tests/data/predict/ridge.pkl", &e);
	around(&m, 1, &e);
	form_make(&m, "model", &f.form, &e);
	predictor_free(&m);
	buf_put(&one, f.form.json.p, f.form.json.n);
	at = memmem(one.p, one.n, "\"models\":[", 10);
	head = at ? (size_t)(at + 10 - (const char *)one.p) : 0;
	buf_clear(&f.form.json);
	for (i = 0; i < 500; i++)
		buf_put(&f.form.json, one.p, head);
	for (i = 0; i < 500; i++)
		buf_text(&f.form.json, "]}]}");
	buf_free(&one);
	refused(&f, "500 levels", "");
}

/* ---- chance ---- */

static uint64_t state;

static size_t
roll(size_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)((state >> 33) % n);
}

static void
damage(struct forms *f)
{
	static const uint32_t words[] = { 0, 1, 2, 3, 0xffffffff, 0x7fffffff, 0x3ff00000, 0x7ff80000 };
	struct form_part *p = f->form.parts[roll(f->form.count)];
	size_t k = roll(3), i;
	uint8_t *digit;

	if (k == 0 && p->data.n >= 4) {
		memcpy(p->data.p + roll(p->data.n / 4) * 4, &words[roll(8)], 4);
	} else if (k == 1 && p->ndim == 1 && p->dims[0] > 1) {
		p->dims[0] = 1 + roll((size_t)p->dims[0]);
	} else {
		for (i = 0; i < 64; i++) {
			digit = &f->form.json.p[roll(f->form.json.n)];
			if (*digit >= '0' && *digit <= '9') {
				*digit = (uint8_t)('0' + roll(10));
				break;
			}
		}
	}
}

/* Damaged forms are refused with a message, or predict, and have a form that is read. */
static void
test_damage(const char *path, size_t times)
{
	struct predictor m;
	size_t i, n, read = 0, silent = 0, lost = 0;

	state = 11;
	for (i = 0; i < times; i++) {
		struct predictor again = { .covers = true }, third = { .covers = true };
		struct forms f = { .w = { .name = NULL } }, g = { .w = { .name = NULL } };
		struct err e = ERR_INIT, ignored = ERR_INIT;

		take(path, &m, &f, &e);
		damage(&f);
		if (forms_weigh(&f, &e) < 0)
			continue;
		if (predict_tensors(&again, &f.w, &e) < 0) {
			silent += e.code == ERR_NONE || !*e.fact;
		} else {
			read++;
			free(predicted(&again, &n, &ignored));
			lost += form_make(&again, "model", &g.form, &e) < 0 || forms_weigh(&g, &e) < 0 ||
			        predict_tensors(&third, &g.w, &e) < 0;
		}
		predictor_free(&m);
		predictor_free(&again);
		predictor_free(&third);
		forms_free(&f);
		forms_free(&g);
	}
	test_ok(read > 0 && read < times && silent == 0 && lost == 0, "%s: %zu of %zu damaged ones predict, %zu and %zu wrong",
	        path, read, times, silent, lost);
}

int
main(void)
{
	test_all();
	test_hostile();
	test_grams();
	test_depth();
	test_deep_key();
	test_damage(vote, 300);
	test_damage(arpa, 300);
	test_damage("tests/data/predict/text_vote.pkl", 100);
	test_damage("tests/data/predict/stack.pkl", 300);
	test_damage("tests/data/predict/isolation_some.pkl", 200);
	return test_done();
}
