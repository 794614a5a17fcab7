/* fuzz_bare: GGUF in memory, for programs without a system (bare/bare.h).
 *
 *     1. The file is refused with a message that can be printed, or each tensor lies in it and can be
 *        decoded, or has no decoder.
 *     2. What the full reader also accepts has the same tensors at the same places.
 */
#include "fuzz.h"

#include "bare/bare.h"

static void
values(const struct bare_tensor *t)
{
	struct err e = ERR_INIT;
	size_t n = t->type->items, i;
	float y[256];

	must(n <= 256);
	for (i = 0; i < 3 && t->items >= n; i++) {
		uint64_t from = i == 0 ? 0 : i == 1 ? t->items / n / 2 * n : t->items - n;

		if (bare_values(t, from, y, n, &e) < 0) {
			must(e.code == ERR_FORMAT);
			break;
		}
	}
}

static void
compare(const struct bare *b, const uint8_t *data, size_t size)
{
	const struct format_options options = { .use = FORMAT_PLACES };
	struct err e = ERR_INIT;
	struct bare_tensor t;
	struct reader r;
	struct source *s;
	size_t i;

	reader_memory(&r, data, size, "it", &e);
	s = format_gguf.reads->open(&r, &options, NULL, &e);
	for (i = 0; s && i < s->plan->tensor_count && i < 64; i++) {
		const struct tensor *full = s->plan->tensors[i];
		struct err not = ERR_INIT;

		if (bare_find(b, tensor_name(full), &t, &not) < 0) {
			must_say(not.code == ERR_FORMAT || not.code == ERR_CORRUPT, &not);
			break;
		}
		must(t.bytes == tensor_bytes(full)); /* its type may be restored from a key */
		must(t.bytes == 0 || t.data == data + format_gguf.reads->tensor_offset(s, i));
	}
	source_close(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct bare_tensor t;
	struct bare b;
	size_t n;
	int r;

	if (bare_open(&b, data, size, &e) < 0) {
		fuzz_refused(&e, false);
		return 0;
	}
	for (r = bare_first(&b, &t, &e); r == 1; r = bare_next(&b, &t, &e)) {
		must(t.data >= data && t.bytes <= size && (size_t)(t.data - data) <= size - t.bytes);
		values(&t);
	}
	if (r < 0)
		fuzz_refused(&e, false);
	bare_text(&b, "general.name", &n);
	must(n <= size);
	compare(&b, data, size);
	return 0;
}
