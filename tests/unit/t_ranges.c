/* ranges: bytes fetched ahead, against files in memory. The function that fetches counts what
 * it is asked for, and can fail or wait. */
#include "hub/ranges.h"

#include <pthread.h>
#include <string.h>

#include "core/num.h"
#include "test.h"

#define BYTES ((uint64_t)40 << 20)

static uint8_t window[RANGES_WINDOW];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* What the other side does, and has seen. */
static struct {
	unsigned requests;
	uint64_t bytes;
	uint64_t bad; /* requests that reach beyond this offset fail */
	uint64_t low, high; /* of the bytes requested */
	uint64_t shown, wrong;
} other;

static uint8_t
byte_at(uint32_t file, uint64_t at)
{
	uint64_t x = (at >> 3) * 0x9e3779b97f4a7c15u + file;

	return (uint8_t)(x >> 56 ^ at);
}

static int
fetch(void *ctx, unsigned worker, uint32_t file, uint64_t from, uint64_t to,
      const struct ranges_sink *sink, struct err *e)
{
	uint8_t part[16384];
	size_t i, n;

	(void)ctx;
	(void)worker;
	pthread_mutex_lock(&mutex);
	other.requests++;
	other.bytes += to - from;
	other.low = num_min(other.low, from);
	other.high = to > other.high ? to : other.high;
	pthread_mutex_unlock(&mutex);
	if (to > other.bad)
		return err_set(e, ERR_NETWORK, "file", "cannot be had");
	for (; from < to; from += n) {
		n = (size_t)num_min(sizeof part, to - from);
		for (i = 0; i < n; i++)
			part[i] = byte_at(file, from + i);
		if (sink->data(sink->ctx, part, n, e) < 0)
			return -1;
	}
	return 0;
}

static void
seen(void *ctx, uint32_t file, const void *p, size_t n)
{
	const uint8_t *b = p;
	size_t i;

	(void)ctx;
	if (file != 0)
		return;
	for (i = 0; i < n; i += 97)
		other.wrong += b[i] != byte_at(0, other.shown + i);
	other.shown += n;
}

static const struct ranges_ops ops = { fetch, seen };

static struct ranges *
begin(unsigned files)
{
	struct err e = ERR_INIT;
	struct ranges *r = ranges_open(window, &ops, NULL, &e);

	memset(&other, 0, sizeof other);
	other.bad = other.low = UINT64_MAX;
	while (r && files-- > 0)
		ranges_add(r, BYTES);
	return r;
}

/* Reads [from, to) in parts. Returns the number of wrong bytes, or -1. */
static int64_t
read_all(struct ranges *r, uint32_t file, uint64_t from, uint64_t to, uint64_t part, struct err *e)
{
	uint64_t where, got, i;
	int64_t wrong = 0;

	for (; from < to; from += got) {
		uint64_t n = num_min(part, to - from);

		if (ranges_read(r, file, from, n, n, &where, &got, e) < 0)
			return -1;
		if (got < 1 || got > n || where > sizeof window - got)
			return -1;
		for (i = 0; i < got; i += 101)
			wrong += window[where + i] != byte_at(file, from + i);
	}
	return wrong;
}

static void
test_demand(void)
{
	struct ranges *r = begin(1);
	struct err e = ERR_INIT;
	uint64_t where, got;

	test_ok(ranges_read(r, 0, 0, 8, 8, &where, &got, &e) == 0 && got == 8 &&
	        other.requests == 1 && other.bytes == RANGES_FIRST, "8 bytes bring 64 KiB");
	test_ok(read_all(r, 0, 8, RANGES_FIRST, 5000, &e) == 0 && other.requests == 1,
	        "what is there is not requested again");
	test_ok(ranges_read(r, 0, RANGES_FIRST, 4096, 200000, &where, &got, &e) == 0 &&
	        read_all(r, 0, RANGES_FIRST, RANGES_FIRST + 200000, 4096, &e) == 0 &&
	        other.requests == 2 && other.bytes <= RANGES_FIRST + 262144,
	        "a header whose length is known takes two requests");
	test_ok(read_all(r, 0, 1000000, 1000004, 4, &e) == 0 && other.requests == 3,
	        "a place elsewhere takes one more");
	test_ok(ranges_read(r, 0, BYTES, 1, 1, &where, &got, &e) < 0 && e.code == ERR_CORRUPT,
	        "no byte lies behind the end");
	ranges_close(r);
}

