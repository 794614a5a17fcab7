/* fuzz_api: what a program can do with a model that it has opened from memory (api/aprml.h): write it
 * in each container, with other types, signed and sealed; verify and judge it; run it, and predict
 * with it. What was written opens again and holds the same tensors; what was signed verifies; what was
 * sealed opens only with its key. Each error is one line that a terminal can show.
 */
#include "mutate.h"

#include "api/aprml.h"

#define BYTES (1u << 20) /* tensors of a model that is written, at most */
#define LOOKED 8         /* tensors that are compared */
#define PIECE 4096

static struct aprml_error e;
static struct aprml_ring *ring;

#define must_text(cond) \
	((cond) ? (void)0 : fuzz_broken(__FILE__, __LINE__, e.text, NULL))

static void
said(int status)
{
	if (status >= 0)
		return;
	must(e.text[0] && e.code >= 0);
	fuzz_printable(e.text);
	memset(&e, 0, sizeof e);
}

/* ---- the program around the library ---- */

static int
fill(void *ctx, void *p, size_t n)
{
	uint64_t *x = ctx;
	size_t i;

	for (i = 0; i < n; i++) {
		*x = *x * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)p)[i] = (uint8_t)(*x >> 56);
	}
	return 0;
}

/* Keys of all kinds, always the same. */
static void
begin(void)
{
	static uint64_t chance = 1;
	const struct aprml_host host = { sizeof host, NULL, fill, &chance };
	char secret[APRML_KEY], known[APRML_KEY], identity[APRML_IDENTITY], recipient[APRML_IDENTITY];

	if (ring)
		return;
	must(aprml_set_host(&host, &e) == 0 && (ring = aprml_ring_open(&e)));
	must(aprml_key_new(NULL, 0, secret, known, &e) == 0);
	must(aprml_identity_new(identity, recipient, &e) == 0);
	must(aprml_ring_add(ring, secret, strlen(secret), NULL, 0, &e) == 0);
	must(aprml_ring_add(ring, known, strlen(known), NULL, 0, &e) == 0);
	must(aprml_ring_add(ring, identity, strlen(identity), NULL, 0, &e) == 0);
	must(aprml_ring_add(ring, recipient, strlen(recipient), NULL, 0, &e) == 0);
}

struct output {
	struct buf b;
	bool ended;
};

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct output *o = ctx;

	must(!o->ended && n > 0);
	if (at < o->b.n) { /* it goes back */
		must(n <= o->b.n - at);
		memcpy(o->b.p + at, p, n);
		return 0;
	}
	for (; at > o->b.n; )
		buf_put(&o->b, "", 1);
	buf_put(&o->b, p, n);
	return buf_ok(&o->b) ? 0 : -1;
}

static int
complete(void *ctx, uint64_t n)
{
	struct output *o = ctx;

	must(!o->ended && n == o->b.n);
	o->ended = true;
	return 0;
}

static int
watch(void *ctx, uint64_t done, uint64_t all)
{
	(void)ctx;
	must(done <= all);
	return 0;
}

static void
note(void *ctx, const char *text)
{
	(void)ctx;
	fuzz_printable(text);
}

static const struct aprml_work work = { sizeof work, 0, 0, 64u << 20, note, watch, NULL };

/* ---- makers ---- */

enum { SIGNS = 1, SEALS = 2, TYPES = 4, APPENDS = 8 };

/* Write the model. 0, or -1 if it was refused; then nothing was completed. */
static int
write_model(struct aprml *m, const char *to, const char *type, unsigned how, struct output *o)
{
	const struct aprml_output out = { sizeof out, NULL, 0, take, complete, o,
		(how & APPENDS) != 0 };
	struct aprml_maker *k = aprml_maker_open(&out, &work, &e);
	int r;

	*o = (struct output){ .ended = false };
	must(k && aprml_maker_set(k, "to", to, &e) == 0);
	if (how & TYPES)
		must(aprml_maker_set(k, "type", type, &e) == 0 &&
		     aprml_maker_set(k, "allow-nonfinite", NULL, &e) == 0 &&
		     aprml_maker_set(k, "allow-requantize", NULL, &e) == 0);
	if (how & SIGNS)
		must(aprml_maker_sign(k, ring, &e) == 0);
	if (how & SEALS)
		must(aprml_maker_seal(k, ring, NULL, &e) == 0);
	r = aprml_maker_model(k, m, &e);
	must(o->ended == (r == 0));
	said(r);
	must(aprml_maker_model(k, m, &e) < 0);
	said(-1);
	aprml_maker_close(k);
	return r;
}

