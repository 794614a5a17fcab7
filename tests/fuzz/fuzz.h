/* fuzz: properties that every container target checks, whatever the input is.
 *
 *     1. The input opens and flows to its end, or is refused with an error that a
 *        terminal can show. A small input never exhausts memory.
 *     2. The result is the same from a file, from a pipe, and from a pipe that
 *        delivers pieces of any size (except that a GGUF tensor of unknown size
 *        needs a file).
 *     3. What has flowed can be packed, or is refused by the sink; what was
 *        packed opens again and has the same content (crypto/content.h).
 *     4. Packed a second time, it gives the same bytes.
 *
 * libFuzzer also looks for crashes, leaks and hangs. The CRC of an input chooses
 * one of many ways through the target, so that a finding can be reproduced; a
 * replay (replay.c) takes all ways in turn.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/text.h"
#include "crypto/witness.h"
#include "formats/format.h"
#include "stream/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Set by replay.c and starve.c: take this way instead of the one that the CRC chooses. */
extern int fuzz_way;
int fuzz_way = -1;

/* Set by starve.c: memory may run out. The result is then stored here: the code of
 * the error, or a larger number that identifies the bytes written. */
extern bool fuzz_starved;
extern uint64_t fuzz_outcome;
bool fuzz_starved;
uint64_t fuzz_outcome;
#define FUZZ_WAYS 32

/* ---- failed properties ---- */

#define must(cond) ((cond) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #cond, NULL))
#define must_say(cond, e) \
	((cond) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #cond, e))

static void
fuzz_broken(const char *file, int line, const char *cond, const struct err *e)
{
	fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, cond);
	if (e)
		fprintf(stderr, "fault %d: %s: %s\n", (int)e->code, e->object, e->fact);
	abort();
}

/* Nothing in a message may move the cursor or break the line. */
static void
fuzz_printable(const char *s)
{
	must(text_utf8(s, strlen(s), false));
	for (; *s; s++)
		must((uint8_t)*s >= 0x20 && *s != 0x7f);
}

/* A refusal has a printable message, and its reason lies in the input. */
static void
fuzz_refused(const struct err *e, bool by_sink)
{
	switch (e->code) {
	case ERR_FORMAT:
	case ERR_CORRUPT:
	case ERR_VERSION:
	case ERR_CHECKSUM:
		break;
	case ERR_INVALID:
	case ERR_USAGE:
		must_say(by_sink, e);
		break;
	case ERR_MEMORY:
		/* A fuzzer's build has small tables for the names of JSON members. */
		must_say(fuzz_starved || strstr(e->fact, "needs a window of") ||
		         (by_sink && strstr(e->fact, "its JSON needs too much memory")), e);
		break;
	case ERR_DECRYPT:
	case ERR_SIGNATURE:
		/* a sealed model with an operation that changes it, or an encrypted or signed
		 * APR version 1 file: the target has no keys */
		must_say(strcmp(e->fact, "is sealed") == 0 || strstr(e->fact, "DecryptionFailed") ||
		         strstr(e->fact, "SignatureInvalid"), e);
		break;
	default:
		must_say(false, e);
	}
	must(e->fact[0]);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
	fuzz_printable(e->hint);
}

__attribute__((unused)) static void
fuzz_note(const char *text)
{
	fuzz_printable(text);
}

/* ---- readers ---- */

#define FUZZ_PIECES 300000 /* bytes that fit into a pipe in pieces */

enum fuzz_input { FROM_FILE, FROM_PIPE, FROM_PIECES };

/* A pipe that brings the input in pieces: in packet mode each write is one read.
 * There is room for 256 of them; fewer are faster. */
static int
fuzz_pieces(const uint8_t *data, size_t size)
{
	size_t i, n, piece = size / 30 + 1;
	int ends[2];

	must(pipe2(ends, O_CLOEXEC | O_DIRECT) == 0);
	must(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
	for (i = 0; size > 0; i++, data += n, size -= n) {
		n = i % 3 == 2 ? 1 : piece < size ? piece : size;
		must(write(ends[1], data, n) == (ssize_t)n);
	}
	close(ends[1]);
	return ends[0];
}

static void
fuzz_reader(struct reader *r, const uint8_t *data, size_t size, enum fuzz_input from,
            struct err *e)
{
	if (from == FROM_PIECES && size < FUZZ_PIECES) {
		must(reader_fd(r, fuzz_pieces(data, size), "in", e) == 0);
		r->owns_fd = true;
		return;
	}
	reader_memory(r, data, size, "in", e);
	if (from != FROM_FILE) {
		r->seekable = false;
		r->end = READER_UNKNOWN;
	}
}

/* ---- one run ---- */

struct fuzz_run {
	const struct format *format;
	enum fuzz_input from;
	struct format_options options;
	const struct format *to;     /* a sink's; NULL: read only */
	bool no_seek;                /* the output is a pipe */
	const char *operation;
	int fd;                      /* where the sink writes */
	bool packed;                 /* the input comes from a sink: other targets describe such */
	bool opened;
	struct components content;   /* once it has flowed */
	struct err err;
	struct witness witness;
};

static int
fuzz_item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct fuzz_run *run = ctx;

	(void)out;
	return witness_item(&run->witness, in, e);
}

