/* runs: what models say, through the headers of the library alone.
 *
 *	runs tokens FILE TEXT              the ids of a text
 *	runs text FILE WAY TEXT COUNT TEMPERATURE SEED [STOP]
 *	                                   the text that follows; WAY: how the model is opened and run
 *	runs logits FILE TEXT [ADAPTER SCALE]
 *	                                   the logits after each token, in single precision
 *	runs predict FILE WHAT COLUMNS     predictions for the rows of standard input
 *	runs texts FILE WHAT               the same for a text on each line
 *	runs crowd FILE PREDICTOR          eight threads over one model, and over eight
 *	runs talk FILE                     a conversation, and the same text at once
 *	runs ends FILE                     cancelled, too late, out of memory, misused
 *
 * WAY: path, memory, ranges, copy, threads, arena, feed, twice.
 */
#define _POSIX_C_SOURCE 200809L
#include <aprml/aprml.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct aprml_error e;

static int
die(const char *what)
{
	fprintf(stderr, "runs: %s: E%03d %s\n", what, e.code, e.text);
	exit(1);
}

static void
must(int holds, const char *what)
{
	if (!holds)
		die(what);
}

/* ---- models ---- */

struct bytes {
	unsigned char *p;
	size_t n;
};

static struct bytes
read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b = { NULL, 0 };
	long n = 0;

	must(f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0, path);
	b.n = (size_t)n;
	b.p = malloc(b.n);
	must(b.p && fread(b.p, 1, b.n, f) == b.n && fclose(f) == 0, path);
	return b;
}

static int64_t
give(void *ctx, uint64_t at, void *p, size_t n)
{
	const struct bytes *b = ctx;

	must(at < b->n && n <= b->n - at, "bytes behind the end are asked for");
	n = n > 70000 ? 70000 : n;
	memcpy(p, b->p + at, n);
	return (int64_t)n;
}

static struct aprml *
open_model(const char *path, const char *way, struct bytes *b)
{
	struct aprml_ranges ranges = { sizeof ranges, 0, give, NULL, b };
	struct aprml *m;

	if (strcmp(way, "memory") && strcmp(way, "ranges")) {
		m = aprml_open(path, &e);
	} else {
		*b = read_file(path);
		ranges.size = b->n;
		m = *way == 'm' ? aprml_open_memory(b->p, b->n, &e) : aprml_open_ranges(&ranges, &e);
	}
	must(m != NULL, path);
	return m;
}

static size_t
encode(struct aprml_tokenizer *t, const char *text, uint32_t **id)
{
	size_t n, again;

	must(aprml_tokenizer_encode(t, text, strlen(text), APRML_SPECIAL, NULL, 0, &n, &e) == 0, text);
	*id = malloc(n * sizeof **id + 1);
	must(*id && aprml_tokenizer_encode(t, text, strlen(text), APRML_SPECIAL, *id, n, &again, &e) == 0 &&
	     again == n, text);
	return n;
}

static int
tokens(const char *path, const char *text)
{
	struct aprml *m = aprml_open(path, &e);
	struct aprml_tokenizer *t = m ? aprml_tokenizer_open(m, &e) : NULL;
	char back[1000];
	uint32_t *id;
	size_t i, n, bytes;

	must(t != NULL, path);
	aprml_close(m);
	n = encode(t, text, &id);
	for (i = 0; i < n; i++)
		printf("%s%" PRIu32, i ? "," : "", id[i]);
	puts("");
	must(aprml_tokenizer_decode(t, id, n, 0, back, sizeof back, &bytes, &e) == 0, "decode");
	printf("%.*s\n", (int)bytes, back);
	for (i = 0; i < aprml_tokenizer_count(t); i++) {
		const char *spelled = aprml_tokenizer_text(t, (uint32_t)i, &bytes);

		must(spelled && aprml_tokenizer_find(t, spelled, bytes) != APRML_NO_TOKEN, "find");
	}
	must(!aprml_tokenizer_text(t, (uint32_t)i, &bytes), "no such token");
	must(aprml_tokenizer_decode(t, &(uint32_t){ APRML_NO_TOKEN }, 1, 0, back, 1, &bytes, &e) < 0,
	     "no such id");
	printf("%zu tokens, EOS ends: %d\n", aprml_tokenizer_count(t),
	       aprml_tokenizer_ends(t, aprml_tokenizer_special(t, APRML_EOS)));
	free(id);
	aprml_tokenizer_close(t);
	return 0;
}