static struct aprml *
open_again(const struct output *o, const struct aprml_ring *keys)
{
	const struct aprml_origin from = { .bytes = sizeof from, .p = o->b.p, .n = o->b.n,
		.ring = keys };

	return aprml_open_origin(&from, &e);
}

/* The tensors of b are those of a, with the same bytes unless their type may differ. */
static void
compare(struct aprml *a, struct aprml *b, bool types)
{
	static uint8_t x[PIECE], y[PIECE];
	struct aprml_tensor s, t;
	size_t i, k, n;

	must(aprml_tensor_count(a) == aprml_tensor_count(b));
	for (i = 0; i < aprml_tensor_count(a) && i < LOOKED; i++) {
		must(aprml_tensor(a, i, &s) == 0 && aprml_find(b, s.name, &k) == 0);
		must(aprml_tensor(b, k, &t) == 0 && t.ndim == s.ndim && t.values == s.values);
		if (types)
			continue;
		must(strcmp(s.type, t.type) == 0 && s.bytes == t.bytes);
		n = s.bytes < PIECE ? (size_t)s.bytes : PIECE;
		if (aprml_bytes(a, i, s.bytes - n, n, x, &e) == 0)
			must(aprml_bytes(b, k, t.bytes - n, n, y, &e) == 0 && memcmp(x, y, n) == 0);
		else
			said(-1);
	}
}

static void
make(struct aprml *m, uint32_t dice, unsigned how)
{
	static const char *const containers[] = { "stream", "apr2", "gguf", "safetensors", "apr1",
		"apr2-64" };
	static const char *const types[] = { "f16", "q8_0", "q4_0", "bf16", "q4_k_m", "iq4_nl" };
	/* Only these hold seals. */
	const char *to = containers[dice % (how & SEALS ? 2 : 6)];
	struct output o;
	struct aprml *b;

	how |= dice & 64 ? APPENDS : 0;
	if (write_model(m, to, types[dice / 8 % 6], how, &o) == 0) {
		if (how & SEALS) {
			must(!open_again(&o, NULL));
			said(-1);
		}
		/* Public keys of a ring demand that files of APR version 1 are signed. */
		b = open_again(&o, how & SEALS ? ring : NULL);
		must_text(b);
		compare(m, b, (how & TYPES) != 0);
		if (how & SIGNS)
			must(aprml_verify(b, ring, NULL, &work, NULL, &e) == 0);
		aprml_close(b);
	}
	buf_free(&o.b);
}

/* ---- verify and check ---- */

static void
judge(struct aprml *m)
{
	struct aprml_report *r = aprml_check(m, NULL, &work, &e);
	struct aprml_finding f = { .bytes = sizeof f };
	struct aprml_verdict v = { .bytes = sizeof v };
	const char *json;
	size_t i, n;

	said(r ? 0 : -1);
	if (r) {
		must(aprml_report_score(r) <= 100 && aprml_report_word(r)[0]);
		for (i = 0; aprml_report_finding(r, i, &f) == 0; i++)
			must(f.id[0] && f.fact[0] && aprml_report_count(r, f.level) > 0);
		json = aprml_report_json(r, &n);
		must(n > 0 && json[n - 1] == '\n');
	}
	aprml_report_close(r);
	/* Nobody else has the key. */
	must(aprml_verify(m, ring, NULL, &work, &v, &e) < 0);
	said(-1);
}

/* ---- run and predict ---- */

