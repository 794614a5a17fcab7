/* fuzz_aprml: the library as a program uses it (api/aprml.h). Every model that opens gives
 * its values, array items at any depth and in any order, side files, and floats of any range
 * of a tensor. Each pointer covers as many bytes as it claims, the same call gives the same
 * result twice, and walking through the tensors ends well or with an error.
 */
#include "mutate.h"

#include <math.h>

#include "api/aprml.h"

#define ITEMS 300  /* looked at of an array, and of what is in it */
#define FLOATS 700 /* asked for at once */

/* Every byte of it can be read. */
static void
touch(const void *p, size_t n)
{
	volatile uint8_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)p)[i]);
}

static void
said(int status, const struct aprml_error *e)
{
	if (status >= 0)
		return;
	must(e->text[0] && e->code >= 0);
	fuzz_printable(e->text);
}

static bool
same(const struct aprml_value *a, const struct aprml_value *b)
{
	return a->kind == b->kind && a->u == b->u && a->i == b->i && a->bytes == b->bytes &&
	       a->count == b->count && a->text == b->text &&
	       (a->number == b->number || (isnan(a->number) && isnan(b->number)));
}

/* budget: items still to be looked at, over all depths. */
static void
look(struct aprml_value *v, size_t *budget)
{
	struct aprml_value item, again;
	uint64_t i;

	must(memchr(v->type, 0, APRML_TYPE));
	if (v->kind == APRML_STRING || v->kind == APRML_JSON)
		touch(v->text, v->bytes);
	if (v->kind != APRML_ARRAY) {
		must(aprml_item(v, 0, &item) < 0);
		return;
	}
	must(aprml_item(v, v->count, &item) < 0 && aprml_item(v, UINT64_MAX, &item) < 0);
	for (i = 0; i < v->count && *budget > 0; i++) {
		--*budget;
		must(aprml_item(v, i, &item) == 0);
		look(&item, budget);
	}
	if (i == 0)
		return;
	/* Backwards: the last of these, then the first. */
	must(aprml_item(v, i - 1, &item) == 0 && aprml_item(v, 0, &again) == 0);
	must(aprml_item(v, i - 1, &again) == 0 && same(&item, &again));
}

static void
keys(struct aprml *m)
{
	struct aprml_value v, again;
	struct aprml_error e;
	size_t i, budget = ITEMS;
	uint64_t n;
	int status;

	must(!aprml_key(m, aprml_key_count(m)));
	for (i = 0; i < aprml_key_count(m) && i < ITEMS; i++) {
		const char *key = aprml_key(m, i), *text = aprml_text(m, key);

		if (text)
			touch(text, strlen(text) + 1);
		status = aprml_value(m, key, &v, &e);
		said(status, &e);
		if (status == 0) {
			look(&v, &budget);
			must(aprml_value(m, key, &again, &e) == 0 && again.kind == v.kind &&
			     again.bytes == v.bytes && again.count == v.count);
		}
		if (aprml_integer(m, key, &n) == 0)
			must(status < 0 || (v.kind == APRML_UNSIGNED && v.u == n) ||
			     (v.kind == APRML_SIGNED && v.i >= 0 && (uint64_t)v.i == n) ||
			     v.kind == APRML_BOOL);
	}
	must(aprml_value(m, "no such key, surely", &v, &e) < 0);
	said(-1, &e);
}

static void
files(struct aprml *m)
{
	struct aprml_error e;
	struct aprml_file f;
	size_t i;
	int status;

	for (i = 0; i < aprml_file_count(m) && i < ITEMS; i++) {
		status = aprml_file(m, i, &f, &e);
		said(status, &e);
		if (status == 0) {
			touch(f.name, strlen(f.name));
			touch(f.p, (size_t)f.bytes);
		}
	}
	must(aprml_file(m, aprml_file_count(m), &f, &e) < 0);
}

/* A range of values, and its last value alone: the same number. */
static void
floats(struct aprml *m, size_t i, uint32_t dice)
{
	static float y[FLOATS], one;
	struct aprml_error e;
	struct aprml_tensor t;
	uint64_t from;
	size_t n;
	int status;

	must(aprml_tensor(m, i, &t) == 0);
	from = t.values ? dice % t.values : 0;
	n = (size_t)(t.values - from < FLOATS ? t.values - from : FLOATS);
	status = aprml_floats(m, i, from, n, y, &e);
	said(status, &e);
	if (status == 0 && n > 0)
		must(aprml_floats(m, i, from + n - 1, 1, &one, &e) == 0 &&
		     memcmp(&one, &y[n - 1], sizeof one) == 0);
	must(aprml_floats(m, i, t.values, 1, y, &e) < 0);
	said(-1, &e);
}

