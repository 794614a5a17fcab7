/* fuzz_outline: what apr-debug does with the bytes of any file.
 *
 *     1. The parts of a file are found in bounded work, whatever the file is; the map, the
 *        faults, the bytes of blocks and the strings are printed.
 *     2. What is printed is text that a terminal can show.
 */
#include "fuzz.h"

#include "model/outline.h"
#include "report/debug.h"

#define SHOWN 64 /* tensors whose bytes are shown */

static bool
is_text(const struct buf *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if ((b->p[i] < 0x20 && b->p[i] != '\n') || b->p[i] == 0x7f)
			return false;
	return text_utf8(b->p, b->n, false);
}

/* The bytes of the tensors that lie in the file. */
static void
show_tensors(struct buf *b, const struct outline *o, const uint8_t *data, size_t size)
{
	static const uint8_t head[DTYPE_HEAD];
	size_t i, n;

	for (i = 0; i < o->tensors && i < SHOWN; i++) {
		const struct outline_tensor *t = &o->tensor[i];

		if (t->offset >= size)
			continue;
		n = size - (size_t)t->offset < 600 ? size - (size_t)t->offset : 600;
		must(outline_find(o, t->name) != NULL);
		debug_blocks(b, t->type, head, data + t->offset, n, 0, t->offset);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *f = format_probe(data, size < FORMAT_PROBE ? size : FORMAT_PROBE);
	struct debug_strings strings = { .left = 100 };
	struct outline o = { .parts = 0 };
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct reader r;

	debug_kind(data, size < FORMAT_PROBE ? size : FORMAT_PROBE);
	reader_memory(&r, data, size, "in", &e);
	if (f && f->reads->outline)
		f->reads->outline(&r, &o);
	must(!o.stopped || o.err.code != ERR_NONE);
	debug_map(&b, &o, size);
	json_decref(debug_map_json(&o, size));
	debug_faults(&b, &o, size);
	show_tensors(&b, &o, data, size);
	debug_hex(&b, data, size < 100 ? size : 100, 0, o.stop);
	debug_strings_add(&strings, &b, data, size, 0);
	debug_strings_end(&strings, &b);
	must(b.failed || is_text(&b));
	buf_free(&b);
	outline_free(&o);
	reader_close(&r);
	return 0;
}
