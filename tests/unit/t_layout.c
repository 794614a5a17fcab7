/* layout: which tensor is blamed for an offset that is wrong. */
#include "model/layout.h"

#include <string.h>

#include "test.h"

#define TENSORS 4
#define ALIGN 64
#define OPEN LAYOUT_OPEN

struct row {
	const char *name;
	uint64_t offset[TENSORS], bytes[TENSORS]; /* of a, b, c, d */
	uint64_t length;
	const char *object, *fact; /* NULL: all is well */
};

static const struct row rows[] = {
	{ "in order", { 0, 64, 192, 256 }, { 60, 100, 8, 8 }, 264, NULL, NULL },
	{ "in another order", { 72 - 8, 0, 192, 256 }, { 100, 60, 8, 8 }, 264, NULL, NULL },
	{ "point 13: the last lies beyond the end", { 0, 64, 192, 1 << 30 }, { 60, 100, 8, 8 },
	  264, "d", "a hole of 1073741568 bytes lies before it" },
	{ "point 13, from a pipe", { 0, 64, 192, 1 << 30 }, { 60, 100, 8, 8 },
	  UINT64_MAX, "d", "a hole of 1073741568 bytes lies before it" },
	{ "one in the middle lies beyond the end", { 0, 1 << 30, 192, 256 }, { 60, 100, 8, 8 },
	  264, "b",
	  "its offset 1073741824 is wrong: the other tensors leave room for it at 64" },
	{ "one in the middle lies far away, from a pipe", { 0, 1 << 30, 192, 256 },
	  { 60, 100, 8, 8 }, UINT64_MAX, "b",
	  "its offset 1073741824 is wrong: the other tensors leave room for it at 64" },
	{ "the first lies far away, from a pipe", { 1 << 30, 64, 192, 256 },
	  { 60, 100, 8, 8 }, UINT64_MAX, "a",
	  "its offset 1073741824 is wrong: the other tensors leave room for it at 0" },
	{ "the third lies upon the first", { 0, 64, 0, 256 }, { 60, 100, 8, 8 }, 264, "c",
	  "its offset 0 overlaps the tensor before it, which ends at 64" },
	{ "the last lies upon the second", { 0, 64, 192, 64 }, { 60, 100, 8, 8 }, 264, "d",
	  "its offset 64 overlaps the tensor before it, which ends at 192" },
	{ "an end that overflows", { 0, UINT64_MAX - 63, 192, 256 }, { 60, 100, 8, 8 },
	  UINT64_MAX, "b",
	  "its offset 18446744073709551552 is wrong: the other tensors leave room for it at 64" },
	{ "the first behind a hole, with an end that overflows", { 64, 128, 192, 256 },
	  { UINT64_MAX - 80, 60, 8, 8 }, UINT64_MAX, "a", "a hole of 64 bytes lies before it" },
	{ "one that is not aligned behind a hole", { 0, 128, 257, 320 }, { 60, 64, 8, 8 },
	  UINT64_MAX, "b", "a hole of 64 bytes lies before it" },
	{ "one of two upon each other, which nobody can tell", { 192, 64, 192, 256 },
	  { 60, 100, 8, 8 }, 264, "b", "a hole of 64 bytes lies before it" },
	{ "the larger of two upon each other", { 192, 128, 192, 256 }, { 128, 60, 8, 8 },
	  264, "a", "its offset 192 is wrong: the other tensors leave room for it at 0" },
	{ "a hole alone", { 0, 128, 256, 320 }, { 60, 100, 8, 8 }, 400, "b",
	  "a hole of 64 bytes lies before it" },
	{ "two holes", { 0, 128, 320, 448 }, { 60, 100, 8, 8 }, 500, "b",
	  "a hole of 64 bytes lies before it" },
	{ "two that lie upon others", { 0, 0, 0, 64 }, { 60, 100, 8, 8 }, 500, "b",
	  "its offset 0 overlaps the tensor before it, which ends at 64" },
	{ "a size that is open", { 0, 64, 192, 256 }, { 60, 100, OPEN, 8 }, 264, NULL, NULL },
	{ "an open one far away, from a pipe", { 0, 64, 1 << 30, 256 }, { 60, 100, OPEN, 8 },
	  UINT64_MAX, "d", "a hole of 64 bytes lies before it" },
	{ "an empty one far away", { 0, 64, 256, 192 }, { 60, 100, 0, 8 }, 264, NULL, NULL },
};

static void
try(const struct row *row)
{
	static const char *const names[TENSORS] = { "a", "b", "c", "d" };
	struct extent x[TENSORS];
	struct err e = ERR_INIT;
	uint64_t end;
	size_t i;
	int r;

	for (i = 0; i < TENSORS; i++)
		x[i] = (struct extent){ row->offset[i], row->bytes[i], i, names[i] };
	r = layout_prove(x, TENSORS, ALIGN, row->length, &end, &e);
	if (!row->object)
		test_ok(r == 0 && end <= row->length, "%s", row->name);
	else
		test_ok(r < 0 && strcmp(e.object, row->object) == 0 &&
		        strcmp(e.fact, row->fact) == 0, "%s: %s: %s", row->name, e.object, e.fact);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		try(&rows[i]);
	return test_done();
}
