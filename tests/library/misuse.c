/* misuse: what a program can do wrong with the public headers, and call-backs that fail or lie: an error
 * each, never a crash, and nothing remains of an output.
 *
 *	misuse calls FILE      NULL, sizes of structures, handles after an error
 *	misuse writes FILE     outputs that fail at each call; progress that ends at each call; limits
 *	misuse reads FILE      a file that the program reads badly
 *	misuse crowd FILE      eight threads that convert, sign, verify, seal and judge at once
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aprml/aprml.h>

#define THREADS 8

static void
must_at(int ok, const char *what, int line, const struct aprml_error *e)
{
	if (ok)
		return;
	fprintf(stderr, "misuse.c:%d: %s: %d %s\n", line, what, e ? e->code : 0, e ? e->text : "");
	exit(1);
}

static struct aprml_error e;
#define must(cond) must_at(!!(cond), #cond, __LINE__, &e)

/* The call failed with this text in its error. */
#define fails(call, with) (e.text[0] = '\0', (call) && strstr(e.text, with))

/* ---- files ---- */

struct bytes {
	unsigned char *p;
	size_t n;
};

static struct bytes
read_file(const char *path)
{
	struct bytes b = { NULL, 0 };
	FILE *f = fopen(path, "rb");

	must(f && fseek(f, 0, SEEK_END) == 0);
	b.n = (size_t)ftell(f);
	b.p = malloc(b.n + 1);
	rewind(f);
	must(b.p && fread(b.p, 1, b.n, f) == b.n);
	fclose(f);
	return b;
}

/* An output in memory; fails at the call with this number, if that is not 0. */
struct store {
	struct bytes b;
	size_t cap;
	long calls, fails_at;
	int ended;
};

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct store *s = ctx;

	must_at(!s->ended, "bytes behind the end", __LINE__, NULL);
	if (++s->calls == s->fails_at)
		return -1;
	if (at + n > s->cap) {
		s->cap = 2 * (size_t)(at + n);
		s->b.p = realloc(s->b.p, s->cap);
	}
	memcpy(s->b.p + at, p, n);
	if (at + n > s->b.n)
		s->b.n = (size_t)(at + n);
	return 0;
}

static int
complete(void *ctx, uint64_t n)
{
	struct store *s = ctx;

	s->ended = 1;
	return ++s->calls == s->fails_at || n != s->b.n ? -1 : 0;
}

static struct aprml_maker *
maker(struct store *s, const struct aprml_work *work, struct aprml_error *err)
{
	const struct aprml_output to = { .bytes = sizeof to, .write = take, .end = complete, .ctx = s };

	return aprml_maker_open(&to, work, err);
}

/* ---- calls ---- */

static void
null_model(struct aprml_error *to)
{
	const struct aprml_origin nowhere = { .bytes = sizeof nowhere };
	struct aprml_value v;
	struct aprml_file f;
	unsigned char byte;
	float y;
	size_t n;

	must(!aprml_open(NULL, to) && !aprml_open_memory(NULL, 5, to) && !aprml_open_memory(NULL, 0, to));
	must(!aprml_open_ranges(NULL, to) && !aprml_open_origin(NULL, to));
	must(!aprml_open_origin(&nowhere, to));
	must(aprml_floats(NULL, 0, 0, 1, &y, to) < 0 && aprml_bytes(NULL, 0, 0, 1, &byte, to) < 0);
	must(!aprml_view(NULL, 0, to) && aprml_value(NULL, "k", &v, to) < 0);
	must(aprml_file(NULL, 0, &f, to) < 0 && aprml_next(NULL, &n, to) < 0);
	must(aprml_read(NULL, &byte, 1, &n, to) < 0 && n == 0);
	must(!aprml_check(NULL, NULL, NULL, to) && aprml_verify(NULL, NULL, NULL, NULL, NULL, to) < 0);
	aprml_close(NULL);
	aprml_report_close(NULL);
}