static void
encode(struct aprml_tokenizer *t)
{
	static const char text[] = "To be, or not: 42!\n";
	uint32_t ids[64];
	char back[256];
	size_t n, bytes;
	int r = aprml_tokenizer_encode(t, text, sizeof text - 1, APRML_SPECIAL, ids, 64, &n, &e);

	said(r);
	if (r == 0 && n <= 64)
		said(aprml_tokenizer_decode(t, ids, n, 0, back, sizeof back, &bytes, &e));
}

static void
run(struct aprml *m)
{
	const struct aprml_weights_options o = { .bytes = sizeof o, .memory = 4u << 20, .log = note };
	const struct aprml_run_options how = { .bytes = sizeof how, .context = 4, .memory = 16u << 20 };
	struct aprml_tokenizer *t = aprml_tokenizer_open(m, &e);
	struct aprml_weights *w;
	struct aprml_run *r = NULL;
	const uint32_t ids[] = { 0, 0 };

	said(t ? 0 : -1);
	if (t)
		encode(t);
	aprml_tokenizer_close(t);
	w = aprml_weights_open(m, &o, &e);
	said(w ? 0 : -1);
	if (w) {
		r = aprml_run_open(w, &how, &e);
		said(r ? 0 : -1);
	}
	if (r)
		said(aprml_run_feed(r, ids, 2, NULL, NULL, &e));
	aprml_run_close(r);
	aprml_weights_close(w);
}

static void
predict(struct aprml_predictor *p)
{
	static double rows[2 * 64], to[2 * 64];
	struct aprml_predictor_info info = { .bytes = sizeof info };
	enum aprml_what what;

	said(p ? 0 : -1);
	if (!p)
		return;
	must(aprml_predictor_info(p, &info) == 0 && info.kind[0]);
	for (what = APRML_PREDICTION; what <= APRML_LEAVES; what++)
		if (!info.texts && info.features <= 64 && aprml_predict_columns(p, what) <= 64)
			said(aprml_predict(p, what, rows, 2, to, &e));
	aprml_predictor_close(p);
}

static void
use(struct aprml *m, uint32_t dice, unsigned way, const uint8_t *data, size_t size)
{
	switch (way) {
	case 0: make(m, dice, 0); break;
	case 1: make(m, dice, TYPES); break;
	case 2: make(m, dice, SIGNS); break;
	case 3: make(m, dice, SEALS | (dice & 128 ? SIGNS : 0)); break;
	case 4: judge(m); break;
	case 5: run(m); break;
	case 6: predict(aprml_predictor_of(m, &e)); break;
	default: predict(aprml_predictor_open_memory(data, size, &e));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t crc = crc32_add(0, data, size);
	const unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc >> 8 & 7;
	struct aprml_tensor t;
	struct aprml *m;
	uint64_t bytes = 0;
	size_t i;

	begin();
	m = aprml_open_memory(data, size, &e);
	said(m ? 0 : -1);
	for (i = 0; m && i < aprml_tensor_count(m) && bytes <= BYTES; i++)
		bytes = aprml_tensor(m, i, &t) == 0 && t.bytes <= BYTES ? bytes + t.bytes : BYTES + 1;
	if (m && bytes <= BYTES)
		use(m, crc, way, data, size);
	aprml_close(m);
	return 0;
}

/* In a stream, change one frame and keep its lengths and checksum right; leave other files to
 * the fuzzer's own mutations. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[64];
	size_t n = mutate_frames(data, size, list, sizeof list / sizeof *list);
	size_t i = seed / 4 % (n ? n : 1), after;
	struct buf b = { 0 };

	if (seed % 4 == 0 || n == 0)
		return LLVMFuzzerMutate(data, size, max);
	after = list[i].at + FRAME_OVERHEAD + list[i].head + list[i].body;
	buf_put(&b, data, list[i].at);
	mutate_frame(&b, data, &list[i], seed / 16);
	buf_put(&b, data + after, size - after);
	return mutate_done(&b, data, size, max);
}
