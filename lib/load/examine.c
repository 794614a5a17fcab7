#include "load/examine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"

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

int
examine_open(struct examine *x, const char *path, struct err *e)
{
	const uint8_t *p;

	*x = (struct examine){ .path = path, .held = -1, .r = { .fd = -1 } };
	if (reader_open(&x->r, path, e) < 0)
		return -1;
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

	if (!s || x->outline.tensors > 0 || !x->as->reads->tensor_offset)
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

/* The position of the descriptor may be that of another reader: it is not used. */
const uint8_t *
examine_bytes(struct examine *x, uint64_t at, size_t *n)
{
	ssize_t got;

	if (at >= x->bytes || at > INT64_MAX)
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
