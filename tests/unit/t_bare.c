/* bare: the reader for programs without a system, against the one for everybody else. */
#include "bare/bare.h"

#include <string.h>

#include "core/buf.h"
#include "core/half.h"
#include "core/reader.h"
#include "formats/format.h"
#include "test.h"

/* A file of one key and three tensors; names and counts are where the comments say. */
static void
make(struct buf *b, uint32_t version)
{
	size_t i;

	buf_text(b, "GGUF");
	buf_u32(b, version);
	buf_u64(b, 3);     /* 8: tensors */
	buf_u64(b, 3);     /* 16: keys */
	buf_u64(b, 7);     /* 24 */
	buf_text(b, "a.words");
	buf_u32(b, 9);     /* 39: an array */
	buf_u32(b, 8);     /* 43: of texts */
	buf_u64(b, 2);     /* 47 */
	buf_u64(b, 1);
	buf_text(b, "x");
	buf_u64(b, 0);
	buf_u64(b, 17);
	buf_text(b, "general.alignment");
	buf_u32(b, 4);
	buf_u32(b, 64);
	buf_u64(b, 4);
	buf_text(b, "name");
	buf_u32(b, 8);
	buf_u64(b, 5);
	buf_text(b, "small");
	for (i = 0; i < 3; i++) {
		buf_u64(b, 1);
		buf_u8(b, (uint8_t)('a' + i));
		buf_u32(b, 2);
		buf_u64(b, 32);
		buf_u64(b, 2);
		buf_u32(b, i == 2 ? 8 : (uint32_t)i); /* F32, F16, Q8_0 */
		buf_u64(b, i == 0 ? 0 : i == 1 ? 256 : 384);
	}
	buf_zeros(b, (64 - b->n % 64) % 64);
	for (i = 0; i < 384 + 68; i++)
		buf_u8(b, (uint8_t)(i & 0x3f));
}

static void
values(const struct buf *file)
{
	struct err e = ERR_INIT;
	struct bare_tensor t;
	struct bare b;
	const char *text;
	float y[64], one;
	size_t n;

	test_ok(bare_open(&b, file->p, file->n, &e) == 0 && b.tensors == 3, "it opens: %s", e.fact);
	text = bare_text(&b, "name", &n);
	test_ok(text && n == 5 && memcmp(text, "small", 5) == 0, "a text");
	test_ok(!bare_text(&b, "general.alignment", &n) && !bare_text(&b, "nam", &n) && n == 0,
	        "what is not a text, and no key");
	test_ok(bare_find(&b, "b", &t, &e) == 0 && t.items == 64 && t.bytes == 128 && t.dim[0] == 32,
	        "a tensor by its name");
	test_ok(bare_values(&t, 0, y, 64, &e) == 0 && y[1] == half_f16_f32((uint16_t)(t.data[2] | t.data[3] << 8)),
	        "its values");
	test_ok(bare_values(&t, 63, &one, 1, &e) == 0 && one == y[63], "one of them");
	test_ok(bare_values(&t, 63, y, 2, &e) < 0 && e.code == ERR_USAGE, "but not one too many");
	e = (struct err)ERR_INIT;
	test_ok(bare_find(&b, "c", &t, &e) == 0 && bare_values(&t, 32, y, 32, &e) == 0, "a block");
	test_ok(bare_values(&t, 16, y, 32, &e) < 0, "but not across two");
	e = (struct err)ERR_INIT;
	test_ok(bare_find(&b, "d", &t, &e) < 0 && e.code == ERR_NO, "a name that is not there");
}

/* Each prefix of the header, and each byte of it changed, is refused or gives tensors that lie in the
 * file. */
static void
hostile(const struct buf *file)
{
	size_t i, k, cut = 0, outside = 0;

	for (i = 0; i < file->n; i++) {
		struct err e = ERR_INIT;
		struct bare_tensor t;
		struct bare b;
		int r = bare_open(&b, file->p, i, &e) < 0 ? -1 : bare_first(&b, &t, &e);

		for (; r == 1; r = bare_next(&b, &t, &e))
			outside += t.data < file->p || t.bytes > i || (size_t)(t.data - file->p) > i - t.bytes;
		cut += r < 0;
	}
	test_ok(cut == file->n, "a file that is cut is refused, wherever it is");
	for (i = 0; i < 400; i++)
		for (k = 1; k < 256; k += 2) {
			struct err e = ERR_INIT;
			struct bare_tensor t;
			struct bare b;
			int r;

			file->p[i] ^= (uint8_t)k;
			r = bare_open(&b, file->p, file->n, &e) < 0 ? -1 : bare_first(&b, &t, &e);
			for (; r == 1; r = bare_next(&b, &t, &e))
				outside += t.data < file->p || t.bytes > file->n ||
				           (size_t)(t.data - file->p) > file->n - t.bytes;
			file->p[i] ^= (uint8_t)k;
		}
	test_ok(outside == 0, "no tensor lies outside");
}

/* The full reader finds the same tensors. */
static void
same(const struct buf *file)
{
	const struct format_options options = { .use = FORMAT_PLACES };
	struct err e = ERR_INIT;
	struct bare_tensor t;
	struct reader r;
	struct bare b;
	struct source *s;
	size_t i, equal = 0;

	reader_memory(&r, file->p, file->n, "it", &e);
	s = format_gguf.reads->open(&r, &options, NULL, &e);
	if (!test_ok(s && bare_open(&b, file->p, file->n, &e) == 0, "both open it: %s", e.fact))
		return;
	for (i = 0; i < s->plan->tensor_count; i++) {
		const struct tensor *full = s->plan->tensors[i];

		equal += bare_find(&b, tensor_name(full), &t, &e) == 0 && t.bytes == tensor_bytes(full) &&
		         t.data == file->p + format_gguf.reads->tensor_offset(s, i) &&
		         t.type == tensor_type(full) && t.items == tensor_items(full);
	}
	test_ok(equal == 3 && s->plan->tensor_count == 3, "and find the same %zu tensors", equal);
	source_close(s);
}

int
main(void)
{
	struct err e = ERR_INIT;
	struct buf file = { 0 }, other = { 0 };
	struct bare b;

	make(&file, 3);
	values(&file);
	hostile(&file);
	same(&file);
	make(&other, 4);
	test_ok(bare_open(&b, other.p, other.n, &e) < 0 && e.code == ERR_VERSION, "version 4");
	e = (struct err)ERR_INIT;
	test_ok(bare_open(&b, "GGML\0\0\0\0", 8, &e) < 0 && e.code == ERR_FORMAT, "another format");
	buf_free(&file);
	buf_free(&other);
	return test_done();
}
