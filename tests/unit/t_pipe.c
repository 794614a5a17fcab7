/* pipe: bytes that are passed on without being copied, and those that lie elsewhere */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/out.h"
#include "core/range.h"
#include "core/reader.h"
#include "model/flow.h"
#include "stream/frame.h"
#include "stream/stream.h"
#include "test.h"

#define BYTES (3u << 20) /* more than a pipe and a window hold */

static uint8_t want[BYTES];

/* Write all of it, in pieces of odd sizes, and close. */
static void *
feed(void *ctx)
{
	int fd = *(int *)ctx;
	size_t at = 0, n, i = 0;

	while (at < BYTES) {
		n = 1 + (i++ * 7919) % 100000;
		n = n < BYTES - at ? n : BYTES - at;
		if (write(fd, want + at, n) != (ssize_t)n)
			break;
		at += n;
	}
	close(fd);
	return NULL;
}

static uint8_t got[BYTES];
static size_t got_bytes;

static void *
drain(void *ctx)
{
	int fd = *(int *)ctx;
	ssize_t n;

	got_bytes = 0;
	while ((n = read(fd, got + got_bytes, BYTES - got_bytes)) > 0)
		got_bytes += (size_t)n;
	close(fd);
	return NULL;
}

static int
file_of_all(void)
{
	int fd = memfd_create("all", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, want, BYTES) != BYTES || lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Take a few bytes, share some, and so on: what was shared and what was put come out in
 * order, and are what the reader saw. */
static size_t
relay(struct reader *r, struct out *o)
{
	size_t at = 0, n, i;
	const uint8_t *p;

	for (i = 0; at < BYTES; i++) {
		uint64_t max = i % 3 == 0 ? 700001 : 5;

		max = max < BYTES - at ? max : BYTES - at;
		if (i % 3 == 1) {
			n = (size_t)max;
			p = reader_take(r, n);
			if (!p || out_put(o, p, n) < 0)
				return at;
		} else if (!(p = reader_share(r, o, max, &n))) {
			return at;
		}
		if (n == 0 || n > max || memcmp(p, want + at, n) != 0)
			return at;
		at += n;
	}
	return at;
}

static void
test_share(int from_pipe, int to_pipe)
{
	const char *in_name = from_pipe ? "pipe" : "file", *out_name = to_pipe ? "pipe" : "file";
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	struct err e = ERR_INIT;
	pthread_t feeder, drainer;
	struct reader r;
	struct out o;
	size_t n;

	if (from_pipe ? pipe2(in, O_CLOEXEC) : (in[0] = file_of_all()) < 0)
		return;
	if (to_pipe ? pipe2(out, O_CLOEXEC) : (out[1] = memfd_create("out", MFD_CLOEXEC)) < 0)
		return;
	if (from_pipe)
		pthread_create(&feeder, NULL, feed, &in[1]);
	if (to_pipe)
		pthread_create(&drainer, NULL, drain, &out[0]);
	n = reader_fd(&r, in[0], "in", &e) == 0 && out_fd(&o, out[1], "out", &e) == 0
	        ? relay(&r, &o) : 0;
	test_ok(n == BYTES && out_flush(&o) == 0 && out_tell(&o) == BYTES,
	        "from a %s to a %s: all is seen", in_name, out_name);
	test_ok(r.copies == !to_pipe, "from a %s to a %s: %s", in_name, out_name,
	        to_pipe ? "without a copy" : "with one");
	if (!to_pipe)
		got_bytes = (size_t)pread(out[1], got, BYTES, 0);
	out_abandon(&o);
	close(out[1]);
	reader_close(&r);
	if (from_pipe)
		pthread_join(feeder, NULL);
	if (to_pipe)
		pthread_join(drainer, NULL);
	close(in[0]);
	test_ok(got_bytes == BYTES && memcmp(got, want, BYTES) == 0,
	        "from a %s to a %s: all arrives", in_name, out_name);
}

static void
test_shrunk(void)
{
	struct err e = ERR_INIT;
	struct reader r;
	struct out o;
	int in = file_of_all(), out[2];
	size_t n;

	if (in < 0 || pipe2(out, O_CLOEXEC) < 0 || reader_fd(&r, in, "in", &e) < 0 ||
	    out_fd(&o, out[1], "out", &e) < 0 || ftruncate(in, 1000) < 0)
		return;
	test_ok(reader_share(&r, &o, BYTES, &n) && n == 1000, "a file that shrinks: what is left");
	test_ok(!reader_share(&r, &o, BYTES - n, &n) && e.code == ERR_CORRUPT, "then its end");
	reader_close(&r);
	out_abandon(&o);
	close(out[0]);
	close(out[1]);
	close(in);
}

static void
test_range(void)
{
	int fd = file_of_all();
	struct range r = { fd, 100 }, far = { fd, UINT64_MAX - 1 };
	struct err e = ERR_INIT;
	unsigned jobs;

	for (jobs = 1; jobs <= 3; jobs++) {
		memset(got, 0, BYTES);
		test_ok(range_read_wide(&r, 11, got, BYTES - 111, jobs) == 0 &&
		        memcmp(got, want + 111, BYTES - 111) == 0, "a range on %u threads", jobs);
		test_ok(range_read_wide(&r, 0, got, BYTES, jobs) < 0 && errno == 0,
		        "beyond the end on %u threads", jobs);
	}
	test_ok(range_fail("f", &e) < 0 && e.code == ERR_CORRUPT, "which is E002");
	test_ok(range_read(&far, 1, got, 1) < 0 && range_read(&far, 2, got, 1) < 0,
	        "an offset that no file has");
	close(fd);
	e = (struct err)ERR_INIT;
	test_ok(range_read(&r, 0, got, 1) < 0 && errno == EBADF && range_fail("f", &e) < 0 &&
	        e.code == ERR_IO, "no file: what the system says");
}

/* ---- places ---- */

/* A stream of one tensor of 1000 bytes, with a body of n bytes in its PLAC frame. */
static void
make_stream(struct buf *b, uint64_t offset, size_t n, const char *name)
{
	static const char plan[] = "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],"
		"\"tensors\":[[\"a\",\"I8\",[1000]]],\"signatures\":0}";
	int fd = memfd_create("stream", MFD_CLOEXEC);
	struct err e = ERR_INIT;
	uint8_t body[16] = { 0 };
	char head[80];
	uint32_t crc = 0;
	struct out o;
	int i;

	for (i = 0; i < 8; i++)
		body[i] = (uint8_t)(offset >> 8 * i);
	snprintf(head, sizeof head, "{\"name\":\"%s\",\"dtype\":\"I8\",\"shape\":[1000]}", name);
	if (fd < 0 || out_fd(&o, fd, "stream", &e) < 0)
		return;
	frame_put(&o, "APRS", plan, strlen(plan), 0);
	frame_end(&o, 0);
	frame_put(&o, STREAM_PLACE, head, strlen(head), n);
	frame_write(&o, &crc, body, n);
	frame_end(&o, crc);
	frame_put(&o, "DONE", "{\"tensors\":1}", 13, 0);
	frame_end(&o, 0);
	out_flush(&o);
	if (buf_room(b, (size_t)out_tell(&o)))
		b->n = (size_t)pread(fd, b->p, (size_t)out_tell(&o), 0);
	out_abandon(&o);
	close(fd);
}

static uint64_t seen;
static bool was_placed;

static int
look(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	(void)sink;
	(void)e;
	was_placed = in->place != NULL;
	if (memcmp(p, want + *(uint64_t *)ctx + seen, n) == 0)
		seen += n;
	return 0;
}

static enum err_code
run_stream(uint64_t offset, size_t n, const char *name, int lent)
{
	struct flow f = { .data = look, .ctx = &offset };
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct source *s;
	struct reader r;

	make_stream(&b, offset, n, name);
	seen = 0;
	reader_memory(&r, b.p, b.n, "stream", &e);
	s = stream_source(&r, &e);
	if (s && lent >= 0)
		stream_lend(s, &lent, 1);
	if (s)
		flow_run(s, NULL, &f, &e);
	source_close(s);
	buf_free(&b);
	return e.code;
}

static void
test_places(void)
{
	int fd = file_of_all();

	test_ok(run_stream(12345, 8, "a", fd) == ERR_NONE && seen == 1000 && was_placed,
	        "a tensor is read at its place");
	test_ok(run_stream(BYTES - 1000, 8, "a", fd) == ERR_NONE && seen == 1000,
	        "up to the last byte of the file");
	test_ok(run_stream(BYTES - 999, 8, "a", fd) == ERR_CORRUPT, "not beyond it");
	test_ok(run_stream(UINT64_MAX - 1, 8, "a", fd) == ERR_CORRUPT, "no offset wraps around");
	test_ok(run_stream(0, 7, "a", fd) == ERR_CORRUPT, "a place has 8 bytes, not 7");
	test_ok(run_stream(0, 9, "a", fd) == ERR_CORRUPT, "nor 9");
	test_ok(run_stream(0, 8, "b", fd) == ERR_CORRUPT, "the plan holds for it");
	test_ok(run_stream(0, 8, "a", -1) == ERR_FORMAT, "nothing lent: not known");
	close(fd);
}

int
main(void)
{
	size_t i;
	uint32_t x = 1;

	for (i = 0; i < BYTES; i++) {
		x = x * 1664525 + 1013904223;
		want[i] = (uint8_t)(x >> 24);
	}
	test_share(0, 0);
	test_share(0, 1);
	test_share(1, 0);
	test_share(1, 1);
	test_shrunk();
	test_range();
	test_places();
	return test_done();
}
