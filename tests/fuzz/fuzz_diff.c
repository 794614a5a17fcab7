/* fuzz_diff: two models and a mapping of names. The first byte chooses whether there is a
 * mapping; then come lines, up to a NUL, and the mapping.
 *
 *     SIDE TYPE ROWS COLUMNS SEED NAME   five characters and a name: a tensor. SIDE is a, b or
 *                                        c, for both; SEED chooses its bytes
 *     SIDE '=' NAME=TEXT,TEXT,...        a key with a list of texts
 *
 *     1. A mapping is refused with an error that a terminal can show, or applied.
 *     2. The result is the same whichever model is held, and with any number of threads.
 *     3. Exchanged models differ in as many tensors and keys.
 *     4. A model equals itself.
 *     5. Reports can be shown by a terminal, and JSON is JSON.
 */
#include "mutate.h"

#include "../unit/memory.h"
#include "diff/diff.h"
#include "diff/mapping.h"
#include "report/diff_text.h"

enum { TENSORS = 24 };

static const char *const type_names[] = { "F32", "F16", "BF16", "Q8_0", "I8", "F64", "Q4_K",
	"Q8_TENSOR", "GGML_99" };

static void
add_tensor(struct memory *m, const uint8_t *line, size_t n)
{
	const struct dtype *type = dtype_by_name(type_names[line[1] % 9]);
	const uint64_t dims[2] = { line[2] % 5, (uint64_t)(line[3] % 5) * (type->items > 1 ? type->items : 1) };
	uint64_t bytes = type->items ? TENSOR_OWN_SIZE : dims[0] * dims[1];
	struct err e = ERR_INIT;
	struct tensor *t;
	uint8_t *p;
	size_t i;

	t = tensor_new((const char *)line + 5, n - 5, type, 2, dims, bytes, "fuzz", &e);
	if (!t)
		return;
	if (m->plan.tensor_count >= TENSORS) {
		tensor_free(t);
		return;
	}
	p = memory_add(m, t);
	for (i = 0; i < tensor_bytes(t); i++)
		p[i] = line[4] == 'r' ? (uint8_t)(i * 37) : line[4];
}

static void
add_key(struct memory *m, const uint8_t *line, size_t n)
{
	const uint8_t *equals = memchr(line + 2, '=', n - 2), *p, *comma, *end = line + n;
	struct buf wire = { 0 };
	struct err e = ERR_INIT;
	uint64_t count = 0;

	if (!equals || m->plan.meta_count >= TENSORS)
		return;
	buf_u32(&wire, VALUE_STRING);
	buf_u64(&wire, 0);
	for (p = equals + 1; p <= end; p = comma + 1, count++) {
		comma = memchr(p, ',', (size_t)(end - p));
		comma = comma ? comma : end;
		buf_u64(&wire, (uint64_t)(comma - p));
		buf_put(&wire, p, (size_t)(comma - p));
	}
	must(buf_ok(&wire));
	wire.p[4] = (uint8_t)count;
	wire.p[5] = (uint8_t)(count >> 8);
	if (count < 65536)
		must(model_add_meta(&m->plan, (const char *)line + 2, (size_t)(equals - line) - 2,
		                    (struct value_type){ 1, VALUE_STRING }, wire.p, wire.n, &e) == 0);
	buf_free(&wire);
}

static void
add_line(struct memory m[2], const uint8_t *line, size_t n)
{
	size_t i;

	for (i = 0; n >= 2 && i < 2; i++) {
		if ((uint8_t)(line[0] - 'a') % 3 != i && (uint8_t)(line[0] - 'a') % 3 != 2)
			continue;
		if (line[1] == '=')
			add_key(&m[i], line, n);
		else if (n > 5)
			add_tensor(&m[i], line, n);
	}
}

/* ---- properties ---- */

/* The report as JSON, which is appended to `to`. Returns whether the models differ. */
static bool
run(struct memory *a, struct memory *b, struct diff_mapping *names, size_t flowing,
    unsigned jobs, struct buf *to, struct diff_counts *counts)
{
	struct diff_options o = { .jobs = jobs, .tolerance = DIFF_TOLERANCE,
		.limits = { -1, -1, -1, -1 } };
	struct memory *m[2] = { a, b };
	struct buf text = { 0 };
	struct err e = ERR_INIT;
	struct diff d;
	size_t i;
	bool different;

	o.names[0] = names->names[0];
	o.names[1] = names->names[1];
	a->next = b->next = 0;
	must_say(diff_open(&d, &o, &a->source, &b->source, flowing, &e) == 0, &e);
	for (i = 0; i < 2; i++) {
		size_t side = i == 0 ? 1 - flowing : flowing;
		struct flow f = { 0 };

		m[side]->next = 0;
		must_say(diff_hooks(&d, side, &f, &e) == 0 &&
		         flow_run(&m[side]->source, NULL, &f, &e) == 0, &e);
	}
	must_say(diff_finish(&d, &e) == 0, &e);
	diff_json_summary(to, &d);
	diff_put_summary(&text, &d);
	for (i = 0; i < d.tensor_count; i++) {
		diff_json_tensor(to, &d, i, true);
		diff_put_tensor(&text, &d, i, true);
	}
	for (i = 0; i < d.fact_count; i++) {
		diff_json_fact(to, &d, i);
		diff_put_fact(&text, &d, i);
	}
	must(buf_string(&text) && buf_string(to));
	for (i = 0; i < text.n; i++)
		must(text.p[i] == '\n' || (text.p[i] >= ' ' && text.p[i] != 0x7f));
	must(diff_similarity(&d) >= 0 && diff_similarity(&d) <= 100);
	different = d.different;
	*counts = d.counts;
	buf_free(&text);
	diff_close(&d);
	return different;
}

