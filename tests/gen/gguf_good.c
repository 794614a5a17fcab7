/* gguf_good: GGUF files that are sound, each with something that a reader, the
 * stream or a writer could get wrong.
 *
 * MANIFEST: name, the file that a round trip must give (itself, or the twin in
 * version 3 or with canonical padding), "file" if it can only be read from a
 * file and not from a pipe (else "both"), and "file" if it can only be written
 * to a file.
 */
#include "gguf.h"

static void
keys_begin(struct gen *g, uint64_t keys)
{
	put_header(g, 1, keys);
}

/* One tensor, so that padding and data follow the keys. */
static void
keys_end(struct gen *g)
{
	put_tensor(g, "t", NE(8, 2), T_F32, 0);
	put_align(g, 32);
	put_ramp(g, 64);
}

static void
nothing(struct gen *g)
{
	put_header(g, 0, 0);
}

static void
keys_only(struct gen *g)
{
	put_header(g, 0, 2);
	put_key_string(g, "general.architecture", "llama");
	put_key_u32(g, "n", 7);
}

static void
keys_only_padded(struct gen *g)
{
	keys_only(g);
	put_align(g, 32);
}

static void
tensors_only(struct gen *g)
{
	keys_begin(g, 0);
	keys_end(g);
}

/* What differs between versions: lengths, counts, dimensions. */
static void
versions(struct gen *g)
{
	put_header(g, 3, 6);
	put_key_string(g, "general.architecture", "llama");
	put_key(g, "ids", ARRAY);
	put_array_head(g, U16, 3);
	put_number(g, 1, 2);
	put_number(g, 2, 2);
	put_number(g, 3, 2);
	put_key(g, "words", ARRAY);
	put_array_head(g, STRING, 2);
	put_string(g, "one");
	put_string(g, "");
	put_key(g, "nested", ARRAY);
	put_array_head(g, ARRAY, 2);
	put_array_head(g, STRING, 1);
	put_string(g, "deep");
	put_array_head(g, U64, 1);
	put_u64(g, UINT64_MAX);
	put_key(g, "many", ARRAY);
	put_array_head(g, STRING, 1100);
	for (int i = 0; i < 1100; i++)
		put_string_n(g, "abcdefghijk", (size_t)i % 12);
	put_key_u32(g, "last", 1);
	put_tensor(g, "a", NE(8, 2), T_F32, 0);
	put_tensor(g, "b", NE(32, 3, 1, 2), T_Q8_0, 64);
	put_tensor(g, "c", NE(3), T_F16, 64 + 224);
	put_align(g, 32);
	put_ramp(g, 64);
	put_ramp(g, 204);
	put_fill(g, 0, 20);
	put_ramp(g, 6);
	put_align(g, 32);
}

static void
every_value_type(struct gen *g)
{
	keys_begin(g, 12);
	put_key(g, "u8", U8);
	put_u8(g, 255);
	put_key(g, "i8", I8);
	put_u8(g, 0x80);
	put_key(g, "u16", U16);
	put_number(g, 0xffff, 2);
	put_key(g, "i16", I16);
	put_number(g, 0x8000, 2);
	put_key(g, "u32", U32);
	put_u32(g, UINT32_MAX);
	put_key(g, "i32", I32);
	put_u32(g, 0x80000000);
	put_key(g, "f32", F32);
	put_u32(g, 0x3dcccccd); /* 0.1 */
	put_key(g, "bool", BOOL);
	put_u8(g, 1);
	put_key(g, "string", STRING);
	put_string(g, "text");
	put_key(g, "u64", U64);
	put_u64(g, UINT64_MAX);
	put_key(g, "i64", I64);
	put_u64(g, (uint64_t)1 << 63);
	put_key(g, "f64", F64);
	put_u64(g, 0x3fb999999999999a); /* 0.1 */
	keys_end(g);
}

