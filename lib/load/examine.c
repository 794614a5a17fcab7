#include "load/examine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/other.h"

static int
keep_pipe(struct examine *x, struct err *e)
{
	const uint8_t *p;
	size_t n;

	while (!reader_at_end(&x->r)) {
		p = reader_some(&x->r, READER_WINDOW, &n);
		if (!p || spool_put(&x->spool, p, n, e) < 0)
			return -1;
	}
	if (x->r.failed || spool_view(&x->spool, &p, e) < 0)
		return -1;
	reader_close(&x->r);
	reader_memory(&x->r, p, (size_t)x->spool.bytes, x->name, &x->read);
	return 0;
}

/* A path that is not a file may be a folder. e: why it is not a file. */
static int
open_folder(struct examine *x, struct err *e)
{
	struct format_options options = { .closed = true };
	struct err own = ERR_INIT;

	x->name = x->path;
	x->source = format_open_path(x->path, &options, NULL, &x->as, &x->held, &own);
	x->several = x->source != NULL;
	if (!x->source && own.code != ERR_IO)
		*e = own;
	else if (x->source)
		*e = (struct err)ERR_INIT;
	return x->source ? 0 : -1;
}

int
examine_open(struct examine *x, const char *path, struct err *e)
{
	const uint8_t *p;

	*x = (struct examine){ .path = path, .held = -1, .r = { .fd = -1 } };
	if (reader_open(&x->r, path, e) < 0)
		return open_folder(x, e);
	x->name = x->r.name;
	if (!x->r.seekable && keep_pipe(x, e) < 0)
		return -1;
	x->bytes = x->r.end;
	x->r.err = &x->read;
	x->room = malloc(EXAMINE_BYTES);
	if (!x->room)
		return err_memory(e);
	p = reader_peek(&x->r, FORMAT_PROBE, &x->head_bytes);
	if (!p && x->read.code != ERR_NONE) {
		*e = x->read;
		return -1;
	}
	if (p)
		memcpy(x->head, p, x->head_bytes);
	x->format = format_probe(x->head, x->head_bytes);
	return 0;
}

void
examine_close(struct examine *x)
{
	source_close(x->source);
	outline_free(&x->outline);
	reader_close(&x->r);
	spool_free(&x->spool);
	free(x->room);
	if (x->held >= 0)
		close(x->held);
}

void
examine_look(struct examine *x)
{
	struct format_options options = { .closed = true };
	struct reader again;

	if (x->several)
		return;
	if (x->format && x->format->reads->outline)
		x->format->reads->outline(&x->r, &x->outline);
	if (x->r.fd >= 0 && strcmp(x->path, "-") != 0) {
		x->source = format_open_path(x->path, &options, NULL, &x->as, &x->held,
		                             &x->verdict);
	} else if (x->r.fd < 0) {
		reader_memory(&again, x->r.window, (size_t)x->bytes, x->name, &x->verdict);
		x->source = format_open(&again, &options, NULL, &x->as, &x->verdict);
	} else if (lseek(x->r.fd, 0, SEEK_SET) == 0 &&
	           reader_fd(&again, x->r.fd, x->name, &x->verdict) == 0) {
		x->source = format_open(&again, &options, NULL, &x->as, &x->verdict);
	}
}

void
examine_tensors(struct examine *x)
{
	static const struct outline_shape none;
	const struct source *s = x->source;
	uint64_t at;
	size_t i;

	if (!s || x->outline.tensors > 0 || !x->as->reads->tensor_offset ||
	    x->as->reads->tensor_file)
		return;
	for (i = 0; i < s->plan->tensor_count; i++) {
		const struct tensor *t = s->plan->tensors[i];

		at = x->as->reads->tensor_offset(s, i);
		if (at != FORMAT_SCATTERED)
			outline_tensor(&x->outline, tensor_name(t), strlen(tensor_name(t)),
			               tensor_type(t), &none, at, tensor_bytes(t),
			               format_holds(x->as, s, i));
	}
}

void
examine_parts(struct examine *x)
{
	struct outline *o = &x->outline;
	size_t i;

	if (o->parts > 0)
		return;
	examine_tensors(x);
	for (i = 0; i < o->tensors; i++)
		outline_add(o, o->tensor[i].offset, o->tensor[i].bytes, "tensor %s, %s",
		            o->tensor[i].name, o->tensor[i].type ? o->tensor[i].type->name
		                                                 : "of an unknown type");
}

static int
by_name(const void *a, const void *b)
{
	const struct outline_file *f = a, *g = b;

	return strcmp(f->name, g->name);
}

struct outline_file *
examine_files(const struct examine *x, size_t *count)
{
	const struct source *s = x->source;
	struct outline_file *list;
	size_t i, n = 0;

	*count = 0;
	if (!s || !x->as->reads->tensor_file || s->plan->tensor_count == 0)
		return NULL;
	list = mem_array(s->plan->tensor_count, sizeof *list);
	for (i = 0; list && i < s->plan->tensor_count; i++)
		list[i] = (struct outline_file){ x->as->reads->tensor_file(s, i), 1,
			tensor_bytes(s->plan->tensors[i]) };
	if (!list)
		return NULL;
	qsort(list, i, sizeof *list, by_name);
	for (i = 1; i < s->plan->tensor_count; i++)
		if (strcmp(list[i].name, list[n].name) == 0) {
			list[n].tensors++;
			list[n].bytes += list[i].bytes;
		} else {
			list[++n] = list[i];
		}
	*count = n + 1;
	return list;
}

const char *
examine_holder(const struct examine *x, const char *tensor)
{
	const struct source *s = x->source;
	size_t i;

	for (i = 0; s && x->as->reads->tensor_file && i < s->plan->tensor_count; i++)
		if (strcmp(tensor_name(s->plan->tensors[i]), tensor) == 0)
			return x->as->reads->tensor_file(s, i);
	return NULL;
}

int
examine_needs(const struct examine *x, bool bytes, struct err *e)
{
	return bytes && x->several ? err_set(e, ERR_USAGE, x->path, "is a folder: give one of its files")
	                           : 0;
}

const char *
examine_kind(const struct examine *x)
{
	const struct format_other *other = format_other(x->head, x->head_bytes);

	if (x->several)
		return x->as->title;
	return x->format ? x->format->title : other ? other->title : NULL;
}

/* The position of the descriptor may be that of another reader: it is not used. */
const uint8_t *
examine_bytes(struct examine *x, uint64_t at, size_t *n)
{
	ssize_t got;

	if (x->several || at >= x->bytes || at > INT64_MAX)
		return NULL;
	*n = (size_t)num_min(num_min(*n, EXAMINE_BYTES), x->bytes - at);
	if (x->r.fd < 0)
		return x->r.window + at;
	got = pread(x->r.fd, x->room, *n, (off_t)at);
	if (got <= 0)
		return NULL;
	*n = (size_t)got;
	return x->room;
}

uint64_t
examine_broken(const struct examine *x)
{
	if (x->verdict.code == ERR_NONE)
		return UINT64_MAX;
	if (x->verdict.has_at)
		return x->verdict.at;
	return x->outline.stopped ? x->outline.stop : UINT64_MAX;
}