static void
null_computing(struct aprml_error *to)
{
	struct aprml_token token;
	uint32_t id = 0;
	size_t n;
	char text;
	double y;

	must(!aprml_tokenizer_open(NULL, to) && !aprml_tokenizer_open_memory(NULL, 3, to));
	must(aprml_tokenizer_encode(NULL, "a", 1, 0, &id, 1, &n, to) < 0);
	must(aprml_tokenizer_decode(NULL, &id, 1, 0, &text, 1, &n, to) < 0);
	must(!aprml_weights_open(NULL, NULL, to) && !aprml_weights_tokenizer(NULL, to));
	must(aprml_weights_adapt(NULL, NULL, NULL, 0, to) < 0 && !aprml_run_open(NULL, NULL, to));
	must(aprml_run_begin(NULL, &id, 1, NULL, to) < 0 && aprml_run_next(NULL, &token, to) < 0);
	must(aprml_run_feed(NULL, &id, 1, NULL, NULL, to) < 0);
	must(!aprml_predictor_of(NULL, to) && !aprml_predictor_open(NULL, to));
	must(!aprml_predictor_open_memory(NULL, 4, to) && aprml_predictor_explain(NULL, to) < 0);
	must(aprml_predict(NULL, APRML_PREDICTION, &y, 1, &y, to) < 0);
	must(aprml_predictor_trees(NULL, 1, to) < 0);
	aprml_tokenizer_close(NULL);
	aprml_weights_close(NULL);
	aprml_run_close(NULL);
	aprml_predictor_close(NULL);
}

static void
null_makers(struct aprml_error *to)
{
	must(!aprml_maker_open(NULL, NULL, to) && aprml_maker_set(NULL, "to", "gguf", to) < 0);
	must(aprml_maker_model(NULL, NULL, to) < 0 && aprml_maker_data(NULL, "", 0, to) < 0);
	must(aprml_maker_key(NULL, "k", "string", "", 0, to) < 0 && aprml_maker_end(NULL, to) < 0);
	must(aprml_maker_file(NULL, "f", "text", "", 0, to) < 0);
	must(aprml_maker_tensor(NULL, "t", "F32", 0, NULL, to) < 0);
	must(aprml_maker_importance(NULL, "", 0, "i", to) < 0 && aprml_maker_sign(NULL, NULL, to) < 0);
	must(aprml_maker_verify(NULL, NULL, NULL, to) < 0 && aprml_maker_vault(NULL, NULL, to) < 0);
	must(aprml_maker_seal(NULL, NULL, NULL, to) < 0);
	must(aprml_ring_add(NULL, "", 0, NULL, 0, to) < 0 && aprml_ring_passphrase(NULL, "", 0, to) < 0);
	aprml_maker_close(NULL);
	aprml_ring_close(NULL);
}

/* A structure with more members than this library's. */
#define LONGER(type) struct { struct type known; long more[2]; }

/* The report on a model that lacks nearly everything. */
static struct aprml_report *
bad_report(const struct aprml_work *work)
{
	const uint64_t dims[] = { 4, 4 };
	struct store s = { .ended = 0 };
	struct aprml_maker *k = maker(&s, NULL, &e);
	struct aprml_report *r;
	struct aprml *m;

	must(aprml_maker_key(k, "general.architecture", "string", "llama", 5, &e) == 0);
	must(aprml_maker_tensor(k, "output.weight", "F32", 2, dims, &e) == 0);
	must(aprml_maker_data(k, (float[16]){ 1 }, 64, &e) == 0 && aprml_maker_end(k, &e) == 0);
	aprml_maker_close(k);
	m = aprml_open_memory(s.b.p, s.b.n, &e);
	must(m != NULL);
	r = aprml_check(m, NULL, work, &e);
	aprml_close(m);
	free(s.b.p);
	return r;
}

