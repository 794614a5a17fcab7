/* apr2_models: models made in memory, and flows of them into streams and APR2 files and
 * back. A fault in the making ends the test.
 */
#ifndef TEST_APR2_MODELS_H
#define TEST_APR2_MODELS_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/le.h"
#include "formats/apr2/apr2.h"
#include "stream/plan.h"
#include "stream/stream.h"

static const struct format_options no_options;
/* The notes of the last run. */
static char noted[1024];

static inline void
note(const char *text)
{
	snprintf(noted, sizeof noted, "%s", text);
}

static inline void
die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* All that was written to a memory file. */
static inline void
slurp(int fd, struct buf *b)
{
	uint8_t piece[4096];
	ssize_t n;

	buf_clear(b);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		buf_put(b, piece, (size_t)n);
}

static inline struct sink *
open_sink(bool apr2, const struct format_options *o, int *fd, struct err *e)
{
	struct out out;

	*fd = memfd_create("out", 0);
	if (*fd < 0 || out_fd(&out, dup(*fd), "out", e) < 0)
		die("no memory file");
	return apr2 ? format_apr2.writes->create(&out, o, e) : stream_sink(&out, e);
}

/* Run a source (NULL: it did not open) into a new stream or APR2 file. */
static inline enum err_code
convert(struct source *source, bool to_apr2, const struct format_options *o,
        struct buf *out, struct err *e)
{
	static const struct flow straight;
	struct sink *sink;
	int fd;

	if (!source)
		return e->code;
	sink = open_sink(to_apr2, o, &fd, e);
	sink->note = note;
	flow_run(source, sink, &straight, e);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
	close(fd);
	return e->code;
}

static inline struct source *
open_memory(const struct buf *b, bool apr2, const struct format_options *o, struct err *e)
{
	struct reader r;

	noted[0] = '\0';
	reader_memory(&r, b->p, b->n, "in", e);
	return apr2 ? format_apr2.reads->open(&r, o, note, e) : stream_source(&r, e);
}

/* The same through a pipe: b must fit into one. */
static inline struct source *
open_pipe(const struct buf *b, const struct format_options *o, struct err *e)
{
	struct reader r;
	int ends[2];

	noted[0] = '\0';
	if (pipe(ends) < 0 || write(ends[1], b->p, b->n) != (ssize_t)b->n)
		die("no pipe");
	close(ends[1]);
	if (reader_fd(&r, ends[0], "pipe", e) < 0)
		die("no reader");
	r.owns_fd = true;
	return format_apr2.reads->open(&r, o, note, e);
}

static inline bool
same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* ---- models ---- */

static inline void
add_tensor(struct model *m, const char *name, const char *type, unsigned ndim,
           const uint64_t *dims, uint64_t bytes)
{
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name(type), ndim, dims,
	                              bytes, "test", &e);

	if (!t || model_add_tensor(m, t, &e) < 0)
		die(e.fact);
}

static inline void
add_text(struct model *m, const char *key, const char *type, const char *json)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };
	struct value_type t;
	json_t *v = json_parse_any(json, strlen(json), ERR_CORRUPT, key, &e);

	if (!v || value_type_parse(type, &t) < 0 || value_from_json(t, v, &wire) < 0 ||
	    !buf_string(&wire) ||
	    model_add_meta(m, key, strlen(key), t, wire.p, wire.n, &e) < 0)
		die(key);
	json_decref(v);
	buf_free(&wire);
}

static inline void
begin_model(struct model *m, const char *format)
{
	struct err e = ERR_INIT;

	if (model_init(m, &e) < 0 ||
	    (format && model_source_set(m, "format", json_string(format), &e) < 0))
		die("no model");
}

/* Byte at of a body that has the number n: a ramp; or, of the bodies for codecs,
 * by turns noise, a ramp, a MiB of the one and then the other. */
static bool for_codecs __attribute__((unused));

static inline uint8_t
body_byte(unsigned n, uint64_t at)
{
	uint64_t x = (at + 1) * UINT64_C(0x9e3779b97f4a7c15) + n;
	bool noise = n % 4 < 2 ? n % 4 == 0 : (at < 1 << 20) == (n % 4 == 2);

	if (!for_codecs || !noise)
		return (uint8_t)(at * 7 + n * 31 + 1);
	x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)(x >> 40);
}

static inline void
put_body(struct sink *sink, unsigned n, uint64_t bytes, struct err *e)
{
	uint8_t p[1000];
	uint64_t at = 0;

	while (at < bytes) {
		size_t i, part = bytes - at < sizeof p ? (size_t)(bytes - at) : sizeof p;

		for (i = 0; i < part; i++)
			p[i] = body_byte(n, at + i);
		if (sink_write(sink, p, part, e) < 0)
			return;
		at += part;
	}
}