static int
fuzz_data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
          struct err *e)
{
	struct fuzz_run *run = ctx;

	if (witness_data(&run->witness, in, p, n, e) < 0)
		return -1;
	return sink ? sink_write(sink, p, n, e) : 0;
}

static int
fuzz_item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct fuzz_run *run = ctx;

	(void)sink;
	return witness_item_end(&run->witness, in, e);
}

static int
fuzz_finish(void *ctx, struct sink *sink, struct err *e)
{
	struct fuzz_run *run = ctx;

	(void)sink;
	if (witness_finish(&run->witness, e) < 0)
		return -1;
	run->content = run->witness.content.components;
	return 0;
}

/* Only a sink that ends well closes fd. */
static struct sink *
fuzz_sink(struct fuzz_run *run, int fd)
{
	struct sink *sink;
	struct out o;

	must(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	if (out_fd(&o, fd, "out", &run->err) < 0) {
		out_abandon(&o);
		return NULL;
	}
	if (run->no_seek)
		o.seekable = false;
	sink = run->to->writes ? run->to->writes->create(&o, &run->options, &run->err)
	                       : stream_sink(&o, &run->err);
	if (sink)
		sink->note = fuzz_note;
	return sink;
}

/* Describe the source as apr-header does, before any tensor data is read. */
static void
fuzz_describe(struct fuzz_run *run, struct source *s, size_t size)
{
	size_t i;
	json_t *o = run->format->reads->describe(s, &run->err);

	must((o != NULL) == (run->err.code == ERR_NONE));
	json_decref(o);
	for (i = 0; run->format->reads->tensor_offset && i < s->plan->tensor_count; i++) {
		uint64_t at = run->format->reads->tensor_offset(s, i);
		uint64_t bytes = tensor_bytes(s->plan->tensors[i]);

		if (run->format->reads->tensor_stored)
			run->format->reads->tensor_stored(s, i, &bytes);
		if (run->from == FROM_FILE && at != FORMAT_SCATTERED)
			must(at <= size && bytes <= size - at);
	}
}

/* Can the compressed tensors expand to more than a fuzzer has time for? */
static bool
fuzz_endless(const struct fuzz_run *run, const struct source *s)
{
	uint64_t bytes;
	size_t i;

	for (i = 0; run->format->reads->tensor_stored && i < s->plan->tensor_count; i++)
		if (run->format->reads->tensor_stored(s, i, &bytes) &&
		    model_tensor_bytes(s->plan) > 4 << 20)
			return true;
	return false;
}

/* Run the flow of an opened source. */
static void
fuzz_flow(struct fuzz_run *run, struct source *source)
{
	struct flow f = { .item = fuzz_item, .data = fuzz_data, .item_end = fuzz_item_end,
		.finish = fuzz_finish, .ctx = run, .operation = run->operation };
	struct sink *sink = NULL;
	int fd = run->to ? dup(run->fd) : -1, status = -1;

	/* An operation that changes content refuses a sealed model. */
	source->sealed_too = !run->operation;
	if (run->to)
		sink = fuzz_sink(run, fd);
	if (run->err.code == ERR_NONE &&
	    witness_begin(&run->witness, source->plan, 1, &run->err) == 0)
		status = flow_run(source, sink, &f, &run->err);
	must_say((status == 0) == (run->err.code == ERR_NONE), &run->err);
	witness_free(&run->witness);
	sink_close(sink);
	if (status < 0 && fd >= 0)
		close(fd);
}

/* Read size bytes in the given way, and pack them. The result is in run->err
 * and run->content. */
static void
fuzz_run(struct fuzz_run *run, const uint8_t *data, size_t size)
{
	struct source *source;
	struct reader r;

	run->err = (struct err)ERR_INIT;
	run->witness = (struct witness){ 0 };
	fuzz_reader(&r, data, size, run->from, &run->err);
	source = run->format->reads->open(&r, &run->options, fuzz_note, &run->err);
	run->opened = source != NULL;
	must((source != NULL) == (run->err.code == ERR_NONE));
	if (source) {
		if (!run->packed)
			fuzz_describe(run, source, size);
		if (run->err.code == ERR_NONE && fuzz_endless(run, source))
			err_set(&run->err, ERR_FORMAT, "in", "is too much here");
		if (run->err.code == ERR_NONE)
			fuzz_flow(run, source);
		source_close(source);
	}
	if (run->err.code != ERR_NONE)
		fuzz_refused(&run->err, run->opened && run->to);
}

/* ---- properties ---- */

static bool
fuzz_equal(const struct components *a, const struct components *b, bool carriers)
{
	return digest_equal(&a->metadata, &b->metadata) &&
	       digest_equal(&a->tensors, &b->tensors) &&
	       (!carriers || (digest_equal(&a->blobs, &b->blobs) &&
	                      digest_equal(&a->licence, &b->licence)));
}

/* All that was written, until fuzz_unmap. */
static const uint8_t *
fuzz_map(int fd, size_t *size)
{
	off_t n = lseek(fd, 0, SEEK_END);
	void *p;

	must(n > 0);
	*size = (size_t)n;
	p = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED);
	return p;
}