static void
sizes(const char *path)
{
	LONGER(aprml_origin) o = { { .bytes = sizeof o, .path = path }, { 0, 0 } };
	LONGER(aprml_work) work = { { .bytes = sizeof work }, { 0, 0 } };
	LONGER(aprml_finding) f = { { .bytes = sizeof f }, { 7, 7 } };
	struct aprml_ring *ring = aprml_ring_open(&e);
	struct aprml *m = aprml_open_origin(&o.known, &e);
	struct aprml_report *r;
	struct aprml_verdict verdict = { .bytes = 8 };
	struct store s = { .ended = 0 };

	must(m != NULL);
	o.more[1] = 1;
	must(fails(!aprml_open_origin(&o.known, &e), "does not know"));
	o.known.bytes = 0;
	must(fails(!aprml_open_origin(&o.known, &e), "not its size"));
	must(!maker(&s, &(struct aprml_work){ .bytes = 4 }, &e));
	r = bad_report(&work.known);
	must(r && aprml_report_count(r, APRML_WARNING) > 0);
	must(aprml_report_finding(r, 0, &f.known) == 0 && f.known.id && !f.more[0] && !f.more[1] &&
	     f.known.bytes == sizeof f);
	f.known.bytes = 16;
	must(aprml_report_finding(r, 0, &f.known) < 0);
	must(fails(aprml_verify(m, ring, NULL, NULL, &verdict, &e) < 0, "aprml_verdict"));
	aprml_report_close(r);
	aprml_ring_close(ring);
	aprml_close(m);
}

/* A maker that has failed, or ended, says so whatever it is asked. */
static void
ended_makers(const char *path)
{
	struct store s = { .ended = 0 };
	struct aprml_ring *empty = aprml_ring_open(&e);
	struct aprml *m = aprml_open(path, &e);
	struct aprml_maker *k = maker(&s, NULL, &e);
	const uint64_t dims[] = { UINT64_MAX, UINT64_MAX };

	must(empty && m && k);
	must(fails(aprml_maker_sign(k, empty, &e) < 0, "no secret key"));
	must(fails(aprml_maker_model(k, m, &e) < 0, "no secret key"));
	must(fails(aprml_maker_end(k, &e) < 0, "no secret key") && s.calls == 0);
	aprml_maker_close(k);
	k = maker(&s, NULL, &e);
	must(aprml_maker_model(k, m, &e) == 0 && s.ended);
	must(fails(aprml_maker_model(k, m, &e) < 0, "has ended"));
	must(aprml_maker_set(k, "to", "gguf", &e) < 0 && aprml_maker_data(k, "", 1, &e) < 0);
	aprml_maker_close(k);
	s.ended = 0;
	k = maker(&s, NULL, &e);
	must(aprml_maker_tensor(k, "t", "F32", 2, dims, &e) < 0 && aprml_maker_end(k, &e) < 0);
	aprml_maker_close(k);
	k = maker(&s, NULL, &e);
	must(aprml_maker_tensor(k, "t", "F32", 0, NULL, &e) == 0 && aprml_maker_data(k, "abc", 3, &e) == 0);
	must(fails(aprml_maker_end(k, &e) < 0, "missing") && !s.ended);
	aprml_maker_close(k);
	k = maker(&s, NULL, &e);
	aprml_maker_cancel(k);
	must(fails(aprml_maker_model(k, m, &e) < 0, "cancelled") && !s.ended);
	aprml_maker_close(k);
	aprml_ring_close(empty);
	aprml_close(m);
	free(s.b.p);
}

/* The model is closed while what was opened from it lives. */
static void
closed_early(const char *path)
{
	struct aprml *m = aprml_open(path, &e);
	struct aprml_weights *w = aprml_weights_open(m, NULL, &e);
	struct aprml_tokenizer *t = aprml_tokenizer_open(m, &e);
	const uint32_t id[] = { 1, 2, 3, UINT32_MAX };
	struct aprml_run *r;

	aprml_close(m);
	must(w && t && aprml_tokenizer_count(t) > 100);
	aprml_tokenizer_close(t);
	r = aprml_run_open(w, NULL, &e);
	must(r && aprml_run_feed(r, id, 4, NULL, NULL, &e) < 0 && aprml_run_position(r) == 0);
	must(aprml_run_feed(r, id, 3, NULL, NULL, &e) == 0 && aprml_run_logits(r));
	must(aprml_run_rewind(r, 4) < 0 && aprml_run_rewind(r, 0) == 0);
	must(fails(aprml_run_begin(r, NULL, 0, NULL, &e) < 0, "") && aprml_run_next(r, NULL, &e) == 0);
	aprml_run_close(r);
	aprml_weights_close(w);
}