static inline void
put_item(struct sink *sink, enum item_kind kind, size_t index, const char *head,
         uint64_t bytes, struct err *e)
{
	struct item item = { .kind = kind, .index = index, .bytes = bytes, .head = head,
		.head_bytes = head ? strlen(head) : 0 };

	if (sink_put(sink, &item, e) < 0)
		return;
	put_body(sink, (unsigned)index, bytes, e);
	if (!e->code)
		sink_put_end(sink, e);
}

/* A value of type array:u8 with this many bytes, including its head. */
static inline void
put_array(struct sink *sink, size_t index, uint64_t bytes, struct err *e)
{
	struct item item = { .kind = ITEM_BLOB, .index = index, .bytes = bytes };
	uint8_t head[12];

	le32_put(head, VALUE_U8);
	le64_put(head + 4, bytes - sizeof head);
	sink_put(sink, &item, e);
	sink_write(sink, head, sizeof head, e);
	put_body(sink, (unsigned)index, bytes - sizeof head, e);
	sink_put_end(sink, e);
}

/* The model as a stream: the first blob is json if there is any, other values are
 * arrays, side files bytes. */
static inline void
make_stream(const struct model *m, const char *json, struct buf *out)
{
	struct err e = ERR_INIT;
	int fd;
	struct sink *sink = open_sink(false, &no_options, &fd, &e);
	char head[MODEL_SIGN_HEAD + 1];
	size_t i;

	sink_begin(sink, m, &e);
	for (i = 0; i < m->blob_count; i++) {
		struct item item = { .kind = ITEM_BLOB, .index = i, .bytes = m->blobs[i].bytes };

		if (!json || i > 0) {
			if (strcmp(m->blobs[i].type, MODEL_VALUE) == 0)
				put_array(sink, i, m->blobs[i].bytes, &e);
			else
				put_item(sink, ITEM_BLOB, i, NULL, m->blobs[i].bytes, &e);
			continue;
		}
		sink_put(sink, &item, &e);
		sink_write(sink, (const uint8_t *)json, strlen(json), &e);
		sink_put_end(sink, &e);
	}
	if (m->licence != MODEL_NONE)
		put_item(sink, ITEM_LICENCE, 0, NULL, m->licence, &e);
	for (i = 0; i < m->tensor_count; i++)
		put_item(sink, ITEM_TENSOR, i, NULL, tensor_bytes(m->tensors[i]), &e);
	for (i = 0; i < m->prov_count; i++)
		put_item(sink, ITEM_PROV, i, "{\"operation\":\"x\"}", 0, &e);
	snprintf(head, sizeof head, "{\"x\":\"%0*d\"}", MODEL_SIGN_HEAD - 8, 0);
	for (i = 0; i < m->signatures; i++)
		put_item(sink, ITEM_SIGN, i, head, model_sign_body(m), &e);
	if (e.code || sink_end(sink, &e) < 0)
		die(e.fact);
	sink_close(sink);
	slurp(fd, out);
	close(fd);
}

/* Stream, APR2, stream: the same stream; APR2 again: the same file. Also from
 * a pipe. The file is left in apr2. */
static inline void
round_trip(const char *name, const struct buf *stream, const struct format_options *o,
           struct buf *apr2)
{
	struct err e = ERR_INIT;
	struct buf back = { 0 }, again = { 0 };

	convert(open_memory(stream, false, o, &e), true, o, apr2, &e);
	test_ok(!e.code, "%s: into APR2 (%s %s)", name, e.object, e.fact);
	if (e.code)
		die(name);
	convert(open_memory(apr2, true, o, &e), false, o, &back, &e);
	test_ok(!e.code, "%s: out of APR2 (%s %s)", name, e.object, e.fact);
	test_ok(same(stream, &back), "%s: the stream is the same", name);
	convert(open_memory(apr2, true, o, &e), true, &no_options, &again, &e);
	test_ok(!e.code && same(apr2, &again), "%s: the file is the same (%s)", name, e.fact);
	if (apr2->n <= 65536) {
		buf_clear(&back);
		convert(open_pipe(apr2, o, &e), false, o, &back, &e);
		test_ok(!e.code && same(stream, &back), "%s: from a pipe (%s)", name, e.fact);
	}
	test_ok(!noted[0], "%s: nothing to note (%s)", name, noted);
	buf_free(&back);
	buf_free(&again);
}

static const uint64_t row[] = { 256 }, square[] = { 2, 256 };

#endif