static void
fuzz_unmap(const uint8_t *p, size_t size)
{
	void *q;

	memcpy(&q, &p, sizeof q);
	munmap(q, size);
}

/* A file and a pipe of the same bytes. */
static void
fuzz_file_and_pipe(struct fuzz_run *run, const uint8_t *data, size_t size,
                   enum fuzz_input other)
{
	struct fuzz_run pipe = *run;

	run->from = FROM_FILE;
	fuzz_run(run, data, size);
	pipe.from = other;
	fuzz_run(&pipe, data, size);
	if (pipe.err.code == ERR_NONE)
		must_say(run->err.code == ERR_NONE, &run->err);
	else if (run->err.code == ERR_NONE)
		must_say(pipe.err.code == ERR_FORMAT && !pipe.opened, &pipe.err);
	if (pipe.err.code == ERR_NONE)
		must(fuzz_equal(&run->content, &pipe.content, true));
}

/* Read the packed file, and pack it again. */
static void
fuzz_again(const struct fuzz_run *run, int fd)
{
	struct fuzz_run again = { .format = run->to, .to = run->to, .fd = fd,
		.options = run->options, .packed = run->format != run->to };
	size_t first_size, second_size;
	const uint8_t *first = fuzz_map(run->fd, &first_size), *second;

	fuzz_run(&again, first, first_size);
	must_say(again.err.code == ERR_NONE, &again.err);
	must(fuzz_equal(&run->content, &again.content,
	                !run->options.plain && !run->operation));
	second = fuzz_map(fd, &second_size);
	must(first_size == second_size && memcmp(first, second, first_size) == 0);
	fuzz_unmap(first, first_size);
	fuzz_unmap(second, second_size);
}

/* One run during which memory may run out at any time. */
static void
fuzz_starve(struct fuzz_run *run, const uint8_t *data, size_t size)
{
	const uint8_t *p;

	fuzz_run(run, data, size);
	fuzz_outcome = run->err.code;
	if (!run->to || run->err.code != ERR_NONE)
		return;
	p = fuzz_map(run->fd, &size);
	fuzz_outcome = (uint64_t)size << 32 | crc32_add(0, p, size);
	fuzz_unmap(p, size);
}

/* Options of the format that a target chooses. */
static const struct format_choice *fuzz_own;
static size_t fuzz_own_count;

/* All checks for one input of a container. */
__attribute__((unused)) static int
fuzz_container(const struct format *format, const uint8_t *data, size_t size)
{
	static const struct format *const to[4] = { NULL, &format_stream, &format_gguf,
		&format_apr2 };
	static int first = -1, second = -1;
	unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc32_add(0, data, size);
	struct fuzz_run run = { .format = format, .to = to[way & 3],
		.from = way >> 2 & 1 ? FROM_PIPE : FROM_FILE, .options = { .memory = 1 << 20 } };
	unsigned more = way >> 3 & 3;

	if (first < 0) {
		first = memfd_create("first", MFD_CLOEXEC);
		second = memfd_create("second", MFD_CLOEXEC);
	}
	run.fd = first;
	run.options.own = fuzz_own;
	run.options.own_count = fuzz_own_count;
	if (fuzz_starved) {
		if (run.from == FROM_PIPE)
			run.options.codec = &codec_lz4;
		fuzz_starve(&run, data, size);
		return 0;
	}
	if (!run.to) {
		fuzz_file_and_pipe(&run, data, size, more == 0 ? FROM_PIECES : FROM_PIPE);
		return 0;
	}
	switch (more) {
	case 1:
		run.operation = "fuzz";
		break;
	case 2:
		run.options = (struct format_options){ .align = 64, .strict = true,
			.memory = 1 << 20, .codec = &codec_lz4 };
		break;
	case 3:
		run.options = (struct format_options){ .align = 32, .plain = true,
			.memory = 1 << 20, .codec = &codec_zstd, .level = 1 };
		run.no_seek = true;
		break;
	}
	run.options.own = fuzz_own;
	run.options.own_count = fuzz_own_count;
	fuzz_run(&run, data, size);
	if (run.err.code == ERR_NONE)
		fuzz_again(&run, second);
	return 0;
}

#endif
