/* fuzz_layouts: what is asked of the payloads of APR version 1 as models (predict/tensors.h).
 *
 *     1. A payload that matches a layout is a model, or is refused with a message that a terminal can show.
 *     2. All that tests/fuzz/predictor.h asks of a model.
 *     3. Counts of n-grams write a line, and a second time the same one, of words without white space.
 *
 * The first byte chooses the layout. The mutator writes whole payloads by the table of layouts, with numbers
 * that fit together or, seldom, do not; and changes numbers.
 */
#include "predictor.h"

#include "formats/apr1/apr1_layout.h"
#include "predict/readers.h"
#include "predict/tensors.h"

#define TENSORS 512

/* ---- a payload as a model ---- */

struct held {
	struct apr1_parts parts;
	struct model plan;
	struct weights w;
	const uint8_t *tensors[TENSORS];
};

/* The tensors of a payload that matched. false: too many to try. */
static bool
hold(struct held *h, const char *layout)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };
	const uint8_t *derived;
	size_t i;

	if (h->parts.count > TENSORS)
		return false;
	must(spool_view(&h->parts.derived, &derived, &e) == 0 && model_init(&h->plan, &e) == 0);
	buf_u64(&wire, strlen(layout));
	buf_text(&wire, layout);
	must(model_add_meta(&h->plan, "apr1.payload", 12, (struct value_type){ 0, VALUE_STRING }, wire.p, wire.n,
	                    &e) == 0);
	buf_free(&wire);
	for (i = 0; i < h->parts.count; i++) {
		const struct apr1_part *x = &h->parts.list[i];

		must_say(model_add_tensor(&h->plan, tensor_new(x->name, strlen(x->name), x->type, x->ndim, x->dims,
		                                               TENSOR_OWN_SIZE, "in", &e), &e) == 0, &e);
		h->tensors[i] = x->p ? x->p : derived ? derived + x->at : (const uint8_t *)"";
	}
	h->w = (struct weights){ .name = "in", .plan = &h->plan, .tensors = h->tensors };
	return true;
}

static void
check_text(const struct predictor *m)
{
	struct err e = ERR_INIT;
	struct buf a = { 0 }, b = { 0 };

	if (arpa_generate(m, 1, 0, &a, &e) == 0) {
		must(arpa_generate(m, 1, 0, &b, &e) == 0 && a.n == b.n && a.n > 0 && memcmp(a.p, b.p, a.n) == 0);
		must(a.p[a.n - 1] == '\n' && !memchr(a.p, '\n', a.n - 1));
	} else {
		must(e.code != ERR_NONE);
	}
	buf_free(&a);
	buf_free(&b);
}

static void
check_payload(const struct held *h)
{
	struct predictor m = { .covers = true };
	struct err e = ERR_INIT;
	struct dice d = { .state = 1 };

	if (predict_tensors(&m, &h->w, &e) < 0) {
		if (e.code == ERR_MEMORY && strstr(e.fact, " leaves with ")) /* few bytes would stand for many values */
			fuzz_printable(e.fact);
		else
			fuzz_refused(&e, false);
	} else if (m.features < ROOM && m.outputs < ROOM && m.inner < ROOM && predict_trees(&m) < ROOM) {
		check_rows(&m, &d);
		if (m.texts)
			check_text(&m);
	}
	predictor_free(&m);
}

static size_t
layouts(void)
{
	size_t n = 0;

	while (apr1_layout_row(n))
		n++;
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held h = { .w = { .name = NULL } };
	struct err e = ERR_INIT;
	const struct apr1_layout *l = size ? apr1_layout_row(data[0] % layouts()) : NULL;

	if (!l)
		return 0;
	if (apr1_unwrap(l, data + 1, size - 1, &h.parts, &e) == 1) {
		if (hold(&h, l->name))
			check_payload(&h);
		model_free(&h.plan);
		apr1_parts_free(&h.parts);
	}
	must_say(e.code == ERR_NONE, &e);
	return 0;
}

/* ---- mutation: whole payloads ---- */

struct maker {
	struct buf *b;
	struct dice *d;
	uint64_t width, many; /* features, and structures of a list */
};

static void put_fields(struct maker *x, const struct apr1_field *f);

static void
put_number(struct maker *x)
{
	static const uint32_t numbers[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40400000, 0x3dcccccd,
		0x42c80000, 0x7f7fffff, 0x00000001, 0x7f800000, 0x7fc00000 };
	static const uint32_t usual = 8; /* of them are finite and not large */

	buf_u32(x->b, numbers[roll(x->d, roll(x->d, 64) ? usual : (unsigned)(sizeof numbers / sizeof *numbers))]);
}

static void
put_numbers(struct maker *x, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		put_number(x);
}

/* A number as its field wants it, or now and then another one. */
static uint64_t
whole(struct maker *x, const char *name)
{
	static const uint64_t odd[] = { 0, 1, 2, 17, 65536, UINT32_MAX, UINT64_MAX };

	if (roll(x->d, 16) == 0)
		return ONE_OF(x->d, odd);
	if (strcmp(name, "n_features") == 0)
		return x->width;
	if (strcmp(name, "n_experts") == 0)
		return x->many;
	return 1 + roll(x->d, 3);
}