/* What another way to open the same file gives is the same. */
static void
bytes(struct aprml *m, struct aprml *other, size_t i, uint32_t dice)
{
	static uint8_t a[FLOATS], b[FLOATS];
	struct aprml_error e;
	struct aprml_tensor t;
	const uint8_t *view;
	uint64_t from;
	size_t n;
	int status;

	must(aprml_tensor(m, i, &t) == 0);
	from = t.bytes ? dice % t.bytes : 0;
	n = (size_t)(t.bytes - from < FLOATS ? t.bytes - from : FLOATS);
	status = aprml_bytes(m, i, from, n, a, &e);
	said(status, &e);
	if (other && status == 0)
		must(aprml_bytes(other, i, from, n, b, &e) == 0 && memcmp(a, b, n) == 0);
	view = (const uint8_t *)aprml_view(m, i, &e);
	said(view ? 0 : -1, &e);
	if (view)
		must(status == 0 && memcmp(view + from, a, n) == 0);
	must(aprml_bytes(m, i, t.bytes, 1, a, &e) < 0);
	aprml_prefetch(m, &i, 1);
}

static void
walk(struct aprml *m, uint32_t dice)
{
	static uint8_t bytes[1000];
	struct aprml_error e;
	struct aprml_tensor t;
	size_t i, n, seen = 0;
	uint64_t all;
	int status;

	while ((status = aprml_next(m, &i, &e)) > 0 && seen++ < ITEMS) {
		must(aprml_tensor(m, i, &t) == 0);
		if (aprml_find(m, t.name, &n) == 0)
			must(n == i);
		for (all = 0; dice >> seen % 32 & 1; all += n) {
			status = aprml_read(m, bytes, 1 + dice % sizeof bytes, &n, &e);
			said(status, &e);
			if (status < 0 || n == 0 || all > 1 << 20)
				break;
		}
		must(all <= t.bytes + sizeof bytes);
		if (seen % 4 == 1 && t.bytes < 1 << 20)
			floats(m, i, dice);
	}
	said(status, &e);
}

struct input {
	const uint8_t *p;
	size_t n;
};

/* Fewer bytes than are asked for, at times. */
static int64_t
give(void *ctx, uint64_t at, void *p, size_t n)
{
	const struct input *in = ctx;

	must(n > 0 && at < in->n && n <= in->n - at);
	n = at % 5 == 0 ? n : 1 + n / 2;
	memcpy(p, in->p + at, n);
	return (int64_t)n;
}

static void
announced(void *ctx, uint64_t at, uint64_t n)
{
	const struct input *in = ctx;

	must(at <= in->n && n <= in->n - at);
}

/* The file opened once more, in memory or by ranges. */
static struct aprml *
open_again(struct input *in, bool ranges, struct aprml_error *e)
{
	const struct aprml_ranges r = {
		.bytes = sizeof r, .size = in->n, .read = give, .prefetch = announced, .ctx = in
	};

	return ranges ? aprml_open_ranges(&r, e) : aprml_open_memory(in->p, in->n, e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t dice = fuzz_way >= 0 ? (uint32_t)fuzz_way * 2654435761u : crc32_add(0, data, size);
	static int fd = -1;
	char path[64];
	struct aprml_error e = { .code = 0 };
	struct aprml_tensor t;
	struct input in = { data, size };
	struct aprml *m, *other;
	size_t i;

	if (fd < 0)
		must((fd = memfd_create("model", MFD_CLOEXEC)) >= 0);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	m = aprml_open(path, &e);
	if (!m) {
		said(-1, &e);
		return 0;
	}
	/* Files beside it are found only by name. */
	other = open_again(&in, dice & 16, &e);
	said(other ? 0 : -1, &e);
	if (other)
		must(aprml_tensor_count(other) == aprml_tensor_count(m));
	for (i = 0; i < aprml_tensor_count(m) && i < 4; i++)
		if (aprml_tensor(m, i, &t) == 0 && t.bytes < 1 << 20)
			bytes(m, other, i, dice >> 5);
	if (other)
		walk(other, dice);
	aprml_close(other);
	if (dice & 1)
		keys(m);
	if (dice & 2)
		files(m);
	for (i = 0; i < aprml_tensor_count(m) && i < 8 && dice & 4; i++)
		if (aprml_tensor(m, i, &t) == 0 && t.bytes < 1 << 20)
			floats(m, i, dice >> 3);
	walk(m, dice);
	if (dice & 8)
		keys(m);
	aprml_close(m);
	return 0;
}

/* In a stream, change one frame and keep its lengths and checksum right; leave other files to
 * the fuzzer's own mutations. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[64];
	size_t n = mutate_frames(data, size, list, sizeof list / sizeof *list);
	size_t i = seed / 4 % (n ? n : 1), after;
	struct buf b = { 0 };

	if (seed % 4 == 0 || n == 0)
		return LLVMFuzzerMutate(data, size, max);
	after = list[i].at + FRAME_OVERHEAD + list[i].head + list[i].body;
	buf_put(&b, data, list[i].at);
	mutate_frame(&b, data, &list[i], seed / 16);
	buf_put(&b, data + after, size - after);
	return mutate_done(&b, data, size, max);
}