/* Where JSON numbers of other programs would change: around 2^53. */
static void
integers(struct gen *g)
{
	static const uint64_t v[] = { 0, ((uint64_t)1 << 53) - 1, (uint64_t)1 << 53,
		((uint64_t)1 << 53) + 1, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 63,
		UINT64_MAX };
	static const int64_t s[] = { 0, -1, -((int64_t)1 << 53), -((int64_t)1 << 53) - 1,
		INT64_MIN, INT64_MAX };
	size_t i;

	keys_begin(g, 2);
	put_key(g, "unsigned", ARRAY);
	put_array_head(g, U64, 7);
	for (i = 0; i < 7; i++)
		put_u64(g, v[i]);
	put_key(g, "signed", ARRAY);
	put_array_head(g, I64, 6);
	for (i = 0; i < 6; i++)
		put_u64(g, (uint64_t)s[i]);
	keys_end(g);
}

static void
floats(struct gen *g)
{
	static const uint32_t f[] = { 0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff,
		0x7f800000, 0xff800000, 0x3f800001, 0x7fc00000 };
	static const uint64_t d[] = { 0, (uint64_t)1 << 63, 1, 0x000fffffffffffff,
		0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
		0x3ff0000000000001, 0x7ff8000000000000 };
	size_t i;

	keys_begin(g, 2);
	put_key(g, "single", ARRAY);
	put_array_head(g, F32, 10);
	for (i = 0; i < 10; i++)
		put_u32(g, f[i]);
	put_key(g, "double", ARRAY);
	put_array_head(g, F64, 9);
	for (i = 0; i < 9; i++)
		put_u64(g, d[i]);
	keys_end(g);
}

/* Signs, payloads and signalling NaN: text cannot say them. */
static void
nan_payloads(struct gen *g)
{
	keys_begin(g, 5);
	put_key(g, "quiet", F32);
	put_u32(g, 0x7fc00001);
	put_key(g, "negative", F32);
	put_u32(g, 0xffc00000);
	put_key(g, "signalling", F32);
	put_u32(g, 0x7f800001);
	put_key(g, "double", F64);
	put_u64(g, 0xfff800000000beef);
	put_key(g, "array", ARRAY);
	put_array_head(g, F32, 2);
	put_u32(g, 0x3f800000);
	put_u32(g, 0x7fa00000);
	keys_end(g);
}

static void
bool_of_2(struct gen *g)
{
	keys_begin(g, 2);
	put_key(g, "two", BOOL);
	put_u8(g, 2);
	put_key(g, "some", ARRAY);
	put_array_head(g, BOOL, 3);
	put_u8(g, 0);
	put_u8(g, 1);
	put_u8(g, 255);
	keys_end(g);
}

