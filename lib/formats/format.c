#include "formats/format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/embedded.h"
#include "core/opened.h"
#include "core/part.h"
#include "core/remote.h"
#include "formats/other.h"
#include "stream/frame.h"
#include "stream/stream.h"

static bool
looks_like(const struct format *f, const uint8_t *head, size_t n)
{
	size_t most = f->peeks ? f->peeks : FORMAT_PROBE;

	return f->probe(head, n < most ? n : most);
}

/* True for what may be ONNX, or the old binary form of XGBoost, whose header ends in zeros. */
static bool
wants_more(const uint8_t *head, size_t n)
{
	static const uint8_t zeros[32];

	return n >= 8 && (*head == 8 || (n == 64 && memcmp(head + 32, zeros, sizeof zeros) == 0));
}

const struct format *
format_row(unsigned index)
{
	return index < format_count ? format_list[index] : NULL;
}

const struct format *
format_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < format_count; i++)
		if (strcmp(format_list[i]->name, name) == 0)
			return format_list[i];
	return NULL;
}

int
format_choose(const char *name, const struct format **from, struct err *e)
{
	struct buf names = { 0 };
	size_t i;

	*from = name ? format_by_name(name) : NULL;
	if (!name || *from)
		return 0;
	err_set(e, ERR_USAGE, NULL, "--from: %.80s is not a format that is read here", name);
	for (i = 0; i < format_count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", format_list[i]->name);
	if (buf_string(&names))
		err_hint(e, "formats: %s", (const char *)names.p);
	buf_free(&names);
	return -1;
}

const char *
format_suffix(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	size_t i;

	for (i = 0; dot && i < format_count; i++)
		if (format_list[i]->suffix && strcasecmp(dot + 1, format_list[i]->suffix) == 0)
			return format_list[i]->suffix;
	return NULL;
}

const struct format *
format_by_suffix(const char *suffix)
{
	size_t i;

	for (i = 0; suffix && i < format_count; i++)
		if (format_list[i]->by_suffix && strcmp(format_list[i]->suffix, suffix) == 0)
			return format_list[i];
	return NULL;
}

/* The format that is written with the next name in alphabetical order; NULL past the last. */
static const struct format *
next_written(const struct format *last)
{
	const struct format *next = NULL;
	size_t i;

	for (i = 0; i < format_count; i++)
		if (format_list[i]->writes && (!last || strcmp(format_list[i]->name, last->name) > 0) &&
		    (!next || strcmp(format_list[i]->name, next->name) < 0))
			next = format_list[i];
	return next;
}

void
format_names(struct buf *b, const char *between, const char *last)
{
	const struct format *f = next_written(NULL), *next;

	for (; f; f = next) {
		next = next_written(f);
		buf_text(b, f->name);
		if (next)
			buf_text(b, next_written(next) ? between : last);
	}
}

const struct format_option *
format_option_row(unsigned index, bool writes, const struct format **format)
{
	const struct format_option *o;
	size_t i;

	for (i = 0; i < format_count; i++)
		for (o = format_list[i]->options; o && o->name; o++)
			if (o->writes == writes && index-- == 0) {
				*format = format_list[i];
				return o;
			}
	return NULL;
}

unsigned
format_choices(struct format_choice *own, unsigned n, bool writes)
{
	const struct format *format;
	unsigned i;

	for (i = 0; i < n && (own[i].option = format_option_row(i, writes, &format)); i++)
		own[i].value = NULL;
	return i;
}

void
format_option_usage(struct buf *b, bool writes)
{
	const struct format_option *o;
	const struct format *format;
	unsigned i;

	for (i = 0; (o = format_option_row(i, writes, &format)); i++)
		buf_printf(b, "%s[--%s%s%s]", i ? " " : "", o->name, o->arg ? " " : "",
		           o->arg ? o->arg : "");
}

const char *
format_chosen(const struct format_options *o, const struct format_option *row)
{
	size_t i;

	for (i = 0; i < o->own_count; i++)
		if (o->own[i].option == row)
			return o->own[i].value;
	return NULL;
}

/* ---- the stream, as one of the formats ---- */

static bool
stream_probe(const uint8_t *head, size_t n)
{
	return n >= 4 && memcmp(head, "APRS", 4) == 0;
}

static struct source *
stream_open(struct reader *r, const struct format_options *options,
            void (*note)(const char *), struct err *e)
{
	struct source *s = stream_source(r, e);

	(void)options;
	if (s)
		s->note = note;
	return s;
}

static json_t *
stream_describe(struct source *s, struct err *e)
{
	json_t *o = json_pack("{s:s,s:i,s:b}", "format", "stream", "version", 1,
	                      "checksum", 1);

	(void)s;
	if (!o)
		err_memory(e);
	return o;
}

static void
stream_outline(struct reader *r, struct outline *o)
{
	frames_outline(r, o, r->end);
	if (!o->stopped && reader_left(r) > 0)
		outline_stop(o, r, "no frame begins here");
}

static const struct format_reads stream_reads = {
	.open = stream_open,
	.describe = stream_describe,
	.outline = stream_outline,
};

const struct format format_stream = {
	.name = "stream",
	.title = "apr stream",
	.probe = stream_probe,
	.reads = &stream_reads,
};

/* ---- detecting the format ---- */

bool
format_may_spool(const char *path)
{
	uint8_t head[FORMAT_PROBE_MAX];
	const struct format *f = NULL;
	struct stat st;
	ssize_t n;
	size_t i;
	int fd;

	if (!path)
		return false;
	/* A pipe must not be opened or read here. */
	if (remote_is(path) || opened_stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (fd = opened_file(path, O_RDONLY)) < 0)
		return true;
	n = part_pread(fd, head, sizeof head, 0);
	close(fd);
	for (i = 0; n >= 8 && !f && i < format_count; i++)
		if (looks_like(format_list[i], head, (size_t)n))
			f = format_list[i];
	return !f || (f->reads->spools && f->reads->spools(head, (size_t)n));
}

struct source *
format_open_path(const char *path, const struct format_options *options,
                 void (*note)(const char *), const struct format **which, int *held,
                 struct err *e)
{
	struct source *s = NULL;
	struct reader r;
	size_t i;

	*held = -1;
	for (i = 0; strcmp(path, "-") != 0 && i < format_count; i++) {
		if (format_list[i]->reads->open_path && (!options->from || options->from == format_list[i]))
			s = format_list[i]->reads->open_path(path, options, note, which, e);
		if (s)
			*held = opened_folder(path);
		if (s || e->code != ERR_NONE)
			return s;
	}
	if (reader_open(&r, path, e) < 0)
		return NULL;
	*held = fcntl(r.fd, F_DUPFD_CLOEXEC, 3);
	return format_open(&r, options, note, which, e);
}

char *
format_folder_of(const char *path)
{
	char *folder = NULL;
	size_t i;

	for (i = 0; !folder && strcmp(path, "-") != 0 && !embedded_is(path) && i < format_count; i++)
		if (format_list[i]->reads->folder_of)
			folder = format_list[i]->reads->folder_of(path);
	return folder;
}

const struct format *
format_probe(const uint8_t *head, size_t n)
{
	size_t i;

	for (i = 0; i < format_count; i++)
		if (looks_like(format_list[i], head, n))
			return format_list[i];
	return NULL;
}

struct source *
format_open(struct reader *r, const struct format_options *options,
            void (*note)(const char *), const struct format **which, struct err *e)
{
	size_t i, n;
	const uint8_t *head = reader_peek(r, FORMAT_PROBE, &n);
	const struct format_other *other;

	/* A pipe may not have more yet, and few files need it. */
	if (!r->failed && wants_more(head, n))
		head = reader_peek(r, FORMAT_PROBE_MAX, &n);
	if (r->failed) {
		reader_close(r);
		return NULL;
	}
	for (i = 0; i < format_count; i++)
		if (options->from ? options->from == format_list[i] : looks_like(format_list[i], head, n)) {
			*which = format_list[i];
			return format_list[i]->reads->open(r, options, note, e);
		}
	other = format_other(head, n);
	if (n == 0)
		err_set(e, ERR_CORRUPT, r->name, "is empty");
	else if (other)
		err_set(e, ERR_FORMAT, r->name, "is %s, which is not read here", other->title);
	else
		err_set(e, ERR_FORMAT, r->name, "is not a model file of a known format");
	if (other && other->hint)
		err_hint(e, "%s", other->hint);
	reader_close(r);
	return NULL;
}

int
format_no_room(const struct source *s, uint64_t bytes, struct err *e)
{
	err_set(e, ERR_INVALID, s->name, "the new metadata needs %" PRIu64 " byte%s more than "
	        "there is room for", bytes, bytes == 1 ? "" : "s");
	return err_hint(e, "without --in-place it becomes a stream, and apr-pack --reserve leaves "
	                "room for the next time");
}

bool
format_holds(const struct format *f, const struct source *s, size_t i)
{
	uint64_t bytes = tensor_bytes(s->plan->tensors[i]), stored = bytes;

	if (!f->reads->tensor_offset || f->reads->tensor_offset(s, i) == FORMAT_SCATTERED)
		return false;
	if (f->reads->tensor_stored && f->reads->tensor_stored(s, i, &stored))
		return false;
	return stored == bytes;
}
