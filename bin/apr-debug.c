/* apr-debug: the bytes of a model file, sound or broken */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool.h"
#include "core/near.h"
#include "core/num.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "load/examine.h"
#include "report/debug.h"
#include "report/facts.h"
#include "report/lines.h"

#define LIMIT 256            /* bytes, or strings */
#define AROUND 32            /* bytes before and after a place */
#define SHOWN_HEAD 64        /* bytes of a file of unknown kind */

struct options {
	bool drama, strings, json;
	const char *hex;
	uint64_t limit;
};

/* ---- bytes ---- */

static void
put_around(struct buf *b, struct examine *f, uint64_t at)
{
	uint64_t from = (at > AROUND ? at - AROUND : 0) & ~(uint64_t)(DEBUG_LINE - 1);
	size_t n = (size_t)(at - from) + AROUND;
	const uint8_t *p;

	if (at > f->bytes)
		from = f->bytes > 2 * AROUND ? f->bytes - 2 * AROUND : 0;
	p = examine_bytes(f, from, &n);
	if (p)
		debug_hex(b, p, n, from, num_min(at, f->bytes ? f->bytes - 1 : 0));
}

/* ---- --hex ---- */

static int
no_tensor(const struct examine *f, const char *name, struct err *e)
{
	size_t i, cost, far = strlen(name) / 3 + 2;
	struct near near = { .n = 0 };
	const char *holder = examine_holder(f, name);

	for (i = 0; i < f->outline.tensors; i++) {
		cost = text_distance(name, f->outline.tensor[i].name);
		if (cost < far)
			near_consider(&near, f->outline.tensor[i].name, cost);
	}
	if (holder)
		return err_set(e, ERR_NO, f->path, "does not hold %s, which lies in %s", name, holder);
	err_set(e, ERR_NO, f->path, "has no tensor %s whose place is known", name);
	if (f->outline.stopped)
		err_hint(e, "the structure of the file breaks at byte %" PRIu64, f->outline.stop);
	near_hint(&near, e);
	return -1;
}

static int
hex_tensor(struct examine *f, const struct outline_tensor *t, uint64_t from, uint64_t limit,
           struct buf *b, struct err *e)
{
	size_t block = t->type && dtype_sized(t->type) ? t->type->bytes : 1;
	size_t head_bytes = t->type ? t->type->head : 0, n = (size_t)limit, k;
	uint8_t head[DTYPE_HEAD] = { 0 };
	uint64_t at;
	const uint8_t *p;

	if (t->bytes && from >= t->bytes)
		return err_set(e, ERR_USAGE, t->name, "has %" PRIu64 " bytes", t->bytes);
	k = head_bytes;
	if (t->plain && k && (p = examine_bytes(f, t->offset, &k)) && k == head_bytes)
		memcpy(head, p, k);
	from -= t->plain && from > head_bytes ? (from - head_bytes) % block : 0;
	if (t->plain && from < head_bytes)
		from = head_bytes;
	n += t->plain && n % block ? block - n % block : 0; /* whole blocks */
	if (t->bytes && n > t->bytes - from)
		n = (size_t)(t->bytes - from);
	if (num_add(t->offset, from, &at) < 0 || !(p = examine_bytes(f, at, &n)))
		return err_set(e, ERR_CORRUPT, t->name, "lies at byte %" PRIu64 ", behind the end of "
		               "the file", t->offset);
	buf_printf(b, "%s, %" PRIu64 " bytes at byte %" PRIu64 " of the file%s\n",
	           t->type ? t->type->name : "unknown type", t->bytes, t->offset,
	           t->plain ? "" : ", as stored: compressed or sealed");
	if (t->plain)
		debug_blocks(b, t->type, head, p, n, from - head_bytes, at);
	else
		debug_hex(b, p, n, at, UINT64_MAX);
	return 0;
}

/* --hex NAME[@OFFSET] or @OFFSET. A name may hold "@". */
static int
hex(struct examine *f, const struct options *o, struct buf *b, struct err *e)
{
	const char *at = strrchr(o->hex, '@');
	const struct outline_tensor *t = NULL;
	uint64_t from = 0;
	size_t n = (size_t)o->limit;
	const uint8_t *p;
	struct buf name = { 0 };
	int r = 0;

	if (at && text_u64(at + 1, 0, UINT64_MAX - 1, &from) < 0)
		at = NULL;
	buf_put(&name, o->hex, at ? (size_t)(at - o->hex) : strlen(o->hex));
	if (!buf_string(&name))
		return err_memory(e);
	if (at != o->hex) {
		examine_look(f);
		examine_tensors(f);
		t = outline_find(&f->outline, (const char *)name.p);
		r = t ? hex_tensor(f, t, from, o->limit, b, e)
		      : no_tensor(f, (const char *)name.p, e);
	} else if ((p = examine_bytes(f, from, &n))) {
		debug_hex(b, p, n, from, UINT64_MAX);
	} else {
		r = err_set(e, ERR_USAGE, f->path, "has %" PRIu64 " bytes", f->bytes);
	}
	buf_free(&name);
	return r;
}

/* ---- --strings ---- */

static int
strings(struct examine *f, const struct options *o, struct buf *b, struct err *e)
{
	struct debug_strings s = { .left = o->limit };
	const uint8_t *p;
	uint64_t at;
	size_t n = EXAMINE_BYTES;
	for (at = 0; s.left > 0 && (p = examine_bytes(f, at, &n)); at += n, n = EXAMINE_BYTES) {
		debug_strings_add(&s, b, p, n, at);
		if (tool_print(b, e) < 0)
			return -1;
	}
	debug_strings_end(&s, b);
	if (s.left == 0)
		tool_notef("%" PRIu64 " strings are shown; --limit shows more", o->limit);
	return 0;
}