static void
strings(struct gen *g)
{
	keys_begin(g, 8);
	put_key_string(g, "empty", "");
	put_key_string(g, "quotes", "\"\\/{}[]");
	put_key_string(g, "controls", "\t\n\x1b[31m\x7f");
	put_key_string(g, "unicode", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xae");
	put_key_string(g, "not_utf8", "\xff\xfe");
	put_key_string(g, "cut_utf8", "\xe2\x82");
	put_key(g, "nul", STRING);
	put_string_n(g, "a\0b", 3);
	put_key(g, "array", ARRAY);
	put_array_head(g, STRING, 3);
	put_string(g, "fine");
	put_string(g, "\x80");
	put_string(g, "");
	keys_end(g);
}

static void
every_array_type(struct gen *g)
{
	static const unsigned bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
	char key[8];
	uint32_t type;

	keys_begin(g, 24);
	for (type = U8; type <= F64; type++) {
		if (type == ARRAY)
			continue;
		snprintf(key, sizeof key, "a%u", (unsigned)type);
		put_key(g, key, ARRAY);
		put_array_head(g, type, 3);
		if (type == STRING) {
			put_string(g, "x");
			put_string(g, "yz");
			put_string(g, "");
		} else {
			put_fill(g, 1, 3 * bytes[type]);
		}
		snprintf(key, sizeof key, "e%u", (unsigned)type);
		put_key(g, key, ARRAY);
		put_array_head(g, type, 0);
	}
	keys_end(g);
}

static void
nested_arrays(struct gen *g)
{
	keys_begin(g, 6);
	put_key(g, "alike", ARRAY);
	put_array_head(g, ARRAY, 3);
	put_array_head(g, U8, 2);
	put_u8(g, 1);
	put_u8(g, 2);
	put_array_head(g, U8, 0);
	put_array_head(g, U8, 1);
	put_u8(g, 3);

	put_key(g, "mixed", ARRAY);
	put_array_head(g, ARRAY, 2);
	put_array_head(g, U8, 1);
	put_u8(g, 1);
	put_array_head(g, STRING, 1);
	put_string(g, "x");

	put_key(g, "none", ARRAY);
	put_array_head(g, ARRAY, 0);

	put_key(g, "deep", ARRAY);
	put_array_head(g, ARRAY, 1);
	put_array_head(g, ARRAY, 2);
	put_array_head(g, STRING, 1);
	put_string(g, "bottom");
	put_array_head(g, STRING, 0);

	put_key(g, "uneven", ARRAY);
	put_array_head(g, ARRAY, 2);
	put_array_head(g, U32, 1);
	put_u32(g, 1);
	put_array_head(g, ARRAY, 1);
	put_array_head(g, U32, 1);
	put_u32(g, 2);

	put_key_u32(g, "after", 1);
	keys_end(g);
}

static void
array_of(struct gen *g, uint64_t items)
{
	keys_begin(g, 2);
	put_key(g, "ids", ARRAY);
	put_array_head(g, U32, items);
	put_ramp(g, 4 * items);
	put_key_u32(g, "after", 1);
	keys_end(g);
}

static void
array_of_1024(struct gen *g)
{
	array_of(g, 1024);
}

static void
array_of_1025(struct gen *g)
{
	array_of(g, 1025);
}

static void
string_of(struct gen *g, size_t bytes)
{
	keys_begin(g, 2);
	put_key(g, "text", STRING);
	put_size(g, bytes);
	put_fill(g, 'x', bytes);
	put_key_u32(g, "after", 1);
	keys_end(g);
}

/* With its length a value of 64 KiB, and one byte more. */
static void
string_of_64_kib(struct gen *g)
{
	string_of(g, 65528);
}

static void
string_over_64_kib(struct gen *g)
{
	string_of(g, 65529);
}

/* More than a reader may keep in memory when it cannot seek. */
static void
arrays_of_20_mib(struct gen *g)
{
	unsigned key, i;
	char name[16];

	keys_begin(g, 4);
	for (key = 0; key < 4; key++) {
		snprintf(name, sizeof name, "k%u", key);
		put_key(g, name, ARRAY);
		put_array_head(g, STRING, 150000);
		for (i = 0; i < 150000; i++)
			put_string_n(g, "0123456789abcdefghijklmnopqrstuvwxyz0123456789ab",
			             (key * 7 + i) % 90 / 2);
	}
	keys_end(g);
}

/* general.alignment at a position among three keys. */
static void
aligned(struct gen *g, uint32_t alignment, int position)
{
	int i;

	put_header(g, 2, 4);
	for (i = 0; i < 4; i++)
		if (i == position)
			put_key_u32(g, "general.alignment", alignment);
		else
			put_key_u32(g, i == 0 ? "zero" : i == 1 ? "one" : i == 2 ? "two"
			            : "three", (uint32_t)i);
	put_tensor(g, "a", NE(3), T_F16, 0);
	put_tensor(g, "b", NE(3), T_F32, (6 + alignment - 1) / alignment * alignment);
	put_align(g, alignment);
	put_ramp(g, 6);
	put_align(g, alignment);
	put_ramp(g, 12);
	put_align(g, alignment);
}

static void
alignment_64(struct gen *g)
{
	aligned(g, 64, 2);
}

static void
alignment_32_first(struct gen *g)
{
	aligned(g, 32, 0);
}

static void
alignment_128_last(struct gen *g)
{
	aligned(g, 128, 3);
}

static void
alignment_1(struct gen *g)
{
	aligned(g, 1, 1);
}

static void
alignment_8(struct gen *g)
{
	aligned(g, 8, 1);
}

static void
alignment_65536(struct gen *g)
{
	aligned(g, 65536, 1);
}

static void
index_order(struct gen *g)
{
	put_header(g, 4, 0);
	put_tensor(g, "third", NE(16), T_F32, 128);
	put_tensor(g, "first", NE(16), T_F32, 0);
	put_tensor(g, "fourth", NE(4), T_F32, 192);
	put_tensor(g, "second", NE(16), T_F32, 64);
	put_align(g, 32);
	put_ramp(g, 208);
	put_align(g, 32);
}

static void
scalars(struct gen *g)
{
	put_header(g, 3, 0);
	put_tensor(g, "scalar", SCALAR, T_F32, 0);
	put_tensor(g, "one", NE(1), T_F32, 32);
	put_tensor(g, "last", SCALAR, T_F64, 64);
	put_align(g, 32);
	put_ramp(g, 4);
	put_align(g, 32);
	put_ramp(g, 4);
	put_align(g, 32);
	put_ramp(g, 8);
	put_align(g, 32);
}

static void
empty_tensors(struct gen *g)
{
	put_header(g, 5, 0);
	put_tensor(g, "first", NE(0), T_F32, 0);
	put_tensor(g, "a", NE(8), T_F32, 0);
	put_tensor(g, "middle", NE(32, 0, 3), T_Q8_0, 32);
	put_tensor(g, "b", NE(3), T_F16, 32);
	put_tensor(g, "last", NE(7, 0), T_F16, 64);
	put_align(g, 32);
	put_ramp(g, 32);
	put_ramp(g, 6);
	put_align(g, 32);
}

/* Empty ones behind what shares their offset: not the order they travel in. */
static void
empty_tensors_behind(struct gen *g)
{
	put_header(g, 4, 0);
	put_tensor(g, "b", NE(8), T_F32, 32);
	put_tensor(g, "none", NE(0), T_F32, 32);
	put_tensor(g, "a", NE(8), T_F32, 0);
	put_tensor(g, "neither", NE(0, 4), T_F32, 0);
	put_align(g, 32);
	put_ramp(g, 64);
}

static void
only_empty_tensors(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "a", NE(0), T_F32, 0);
	put_tensor(g, "b", NE(0), T_F32, 0);
	put_align(g, 32);
}