static int
calls(const char *path)
{
	null_model(&e);
	null_model(NULL);
	null_computing(&e);
	null_computing(NULL);
	null_makers(&e);
	null_makers(NULL);
	must(fails(aprml_maker_set(NULL, "to", "gguf", &e) < 0, "maker: is NULL"));
	sizes(path);
	ended_makers(path);
	closed_early(path);
	return 0;
}

/* ---- writes ---- */

struct stop {
	long calls, at;
};

static int
stop(void *ctx, uint64_t done, uint64_t all)
{
	struct stop *s = ctx;

	must_at(done <= all, "more than all", __LINE__, NULL);
	return ++s->calls == s->at;
}

/* Convert with an output that fails at a call, or progress that does. 0 if nothing failed. */
static int
convert(struct aprml *m, const char *to, long write_fails, long progress_fails)
{
	struct store s = { .fails_at = write_fails };
	struct stop p = { 0, progress_fails };
	const struct aprml_work work = { .bytes = sizeof work, .progress = stop, .ctx = &p };
	struct aprml_maker *k = maker(&s, &work, &e);
	int r;

	must(k && aprml_maker_set(k, "to", to, &e) == 0);
	r = aprml_maker_model(k, m, &e);
	if (progress_fails)
		must(r == 0 ? p.calls < p.at && s.ended : !s.ended && strstr(e.text, "ended the call"));
	else if (r < 0)
		must(e.code == 7 && s.calls == s.fails_at);
	aprml_maker_close(k);
	free(s.b.p);
	return r;
}

static void
limits(const char *path)
{
	struct aprml_work work = { .bytes = sizeof work, .memory = 20000 };
	struct aprml_origin o = { .bytes = sizeof o, .path = path, .work = &work };

	must(fails(!aprml_open_origin(&o, &e), "needs more than 20000 bytes") && e.code == 8);
	work.memory = 0;
	work.seconds = 1e-9;
	must(fails(!aprml_open_origin(&o, &e), "takes more than 1e-09 seconds") && e.code == 8);
	work.seconds = 1000;
	work.memory = 1 << 28;
	o.work = &work;
	aprml_close(aprml_open_origin(&o, &e));
}

static int
writes(const char *path)
{
	static const char *const to[] = { "gguf", "safetensors", "apr1", "apr2", "apr2-64", "stream" };
	struct aprml *m = aprml_open(path, &e);
	long i, steps;
	size_t k;

	must(m != NULL);
	for (k = 0; k < sizeof to / sizeof *to; k++) {
		/* Each of the first calls, then some. */
		for (i = 1, steps = 0; convert(m, to[k], i, 0) < 0; i += i < 20 ? 1 : i / 4)
			steps++;
		must(steps > 3);
		for (i = 1, steps = 0; convert(m, to[k], 0, i) < 0; i += i < 8 ? 1 : i / 2)
			steps++;
		must(steps > 3);
	}
	aprml_close(m);
	limits(path);
	return 0;
}

/* ---- reads ---- */

enum lie { HONEST, SHORT, BREAKS, NOTHING, TOO_MUCH, GARBAGE, OTHER_LATER, LIES };

struct reading {
	struct bytes b;
	enum lie lie;
	long calls, from;  /* the lie begins with this call */
	uint64_t seed;
};

