/* fuzz_apr1: the properties of tests/fuzz/fuzz.h, for APR version 1 files and for models of
 * other containers packed as such. In addition:
 *
 *     A payload with a known layout can be rebuilt from its tensors, byte for byte.
 */
#include "mutate.h"

#include "formats/apr1/apr1.h"

#include "formats/apr1/apr1_layout.h"
#include "formats/gguf/gguf.h"

static const struct format *
format_of(const uint8_t *data, size_t size)
{
	if (format_stream.probe(data, size))
		return &format_stream;
	if (format_gguf.probe(data, size))
		return &format_gguf;
	return &format_apr1;
}

/* ---- packed as such ---- */

static void
pack(const uint8_t *data, size_t size, unsigned way)
{
	static const struct format_choice own[] = { { &apr1_options[APR1_CHUNKED], "" },
		{ &apr1_options[APR1_NATIVE], "" } };
	static const struct format_options ways[8] = {
		{ .raw = true }, { .raw = true }, { .codec = &codec_lz4 },
		{ .own = own + 1, .own_count = 1 },
		{ .raw = true, .own = own, .own_count = 1 }, { .own = own, .own_count = 2 },
		{ .codec = &codec_lz4, .own = own, .own_count = 1 }, { .plain = true },
	};
	static int first = -1, second = -1;
	struct fuzz_run run = { .format = format_of(data, size), .to = &format_apr1,
		.from = way & 1 ? FROM_PIPE : FROM_FILE, .options = ways[way >> 1 & 7] };

	if (first < 0) {
		first = memfd_create("first", MFD_CLOEXEC);
		second = memfd_create("second", MFD_CLOEXEC);
	}
	run.fd = first;
	if ((way >> 1 & 7) == 1)
		run.operation = "fuzz";
	if (fuzz_starved) {
		fuzz_starve(&run, data, size);
		return;
	}
	fuzz_run(&run, data, size);
	if (run.err.code == ERR_NONE)
		fuzz_again(&run, second);
}

/* ---- a part of it ---- */

/* What is read whole has the same content where tensors are read one by one. */
static void
parts(const uint8_t *data, size_t size)
{
	struct fuzz_run all = { .format = &format_apr1, .from = FROM_FILE }, part;
	enum format_use use;

	fuzz_run(&all, data, size);
	for (use = FORMAT_SOME; use <= FORMAT_PLACES; use++) {
		part = (struct fuzz_run){ .format = &format_apr1, .from = FROM_FILE,
			.options.use = use };
		fuzz_run(&part, data, size);
		if (all.err.code != ERR_NONE)
			continue;
		must_say(part.err.code == ERR_NONE, &part.err);
		must(fuzz_equal(&all.content, &part.content, true));
	}
}

/* ---- layouts ---- */

struct all {
	const struct apr1_parts *parts;
	struct tensor **tensors;
	const uint8_t *derived;
};

static struct apr1_found
find(void *ctx, const char *name)
{
	const struct all *a = ctx;
	size_t i;

	for (i = 0; i < a->parts->count; i++) {
		const struct apr1_part *x = &a->parts->list[i];

		if (strcmp(x->name, name) == 0)
			return (struct apr1_found){ a->tensors[i],
				x->p ? x->p : a->derived + x->at };
	}
	return (struct apr1_found){ NULL, NULL };
}

static void
both_ways(const struct apr1_layout *l, const uint8_t *p, size_t n)
{
	struct apr1_parts parts;
	struct err e = ERR_INIT;
	struct spool made = { 0 };
	struct all a = { .parts = &parts };
	const uint8_t *q;
	char why[256];
	size_t i;
	int r = apr1_unwrap(l, p, n, &parts, &e);

	must_say(r >= 0, &e);
	if (r == 0)
		return;
	must(spool_view(&parts.derived, &a.derived, &e) == 0);
	a.tensors = calloc(parts.count + 1, sizeof *a.tensors);
	must(a.tensors);
	for (i = 0; i < parts.count; i++) {
		const struct apr1_part *x = &parts.list[i];

		a.tensors[i] = tensor_new(x->name, strlen(x->name), x->type, x->ndim, x->dims,
		                          TENSOR_OWN_SIZE, "in", &e);
		must_say(a.tensors[i] && tensor_bytes(a.tensors[i]) == x->bytes, &e);
	}
	must_say(apr1_wrap(l, find, &a, parts.count, &made, why, &e) == 1, &e);
	must(made.bytes == n && spool_view(&made, &q, &e) == 0);
	must(n == 0 || memcmp(p, q, n) == 0);
	for (i = 0; i < parts.count; i++)
		tensor_free(a.tensors[i]);
	free(a.tensors);
	spool_free(&made);
	apr1_parts_free(&parts);
}

static void
layouts(const uint8_t *data, size_t size)
{
	const struct apr1_layout *l;
	uint64_t meta, payload;
	size_t i;

	if (size < APR1_HEADER)
		return;
	meta = le32(data + 8);
	payload = le32(data + 12);
	if (meta > size - APR1_HEADER || payload > size - APR1_HEADER - meta)
		return;
	for (i = 0; (l = apr1_layout_row(i)) != NULL; i++)
		both_ways(l, data + APR1_HEADER + meta, (size_t)payload);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc32_add(0, data, size);

	pack(data, size, way);
	if (fuzz_starved || format_of(data, size) != &format_apr1)
		return 0;
	layouts(data, size);
	parts(data, size);
	return fuzz_container(&format_apr1, data, size);
}

/* ---- mutation ---- */

/* Metadata or payload is changed; their sizes are true again. */
static size_t
mutate_file(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t at, n, meta, payload;

	if (size < APR1_HEADER + APR1_FOOTER || memcmp(data, "APRN", 4) != 0)
		return LLVMFuzzerMutate(data, size, max);
	meta = le32(data + 8);
	payload = le32(data + 12);
	if (meta > size - APR1_HEADER || payload > size - APR1_HEADER - meta)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, size);
	at = APR1_HEADER + (seed & 1 ? meta : 0);
	n = seed & 1 ? payload : meta;
	mutate_piece(&b, at, &n);
	must(buf_ok(&b));
	if (seed & 1) {
		if (le32(b.p + 12) == le32(b.p + 16))
			le32_put(b.p + 16, (uint32_t)n);
		le32_put(b.p + 12, (uint32_t)n);
	} else {
		le32_put(b.p + 8, (uint32_t)n);
	}
	return mutate_done(&b, data, size, max);
}

/* One frame is changed, with its checksums. */
static size_t
mutate_stream(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[16], *p;
	struct buf b = { 0 };
	size_t n = mutate_frames(data, size, list, 16), end;

	if (n == 0)
		return LLVMFuzzerMutate(data, size, max);
	p = &list[seed % n];
	end = p->at + FRAME_OVERHEAD + p->head + p->body;
	buf_put(&b, data, p->at);
	mutate_frame(&b, data, p, seed / 16);
	buf_put(&b, data + end, size - end);
	return mutate_done(&b, data, size, max);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	const struct format *format = format_of(data, size);

	if (seed % 4 == 0 || format == &format_gguf)
		return LLVMFuzzerMutate(data, size, max);
	return format == &format_stream ? mutate_stream(data, size, max, seed / 4)
	                                : mutate_file(data, size, max, seed / 4);
}