/* ---- plain, and --drama ---- */

/* A map, or the first bytes with the reason why a map is missing. */
static void
put_map(struct buf *b, struct examine *f)
{
	examine_parts(f);
	if (f->outline.parts)
		debug_map(b, &f->outline, f->bytes);
	else
		debug_hex(b, f->head, num_min(f->head_bytes, SHOWN_HEAD), 0, UINT64_MAX);
	if (f->format && !f->outline.parts)
		buf_printf(b, "no map: %s\n", f->source ? "no tensor lies in this file in one piece"
		                                       : "a file of this kind has one only if it is sound");
}

static json_t *
facts(struct examine *f)
{
	struct err e = ERR_INIT;
	json_t *o = f->source ? f->as->reads->describe(f->source, &e) : NULL;

	if (o && facts_add(o, f->source->plan, false, &e) == 0)
		return o;
	json_decref(o);
	return NULL;
}

static const char *
kind(const struct examine *f)
{
	const char *title = examine_kind(f) ? examine_kind(f) : debug_kind(f->head, f->head_bytes);

	return title ? title : "not known";
}

static void
put_plain(struct buf *b, struct examine *f)
{
	uint64_t at = examine_broken(f);
	char text[600], size[32];
	size_t n;
	struct outline_file *files = examine_files(f, &n);

	text_quote(text, sizeof text, f->name, strlen(f->name));
	if (f->several)
		buf_printf(b, "folder  %s\nkind    %s\n", text, kind(f));
	else
		buf_printf(b, "file    %s\nbytes   %" PRIu64 " (%s)\nkind    %s\n", text, f->bytes,
		           text_size(size, sizeof size, f->bytes), kind(f));
	put_map(b, f);
	debug_files(b, files, n);
	free(files);
	debug_faults(b, &f->outline, f->bytes);
	if (at != UINT64_MAX) {
		buf_printf(b, "the structure breaks at byte %" PRIu64 ": %s\n", at,
		           f->verdict.has_at ? f->verdict.fact : f->outline.err.fact);
		put_around(b, f, at);
	}
	if (f->verdict.code == ERR_NONE)
		buf_text(b, "the structure holds; apr-unpack verifies checksums, apr-check the "
		            "values\n");
}

static void
put_json(struct buf *b, struct examine *f)
{
	uint64_t at = examine_broken(f);
	size_t n;
	struct outline_file *files = examine_files(f, &n);
	json_t *o = json_pack("{s:o,s:o,s:s,s:o,s:o}", "file", lines_file_name(f->name), "bytes",
	                      json_from_u64(f->bytes), "kind", kind(f), "parts",
	                      debug_map_json(&f->outline, f->bytes), "tensors",
	                      json_from_u64(f->outline.tensors + f->outline.tensors_more));

	if (o && files)
		json_object_set_new(o, "files", debug_files_json(files, n));
	free(files);
	if (o && f->verdict.code != ERR_NONE)
		json_object_set_new(o, "error", json_pack("{s:i,s:s,s:s,s:o}", "code",
		                                          (int)f->verdict.code, "object",
		                                          f->verdict.object, "fact",
		                                          f->verdict.fact, "offset",
		                                          at == UINT64_MAX ? json_null()
		                                                           : json_from_u64(at)));
	lines_json(b, o);
}

static int
show(struct examine *f, const struct options *o, struct buf *b, struct err *e)
{
	json_t *all;

	examine_look(f);
	all = facts(f);
	if (o->drama)
		debug_drama(b, f->name, f->head, f->head_bytes,
		            f->format ? f->format->title : NULL, all, &f->verdict);
	else if (o->json)
		put_json(b, f);
	else
		put_plain(b, f);
	json_decref(all);
	if (tool_print(b, e) == 0)
		*e = f->verdict;
	return e->code == ERR_NONE ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static struct options o = { .limit = LIMIT };
	static const struct opt opts[] = {
		TEXT(0, "hex", "NAME[@OFFSET]", &o.hex,
		     "print the bytes of a tensor, from OFFSET on; @OFFSET: of the file"),
		FLAG(0, "strings", &o.strings, "print the printable strings of the file"),
		FLAG(0, "drama", &o.drama, "print header, metadata and verdict as a play"),
		NUMBER(0, "limit", "N", &o.limit, 1, EXAMINE_BYTES,
		       "print N bytes, or N strings (default: 256)"),
		FLAG(0, "json", &o.json, "print one object"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-debug", "[--hex NAME[@OFFSET] | --strings | --drama | --json] [--limit N] [FILE]",
		"Show the bytes of a model file, sound or broken.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = NULL;
	static struct examine f;
	struct buf b = { 0 };

	if ((o.hex != NULL) + o.strings + o.drama + o.json > 1)
		tool_misused(&e, "only one of --hex, --strings, --drama and --json can be given");
	else
		path = tool_input(operands[0], &e);
	sandbox_read(path);
	sandbox_spool();
	sandbox_enter();
	if (path && examine_open(&f, path, &e) == 0 &&
	    examine_needs(&f, o.strings || o.drama || (o.hex && *o.hex == '@'), &e) == 0 &&
	    (o.hex ? hex(&f, &o, &b, &e) : o.strings ? strings(&f, &o, &b, &e)
	                                             : show(&f, &o, &b, &e)) == 0)
		tool_print(&b, &e);
	buf_free(&b);
	if (path)
		examine_close(&f);
	return tool_end(&e);
}
