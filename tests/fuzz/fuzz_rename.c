/* fuzz_rename: rules, maps and schemas that rename tensors. The first byte chooses which; a
 * line break ends each name of a tensor or rule, a NUL the list of names.
 *
 *     1. Names change, or are refused with a message that can be printed.
 *     2. New names are unique text of at most TENSOR_NAME bytes.
 *     3. A map or schema applied a second time finds only known names if it did at first.
 */
#include "mutate.h"

#include "adapt/names/rename.h"

static void
add_names(struct model *m, const char *p, size_t n)
{
	struct err e = ERR_INIT;
	const char *end;

	for (; n > 0 && m->tensor_count < 64; p += end - p + 1) {
		struct tensor *t;

		end = memchr(p, '\n', n);
		end = end ? end : p + n;
		t = tensor_new(p, (size_t)(end - p), dtype_by_name("F32"), 0, NULL,
		               TENSOR_OWN_SIZE, "fuzz", &e);
		if (t)
			must(model_add_tensor(m, t, &e) == 0);
		e = (struct err)ERR_INIT;
		if ((size_t)(end - p) >= n)
			return;
		n -= (size_t)(end - p) + 1;
	}
}

static bool
is_unique(const struct model *m)
{
	struct err e = ERR_INIT;

	return model_check(m, "fuzz", &e) == 0;
}

static void
refused(const struct err *e)
{
	must_say(e->code == ERR_USAGE || e->code == ERR_CORRUPT || e->code == ERR_INVALID ||
	         e->code == ERR_MEMORY, e);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
	fuzz_printable(e->hint);
}

static void
apply(struct rename *r, struct model *m)
{
	struct err e = ERR_INIT;
	struct renames n, again = { 0 };
	size_t unknown;

	if (rename_find(r, m, "fuzz", &n, &e) < 0) {
		refused(&e);
	} else {
		must_say(renames_apply(&n, m, &e) == 0, &e);
		must(is_unique(m));
		unknown = n.unknown;
		if (r->count == 0 && rename_find(r, m, "fuzz", &again, &e) == 0)
			must(unknown > 0 || again.unknown == 0);
		renames_free(&again);
	}
	renames_free(&n);
}

/* Each line is a rule. */
static int
add_rules(struct rename *r, char *text, struct err *e)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line && r->count < 8;
	     line = strtok_r(NULL, "\n", &save))
		if (rename_add(r, line, e) < 0)
			return -1;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *names = (const char *)data + 1;
	struct rename r = { .count = 0 };
	struct err e = ERR_INIT;
	struct model m;
	char *text;
	size_t n;
	int ok;

	if (size < 2)
		return 0;
	must(model_init(&m, &e) == 0);
	n = strnlen(names, size - 1);
	add_names(&m, names, n);
	if (!is_unique(&m))
		while (m.tensor_count > 1)
			tensor_free(m.tensors[--m.tensor_count]);
	n += n < size - 1;
	text = malloc(size - 1 - n + 1);
	must(text);
	memcpy(text, names + n, size - 1 - n);
	text[size - 1 - n] = '\0';
	r.strict = data[0] & 4;
	if (data[0] % 4 == 0)
		ok = add_rules(&r, text, &e);
	else if (data[0] % 4 == 1)
		ok = schema_read_map(&r.schema, text, size - 1 - n, "fuzz", &e);
	else if (data[0] % 4 == 2)
		ok = schema_read(&r.schema, text, size - 1 - n, "fuzz", &e);
	else
		ok = schema_arch(&r.schema, r.arch = arch_row(data[0] / 8 % 24),
		                 (enum arch_form)(data[1] % 3), &e);
	if (ok == 0)
		apply(&r, &m);
	else
		refused(&e);
	free(text);
	rename_free(&r);
	model_free(&m);
	return 0;
}

/* ---- whole constructs ---- */

static const char *const pieces[] = { "blk.", "layers.", "model.", "#", "{N}", "{E}", "0", "12",
	".attn_q", ".weight", "token_embd", "\\u0001", "{n}", "a", "encoder/conv1", "##", "." };

static void
put_name(struct buf *b, unsigned *seed)
{
	unsigned i, n = *seed % 5 + 1;

	for (i = 0; i < n; i++) {
		*seed = *seed * 1103515245u + 12345u;
		buf_text(b, pieces[(*seed >> 16) % (sizeof pieces / sizeof *pieces)]);
	}
}

/* One more row of a schema, a pair of a map, or a name: by the first byte. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const char *const more[] = { "", ",\"required\":true", ",\"mean\":[0,1]",
		",\"std\":[1,0]", ",\"note\":\"n\"", ",\"to\":\"b\"" };
	struct buf b = { 0 }, row = { 0 };
	const uint8_t *at;

	if (size < 2 || seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (data[0] % 4 == 2) {
		buf_text(&row, "{\"from\":\"");
		put_name(&row, &seed);
		buf_text(&row, "\",\"to\":\"");
		put_name(&row, &seed);
		buf_printf(&row, "\"%s}", more[seed / 7 % 6]);
	} else {
		buf_text(&row, "\"");
		put_name(&row, &seed);
		buf_text(&row, "\":\"");
		put_name(&row, &seed);
		buf_text(&row, "\"");
	}
	at = memchr(data, data[0] % 4 == 2 ? '[' : '{', size);
	if (at && data[0] % 4 != 0) {
		buf_put(&b, data, (size_t)(at - data) + 1);
		buf_put(&b, row.p, row.n);
		buf_text(&b, at[1] == ']' || at[1] == '}' ? "" : ",");
		buf_put(&b, at + 1, size - (size_t)(at - data) - 1);
	} else {
		buf_put(&b, data, 1);
		put_name(&b, &seed);
		buf_text(&b, data[0] % 4 == 0 ? "=x\n" : "\n");
		buf_put(&b, data + 1, size - 1);
	}
	buf_free(&row);
	return mutate_done(&b, data, size, max);
}