static void
unpadded(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "a", NE(3), T_F32, 0);
	put_tensor(g, "b", NE(3), T_F16, 32);
	put_align(g, 32);
	put_ramp(g, 12);
	put_align(g, 32);
	put_ramp(g, 6);
}

/* Padding is not content; ours is zero. */
static void
padding(struct gen *g, uint8_t byte)
{
	put_header(g, 2, 0);
	put_tensor(g, "a", NE(3), T_F32, 0);
	put_tensor(g, "b", NE(3), T_F16, 32);
	put_fill(g, byte, (32 - g->n % 32) % 32);
	put_ramp(g, 12);
	put_fill(g, byte, 20);
	put_ramp(g, 6);
	put_fill(g, byte, 26);
}

static void
padding_of_zeros(struct gen *g)
{
	padding(g, 0);
}

static void
padding_of_noise(struct gen *g)
{
	padding(g, 0xaa);
}

/* Types without a row of their own have only a place. */
static void
unknown_type_in_the_middle(struct gen *g)
{
	put_header(g, 4, 0);
	put_tensor(g, "a", NE(8), T_F32, 0);
	put_tensor(g, "x", NE(77), 63, 32);
	put_tensor(g, "y", NE(5, 3), 38, 128);
	put_tensor(g, "b", NE(8), T_F32, 160);
	put_align(g, 32);
	put_ramp(g, 192);
}

static void
unknown_type_last(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "a", NE(8), T_F32, 0);
	put_tensor(g, "x", NE(77), 50, 32);
	put_align(g, 32);
	put_ramp(g, 128);
}

/* The largest number; APR2 has no code for it. */
static void
unknown_type_255(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "x", NE(77), 255, 0);
	put_tensor(g, "a", NE(8), T_F32, 64);
	put_align(g, 32);
	put_ramp(g, 96);
}

/* GGML's number for a type that was removed (Q4_2). */
static void
removed_type(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "x", NE(32), 4, 0);
	put_tensor(g, "a", NE(8), T_F32, 32);
	put_align(g, 32);
	put_ramp(g, 64);
}