static int64_t
lend(void *ctx, uint64_t at, void *p, size_t n)
{
	struct reading *r = ctx;
	unsigned char *to = p;
	size_t i;

	must_at(at <= r->b.n && n > 0 && n <= r->b.n - at, "asked for bytes behind the end", __LINE__, NULL);
	if (++r->calls < r->from)
		i = n;
	else
		i = r->lie == SHORT ? 1 + n / 3 : n;
	memcpy(to, r->b.p + at, i);
	if (r->calls < r->from || r->lie <= SHORT)
		return (int64_t)i;
	switch (r->lie) {
	case BREAKS:
		return -1;
	case NOTHING:
		return 0;
	case TOO_MUCH:
		return (int64_t)n + 1;
	default:
		for (i = 0; i < n; i++) {
			r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
			if (r->lie == GARBAGE || r->seed >> 56 < 3)
				to[i] ^= (unsigned char)(r->seed >> 48);
		}
		return (int64_t)n;
	}
}

/* Read everything. Returns 0 if no call failed. */
static int
read_all(struct aprml *m)
{
	static unsigned char bytes[65536];
	struct aprml_tensor t;
	struct aprml_value v;
	struct aprml_file f;
	size_t i, n;
	int more, bad = 0;

	for (i = 0; i < aprml_key_count(m); i++)
		bad |= aprml_value(m, aprml_key(m, i), &v, &e) < 0;
	for (i = 0; i < aprml_file_count(m); i++)
		bad |= aprml_file(m, i, &f, &e) < 0;
	for (i = 0; aprml_tensor(m, i, &t) == 0; i++)
		bad |= aprml_bytes(m, i, t.bytes / 2, t.bytes > 8 ? 4 : 0, bytes, &e) < 0;
	while ((more = aprml_next(m, &i, &e)) > 0)
		do
			if (aprml_read(m, bytes, sizeof bytes, &n, &e) < 0)
				return -1;
		while (n > 0);
	return more < 0 || bad ? -1 : 0;
}

static int
try_reading(struct bytes b, enum lie lie, long from)
{
	struct reading r = { .b = b, .lie = lie, .from = from, .seed = (uint64_t)from };
	const struct aprml_ranges ranges = { .bytes = sizeof ranges, .size = b.n, .read = lend, .ctx = &r };
	struct aprml *m = aprml_open_ranges(&ranges, &e);
	int status = m ? read_all(m) : -1;

	aprml_close(m);
	return r.calls < from ? 1 : status;
}

static int
reads(const char *path)
{
	const struct bytes b = read_file(path);
	unsigned lie;
	long from;
	int r;

	must(try_reading(b, HONEST, 1) == 0 && try_reading(b, SHORT, 1) == 0);
	for (lie = BREAKS; lie < LIES; lie++)
		for (from = 1; (r = try_reading(b, (enum lie)lie, from)) != 1; from += from < 12 ? 1 : from / 3)
			must(r < 0 || lie >= GARBAGE); /* bytes of a tensor may be anything */
	free(b.p);
	return 0;
}

/* ---- crowd ---- */

struct one {
	const char *path;
	const struct aprml_ring *ring;
	uint64_t digest;
	unsigned score, number;
};

static void
make(struct one *o, struct aprml *m, struct store *s, const char *type, int seals, struct aprml_error *err)
{
	const struct aprml_work work = { .bytes = sizeof work, .threads = 1 + o->number % 3 };
	struct aprml_maker *k = maker(s, &work, err);

	must_at(k && aprml_maker_set(k, "type", type, err) == 0 &&
	        aprml_maker_set(k, "allow-requantize", NULL, err) == 0 &&
	        aprml_maker_sign(k, o->ring, err) == 0 &&
	        (!seals || aprml_maker_seal(k, o->ring, NULL, err) == 0) &&
	        aprml_maker_model(k, m, err) == 0, "make", __LINE__, err);
	aprml_maker_close(k);
}

static void
verify(struct one *o, const struct store *s, struct aprml_error *err)
{
	const struct aprml_origin from = { .bytes = sizeof from, .p = s->b.p, .n = s->b.n, .ring = o->ring };
	struct aprml_verdict v = { .bytes = sizeof v };
	struct aprml *m = aprml_open_origin(&from, err);

	must_at(m && aprml_verify(m, o->ring, NULL, NULL, &v, err) == 0 && v.key[0], "verify", __LINE__, err);
	aprml_close(m);
}

