/* starved: each call of the library when memory runs out: at the first allocation, at the second, and so
 * on; behind the 300th at steps of a fiftieth. Each run of a task ends with the error that says so, or as
 * it ends with enough memory. Linked with --wrap for malloc, calloc, realloc and mmap; leaks are the
 * sanitizer's to find.
 *
 *	starved MODEL SMALL [PREDICTOR FEATURES]...
 *
 * SMALL: a model that is written; FEATURES 0: rows of the predictor are texts.
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

static const char *model, *small, *predictor;
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

/* ---- tasks that write ---- */

static char *option, *value;     /* of the maker */
static struct aprml_ring *keys;  /* a pair of signing keys, an identity and its recipient */
static unsigned char *made;      /* what was written last */
static size_t made_bytes;

static int
put(void *ctx, uint64_t at, const void *p, size_t n)
{
	static size_t room;

	(void)ctx;
	if (at + n > room) {
		unsigned char *more = __real_realloc(made, (size_t)at + n);

		if (!more)
			return -1;
		made = more;
		room = (size_t)at + n;
	}
	memcpy(made + at, p, n);
	made_bytes = at + n > made_bytes ? (size_t)at + n : made_bytes;
	return 0;
}

/* Writes the small model with the option. secure: what is done with the keys. */
static int
write_model(int (*secure)(struct aprml_maker *k))
{
	struct aprml_output to = { .bytes = sizeof to, .write = put };
	struct aprml *m = aprml_open(small, &e);
	struct aprml_maker *k = m ? aprml_maker_open(&to, NULL, &e) : NULL;
	int status = -1;

	made_bytes = 0;
	if (k && aprml_maker_set(k, option, value, &e) == 0 && (!secure || secure(k) == 0))
		status = aprml_maker_model(k, m, &e);
	sum = (double)made_bytes;
	aprml_maker_close(k);
	aprml_close(m);
	return status;
}

static int
convert(void)
{
	return write_model(NULL);
}

static int
sign_it(struct aprml_maker *k)
{
	return aprml_maker_sign(k, keys, &e);
}

static int
sign(void)
{
	return write_model(sign_it);
}

static int
seal_it(struct aprml_maker *k)
{
	return aprml_maker_seal(k, keys, keys, &e);
}

static int
seal(void)
{
	return write_model(seal_it);
}

/* What sign has written. */
static int
verify(void)
{
	struct aprml *m = aprml_open_memory(made, made_bytes, &e);
	struct aprml_verdict verdict = { .bytes = sizeof verdict };
	int status = m ? aprml_verify(m, keys, NULL, NULL, &verdict, &e) : -1;

	aprml_close(m);
	return status;
}

/* What seal has written. */
static int
unseal(void)
{
	const struct aprml_origin from = { .bytes = sizeof from, .p = made, .n = made_bytes, .ring = keys };
	struct aprml *m = aprml_open_origin(&from, &e);
	float y[2] = { 0, 0 };
	int status = m ? aprml_floats(m, 1, 0, 2, y, &e) : -1;

	sum = (double)y[1];
	aprml_close(m);
	return status;
}

static int
check(void)
{
	struct aprml *m = aprml_open(small, &e);
	struct aprml_report *r = m ? aprml_check(m, NULL, NULL, &e) : NULL;

	sum = r ? aprml_report_score(r) : 0;
	aprml_report_close(r);
	aprml_close(m);
	return r ? 0 : -1;
}

static int
make_keys(void)
{
	char secret[APRML_KEY], public_key[APRML_KEY], identity[APRML_IDENTITY], recipient[APRML_IDENTITY];

	keys = aprml_ring_open(&e);
	return keys && aprml_key_new(NULL, 0, secret, public_key, &e) == 0 &&
	       aprml_identity_new(identity, recipient, &e) == 0 &&
	       aprml_ring_add(keys, secret, strlen(secret), NULL, 0, &e) == 0 &&
	       aprml_ring_add(keys, public_key, strlen(public_key), NULL, 0, &e) == 0 &&
	       aprml_ring_add(keys, identity, strlen(identity), NULL, 0, &e) == 0 &&
	       aprml_ring_add(keys, recipient, strlen(recipient), NULL, 0, &e) == 0 ? 0 : -1;
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

/* Option and value, then the tasks with them. */
static int
starved_makers(void)
{
	static char to[] = "to", type[] = "type", stream[] = "stream", q8[] = "q8_0", apr[] = "apr2";
	static char gguf[] = "gguf";
	static char *const formats[] = { stream, apr, gguf };
	size_t i;

	option = to;
	for (i = 0; i < 3; i++) {
		value = formats[i];
		if (starved(value, convert) < 0)
			return -1;
	}
	option = type;
	value = q8;
	if (starved("quantize", convert) < 0)
		return -1;
	option = to;
	value = apr;
	fails_at = 0;
	return make_keys() < 0 || starved("sign", sign) < 0 || sign() < 0 ||
	       starved("verify", verify) < 0 || starved("seal", seal) < 0 || seal() < 0 ||
	       starved("open", unseal) < 0 || starved("check", check) < 0 ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct aprml *m;

	if (argc < 3)
		return 2;
	model = argv[1];
	small = argv[2];
	m = aprml_open(model, &e);
	weights = m ? aprml_weights_open(m, NULL, &e) : NULL;
	aprml_close(m);
	if (!weights || starved("read", read_model) < 0 || starved("tokenize", tokenize) < 0 ||
	    starved("weights", open_weights) < 0 || starved("run", run) < 0 || starved_makers() < 0)
		return 1;
	for (argv += 3; argv[0] && argv[1]; argv += 2) {
		predictor = argv[0];
		features = strtoul(argv[1], NULL, 10);
		if (features > 100 || starved(predictor, predict) < 0)
			return 1;
	}
	aprml_weights_close(weights);
	aprml_ring_close(keys);
	free(made);
	return 0;
}