static void
names(struct gen *g)
{
	static const char *const list[] = { "a b", "../../etc/passwd", "-o", "\"\\", "\x1b[2J",
		"\xe2\x80\xae", "\xf0\x9f\x98\x80", "\n",
		"a name of exactly 63 bytes, which is the most that ggml accepts" };
	size_t i, n = sizeof list / sizeof *list;

	put_header(g, n, n);
	for (i = 0; i < n; i++)
		put_key_u32(g, list[i], (uint32_t)i);
	for (i = 0; i < n; i++)
		put_tensor(g, list[i], NE(8), T_F32, 32 * i);
	put_align(g, 32);
	put_ramp(g, 32 * n);
}

static void
key_of_65535(struct gen *g)
{
	keys_begin(g, 1);
	put_size(g, 65535);
	put_fill(g, 'k', 65535);
	put_u32(g, U32);
	put_u32(g, 1);
	keys_end(g);
}

static void
tensors_3000(struct gen *g)
{
	char name[16];
	uint64_t i;

	put_header(g, 3000, 0);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "blk.%u.w", (unsigned)i);
		put_tensor(g, name, NE(8), T_F32, 32 * i);
	}
	put_align(g, 32);
	put_ramp(g, 32 * 3000);
}

static void
put_scale(struct gen *g, const char *name, uint32_t scale, uint32_t zero)
{
	char key[64];

	snprintf(key, sizeof key, "apr.scale.%s", name);
	put_key(g, key, F32);
	put_u32(g, scale);
	snprintf(key, sizeof key, "apr.zero.%s", name);
	put_key(g, key, I32);
	put_u32(g, zero);
}

/* Tensors with one scale, which a key holds. */
static void
own_scales(struct gen *g)
{
	put_header(g, 4, 6);
	put_scale(g, "matrix", 0x3e800000, 0xfffffffd);
	put_scale(g, "scalar", 0x80000001, 0x12345678);
	put_scale(g, "long", 0x7f7fffff, 0);
	put_tensor(g, "matrix", NE(5, 3), T_I8, 0);
	put_tensor(g, "scalar", SCALAR, T_I8, 32);
	put_tensor(g, "codes", NE(5), T_I8, 64);
	put_tensor(g, "long", NE(64, 1, 1, 2), T_I8, 96);
	put_align(g, 32);
	put_ramp(g, 15);
	put_align(g, 32);
	put_ramp(g, 1);
	put_align(g, 32);
	put_ramp(g, 5);
	put_align(g, 32);
	put_ramp(g, 128);
}

static void
put_flat(struct gen *g, const char *name, const uint64_t *dims, size_t axes)
{
	char key[64];
	size_t i;

	snprintf(key, sizeof key, "apr.dtype.%s", name);
	put_key_string(g, key, "Q8_TENSOR");
	snprintf(key, sizeof key, "apr.shape.%s", name);
	put_key(g, key, ARRAY);
	put_array_head(g, U64, axes);
	for (i = 0; i < axes; i++)
		put_u64(g, dims[i]);
}

/* The same model, with the scales in front of the codes. */
static void
own_scale_inside(struct gen *g)
{
	static const uint64_t matrix[] = { 3, 5 }, longer[] = { 2, 1, 1, 64 };

	put_header(g, 4, 6);
	put_flat(g, "matrix", matrix, 2);
	put_flat(g, "scalar", matrix, 0);
	put_flat(g, "long", longer, 4);
	put_tensor(g, "matrix", NE(23), T_I8, 0);
	put_tensor(g, "scalar", NE(9), T_I8, 32);
	put_tensor(g, "codes", NE(5), T_I8, 64);
	put_tensor(g, "long", NE(136), T_I8, 96);
	put_align(g, 32);
	put_u32(g, 0x3e800000);
	put_u32(g, 0xfffffffd);
	put_ramp(g, 15);
	put_align(g, 32);
	put_u32(g, 0x80000001);
	put_u32(g, 0x12345678);
	put_ramp(g, 1);
	put_align(g, 32);
	put_ramp(g, 5);
	put_align(g, 32);
	put_u32(g, 0x7f7fffff);
	put_u32(g, 0);
	put_ramp(g, 128);
	put_align(g, 32);
}