/* ---- texts ---- */

/* Threads of the program: a call is run by two, the caller and another. */
struct half {
	size_t from, to;
	void (*fn)(void *arg, size_t i);
	void *arg;
};

static void *
run_half(void *half)
{
	struct half *h = half;
	size_t i;

	for (i = h->from; i < h->to; i++)
		h->fn(h->arg, i);
	return NULL;
}

static unsigned long arena_calls;

static void
two_threads(void *ctx, size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	struct half a = { 0, n / 2, fn, arg }, b = { n / 2, n, fn, arg };
	pthread_t thread;

	(void)ctx;
	arena_calls++;
	must(pthread_create(&thread, NULL, run_half, &a) == 0, "thread");
	run_half(&b);
	pthread_join(thread, NULL);
}

static int
print_token(void *ctx, const struct aprml_token *t)
{
	uint64_t *count = ctx;

	++*count;
	must(isfinite(t->logprob) && t->logprob <= 0, "logprob");
	return fwrite(t->text, 1, t->bytes, stdout) != t->bytes;
}

/* The same text, by tokens asked for one at a time, after all but the last token have been fed. */
static void
feed_first(struct aprml_run *r, const uint32_t *id, size_t n, const struct aprml_sampling *s)
{
	struct aprml_token t;
	uint64_t count = 0;
	int more;

	must(aprml_run_feed(r, id, n, NULL, NULL, &e) == 0 && aprml_run_logits(r) &&
	     aprml_run_position(r) == n, "feed");
	must(aprml_run_rewind(r, n + 1) < 0 && aprml_run_rewind(r, n - 1) == 0 && !aprml_run_logits(r),
	     "rewind");
	must(aprml_run_begin(r, id + n - 1, 1, s, &e) == 0, "begin");
	while ((more = aprml_run_next(r, &t, &e)) > 0)
		must(print_token(&count, &t) == 0, "print");
	must(more == 0, "next");
	must(aprml_run_next(r, &t, &e) == 0, "behind the end");
}