static void
test_whole(void)
{
	struct ranges *r = begin(1);
	struct err e = ERR_INIT;

	test_ok(read_all(r, 0, 0, 100000, 4096, &e) == 0, "a header is read first");
	test_ok(ranges_want(r, 0, 100000, 11 << 20, &e) == 0 &&
	        ranges_want(r, 0, 100000 + (11 << 20) + 32, BYTES - 100000 - (11 << 20) - 32 - 9,
	                    &e) == 0 && ranges_want(r, 0, 0, 0, &e) == 0, "two tensors are wanted");
	test_ok(read_all(r, 0, 100000, BYTES - 9, 131072, &e) == 0, "the bytes are those of the file");
	test_ok(ranges_all_seen(r, 0, &e) && other.shown == BYTES && other.wrong == 0,
	        "all were shown in order, also those between and behind the tensors");
	test_ok(other.bytes < BYTES + RANGES_FIRST * 6, "hardly a byte was fetched twice: %llu of %llu",
	        (unsigned long long)other.bytes, (unsigned long long)BYTES);
	ranges_close(r);
}

static void
test_only(void)
{
	/* Ranges of one file, in order. The last two nearly meet. */
	static const uint64_t want[][2] = { { 70000, 900 }, { 9 << 20, 5 << 20 },
		{ 20 << 20, 65536 }, { (20 << 20) + 65536 + 8192, 100 }, { BYTES - 1, 1 } };
	struct ranges *r = begin(1);
	struct err e = ERR_INIT;
	uint64_t sum = 0, wrong = 0;
	size_t i;

	read_all(r, 0, 0, 1000, 1000, &e);
	for (i = 0; i < sizeof want / sizeof *want; i++) {
		ranges_want(r, 0, want[i][0], want[i][1], &e);
		sum += want[i][1];
	}
	ranges_want(r, 0, 0, 0, &e);
	for (i = 0; i < sizeof want / sizeof *want; i++)
		wrong += read_all(r, 0, want[i][0], want[i][0] + want[i][1], 100000, &e) != 0;
	test_ok(wrong == 0 && e.code == ERR_NONE, "chosen ranges are read");
	test_ok(other.bytes == RANGES_FIRST + sum + 8192, "and nothing else, but for a small gap");
	test_ok(!ranges_all_seen(r, 0, &e), "the file was not seen whole");
	ranges_close(r);
}

/* Orders of reading that differ from the one announced. */
static void
test_order(void)
{
	static const uint64_t at[] = { 0, 30 << 20, 1 << 20, 39 << 20, 8 << 20, 8 << 20, 7 << 20, 33 << 20 };
	struct ranges *r = begin(3);
	struct err e = ERR_INIT;
	uint64_t wrong = 0;
	size_t i;

	for (i = 0; i < 3; i++)
		ranges_want(r, (uint32_t)i, 0, BYTES, &e);
	ranges_want(r, 0, 0, 0, &e);
	for (i = 0; i < 4 * sizeof at / sizeof *at; i++)
		wrong += read_all(r, (uint32_t)i % 3, at[i % 8], at[i % 8] + 700001, 65536, &e) != 0;
	test_ok(wrong == 0 && e.code == ERR_NONE, "any order gives the right bytes");
	for (i = 0; i < 200; i++)
		wrong += read_all(r, (uint32_t)i % 3, (BYTES - (i << 16)) - 70000,
		                  (BYTES - (i << 16)) - 60000, 10000, &e) != 0;
	test_ok(wrong == 0 && e.code == ERR_NONE, "backwards too");
	ranges_close(r);
}

static void
test_failure(void)
{
	struct ranges *r = begin(1);
	struct err e = ERR_INIT;

	other.bad = 10 << 20;
	ranges_want(r, 0, 0, BYTES, &e);
	ranges_want(r, 0, 0, 0, &e);
	test_ok(read_all(r, 0, 0, 8 << 20, 131072, &e) == 0 && e.code == ERR_NONE,
	        "bytes before a request that fails arrive");
	test_ok(read_all(r, 0, 8 << 20, BYTES, 131072, &e) < 0 && e.code == ERR_NETWORK &&
	        strcmp(e.fact, "cannot be had") == 0, "its error is that of the read");
	test_ok(ranges_want(r, 0, BYTES - 1, 2, &(struct err)ERR_INIT) < 0 &&
	        ranges_want(r, 0, UINT64_MAX, 2, &(struct err)ERR_INIT) < 0 &&
	        ranges_want(r, 1, 0, 1, &(struct err)ERR_INIT) < 0, "ranges outside are refused");
	ranges_close(r);
	ranges_close(begin(1));
	ranges_close(NULL);
	test_ok(true, "threads end at any time");
}

int
main(void)
{
	test_demand();
	test_whole();
	test_only();
	test_order();
	test_failure();
	return test_done();
}
