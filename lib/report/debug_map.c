/* The map of a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "report/debug.h"

/* A line of the map. */
struct line {
	uint64_t offset, bytes;
	size_t order;      /* in which the structure names it */
	const char *what;
};

static int
by_offset(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static uint64_t
end_of(uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	return num_add(offset, bytes, &end) < 0 ? UINT64_MAX : end;
}

/* The parts by offset, with lines for what no part covers. NULL without memory. */
static struct line *
lines_of(const struct outline *o, uint64_t file_bytes, size_t *count)
{
	struct line *part = mem_array(o->parts, sizeof *part);
	struct line *all = mem_array(2 * o->parts + 1, sizeof *all);
	uint64_t at = 0;
	size_t i, n = 0;

	for (i = 0; part && i < o->parts; i++)
		part[i] = (struct line){ o->part[i].offset, o->part[i].bytes, i, o->part[i].what };
	if (part && o->parts)
		qsort(part, o->parts, sizeof *part, by_offset);
	for (i = 0; part && all && i < o->parts; i++) {
		uint64_t end = end_of(part[i].offset, part[i].bytes);

		if (part[i].offset > at && at < file_bytes)
			all[n++] = (struct line){ at, num_min(part[i].offset, file_bytes) - at, 0,
				"between parts" };
		if (part[i].bytes || !strstr(part[i].what, "padding"))
			all[n++] = part[i];
		at = end > at ? end : at;
	}
	if (part && all && at < file_bytes)
		all[n++] = (struct line){ at, file_bytes - at, 0,
			o->stopped ? "not followed" : "behind the last part" };
	free(part);
	*count = n;
	return all;
}

static void
put_line(struct buf *b, const struct line *l, uint64_t file_bytes)
{
	char text[1024];

	buf_printf(b, "%14" PRIu64 " %14" PRIu64 "  %s", l->offset, l->bytes,
	           text_quote(text, sizeof text, l->what, strlen(l->what)));
	if (l->offset > file_bytes)
		buf_text(b, " (begins after the end of the file)");
	else if (end_of(l->offset, l->bytes) > file_bytes)
		buf_printf(b, " (%" PRIu64 " bytes are missing)",
		           end_of(l->offset, l->bytes) - file_bytes);
	buf_text(b, "\n");
}

void
debug_map(struct buf *b, const struct outline *o, uint64_t file_bytes)
{
	size_t i, n;
	struct line *l = lines_of(o, file_bytes, &n);

	if (!l) {
		b->failed = true;
		return;
	}
	buf_printf(b, "%14s %14s  %s\n", "offset", "bytes", "part");
	for (i = 0; i < n; i++)
		put_line(b, &l[i], file_bytes);
	if (o->parts_more)
		buf_printf(b, "%29s  %zu more parts\n", "", o->parts_more);
	free(l);
}

json_t *
debug_map_json(const struct outline *o, uint64_t file_bytes)
{
	json_t *list = json_array();
	char text[1024];
	size_t i, n;
	struct line *l = lines_of(o, file_bytes, &n);

	for (i = 0; l && i < n; i++)
		json_array_append_new(list, json_pack("{s:o,s:o,s:s}", "offset",
		                                      json_from_u64(l[i].offset), "bytes",
		                                      json_from_u64(l[i].bytes), "part",
		                                      text_quote(text, sizeof text, l[i].what,
		                                                 strlen(l[i].what))));
	free(l);
	return list;
}

void
debug_files(struct buf *b, const struct outline_file *list, size_t n)
{
	char text[600];
	size_t i;

	if (n > 0)
		buf_printf(b, "%14s %14s  %s\n", "tensors", "their bytes", "file");
	for (i = 0; i < n; i++)
		buf_printf(b, "%14zu %14" PRIu64 "  %s\n", list[i].tensors, list[i].bytes,
		           text_quote(text, sizeof text, list[i].name, strlen(list[i].name)));
}

json_t *
debug_files_json(const struct outline_file *list, size_t n)
{
	json_t *all = json_array();
	char text[600];
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(all, json_pack("{s:s,s:o,s:o}", "file",
		                                     text_quote(text, sizeof text, list[i].name,
		                                                strlen(list[i].name)), "tensors",
		                                     json_from_u64(list[i].tensors), "bytes",
		                                     json_from_u64(list[i].bytes)));
	return all;
}

/* ---- tensors ---- */

static int
tensor_by_offset(const void *a, const void *b)
{
	const struct outline_tensor *const *x = a, *const *y = b;

	if ((*x)->offset != (*y)->offset)
		return (*x)->offset < (*y)->offset ? -1 : 1;
	return (*x)->bytes < (*y)->bytes ? -1 : (*x)->bytes > (*y)->bytes;
}

static void
put_fault(struct buf *b, size_t *faults, const struct outline_tensor *t, const char *fmt,
          uint64_t n)
{
	char name[300], text[128];

	if ((*faults)++ >= DEBUG_FAULTS)
		return;
	text_quote(name, sizeof name, t->name, strlen(t->name));
	snprintf(text, sizeof text, "%" PRIu64, n);
	buf_printf(b, "tensor %s: bytes %" PRIu64 " to %" PRIu64 ", %s %s\n", name, t->offset,
	           end_of(t->offset, t->bytes), text, fmt);
}

void
debug_faults(struct buf *b, const struct outline *o, uint64_t file_bytes)
{
	const struct outline_tensor **by = mem_array(o->tensors, sizeof *by), *last = NULL;
	size_t i, faults = 0;

	for (i = 0; by && i < o->tensors; i++)
		by[i] = &o->tensor[i];
	if (by && o->tensors)
		qsort(by, o->tensors, sizeof *by, tensor_by_offset);
	for (i = 0; by && i < o->tensors; i++) {
		uint64_t end = end_of(by[i]->offset, by[i]->bytes);
		uint64_t before = last ? end_of(last->offset, last->bytes) : 0;

		if (end > file_bytes)
			put_fault(b, &faults, by[i], "bytes after the end of the file",
			          end - (by[i]->offset > file_bytes ? by[i]->offset : file_bytes));
		else if (by[i]->bytes && before > by[i]->offset)
			put_fault(b, &faults, by[i], "of them in the tensor before it",
			          num_min(before, end) - by[i]->offset);
		if (by[i]->bytes)
			last = by[i];
	}
	if (faults > DEBUG_FAULTS)
		buf_printf(b, "%zu more tensors are like these\n", faults - DEBUG_FAULTS);
	free(by);
}