static void
put_tree(struct maker *x, bool classes, unsigned depth)
{
	if (depth < 4 && roll(x->d, 3)) {
		buf_u32(x->b, 0);
		buf_u64(x->b, roll(x->d, (unsigned)x->width));
		put_number(x);
		put_tree(x, classes, depth + 1);
		put_tree(x, classes, depth + 1);
		return;
	}
	buf_u32(x->b, 1);
	if (classes)
		buf_u64(x->b, whole(x, "class"));
	else
		put_number(x);
	buf_u64(x->b, 1);
}

static const char *const words[] = { "git", "ls", "the", "cat", "a", "status", "\xc3\x89t\xc3\xa9", "-m", "", "a b",
	"\xff" };
#define PLAIN 8 /* of words are words */

static void
put_words(struct maker *x, unsigned n)
{
	struct buf text = { 0 };

	for (; n; n--) {
		buf_text(&text, words[roll(x->d, roll(x->d, 64) ? PLAIN : (unsigned)(sizeof words / sizeof *words))]);
		buf_text(&text, n > 1 ? " " : "");
	}
	buf_u64(x->b, text.n);
	buf_put(x->b, text.p, text.n);
	buf_free(&text);
}

static void
put_counts(struct maker *x)
{
	uint32_t n = roll(x->d, 3) + (roll(x->d, 8) != 0), i, from = roll(x->d, PLAIN);

	buf_u64(x->b, n);
	for (i = 0; i < n; i++) {
		const char *word = words[roll(x->d, 32) ? (from + i) % PLAIN : roll(x->d, PLAIN)];

		buf_u64(x->b, strlen(word));
		buf_text(x->b, word);
		buf_u32(x->b, roll(x->d, 16) ? 1 + roll(x->d, 9) : roll(x->d, 2) ? 0 : UINT32_MAX);
	}
}

static void
put_contexts(struct maker *x)
{
	uint32_t n = 1 + roll(x->d, 6), i;

	buf_u64(x->b, n);
	for (i = 0; i < n; i++) {
		put_words(x, i ? 1 + roll(x->d, 3) : 0);
		put_counts(x);
	}
}

static void
put_list(struct maker *x, const struct apr1_field *f)
{
	uint64_t n = strcmp(f->name, "weights") == 0 ? x->width * x->many : x->width;

	n = roll(x->d, 32) ? n : roll(x->d, 5);
	buf_u64(x->b, n);
	put_numbers(x, n);
}

static void
put_matrix(struct maker *x)
{
	uint64_t rows = 1 + roll(x->d, 3);

	buf_u64(x->b, rows * x->width);
	put_numbers(x, rows * x->width);
	buf_u64(x->b, rows);
	buf_u64(x->b, x->width);
}

static void
put_many(struct maker *x, const struct apr1_field *f)
{
	uint64_t i;

	buf_u64(x->b, x->many);
	for (i = 0; i < x->many; i++)
		put_fields(x, f->of);
}

static void
put_field(struct maker *x, const struct apr1_field *f)
{
	uint64_t i;

	if (f->optional)
		buf_u8(x->b, roll(x->d, 16) != 0);
	if (f->optional && x->b->p[x->b->n - 1] == 0)
		return;
	switch (f->kind) {
	case APR1_F32:
		put_number(x);
		break;
	case APR1_U64:
		buf_u64(x->b, whole(x, f->name));
		break;
	case APR1_BOOL:
		buf_u8(x->b, (uint8_t)roll(x->d, 2));
		break;
	case APR1_FLOATS:
		put_list(x, f);
		break;
	case APR1_WORDS:
	case APR1_WORD_LISTS: /* as many lists without numbers */
		buf_u64(x->b, x->width);
		for (i = 0; i < x->width; i++)
			buf_u64(x->b, 0);
		break;
	case APR1_MATRIX:
		put_matrix(x);
		break;
	case APR1_CLASSES:
	case APR1_VALUES:
		put_tree(x, f->kind == APR1_CLASSES, 0);
		break;
	case APR1_COUNTS:
		put_counts(x);
		break;
	case APR1_CONTEXTS:
		put_contexts(x);
		break;
	case APR1_ONE:
		put_fields(x, f->of);
		break;
	case APR1_MANY:
		put_many(x, f);
		break;
	}
}

static void
put_fields(struct maker *x, const struct apr1_field *f)
{
	for (; f->name; f++)
		put_field(x, f);
}

static size_t
put_payload(uint8_t *data, size_t size, size_t max, struct dice *d)
{
	struct buf b = { 0 };
	struct maker x = { .b = &b, .d = d, .width = 1 + roll(d, 4), .many = 1 + roll(d, 4) };
	size_t row = roll(d, (unsigned)layouts());

	buf_u8(&b, (uint8_t)row);
	put_fields(&x, apr1_layout_row(row)->fields);
	must(buf_ok(&b));
	return mutate_done(&b, data, size, max);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3, UINT32_MAX, 0x7f800000, 0x7fc00000, 0x3f800000, 0x80000000 };
	struct dice d = { .state = seed };
	size_t at;

	if (size < 6 || roll(&d, 4) == 0)
		return put_payload(data, size, max, &d);
	if (roll(&d, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	at = 1 + roll(&d, (unsigned)size - 5);
	le32_put(data + at, ONE_OF(&d, numbers));
	return size;
}
