/* fuzz_apr64: the properties of tests/fuzz/fuzz.h, for APR files with a header of 64 bytes
 * and for models of other containers packed as such. In addition:
 *
 *     Metadata that the scanner accepts is an object with the same members for jansson
 *     too, except for what jansson cannot hold.
 */
#include "mutate.h"

#include "formats/apr64/apr64.h"
#include "formats/gguf/gguf.h"

static const struct format *
format_of(const uint8_t *data, size_t size)
{
	if (format_stream.probe(data, size))
		return &format_stream;
	if (format_gguf.probe(data, size))
		return &format_gguf;
	return &format_apr64;
}

/* ---- packed as such ---- */

static void
pack(const uint8_t *data, size_t size, unsigned way)
{
	static int first = -1, second = -1;
	struct fuzz_run run = { .format = format_of(data, size), .to = &format_apr64,
		.from = way & 1 ? FROM_PIPE : FROM_FILE };

	if (first < 0) {
		first = memfd_create("first", MFD_CLOEXEC);
		second = memfd_create("second", MFD_CLOEXEC);
	}
	run.fd = first;
	switch (way >> 1 & 3) {
	case 1:
		run.operation = "fuzz";
		break;
	case 2:
		run.options = (struct format_options){ .align = 64 };
		break;
	case 3:
		run.options = (struct format_options){ .plain = true };
		run.no_seek = true;
		break;
	}
	if (fuzz_starved) {
		fuzz_starve(&run, data, size);
		return;
	}
	fuzz_run(&run, data, size);
	/* --plain drops keys that have a type: that is not a loss to be found. */
	if (run.err.code == ERR_NONE && !run.options.plain)
		fuzz_again(&run, second);
}

/* ---- read by another parser ---- */

/* What jansson refuses though it is JSON. */
static bool
is_beyond(const struct err *e)
{
	return strstr(e->fact, "duplicate object key") || strstr(e->fact, "too big") ||
	       strstr(e->fact, "overflow") || strstr(e->fact, "\\u0000") ||
	       strstr(e->fact, "NUL byte");
}

static void
compare(const uint8_t *data, size_t size)
{
	struct members m = { 0 };
	struct spool text = { 0 };
	struct err e = ERR_INIT, said = ERR_INIT;
	const char *name;
	json_t *o, *v;
	size_t n, i = 0;
	int r;

	if (size < APR64_HEADER || (n = le32(data + 20)) > size - APR64_HEADER)
		return;
	data += APR64_HEADER;
	must(spool_put(&text, data, n, &e) == 0);
	r = members_scan(&m, &text, 0, n, &apr64_rules, "in", APR64_HEADER, &e);
	must((r == 0) == (e.code == ERR_NONE));
	o = json_parse(data, n, ERR_CORRUPT, "metadata", &said);
	if (r == 0 && !o && said.code != ERR_MEMORY)
		must_say(is_beyond(&said), &said);
	if (r < 0 && o)
		must_say(strstr(e.fact, "inside each other") || strstr(e.fact, "65535 bytes"), &e);
	if (r == 0 && o) {
		must(json_object_size(o) == m.count);
		json_object_foreach(o, name, v) {
			struct member *x = members_find(&m, "", name);
			json_t *again;

			must(x == &m.list[i] && strcmp(x->name, name) == 0 && x->at + x->n <= n);
			again = json_parse_any(data + x->at, (size_t)x->n, ERR_CORRUPT, "value", &said);
			must_say(again && json_equal(again, v), &said);
			must(members_is_value(&text, x->at, x->n, &apr64_rules, &e) == 1);
			json_decref(again);
			i++;
		}
	}
	json_decref(o);
	members_free(&m);
	spool_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc32_add(0, data, size);

	pack(data, size, way);
	if (fuzz_starved || format_of(data, size) != &format_apr64)
		return 0;
	compare(data, size);
	return fuzz_container(&format_apr64, data, size);
}

/* ---- mutation ---- */

/* The places of a file's parts: metadata, index, data with what follows. */
struct parts {
	size_t at[3], n[3];
};

static bool
find_parts(const uint8_t *p, size_t size, struct parts *x)
{
	uint64_t index, data;

	if (size < APR64_HEADER + APR64_FOOTER || memcmp(p, "APR", 3) != 0)
		return false;
	index = le64(p + 24);
	data = le64(p + 32);
	x->at[0] = APR64_HEADER;
	x->n[0] = le32(p + 20);
	if (index > data || data > size - APR64_FOOTER || x->n[0] + APR64_HEADER > index)
		return false;
	x->at[1] = (size_t)index;
	x->n[1] = (size_t)(data - index);
	x->at[2] = (size_t)data;
	x->n[2] = size - (size_t)data;
	return true;
}

/* One part is changed; offsets and sizes are true again, and so are those of
 * tensors, which count from the data. */
static size_t
mutate_file(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 }, part[3] = { { 0 } };
	struct parts x;
	size_t i, n;

	if (!find_parts(data, size, &x))
		return LLVMFuzzerMutate(data, size, max);
	for (i = 0; i < 3; i++)
		buf_put(&part[i], data + x.at[i], x.n[i]);
	i = seed % 4 < 2 ? 0 : seed % 4 - 1;
	n = part[i].n;
	mutate_piece(&part[i], 0, &n);
	buf_put(&b, data, APR64_HEADER);
	buf_put(&b, part[0].p, part[0].n);
	buf_zeros(&b, -b.n % APR64_ALIGN);
	n = b.n;
	buf_put(&b, part[1].p, part[1].n);
	buf_zeros(&b, -b.n % APR64_ALIGN);
	must(buf_ok(&b));
	le32_put(b.p + 20, (uint32_t)part[0].n);
	le64_put(b.p + 24, n);
	le64_put(b.p + 32, b.n);
	buf_put(&b, part[2].p, part[2].n);
	for (i = 0; i < 3; i++)
		buf_free(&part[i]);
	return mutate_done(&b, data, size, max);
}

static size_t
mutate_stream(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[32];
	size_t n = mutate_frames(data, size, list, sizeof list / sizeof *list), after;
	const struct piece *p = &list[n ? seed % n : 0];
	struct buf b = { 0 };

	if (n == 0)
		return LLVMFuzzerMutate(data, size, max);
	after = p->at + FRAME_OVERHEAD + p->head + p->body;
	buf_put(&b, data, p->at);
	mutate_frame(&b, data, p, seed / 32);
	buf_put(&b, data + after, size - after);
	return mutate_done(&b, data, size, max);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	const struct format *format = format_of(data, size);

	if (seed % 8 == 0 || format == &format_gguf)
		return LLVMFuzzerMutate(data, size, max);
	if (format == &format_stream)
		return mutate_stream(data, size, max, seed / 8);
	return mutate_file(data, size, max, seed / 8);
}