static void
check_json(const struct buf *b)
{
	const uint8_t *p = b->p, *end = b->p + b->n, *line;
	struct err e = ERR_INIT;

	for (; p < end; p = line + 1) {
		json_t *o;

		line = memchr(p, '\n', (size_t)(end - p));
		must(line);
		o = json_parse(p, (size_t)(line - p), ERR_CORRUPT, "report", &e);
		must_say(o, &e);
		json_decref(o);
	}
}

static void
compare(struct memory m[2], struct diff_mapping *names)
{
	struct diff_mapping none = { 0 }, swapped = { .names = { names->names[1], names->names[0] } };
	struct buf one = { 0 }, other = { 0 };
	struct diff_counts c, back;

	run(&m[0], &m[1], names, 0, 1, &one, &c);
	run(&m[0], &m[1], names, 1, 3, &other, &c);
	must(one.n == other.n && memcmp(one.p, other.p, one.n) == 0);
	check_json(&one);
	buf_clear(&other);
	run(&m[1], &m[0], &swapped, 1, 1, &other, &back);
	must(c.added == back.removed && c.removed == back.added && c.changed == back.changed &&
	     c.renamed == back.renamed && c.retyped == back.retyped && c.same == back.same &&
	     c.keys_added == back.keys_removed && c.keys_changed == back.keys_changed);
	buf_clear(&other);
	must(!run(&m[0], &m[0], &none, 1, 1, &other, &c));
	buf_free(&one);
	buf_free(&other);
}

static bool
is_model(const struct memory *m)
{
	struct err e = ERR_INIT;

	return model_check(&m->plan, "fuzz", &e) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diff_mapping names = { 0 };
	struct err e = ERR_INIT;
	struct memory m[2];
	const uint8_t *p = data + 1, *stop, *line;

	if (size < 2)
		return 0;
	stop = memchr(p, '\0', size - 1);
	stop = stop ? stop : data + size;
	memory_open(&m[0]);
	memory_open(&m[1]);
	for (; p < stop; p = line + 1) {
		line = memchr(p, '\n', (size_t)(stop - p));
		line = line ? line : stop;
		add_line(m, p, (size_t)(line - p));
	}
	if (is_model(&m[0]) && is_model(&m[1])) {
		p = stop + (stop < data + size);
		if (data[0] % 2 == 0 ||
		    diff_mapping_read(&names, p, (size_t)(data + size - p), "fuzz", &m[0].plan,
		                      &m[1].plan, &e) == 0) {
			compare(m, &names);
		} else {
			must_say(e.code == ERR_CORRUPT || e.code == ERR_USAGE || e.code == ERR_INVALID ||
			         e.code == ERR_MEMORY, &e);
			fuzz_printable(e.object);
			fuzz_printable(e.fact);
			fuzz_printable(e.hint);
		}
	}
	diff_mapping_free(&names);
	memory_close(&m[0]);
	memory_close(&m[1]);
	return 0;
}

/* ---- whole constructs ---- */

static const char *const pieces[] = { "blk.", "0", "1", ".weight", "a", "b", "tokenizer.ggml.tokens",
	"\\u001b", "#", "x" };

static void
put_name(struct buf *b, unsigned *seed)
{
	unsigned i, n = *seed % 3 + 1;

	for (i = 0; i < n; i++) {
		*seed = *seed * 1103515245u + 12345u;
		buf_text(b, pieces[(*seed >> 16) % (sizeof pieces / sizeof *pieces)]);
	}
}

/* One more tensor or key in front, or a pair of the mapping. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	const uint8_t *at;

	if (size < 2 || seed % 4 == 0)
		return LLVMFuzzerMutate(data, size, max);
	at = memchr(data, '{', size);
	buf_put(&b, data, 1);
	if (seed % 4 == 1 && at) {
		buf_put(&b, data + 1, (size_t)(at - data));
		buf_text(&b, "\"");
		put_name(&b, &seed);
		buf_text(&b, "\":\"");
		put_name(&b, &seed);
		buf_text(&b, at[1] == '}' ? "\"" : "\",");
		buf_put(&b, at + 1, size - (size_t)(at - data) - 1);
		return mutate_done(&b, data, size, max);
	}
	buf_u8(&b, (uint8_t)("abc"[seed / 4 % 3]));
	if (seed % 4 == 2) {
		buf_printf(&b, "=%s=x,y,%c,%c\n", pieces[seed / 12 % 10], 'a' + (char)(seed / 120 % 26),
		           'a' + (char)(seed / 3120 % 26));
	} else {
		buf_printf(&b, "%c%c%c%c", '0' + (char)(seed / 12 % 9), '0' + (char)(seed / 108 % 5),
		           '0' + (char)(seed / 540 % 5), "r0z9"[seed / 2700 % 4]);
		put_name(&b, &seed);
		buf_text(&b, "\n");
	}
	buf_put(&b, data + 1, size - 1);
	return mutate_done(&b, data, size, max);
}
