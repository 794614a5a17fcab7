/* starved: each call of the library when memory runs out: at the first allocation, at the second, and so
 * on; behind the 300th at steps of a fiftieth. Each run of a task ends with the error that says so, or as
 * it ends with enough memory. Linked with --wrap for malloc, calloc, realloc and mmap; leaks are the
 * sanitizer's to find.
 *
 *	starved MODEL [PREDICTOR FEATURES]...    FEATURES 0: its rows are texts
 */
#define _GNU_SOURCE
#include <aprml/aprml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- allocation ---- */

static unsigned long allocations, fails_at; /* 0: none fails */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);

static int
fails(void)
{
	if (++allocations != fails_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *
__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

/* Of files it is not an allocation. */
void *
__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
	return fd < 0 && fails() ? MAP_FAILED : __real_mmap(p, n, prot, flags, fd, at);
}

/* ---- tasks: 0, or -1 with e filled; what they find goes into sum ---- */

static const char *model, *predictor;
static size_t features;
static struct aprml_error e;
static double sum;

static int
read_model(void)
{
	struct aprml *m = aprml_open(model, &e);
	struct aprml_value list, item;
	struct aprml_file file;
	unsigned char bytes[500];
	int status = -1, more = 0;
	const char *view;
	size_t i, n;
	float y[40];

	if (!m)
		return -1;
	if (aprml_value(m, "tokenizer.ggml.tokens", &list, &e) < 0 || aprml_item(&list, 7, &item) < 0)
		goto end;
	for (i = 0; i < aprml_file_count(m); i++)
		if (aprml_file(m, i, &file, &e) < 0)
			goto end;
	view = (const char *)aprml_view(m, 1, &e);
	if (!view || aprml_floats(m, 2, 3, 40, y, &e) < 0 || aprml_bytes(m, 1, 0, 9, bytes, &e) < 0)
		goto end;
	for (n = 0; (more = aprml_next(m, &i, &e)) > 0; n++)
		if (aprml_read(m, bytes, sizeof bytes, &i, &e) < 0)
			goto end;
	sum = (double)y[0] + (double)n + view[0];
	status = more;
end:
	aprml_close(m);
	return status;
}

static int
tokenize(void)
{
	struct aprml *m = aprml_open(model, &e);
	struct aprml_tokenizer *t = m ? aprml_tokenizer_open(m, &e) : NULL;
	char back[100];
	uint32_t id[100];
	size_t n, bytes;
	int status = -1;

	if (t && aprml_tokenizer_encode(t, "to be, or not to be", 19, APRML_SPECIAL, id, 100, &n, &e) == 0)
		status = aprml_tokenizer_decode(t, id, n, 0, back, 100, &bytes, &e);
	if (status == 0)
		sum = (double)bytes + id[1];
	aprml_tokenizer_close(t);
	aprml_close(m);
	return status;
}

static int
add_text(void *ctx, const struct aprml_token *t)
{
	(void)ctx;
	sum += t->logprob;
	return 0;
}

/* Opened by the task before it, so that what is opened does not count. */
static struct aprml_weights *weights;

static int
open_weights(void)
{
	struct aprml *m = aprml_open(model, &e);
	struct aprml_weights *w = m ? aprml_weights_open(m, NULL, &e) : NULL;

	aprml_close(m);
	aprml_weights_close(w);
	return w ? 0 : -1;
}

static int
run(void)
{
	static const char *const stops[] = { "nothing", "never" };
	struct aprml_run *r = aprml_run_open(weights, NULL, &e);
	struct aprml_sampling s = APRML_SAMPLING;
	const uint32_t id[] = { 398, 304, 11 };
	int status = -1;

	s.temperature = 1;
	s.count = 2;
	s.stop = stops;
	s.stop_count = 2;
	if (r && aprml_run_feed(r, id, 2, NULL, NULL, &e) == 0)
		status = aprml_run_generate(r, id + 2, 1, &s, add_text, NULL, &e);
	aprml_run_close(r);
	return status;
}

static int
predict(void)
{
	static const char *const text[] = { "a prize for you", "dinner" };
	static const size_t bytes[] = { 15, 6 };
	struct aprml_predictor *p = aprml_predictor_open(predictor, &e);
	static double rows[200], y[20000];
	size_t columns = p ? aprml_predict_columns(p, APRML_SCORES) : 0;
	int status = -1;

	if (p && columns <= 10000)
		status = features ? aprml_predict(p, APRML_SCORES, rows, 2, y, &e)
		                  : aprml_predict_texts(p, APRML_SCORES, text, bytes, 2, y, &e);
	if (status == 0)
		sum = y[0];
	aprml_predictor_close(p);
	return status;
}

/* ---- */

static int
starved(const char *name, int (*task)(void))
{
	unsigned long at, errors = 0;
	double sound;

	sum = 0;
	fails_at = 0;
	if (task() < 0) {
		fprintf(stderr, "starved: %s: E%03d %s\n", name, e.code, e.text);
		return -1;
	}
	sound = sum;
	for (at = 1;; at += at > 300 ? at / 50 : 1) {
		int status;

		memset(&e, 0, sizeof e);
		sum = 0;
		allocations = 0;
		fails_at = at;
		status = task();
		fails_at = 0;
		if (allocations < at)
			break;
		errors += status < 0;
		if (status < 0 ? e.code == 8 : sum == sound)
			continue;
		fprintf(stderr, "starved: %s: allocation %lu: %s, E%03d %s\n", name, at,
		        status < 0 ? "another error" : "another result", e.code, e.text);
		return -1;
	}
	printf("%s: %lu allocations, %lu errors\n", name, at, errors);
	return errors > 0 ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct aprml *m;

	if (argc < 2)
		return 2;
	model = argv[1];
	m = aprml_open(model, &e);
	weights = m ? aprml_weights_open(m, NULL, &e) : NULL;
	aprml_close(m);
	if (!weights || starved("read", read_model) < 0 || starved("tokenize", tokenize) < 0 ||
	    starved("weights", open_weights) < 0 || starved("run", run) < 0)
		return 1;
	for (argv += 2; argv[0] && argv[1]; argv += 2) {
		predictor = argv[0];
		features = strtoul(argv[1], NULL, 10);
		if (features > 100 || starved(predictor, predict) < 0)
			return 1;
	}
	aprml_weights_close(weights);
	return 0;
}