/* More axes than GGUF has: the scale stays in front of the codes. An empty tensor has none. */
static void
own_scale_of_5_axes(struct gen *g)
{
	static const uint64_t axes[] = { 1, 2, 3, 1, 2 }, empty[] = { 3, 0 };

	put_header(g, 2, 4);
	put_flat(g, "wide", axes, 5);
	put_flat(g, "empty", empty, 2);
	put_tensor(g, "wide", NE(20), T_I8, 0);
	put_tensor(g, "empty", NE(0), T_I8, 32);
	put_align(g, 32);
	put_ramp(g, 20);
	put_align(g, 32);
}

/* Keys that carry what GGUF has no place for, in the order of our writer. */
static void
own_keys(struct gen *g)
{
	size_t i;

	put_header(g, 3, 13);
	put_key_string(g, "general.architecture", "llama");
	put_key_string(g, "apr.json.config", "{\"a\": [1, 2.50]}");
	put_key(g, "apr.json.list", STRING);
	put_size(g, 70001);
	put_text(g, "[");
	for (i = 0; i < 34999; i++)
		put_text(g, "1,");
	put_text(g, "1]");

	put_key_string(g, "apr.dtype.flags", "BOOL");
	put_key(g, "apr.shape.flags", ARRAY);
	put_array_head(g, U64, 5);
	for (i = 0; i < 5; i++)
		put_u64(g, 2);
	put_key_string(g, "apr.dtype.big", "U64");
	put_key(g, "apr.shape.big", ARRAY);
	put_array_head(g, U64, 0);

	put_key_string(g, "apr.prov.0", "{\"what\":\"it\"}");
	put_key(g, "apr.sign.0", ARRAY);
	put_array_head(g, U8, 2048 + 32 * 6); /* two files, a prov, three tensors */
	put_text(g, "{}");
	put_fill(g, ' ', 2046);
	put_ramp(g, 32 * 6);

	put_key(g, "apr.blob.README.md", ARRAY);
	put_array_head(g, U8, 5);
	put_text(g, "hello");
	put_key_string(g, "apr.type.README.md", "text/markdown");
	put_key(g, "apr.blob.empty", ARRAY);
	put_array_head(g, U8, 0);
	put_key_string(g, "apr.type.empty", "");

	put_tensor(g, "flags", NE(32), T_I8, 0);
	put_tensor(g, "big", NE(8), T_I8, 32);
	put_tensor(g, "bytes", NE(8), T_I8, 64);
	put_align(g, 32);
	put_ramp(g, 32);
	put_ramp(g, 8);
	put_align(g, 32);
	put_ramp(g, 8);
	put_align(g, 32);
}

static void
own_licence(struct gen *g)
{
	put_header(g, 1, 2);
	put_key_string(g, "general.architecture", "llama");
	put_key(g, "apr.licence", ARRAY);
	put_array_head(g, U8, 4);
	put_text(g, "free");
	put_tensor(g, "t", NE(8), T_F32, 0);
	put_align(g, 32);
	put_ramp(g, 32);
}

