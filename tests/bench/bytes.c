/* bytes: the cost of each step of a pipe by itself, in CPU seconds per GB. These are the
 * bounds for the figures of tests/bench/pipes.sh.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/pipe.h"
#include "core/reader.h"
#include "crypto/digest.h"
#include "crypto/lanes.h"

#define BYTES (256u << 20)
#define ROUNDS 5

static int file, ends[2], more[2];
static uint8_t *piece;

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* Each step moves READER_BODY bytes; steps on the file begin at the offset. */

static void
read_file(size_t at)
{
	must(pread(file, piece, READER_BODY, (off_t)at) == READER_BODY, "read");
}

static void
read_small(size_t at)
{
	size_t i;

	for (i = 0; i < READER_BODY; i += 16384)
		must(pread(file, piece, 16384, (off_t)(at + i)) == 16384, "read");
}

static void
write_file(size_t at)
{
	static int made = -1;

	if (at == 0) {
		close(made);
		made = memfd_create("made", MFD_CLOEXEC);
	}
	must(pwrite(made, piece, READER_BODY, (off_t)at) == READER_BODY, "write");
}

static void
write_pipe(size_t at)
{
	(void)at;
	must(write(ends[1], piece, READER_BODY) == READER_BODY, "write to a pipe");
}

static void
read_pipe(size_t at)
{
	size_t n = 0;

	(void)at;
	while (n < READER_BODY) {
		ssize_t got = read(ends[0], piece + n, READER_BODY - n);

		must(got > 0, "read from a pipe");
		n += (size_t)got;
	}
}

static void
send_file(size_t at)
{
	size_t n = 0;

	while (n < READER_BODY) {
		ssize_t got = pipe_send(file, at + n, ends[1], READER_BODY - n);

		must(got > 0, "splice");
		n += (size_t)got;
	}
}

static void
tee_pipe(size_t at)
{
	size_t n = 0;

	(void)at;
	while (n < READER_BODY) {
		ssize_t got = pipe_tee(ends[0], more[1], READER_BODY);

		must(got > 0, "tee");
		n += (size_t)got;
	}
}

static void
empty(int fd)
{
	size_t n = 0;

	while (n < READER_BODY) {
		ssize_t got = read(fd, piece, READER_BODY);

		must(got > 0, "read from a pipe");
		n += (size_t)got;
	}
}

static void
empty_one(size_t at)
{
	(void)at;
	empty(ends[0]);
}

static void
empty_both(size_t at)
{
	(void)at;
	empty(ends[0]);
	empty(more[0]);
}

static void
crc(size_t at)
{
	(void)at;
	crc32_add(0, piece, READER_BODY);
}

static void
sha256(size_t at)
{
	struct digest d;

	(void)at;
	sha256_of(piece, READER_BODY, &d);
}

static void
lanes(unsigned n)
{
	struct lanes_message m[LANES_MOST];
	unsigned i;

	for (i = 0; i < n; i++)
		m[i] = (struct lanes_message){ .p = piece + i * (READER_BODY / n),
			.bytes = READER_BODY / n };
	lanes_hash_by(n, m, n);
}

static void
two(size_t at)
{
	(void)at;
	lanes(2);
}

static void
eight(size_t at)
{
	(void)at;
	lanes(8);
}

/* The time of before and after is not counted. */
static void
row(const char *name, void (*before)(size_t), void (*step)(size_t), void (*after)(size_t))
{
	double best = 0, a, sum;
	int i;
	size_t at;

	for (i = 0; i < ROUNDS; i++) {
		sum = 0;
		for (at = 0; at < BYTES; at += READER_BODY) {
			if (before)
				before(at);
			a = cpu();
			step(at);
			sum += cpu() - a;
			if (after)
				after(at);
		}
		best = i == 0 || sum < best ? sum : best;
	}
	printf("%-44s %7.3f\n", name, best / BYTES * 1e9);
}

int
main(void)
{
	size_t at;

	must((file = memfd_create("file", MFD_CLOEXEC)) >= 0, "memfd");
	must((piece = calloc(1, READER_BODY)) != NULL, "memory");
	must(pipe2(ends, O_CLOEXEC) == 0 && pipe2(more, O_CLOEXEC) == 0, "pipe");
	pipe_widen(ends[0]);
	pipe_widen(more[0]);
	for (at = 0; at < BYTES; at += READER_BODY)
		must(write(file, piece, READER_BODY) == READER_BODY, "write");
	printf("%-44s %7s\n", "one thread, pieces of 128 KiB", "s/GB");
	row("read a file in the page cache", NULL, read_file, NULL);
	row("the same in pieces of 16 KiB", NULL, read_small, NULL);
	row("write a new file of a tmpfs", NULL, write_file, NULL);
	row("write to a pipe", NULL, write_pipe, empty_one);
	row("read from a pipe", write_pipe, read_pipe, NULL);
	row("splice a file into a pipe", NULL, send_file, empty_one);
	row("tee a pipe into a pipe", send_file, tee_pipe, empty_both);
	row("CRC-32", NULL, crc, NULL);
	row("SHA-256 of one message", NULL, sha256, NULL);
	printf("%-44s %5u\n", "messages hashed at once here", lanes_count());
	if (lanes_run(2))
		row("SHA-256 of two messages at once", NULL, two, NULL);
	if (lanes_run(8))
		row("SHA-256 of eight messages at once", NULL, eight, NULL);
	return 0;
}