/* The threads of the process, if the system says. */
static unsigned
count_threads(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	unsigned n = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Threads: %u", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static int
text(char **argv, int argc)
{
	const char *way = argv[3], *stop = argc > 8 ? argv[8] : NULL;
	struct aprml_weights_options wo = { .bytes = sizeof wo, .copy = !strcmp(way, "copy") };
	struct aprml_run_options ro = { .bytes = sizeof ro,
		.threads = !strcmp(way, "threads") || !strcmp(way, "arena") ? 2 : 0,
		.arena = strcmp(way, "arena") ? NULL : two_threads };
	struct aprml_sampling s = APRML_SAMPLING;
	struct aprml_result result = { .bytes = sizeof result };
	struct bytes b = { NULL, 0 };
	struct aprml *m = open_model(argv[2], way, &b);
	struct aprml_weights *w = aprml_weights_open(m, &wo, &e);
	struct aprml_run *r = w ? aprml_run_open(w, &ro, &e) : NULL;
	uint64_t count = 0, again = 0;
	uint32_t *id;
	size_t n;

	must(r != NULL, way);
	aprml_close(m);
	n = encode(aprml_weights_tokenizer(w, &e), argv[4], &id);
	s.count = strtoull(argv[5], NULL, 10);
	s.temperature = strtod(argv[6], NULL);
	s.seed = strtoull(argv[7], NULL, 10);
	s.stop = &stop;
	s.stop_count = stop != NULL;
	if (!strcmp(way, "feed"))
		feed_first(r, id, n, &s);
	else
		must(aprml_run_generate(r, id, n, &s, print_token, &count, &e) == 0, way);
	must(ro.threads || count_threads() <= 1, "a thread was started");
	if (!strcmp(way, "twice")) {
		must(aprml_run_rewind(r, 0) == 0, "rewind");
		must(aprml_run_generate(r, id, n, &s, print_token, &again, &e) == 0 && again == count, way);
	}
	must(aprml_run_result(r, &result) == 0 && result.prompt == n, "result");
	fprintf(stderr, "%d, %" PRIu64 " tokens\n", (int)result.end, result.made);
	must(strcmp(way, "arena") || arena_calls > 0, "arena");
	free(id);
	aprml_run_close(r);
	aprml_weights_close(w);
	free(b.p);
	return 0;
}

static int
print_row(void *ctx, size_t position, const float *logits)
{
	const struct aprml_run *r = ctx;

	(void)position;
	return fwrite(logits, sizeof *logits, aprml_run_vocabulary(r), stdout) != aprml_run_vocabulary(r);
}

static void
adapt(struct aprml_weights *w, const char *path, double scale)
{
	struct aprml *adapter = aprml_open(path, &e);

	must(adapter && aprml_weights_adapt(w, &adapter, &scale, 1, &e) == 0, path);
	must(aprml_weights_adapt(w, &adapter, &scale, 1, &e) < 0, "adapters, once");
	aprml_close(adapter);
}

static int
logits(const char *path, const char *said, const char *adapter, double scale)
{
	struct aprml *m = aprml_open(path, &e);
	struct aprml_weights *w = m ? aprml_weights_open(m, NULL, &e) : NULL;
	struct aprml_run *r;
	uint32_t *id;
	size_t n;

	must(w != NULL, path);
	must(aprml_weights_adapt(w, &m, NULL, 1, &e) < 0, "a model is not an adapter");
	if (adapter)
		adapt(w, adapter, scale);
	r = aprml_run_open(w, NULL, &e);
	must(r != NULL, path);
	n = encode(aprml_weights_tokenizer(w, &e), said, &id);
	must(aprml_run_feed(r, id, n, print_row, r, &e) == 0, "feed");
	free(id);
	aprml_run_close(r);
	aprml_weights_close(w);
	aprml_close(m);
	return 0;
}

/* ---- classical models ---- */

static enum aprml_what
what_of(const char *word)
{
	static const char *const words[] = { "prediction", "proba", "raw", "leaf", "contrib" };
	unsigned i;

	for (i = 0; i < 5; i++)
		if (strcmp(word, words[i]) == 0)
			return (enum aprml_what)i;
	exit(2);
}

/* Prints n rows of answers as apr-predict prints them, apart from the notation of numbers. */
static void
print_answers(const struct aprml_predictor *p, enum aprml_what what, const double *y, size_t n)
{
	size_t i, k, columns = aprml_predict_columns(p, what);
	struct aprml_predictor_info info = { .bytes = sizeof info };

	must(aprml_predictor_info(p, &info) == 0, "info");
	for (i = 0; i < n; i++)
		for (k = 0; k < columns; k++) {
			const double v = y[i * columns + k];
			const char *label = what == APRML_PREDICTION && info.classes
			                    ? aprml_predictor_label(p, (size_t)v) : NULL;

			if (label)
				fputs(label, stdout);
			else
				printf("%.17g", v);
			putchar(k + 1 < columns ? ',' : '\n');
		}
}

/* Rows of numbers and texts. */
struct table {
	double rows[1 << 20];
	const char *text[1 << 20];
	size_t bytes[1 << 20];
	size_t n, values;
	int texts; /* a value is any text */
};

/* The end of a value, which may stand between quotation marks without others inside. */
static char *
value_end(char *at)
{
	char *end = *at == '"' ? strchr(at + 1, '"') : NULL;

	return end ? end + 1 : at + strcspn(at, ",\n");
}

/* Takes the value at *at and goes behind it. */
static void
take_value(struct table *t, const struct aprml_predictor *p, size_t feature, char **at)
{
	char *end = value_end(*at), *next;
	size_t quoted = **at == '"';
	double v = strtod(*at, &next);

	/* Behind an empty value strtod would go on in the next line. */
	t->rows[t->values] = next == *at || next > end ? NAN : v;
	if (aprml_predictor_word(p, feature, *at + quoted, (size_t)(end - *at) - 2 * quoted,
	                         &t->rows[t->values]) == 2) {
		t->text[t->values] = *at + quoted;
		t->bytes[t->values] = (size_t)(end - *at) - 2 * quoted;
		t->texts = 1;
	}
	must(++t->values < 1 << 20, "too many rows");
	*at = end;
}

static int
predict(const char *path, const char *word, int in_memory)
{
	struct bytes b = in_memory ? read_file(path) : (struct bytes){ NULL, 0 };
	struct aprml_predictor *p = in_memory ? aprml_predictor_open_memory(b.p, b.n, &e)
	                                      : aprml_predictor_open(path, &e);
	struct aprml_predictor_info info = { .bytes = sizeof info };
	enum aprml_what what = what_of(word);
	static struct table t;
	static double y[1 << 20];
	static char lines[1 << 22];
	char *at = lines;

	must(p && aprml_predictor_info(p, &info) == 0 && !info.texts, path);
	free(b.p);
	must(what != APRML_CONTRIBUTIONS || aprml_predictor_explain(p, &e) == 0, "explain");
	lines[fread(lines, 1, sizeof lines - 1, stdin)] = '\0';
	for (; *at; t.n++) {
		do
			take_value(&t, p, t.values % info.features, &at);
		while (*at++ == ',');
	}
	must(t.values == t.n * info.features, "rows have other features");
	must(t.n * aprml_predict_columns(p, what) <= 1 << 20, "too many answers");
	if (in_memory)
		aprml_predictor_expect(p, UINT64_MAX);
	must((aprml_predict(p, what, t.rows, t.n, y, &e) < 0) == t.texts, "predict");
	must(aprml_predict_mixed(p, what, t.rows, t.text, t.bytes, t.n, y, &e) == 0, "mixed");
	print_answers(p, what, y, t.n);
	must(aprml_predict_texts(p, what, NULL, NULL, 1, y, &e) < 0, "no texts");
	aprml_predictor_close(p);
	return 0;
}

static int
predict_texts(const char *path, const char *word)
{
	struct aprml_predictor *p = aprml_predictor_open(path, &e);
	enum aprml_what what = what_of(word);
	static char line[1 << 16];
	const char *said = line;
	size_t bytes;
	double *y;

	must(p != NULL, path);
	y = malloc((aprml_predict_columns(p, what) + 1) * sizeof *y);
	while (y && fgets(line, sizeof line, stdin)) {
		bytes = strcspn(line, "\n");
		must(aprml_predict_texts(p, what, &said, &bytes, 1, y, &e) == 0, "texts");
		print_answers(p, what, y, 1);
	}
	must(aprml_predict(p, what, y, 1, y, &e) < 0, "no rows");
	free(y);
	aprml_predictor_close(p);
	return 0;
}

/* ---- many threads ---- */

#define THREADS 8

struct one {
	const char *path;
	struct aprml *m;          /* shared, or NULL: its own */
	struct aprml_weights *w;
	struct aprml *ranges;     /* shared: the same file, read by the program */
	const struct aprml_predictor *p; /* shared; rows have 5 values */
	unsigned number;
	char said[400];
	double sum;
	uint64_t bytes, digest;   /* of what it has written */
};

/* Rows of its own, and those of all. */
static void
predict_rows(struct one *o)
{
	struct aprml_error err;
	double rows[100], y[40];
	size_t i;

	for (i = 0; i < 100; i++)
		rows[i] = (double)(i % 7) - 3;
	rows[0] = o->number;
	must(aprml_predict_columns(o->p, APRML_PROBABILITIES) == 2, "columns");
	must(aprml_predict(o->p, APRML_PROBABILITIES, rows, 20, y, &err) == 0, "predict");
	for (i = 2; i < 40; i++)
		o->sum += y[i] * (double)i;
}

static int
put(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct one *o = ctx;
	size_t i;

	for (i = 0; i < n; i += 1 + i / 4)
		o->digest += (at + i) * ((const unsigned char *)p)[i];
	o->bytes += n;
	return 0;
}

/* Quantizes, on two threads. */
static void
write_model(struct one *o, struct aprml *m)
{
	const struct aprml_output to = { .bytes = sizeof to, .write = put, .ctx = o };
	const struct aprml_work with = { .bytes = sizeof with, .threads = 2 };
	struct aprml_error err;
	struct aprml_maker *k = aprml_maker_open(&to, &with, &err);

	must(k && aprml_maker_set(k, "type", "q8_0", &err) == 0 &&
	     aprml_maker_model(k, m, &err) == 0, "maker");
	aprml_maker_close(k);
}

static void
say(struct one *o, struct aprml_weights *w)
{
	static const char prompt[] = "To be";
	struct aprml_run_options ro = { .bytes = sizeof ro, .threads = o->number % 4 };
	struct aprml_sampling s = APRML_SAMPLING;
	struct aprml_error err;
	struct aprml_run *r = aprml_run_open(w, &ro, &err);
	struct aprml_token t;
	uint32_t id[100];
	size_t n, at = 0;

	s.count = 6;
	s.temperature = 0.8;
	s.seed = o->number % 2;
	must(r && aprml_tokenizer_encode(aprml_weights_tokenizer(w, &err), prompt, strlen(prompt),
	                                 APRML_SPECIAL, id, 100, &n, &err) == 0 && n <= 100, "open");
	must(aprml_run_begin(r, id, n, &s, &err) == 0, "begin");
	while (aprml_run_next(r, &t, &err) > 0 && at + t.bytes < sizeof o->said) {
		memcpy(o->said + at, t.text, t.bytes);
		at += t.bytes;
	}
	aprml_run_cancel(r, 1);
	aprml_run_close(r);
}

/* Reads tensors in all ways, another one first in each thread. */
static void
look(struct one *o, struct aprml *m)
{
	struct aprml_error err;
	size_t i, k, count = aprml_tensor_count(m);
	float y[64];

	for (i = 0; i < count; i++) {
		struct aprml_tensor t;
		const unsigned char *view;
		unsigned char byte;

		k = (i + o->number) % count;
		must(aprml_tensor(m, k, &t) == 0 && aprml_find(m, t.name, &k) == 0, "find");
		if (t.values < 64)
			continue;
		view = (const unsigned char *)aprml_view(m, k, &err);
		must(aprml_floats(m, k, t.values - 64, 64, y, &err) == 0 && view, "floats");
		must(aprml_bytes(m, k, 7, 1, &byte, &err) == 0 && byte == view[7], "bytes");
		must(aprml_bytes(o->ranges, k, 7, 1, &byte, &err) == 0 && byte == view[7], "ranges");
	}
}

static void *
work(void *one)
{
	struct one *o = one;
	struct aprml_error err;
	struct aprml *m = o->m ? o->m : aprml_open(o->path, &err);
	struct aprml_weights *w = o->w ? o->w : m ? aprml_weights_open(m, NULL, &err) : NULL;

	must(w != NULL, o->path);
	look(o, m);
	say(o, w);
	predict_rows(o);
	if (!o->m && o->number % 4 == 1)
		write_model(o, m);
	if (!o->w)
		aprml_weights_close(w);
	if (!o->m)
		aprml_close(m);
	return NULL;
}

static int
crowd(const char *path, const char *predictor)
{
	static struct one all[2 * THREADS];
	struct aprml_predictor *p = aprml_predictor_open(predictor, &e);
	struct aprml *m = aprml_open(path, &e);
	struct aprml_weights *w = m ? aprml_weights_open(m, NULL, &e) : NULL;
	struct bytes b = { NULL, 0 };
	struct aprml *ranges = open_model(path, "ranges", &b);
	pthread_t threads[2 * THREADS];
	unsigned i;

	must(w && p, path);
	for (i = 0; i < 2 * THREADS; i++) {
		all[i] = (struct one){ .path = path, .ranges = ranges, .p = p, .m = i < THREADS ? m : NULL,
			.w = i < THREADS ? w : NULL, .number = i };
		must(pthread_create(&threads[i], NULL, work, &all[i]) == 0, "thread");
	}
	for (i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 2; i < 2 * THREADS; i++)
		must(strcmp(all[i].said, all[i % 2].said) == 0 && all[i].sum == all[0].sum,
		     "threads say different texts, or predict differently");
	must(all[9].bytes > 1000000 && all[9].bytes == all[13].bytes && all[9].digest == all[13].digest,
	     "threads write different models");
	printf("%s\n%s\n", all[0].said, all[1].said);
	aprml_close(ranges);
	free(b.p);
	aprml_predictor_close(p);
	aprml_weights_close(w);
	aprml_close(m);
	return 0;
}

/* ---- conversations ---- */

struct list {
	uint32_t id[100];
	size_t n;
};

static int
keep_id(void *ctx, const struct aprml_token *t)
{
	struct list *l = ctx;

	must(l->n < 100, "tokens");
	l->id[l->n++] = t->id;
	return 0;
}

/* Three turns, each with what was said before, and with what a new run says after all of that. */
static int
talk(const char *path)
{
	struct aprml *m = aprml_open(path, &e);
	struct aprml_weights *w = m ? aprml_weights_open(m, NULL, &e) : NULL;
	struct aprml_run *r = w ? aprml_run_open(w, NULL, &e) : NULL, *fresh;
	static const uint32_t turns[3][2] = { { 398, 304 }, { 11, 522 }, { 321, 13 } };
	struct aprml_sampling s = APRML_SAMPLING;
	struct list all = { .n = 0 }, again;
	size_t i, before;

	must(r != NULL, path);
	s.count = 7;
	for (i = 0; i < 3; i++) {
		memcpy(all.id + all.n, turns[i], sizeof turns[i]);
		before = all.n += 2;
		must(aprml_run_generate(r, turns[i], 2, &s, keep_id, &all, &e) == 0, "turn");
		must(all.n == before + 7 && aprml_run_position(r) == all.n, "position");
		again.n = 0;
		fresh = aprml_run_open(w, NULL, &e);
		must(fresh && aprml_run_generate(fresh, all.id, before, &s, keep_id, &again, &e) == 0, "fresh");
		must(again.n == 7 && memcmp(again.id, all.id + before, 7 * sizeof *again.id) == 0,
		     "a conversation differs from its text");
		aprml_run_close(fresh);
	}
	/* The same last turn once more. */
	must(aprml_run_rewind(r, before) == 0, "rewind");
	again.n = 0;
	must(aprml_run_generate(r, NULL, 0, &s, keep_id, &again, &e) == 0 &&
	     memcmp(again.id, all.id + before, 7 * sizeof *again.id) == 0, "again");
	aprml_run_close(r);
	aprml_weights_close(w);
	aprml_close(m);
	return 0;
}

/* ---- ends ---- */

static size_t told;
static struct aprml_run *told_run;

/* Cancels after the first part of a prompt. */
static void
progress(void *ctx, size_t done, size_t all)
{
	(void)ctx;
	must(done <= all && done > 0, "progress");
	told++;
	aprml_run_cancel(told_run, 1);
}

static int
ends(const char *path)
{
	struct aprml_run_options o = { .bytes = sizeof o, .progress = progress };
	struct aprml_weights_options wo = { .bytes = sizeof wo, .copy = 1, .memory = 1000 };
	struct aprml_result result = { .bytes = sizeof result };
	struct aprml_sampling s = APRML_SAMPLING;
	struct aprml *m = aprml_open(path, &e);
	struct aprml_weights *w = m ? aprml_weights_open(m, NULL, &e) : NULL;
	uint32_t id[300] = { 1, 2, 3 };
	struct aprml_token t;
	struct aprml_run *r;

	must(w != NULL, path);
	must(!aprml_weights_open(m, &wo, &e) && e.code == 8, "memory of weights");
	o.memory = 1000;
	must(!aprml_run_open(w, &o, &e) && e.code == 8, "memory of a run");
	o.memory = 0;
	o.context = 100000000;
	must(!aprml_run_open(w, &o, &e), "context");
	o.context = 250;
	o.cache = "f17";
	must(!aprml_run_open(w, &o, &e), "cache");
	o.cache = "q8_0";
	o.bytes = 8;
	must(!aprml_run_open(w, &o, &e), "size");
	o.bytes = sizeof o;
	told_run = r = aprml_run_open(w, &o, &e);
	must(r && aprml_run_context(r) == 250, "run");
	must(aprml_run_result(r, &result) < 0 && aprml_run_next(r, &t, &e) == 0, "nothing began");
	must(aprml_run_begin(r, NULL, 0, NULL, &e) < 0, "no tokens");
	must(aprml_run_begin(r, &(uint32_t){ 1u << 30 }, 1, NULL, &e) < 0, "no such token");
	must(aprml_run_begin(r, id, 250, NULL, &e) < 0 && aprml_run_position(r) == 0, "too many");
	s.min_p = 2;
	must(aprml_run_begin(r, id, 3, &s, &e) < 0, "min_p");
	/* Cancelled by the first report; then again, without one. */
	must(aprml_run_feed(r, id, 200, NULL, NULL, &e) == 0 && told == 1, "feed");
	must(aprml_run_feed(r, id, 3, NULL, NULL, &e) < 0 && aprml_run_position(r) == 200, "cancelled");
	must(aprml_run_begin(r, id, 3, NULL, &e) == 0 && aprml_run_next(r, &t, &e) == 0 &&
	     aprml_run_result(r, &result) == 0 && result.end == APRML_CANCELLED && result.made == 0,
	     "cancelled generation");
	aprml_run_cancel(r, 0);
	must(aprml_run_begin(r, id, 3, NULL, &e) == 0 && aprml_run_result(r, &result) == 0 &&
	     result.end == APRML_RUNNING, "running");
	aprml_run_close(r);
	/* No time. */
	o.seconds = 1e-9;
	told_run = r = aprml_run_open(w, &o, &e);
	must(r && aprml_run_begin(r, id, 3, NULL, &e) == 0 && aprml_run_next(r, &t, &e) == 0 &&
	     aprml_run_result(r, &result) == 0 && result.end == APRML_TIME, "time");
	must(aprml_run_feed(r, id, 3, NULL, NULL, &e) < 0 && e.code == 8, "time of feed");
	aprml_run_close(r);
	/* A full context. */
	o.seconds = 0;
	o.progress = NULL;
	o.context = 8;
	s = (struct aprml_sampling)APRML_SAMPLING;
	s.count = 0;
	r = aprml_run_open(w, &o, &e);
	must(r && aprml_run_begin(r, id, 3, &s, &e) == 0, "small");
	while (aprml_run_next(r, &t, &e) > 0)
		;
	must(aprml_run_result(r, &result) == 0 &&
	     (result.end == APRML_CONTEXT || result.end == APRML_END_OF_TEXT), "context");
	aprml_run_close(r);
	aprml_weights_close(w);
	aprml_close(m);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[1] : "";

	if (!strcmp(word, "tokens") && argc == 4)
		return tokens(argv[2], argv[3]);
	if (!strcmp(word, "text") && argc >= 8)
		return text(argv, argc);
	if (!strcmp(word, "logits") && argc >= 4)
		return logits(argv[2], argv[3], argv[4], argc > 5 ? atof(argv[5]) : 1);
	if (!strcmp(word, "predict") && argc == 4)
		return predict(argv[2], argv[3], 0);
	if (!strcmp(word, "memory") && argc == 4)
		return predict(argv[2], argv[3], 1);
	if (!strcmp(word, "texts") && argc == 4)
		return predict_texts(argv[2], argv[3]);
	if (!strcmp(word, "crowd") && argc == 4)
		return crowd(argv[2], argv[3]);
	if (!strcmp(word, "talk"))
		return talk(argv[2]);
	return strcmp(word, "ends") ? 2 : ends(argv[2]);
}