static const struct good {
	const char *name;
	void (*build)(struct gen *);
	uint32_t version;            /* 0: 3 */
	const char *twin;            /* what a round trip gives, if not itself */
	const char *from, *to;       /* NULL: both */
} goods[] = {
	{ "gguf_nothing", nothing, 0, NULL, NULL, NULL },
	{ "gguf_keys_only", keys_only, 0, NULL, NULL, NULL },
	{ "gguf_keys_only_padded", keys_only_padded, 0, NULL, NULL, NULL },
	{ "gguf_tensors_only", tensors_only, 0, NULL, NULL, NULL },
	{ "gguf_version_3", versions, 0, NULL, NULL, NULL },
	{ "gguf_version_2", versions, 2, "gguf_version_3", NULL, NULL },
	{ "gguf_version_1", versions, 1, "gguf_version_3", NULL, NULL },
	{ "gguf_version_1_keys_only", keys_only, 1, "gguf_keys_only", NULL, NULL },
	{ "gguf_every_value_type", every_value_type, 0, NULL, NULL, NULL },
	{ "gguf_every_array_type", every_array_type, 0, NULL, NULL, NULL },
	{ "gguf_integers", integers, 0, NULL, NULL, NULL },
	{ "gguf_floats", floats, 0, NULL, NULL, NULL },
	{ "gguf_nan_payloads", nan_payloads, 0, NULL, NULL, NULL },
	{ "gguf_bool_of_2", bool_of_2, 0, NULL, NULL, NULL },
	{ "gguf_strings", strings, 0, NULL, NULL, NULL },
	{ "gguf_nested_arrays", nested_arrays, 0, NULL, NULL, NULL },
	{ "gguf_array_of_1024", array_of_1024, 0, NULL, NULL, NULL },
	{ "gguf_array_of_1025", array_of_1025, 0, NULL, NULL, NULL },
	{ "gguf_string_of_64_kib", string_of_64_kib, 0, NULL, NULL, NULL },
	{ "gguf_string_over_64_kib", string_over_64_kib, 0, NULL, NULL, NULL },
	{ "gguf_arrays_of_20_mib", arrays_of_20_mib, 0, NULL, NULL, NULL },
	{ "gguf_alignment_64", alignment_64, 0, NULL, NULL, NULL },
	{ "gguf_alignment_32_first", alignment_32_first, 0, NULL, NULL, NULL },
	{ "gguf_alignment_128_last", alignment_128_last, 0, NULL, NULL, NULL },
	{ "gguf_alignment_1", alignment_1, 0, NULL, NULL, NULL },
	{ "gguf_alignment_8", alignment_8, 0, NULL, NULL, NULL },
	{ "gguf_alignment_65536", alignment_65536, 0, NULL, NULL, NULL },
	{ "gguf_index_order", index_order, 0, NULL, NULL, NULL },
	{ "gguf_scalars", scalars, 0, NULL, NULL, NULL },
	{ "gguf_empty_tensors", empty_tensors, 0, NULL, NULL, NULL },
	{ "gguf_empty_tensors_behind", empty_tensors_behind, 0, NULL, NULL, NULL },
	{ "gguf_only_empty_tensors", only_empty_tensors, 0, NULL, NULL, NULL },
	{ "gguf_unpadded", unpadded, 0, NULL, "file", NULL },
	{ "gguf_padding_of_zeros", padding_of_zeros, 0, NULL, NULL, NULL },
	{ "gguf_padding_of_noise", padding_of_noise, 0, "gguf_padding_of_zeros", NULL, NULL },
	{ "gguf_unknown_type_in_the_middle", unknown_type_in_the_middle, 0, NULL, NULL, NULL },
	{ "gguf_unknown_type_last", unknown_type_last, 0, NULL, "file", NULL },
	{ "gguf_unknown_type_255", unknown_type_255, 0, NULL, NULL, NULL },
	{ "gguf_removed_type", removed_type, 0, NULL, NULL, NULL },
	{ "gguf_names", names, 0, NULL, NULL, NULL },
	{ "gguf_key_of_65535", key_of_65535, 0, NULL, NULL, NULL },
	{ "gguf_3000_tensors", tensors_3000, 0, NULL, NULL, NULL },
	{ "gguf_own_keys", own_keys, 0, NULL, NULL, "file" },
	{ "gguf_own_scales", own_scales, 0, NULL, NULL, NULL },
	{ "gguf_own_scale_inside", own_scale_inside, 0, "gguf_own_scales", NULL, NULL },
	{ "gguf_own_scale_of_5_axes", own_scale_of_5_axes, 0, NULL, NULL, NULL },
	{ "gguf_own_licence", own_licence, 0, NULL, NULL, NULL },
};

int
main(int argc, char **argv)
{
	struct folder folder;
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof goods / sizeof *goods; i++) {
		const struct good *x = &goods[i];
		struct gen g = { 0 };

		gguf_version = x->version ? x->version : 3;
		x->build(&g);
		folder_file(&folder, x->name, &g);
		fprintf(folder.manifest, "%s\t%s\t%s\t%s\n", x->name,
		        x->twin ? x->twin : x->name, x->from ? x->from : "both",
		        x->to ? x->to : "both");
		gen_free(&g);
	}
	return folder_close(&folder);
}