static void *
work_one(void *ctx)
{
	struct one *o = ctx;
	struct store plain = { .ended = 0 }, sealed = plain;
	struct aprml_error err;
	struct aprml *m = aprml_open(o->path, &err);
	struct aprml_report *r;
	size_t i;

	must_at(m != NULL, o->path, __LINE__, &err);
	make(o, m, &plain, "q8_0", 0, &err);
	make(o, m, &sealed, "f16", 1, &err);
	verify(o, &plain, &err);
	verify(o, &sealed, &err);
	for (i = 0; i < plain.b.n; i++)
		o->digest = o->digest * 31 + plain.b.p[i];
	r = aprml_check(m, NULL, NULL, &err);
	must_at(r != NULL, "check", __LINE__, &err);
	o->score = aprml_report_score(r);
	aprml_report_close(r);
	aprml_close(m);
	free(plain.b.p);
	free(sealed.b.p);
	return NULL;
}

/* A maker that writes as slowly as the program wants is cancelled by another thread. */
struct slow {
	struct aprml_maker *k;
	struct aprml *m;
	pthread_barrier_t both;
	long calls;
	int status;
};

static int
slow_write(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct slow *s = ctx;

	(void)at;
	(void)p;
	(void)n;
	if (s->calls++ == 0) {
		pthread_barrier_wait(&s->both); /* the maker writes, */
		pthread_barrier_wait(&s->both); /* and has been cancelled */
	}
	return 0;
}

static void *
slow_model(void *ctx)
{
	struct slow *s = ctx;
	struct aprml_error err;

	s->status = aprml_maker_model(s->k, s->m, &err);
	must_at(strstr(err.text, "cancelled") != NULL, "cancel", __LINE__, &err);
	return NULL;
}

static void
cancel(const char *path)
{
	struct slow s = { .m = aprml_open(path, &e) };
	const struct aprml_output to = { .bytes = sizeof to, .write = slow_write, .ctx = &s };
	pthread_t thread;

	s.k = aprml_maker_open(&to, NULL, &e);
	must(s.m && s.k && pthread_barrier_init(&s.both, NULL, 2) == 0);
	must(pthread_create(&thread, NULL, slow_model, &s) == 0);
	pthread_barrier_wait(&s.both);
	aprml_maker_cancel(s.k);
	pthread_barrier_wait(&s.both);
	pthread_join(thread, NULL);
	must(s.status < 0);
	aprml_maker_close(s.k);
	aprml_close(s.m);
	pthread_barrier_destroy(&s.both);
}

static struct aprml_ring *
keys(void)
{
	char secret[APRML_KEY], known[APRML_KEY], identity[APRML_IDENTITY], recipient[APRML_IDENTITY];
	struct aprml_ring *r = aprml_ring_open(&e);

	must(r && aprml_key_new(NULL, 0, secret, known, &e) == 0);
	must(aprml_identity_new(identity, recipient, &e) == 0);
	must(aprml_ring_add(r, secret, strlen(secret), NULL, 0, &e) == 0);
	must(aprml_ring_add(r, known, strlen(known), NULL, 0, &e) == 0);
	must(aprml_ring_add(r, identity, strlen(identity), NULL, 0, &e) == 0);
	must(aprml_ring_add(r, recipient, strlen(recipient), NULL, 0, &e) == 0);
	return r;
}

static int
crowd(const char *path)
{
	struct aprml_ring *ring = keys();
	struct one all[THREADS];
	pthread_t threads[THREADS];
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		all[i] = (struct one){ .path = path, .ring = ring, .number = i };
		must(pthread_create(&threads[i], NULL, work_one, &all[i]) == 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 1; i < THREADS; i++)
		must(all[i].digest == all[0].digest && all[i].score == all[0].score);
	cancel(path);
	aprml_ring_close(ring);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "calls"))
		return calls(argv[2]);
	if (!strcmp(argv[1], "writes"))
		return writes(argv[2]);
	if (!strcmp(argv[1], "reads"))
		return reads(argv[2]);
	return !strcmp(argv[1], "crowd") ? crowd(argv[2]) : 2;
}
