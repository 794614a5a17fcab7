/* gguf_faults: GGUF files with a single fault each.
 *
 * Numbers of reports (CVE, TALOS, GHSA, issues and pull requests of the project
 * named) stand in front of the rows that have the same root cause.
 */
#include "gguf.h"

/* The mother: three keys of different kinds, three tensors of different types,
 * the last of which does not end on the alignment. */
static void
mother(struct gen *g)
{
	put_header(g, 3, 4);

	mark(g, "arch.length");
	put_size(g, 20);
	mark(g, "arch.key");
	put_text(g, "general.architecture");
	mark(g, "arch.type");
	put_u32(g, STRING);
	mark(g, "arch.value.length");
	put_size(g, 5);
	mark(g, "arch.value");
	put_text(g, "llama");

	put_size(g, 17);
	put_text(g, "general.alignment");
	mark(g, "align.type");
	put_u32(g, U32);
	mark(g, "align");
	put_u32(g, 32);

	put_size(g, 7);
	mark(g, "ids.key");
	put_text(g, "key.ids");
	put_u32(g, ARRAY);
	mark(g, "ids.item");
	put_u32(g, I32);
	mark(g, "ids.count");
	put_size(g, 3);
	put_u32(g, 10);
	put_u32(g, 20);
	put_u32(g, 30);

	put_size(g, 7);
	mark(g, "texts.key");
	put_text(g, "key.txt");
	put_u32(g, ARRAY);
	mark(g, "texts.item");
	put_u32(g, STRING);
	mark(g, "texts.count");
	put_size(g, 2);
	mark(g, "texts.0.length");
	put_string(g, "one");
	put_string(g, "three");

	mark(g, "a");
	put_size(g, 8);
	mark(g, "a.name");
	put_text(g, "a.weight");
	mark(g, "a.axes");
	put_u32(g, 2);
	mark(g, "a.ne0");
	put_size(g, 8);
	mark(g, "a.ne1");
	put_size(g, 2);
	mark(g, "a.type");
	put_u32(g, T_F32);
	mark(g, "a.offset");
	put_u64(g, 0);

	mark(g, "b");
	put_size(g, 8);
	mark(g, "b.name");
	put_text(g, "b.weight");
	mark(g, "b.axes");
	put_u32(g, 2);
	mark(g, "b.ne0");
	put_size(g, 32);
	mark(g, "b.ne1");
	put_size(g, 2);
	mark(g, "b.type");
	put_u32(g, T_Q8_0);
	mark(g, "b.offset");
	put_u64(g, 64);

	put_size(g, 6);
	mark(g, "c.name");
	put_text(g, "c.bias");
	put_u32(g, 1);
	mark(g, "c.ne0");
	put_size(g, 5);
	mark(g, "c.type");
	put_u32(g, T_F16);
	mark(g, "c.offset");
	put_u64(g, 160);

	mark(g, "index.end");
	put_align(g, 32);
	mark(g, "data");
	put_ramp(g, 8 * 2 * 4);
	put_ramp(g, 2 * 34);
	put_align(g, 32);
	mark(g, "c.data");
	put_ramp(g, 5 * 2);
	mark(g, "data.end");
	put_align(g, 32);
	mark(g, "end");
}

/* ---- files that are not the mother with a change ---- */

/* llama.cpp#27188, ollama#17042: 43 bytes that ask for 2^63 items. */
static void
array_in_43_bytes(struct gen *g)
{
	put_header(g, 0, 1);
	put_key(g, "a", ARRAY);
	put_array_head(g, U8, (uint64_t)1 << 63);
	put_text(g, "xx");
}

/* One tensor, as described, and 64 bytes of data. */
static void
one_tensor(struct gen *g, const int64_t *ne, uint32_t type)
{
	put_header(g, 1, 0);
	put_tensor(g, "t", ne, type, 0);
	put_align(g, 32);
	put_ramp(g, 64);
}

/* GGML_PAD wraps between the tensor's size and the sum: llama.cpp PR#26318 and
 * PR#24997, ggml PR#1516. F32 with ne0 = SIZE_MAX / 4. */
static void
pad_wraps(struct gen *g)
{
	one_tensor(g, NE(0x3fffffffffffffff), T_F32);
}

/* CVE-2026-33298: 4 × items is 2^64 + 4 MiB. */
static void
bytes_wrap_to_4_mib(struct gen *g)
{
	one_tensor(g, NE(1 << 20, ((int64_t)1 << 42) + 1), T_F32);
}

/* The same for a block type: 34 bytes a block make 2^64 + 16. */
static void
bytes_wrap_quantized(struct gen *g)
{
	one_tensor(g, NE(32, 542551296285575048), T_Q8_0);
}

/* A size that fits in 64 bits, but not in a signed number. */
static void
bytes_2_63(struct gen *g)
{
	one_tensor(g, NE(1 << 30, (int64_t)1 << 33), T_I8);
}

/* The guard INT64_MAX / ne[1] of others divides by zero here. */
static void
zero_hides_overflow(struct gen *g)
{
	one_tensor(g, NE((int64_t)1 << 62, 0, 1 << 10), T_F32);
}

/* CVE-2025-53630 and CVE-2026-27940: each size is possible, their sum wraps to
 * 0, so that everything would seem to lie in the file. */
static void
sum_wraps(struct gen *g)
{
	const uint64_t half = ((uint64_t)1 << 63) - 32;

	put_header(g, 3, 0);
	put_tensor(g, "a", NE((int64_t)half), T_I8, 0);
	put_tensor(g, "b", NE((int64_t)half), T_I8, half);
	put_tensor(g, "c", NE(64), T_I8, 2 * half);
	put_align(g, 32);
	put_ramp(g, 64);
}

/* A tensor whose type is not known takes what lies before the next one. */
static void
unknown_type_without_room(struct gen *g)
{
	put_header(g, 2, 0);
	put_tensor(g, "t", NE(4), 77, 64);
	put_tensor(g, "u", NE(16), T_F32, 0);
	put_align(g, 32);
	put_ramp(g, 32);
}

/* ---- our own keys, with values that are not ours ---- */

static void
carrier(struct gen *g, void (*keys)(struct gen *), unsigned count)
{
	put_header(g, 1, count);
	keys(g);
	put_tensor(g, "t", NE(64), T_I8, 0);
	put_align(g, 32);
	put_ramp(g, 64);
}

static void
blob_keys(struct gen *g)
{
	put_key(g, "apr.blob.README", ARRAY);
	put_array_head(g, U8, 2);
	put_text(g, "hi");
}

static void
blob_without_type(struct gen *g)
{
	carrier(g, blob_keys, 1);
}

static void
blob_text_keys(struct gen *g)
{
	put_key_string(g, "apr.blob.README", "hi");
	put_key_string(g, "apr.type.README", "text/plain");
}

static void
blob_as_string(struct gen *g)
{
	carrier(g, blob_text_keys, 2);
}

static void
blob_value_keys(struct gen *g)
{
	blob_keys(g);
	put_key_string(g, "apr.type.README", "value");
}

static void
blob_type_of_value(struct gen *g)
{
	carrier(g, blob_value_keys, 2);
}

static void
blob_other_keys(struct gen *g)
{
	blob_keys(g);
	put_key_string(g, "apr.type.LICENCE", "text/plain");
}

static void
blob_type_of_another(struct gen *g)
{
	carrier(g, blob_other_keys, 2);
}

static void
dtype_keys(struct gen *g, const char *name, const char *dtype, uint64_t axes,
           uint64_t axis)
{
	char key[64];

	snprintf(key, sizeof key, "apr.dtype.%s", name);
	put_key_string(g, key, dtype);
	snprintf(key, sizeof key, "apr.shape.%s", name);
	put_key(g, key, ARRAY);
	put_array_head(g, U64, axes);
	for (; axes > 0; axes--)
		put_u64(g, axis);
}

static void
dtype_orphan_keys(struct gen *g)
{
	dtype_keys(g, "nobody", "U64", 1, 8);
}

static void
dtype_of_no_tensor(struct gen *g)
{
	carrier(g, dtype_orphan_keys, 2);
}

static void
dtype_unknown_keys(struct gen *g)
{
	dtype_keys(g, "t", "U65", 1, 8);
}

static void
dtype_unknown(struct gen *g)
{
	carrier(g, dtype_unknown_keys, 2);
}

static void
dtype_size_keys(struct gen *g)
{
	dtype_keys(g, "t", "U64", 1, 9);
}

static void
dtype_other_size(struct gen *g)
{
	carrier(g, dtype_size_keys, 2);
}

static void
dtype_axes_keys(struct gen *g)
{
	dtype_keys(g, "t", "U8", 9, 1);
}

static void
shape_of_9_axes(struct gen *g)
{
	carrier(g, dtype_axes_keys, 2);
}

static void
dtype_alone_keys(struct gen *g)
{
	put_key_string(g, "apr.dtype.t", "U64");
}

static void
dtype_without_shape(struct gen *g)
{
	carrier(g, dtype_alone_keys, 1);
}

static void
dtype_twice_keys(struct gen *g)
{
	dtype_keys(g, "t", "U64", 1, 8);
	dtype_keys(g, "t", "U32", 1, 16);
}

static void
dtype_twice(struct gen *g)
{
	carrier(g, dtype_twice_keys, 4);
}

static void
scale_key(struct gen *g, const char *name, uint32_t bits)
{
	char key[64];

	snprintf(key, sizeof key, "apr.scale.%s", name);
	put_key(g, key, F32);
	put_u32(g, bits);
}

static void
zero_key(struct gen *g, const char *name)
{
	char key[64];

	snprintf(key, sizeof key, "apr.zero.%s", name);
	put_key(g, key, I32);
	put_u32(g, 0);
}

static void
scale_of_no_tensor_keys(struct gen *g)
{
	scale_key(g, "nobody", 0x3f800000);
	zero_key(g, "nobody");
}

static void
scale_of_no_tensor(struct gen *g)
{
	carrier(g, scale_of_no_tensor_keys, 2);
}

static void
scale_keys(struct gen *g)
{
	scale_key(g, "t", 0x3f800000);
	zero_key(g, "t");
}

/* A tensor of another type, or with no values. */
static void
scale_of_f32(struct gen *g)
{
	put_header(g, 1, 2);
	scale_keys(g);
	put_tensor(g, "t", NE(8), T_F32, 0);
	put_align(g, 32);
	put_ramp(g, 32);
}

static void
scale_of_nothing(struct gen *g)
{
	put_header(g, 1, 2);
	scale_keys(g);
	put_tensor(g, "t", NE(0, 4), T_I8, 0);
	put_align(g, 32);
}

static void
scale_infinite_keys(struct gen *g)
{
	scale_key(g, "t", 0xff800000);
	zero_key(g, "t");
}

static void
scale_infinite(struct gen *g)
{
	carrier(g, scale_infinite_keys, 2);
}

static void
scale_nan_keys(struct gen *g)
{
	scale_key(g, "t", 0x7f800001);
	zero_key(g, "t");
}

static void
scale_nan(struct gen *g)
{
	carrier(g, scale_nan_keys, 2);
}

static void
scale_f64_keys(struct gen *g)
{
	put_key(g, "apr.scale.t", F64);
	put_u64(g, 0x3ff0000000000000);
	zero_key(g, "t");
}

static void
scale_f64(struct gen *g)
{
	carrier(g, scale_f64_keys, 2);
}

static void
scale_list_keys(struct gen *g)
{
	put_key(g, "apr.scale.t", ARRAY);
	put_array_head(g, F32, 1);
	put_u32(g, 0x3f800000);
	zero_key(g, "t");
}

static void
scale_list(struct gen *g)
{
	carrier(g, scale_list_keys, 2);
}

static void
scale_alone_keys(struct gen *g)
{
	scale_key(g, "t", 0x3f800000);
}

static void
scale_without_zero(struct gen *g)
{
	carrier(g, scale_alone_keys, 1);
}

static void
zero_alone_keys(struct gen *g)
{
	zero_key(g, "t");
}

static void
zero_without_scale(struct gen *g)
{
	carrier(g, zero_alone_keys, 1);
}

static void
zero_u32_keys(struct gen *g)
{
	scale_key(g, "t", 0x3f800000);
	put_key_u32(g, "apr.zero.t", 0);
}

static void
zero_u32(struct gen *g)
{
	carrier(g, zero_u32_keys, 2);
}

static void
zero_of_dtype_keys(struct gen *g)
{
	put_key_string(g, "apr.dtype.t", "U64");
	zero_key(g, "t");
}

static void
zero_of_dtype(struct gen *g)
{
	carrier(g, zero_of_dtype_keys, 2);
}

static void
scale_twice_keys(struct gen *g)
{
	scale_keys(g);
	scale_keys(g);
}

static void
scale_twice(struct gen *g)
{
	carrier(g, scale_twice_keys, 4);
}

static void
scale_and_dtype_keys(struct gen *g)
{
	scale_keys(g);
	dtype_keys(g, "t", "U64", 1, 8);
}

static void
scale_and_dtype(struct gen *g)
{
	carrier(g, scale_and_dtype_keys, 4);
}

static void
licence_keys(struct gen *g)
{
	put_key_string(g, "apr.licence", "MIT");
}

static void
licence_as_string(struct gen *g)
{
	carrier(g, licence_keys, 1);
}

static void
reserve_keys(struct gen *g, unsigned n, uint8_t last)
{
	put_key(g, "apr.reserve", ARRAY);
	put_array_head(g, U8, n);
	put_fill(g, 0, n - 1);
	put_u8(g, last);
}

/* Something at the end, in a value that is short or too long to stay in memory. */
static void
reserve_short_keys(struct gen *g)
{
	reserve_keys(g, 100, 1);
}

static void
reserve_short(struct gen *g)
{
	carrier(g, reserve_short_keys, 1);
}

static void
reserve_long_keys(struct gen *g)
{
	reserve_keys(g, 200001, 0x80);
}

static void
reserve_long(struct gen *g)
{
	carrier(g, reserve_long_keys, 1);
}

static void
reserve_twice_keys(struct gen *g)
{
	reserve_keys(g, 8, 0);
	reserve_keys(g, 8, 0);
}

static void
reserve_twice(struct gen *g)
{
	carrier(g, reserve_twice_keys, 2);
}

static void
reserve_text_keys(struct gen *g)
{
	put_key_string(g, "apr.reserve", "");
}

static void
reserve_as_string(struct gen *g)
{
	carrier(g, reserve_text_keys, 1);
}

static void
sign_keys(struct gen *g)
{
	put_key(g, "apr.sign.0", ARRAY);
	put_array_head(g, U8, 100);
	put_text(g, "{}");
	put_fill(g, ' ', 98);
}

static void
sign_of_wrong_size(struct gen *g)
{
	carrier(g, sign_keys, 1);
}

static void
prov_gap_keys(struct gen *g)
{
	put_key_string(g, "apr.prov.1", "{}");
}

static void
prov_without_0(struct gen *g)
{
	carrier(g, prov_gap_keys, 1);
}

static void
prov_text_keys(struct gen *g)
{
	put_key_string(g, "apr.prov.0", "no JSON");
}

static void
prov_not_json(struct gen *g)
{
	carrier(g, prov_text_keys, 1);
}

static void
prov_long_keys(struct gen *g)
{
	put_key(g, "apr.prov.0", STRING);
	put_size(g, 70002);
	put_text(g, "{");
	put_fill(g, ' ', 70000);
	put_text(g, "}");
}

static void
prov_too_long(struct gen *g)
{
	carrier(g, prov_long_keys, 1);
}

static void
json_number_keys(struct gen *g)
{
	put_key_u32(g, "apr.json.config", 7);
}

static void
json_as_number(struct gen *g)
{
	carrier(g, json_number_keys, 1);
}

static void
json_same_keys(struct gen *g)
{
	put_key_string(g, "apr.json.config", "{}");
	put_key_string(g, "config", "x");
}

static void
json_key_twice(struct gen *g)
{
	carrier(g, json_same_keys, 2);
}

/* ---- the table ---- */

#define LEFT "exceeds the"
#define MANY "items cannot lie in the bytes left"
#define ENDS "ends here"

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: where it differs */
	struct edit edits[3];
	void (*build)(struct gen *);
} faults[] = {
	/* Magic and version. CVE-2024-39720: four bytes are not a header. */
	{ "gguf_magic_only", 4, ENDS, NULL, { CUT("version") }, NULL },
	{ "gguf_magic_wrong", 4, "not a model file of a known format", NULL,
	  { TEXT("magic", "GGUX") }, NULL },
	{ "gguf_magic_backwards", 4, "big-endian GGUF", NULL,
	  { TEXT("magic", "FUGG") }, NULL },
	{ "gguf_version_0", 4, "GGUF version 0", NULL, { SET32("version", 0) }, NULL },
	{ "gguf_version_4", 4, "GGUF version 4", NULL, { SET32("version", 4) }, NULL },
	{ "gguf_version_3_0_as_float", 4, "GGUF version 1077936128", NULL,
	  { SET32("version", 0x40400000) }, NULL },
	{ "gguf_version_3_0_as_two_halves", 4, "GGUF version 196608", NULL,
	  { SET32("version", 0x00030000) }, NULL },
	{ "gguf_version_negative", 4, "GGUF version 4294967293", NULL,
	  { SET32("version", -3) }, NULL },
	{ "gguf_big_endian", 4, "is a big-endian GGUF file", NULL,
	  { SET32("version", 0x03000000) }, NULL },

	/* Counts. CVE-2024-21836 (TALOS-2024-1915): tensors; CVE-2024-23605: keys. */
	{ "gguf_tensor_count_max", 4, "tensors cannot lie", NULL,
	  { SET64("tensors", UINT64_MAX) }, NULL },
	{ "gguf_tensor_count_2_63", 4, "tensors cannot lie", NULL,
	  { SET64("tensors", (uint64_t)1 << 63) }, NULL },
	{ "gguf_tensor_count_times_16_wraps", 4, "tensors cannot lie", NULL,
	  { SET64("tensors", ((uint64_t)1 << 60) + 3) }, NULL },
	{ "gguf_tensor_count_one_more", 4, "a tensor name of 0 bytes", NULL,
	  { SET64("tensors", 4) }, NULL },
	{ "gguf_tensor_count_one_less", 4, "its content ends at", "after the end",
	  { SET64("tensors", 2) }, NULL },
	{ "gguf_key_count_max", 4, "metadata keys cannot lie", NULL,
	  { SET64("keys", UINT64_MAX) }, NULL },
	{ "gguf_key_count_2_63", 4, "metadata keys cannot lie", NULL,
	  { SET64("keys", (uint64_t)1 << 63) }, NULL },
	{ "gguf_key_count_times_16_wraps", 4, "metadata keys cannot lie",
	  "a metadata key of", { SET64("keys", ((uint64_t)1 << 60) + 4) }, NULL },
	{ "gguf_key_count_one_more", 4, "a tensor name of", NULL, { SET64("keys", 5) }, NULL },
	{ "gguf_key_count_one_less", 4, "dimensions, GGUF has at most 4", NULL,
	  { SET64("keys", 3) }, NULL },

	/* Keys. CVE-2024-23496 (TALOS-2024-1913): a string's length. */
	{ "gguf_key_length_0", 4, "a metadata key of 0 bytes", NULL,
	  { SET64("arch.length", 0) }, NULL },
	{ "gguf_key_length_past_eof", 4, LEFT, ENDS, { SET64("arch.length", 10000) }, NULL },
	{ "gguf_key_length_65536", 4, "a metadata key of 65536 bytes", NULL,
	  { SET64("arch.length", 65536) }, NULL },
	{ "gguf_key_length_2_63", 4, "a metadata key of 9223372036854775808 bytes", NULL,
	  { SET64("arch.length", (uint64_t)1 << 63) }, NULL },
	{ "gguf_key_length_max", 4, "a metadata key of 18446744073709551615 bytes", NULL,
	  { SET64("arch.length", UINT64_MAX) }, NULL },
	{ "gguf_key_not_utf8", 4, "a metadata key that is not UTF-8", NULL,
	  { TEXT("arch.key", "\xff") }, NULL },
	{ "gguf_key_overlong_utf8", 4, "a metadata key that is not UTF-8", NULL,
	  { TEXT("arch.key", "\xc0\xaf") }, NULL },
	{ "gguf_key_surrogate", 4, "a metadata key that is not UTF-8", NULL,
	  { TEXT("arch.key", "\xed\xa0\x80") }, NULL },
	{ "gguf_key_beyond_unicode", 4, "a metadata key that is not UTF-8", NULL,
	  { TEXT("arch.key", "\xf4\x90\x80\x80") }, NULL },
	{ "gguf_key_cut_utf8", 4, "a metadata key that is not UTF-8", NULL,
	  { TEXT("arch.key", "general.architectur\xc3") }, NULL },
	{ "gguf_key_nul", 4, "a metadata key that is not UTF-8", NULL,
	  { SET8("arch.key", 0) }, NULL },
	{ "gguf_key_twice", 4, "metadata key key.ids occurs twice", NULL,
	  { TEXT("texts.key", "key.ids") }, NULL },

	/* Values. A type is never an index before it is known (Databricks 2024-01;
	 * CVE-2026-27940's patch: also no negative one). 100 is our own number. */
	{ "gguf_value_type_13", 4, "unknown value type 13", NULL,
	  { SET32("arch.type", 13) }, NULL },
	{ "gguf_value_type_100", 4, "unknown value type 100", NULL,
	  { SET32("arch.type", 100) }, NULL },
	{ "gguf_value_type_256", 4, "unknown value type 256", NULL,
	  { SET32("arch.type", 256) }, NULL },
	{ "gguf_value_type_negative", 4, "unknown value type 4294967295", NULL,
	  { SET32("arch.type", -1) }, NULL },
	{ "gguf_string_length_past_eof", 4, LEFT, ENDS,
	  { SET64("arch.value.length", 100000) }, NULL },
	{ "gguf_string_length_2_63", 4, LEFT, ENDS,
	  { SET64("arch.value.length", (uint64_t)1 << 63) }, NULL },
	/* length + 1 for a terminator is 0. */
	{ "gguf_string_length_max", 4, LEFT, ENDS,
	  { SET64("arch.value.length", UINT64_MAX) }, NULL },
	/* CVE-2025-49847: a length cut to 32 bits looks like 5. */
	{ "gguf_string_length_5_in_32_bits", 4, LEFT, ENDS,
	  { SET64("arch.value.length", ((uint64_t)1 << 32) + 5) }, NULL },

	/* Arrays. CVE-2024-21825 (TALOS-2024-1912): of strings; llama.cpp#27188. */
	{ "gguf_array_item_13", 4, "unknown value type 13", NULL,
	  { SET32("ids.item", 13) }, NULL },
	{ "gguf_array_item_100", 4, "unknown value type 100", NULL,
	  { SET32("ids.item", 100) }, NULL },
	{ "gguf_array_item_negative", 4, "unknown value type 4294967295", NULL,
	  { SET32("ids.item", -1) }, NULL },
	{ "gguf_array_count_past_eof", 4, LEFT, ENDS, { SET64("ids.count", 5000) }, NULL },
	/* CVE-2025-52566: a count compared as a signed number. */
	{ "gguf_array_count_2_31", 4, LEFT, ENDS, { SET64("ids.count", 0x80000000) }, NULL },
	{ "gguf_array_count_2_63", 4, "items overflows", NULL,
	  { SET64("ids.count", (uint64_t)1 << 63) }, NULL },
	{ "gguf_array_count_max", 4, "items overflows", NULL,
	  { SET64("ids.count", UINT64_MAX) }, NULL },
	/* 4 × count wraps to 12, the true size. */
	{ "gguf_array_count_wraps", 4, "items overflows", NULL,
	  { SET64("ids.count", ((uint64_t)1 << 62) + 3) }, NULL },
	{ "gguf_array_in_43_bytes", 4, LEFT, ENDS, { { 0 } }, array_in_43_bytes },
	{ "gguf_strings_count_past_eof", 4, MANY, ENDS,
	  { SET64("texts.count", 5000) }, NULL },
	{ "gguf_strings_count_2_63", 4, MANY, NULL,
	  { SET64("texts.count", (uint64_t)1 << 63) }, NULL },
	/* 16 × count, an array of string structures, wraps. */
	{ "gguf_strings_count_wraps", 4, MANY, ENDS,
	  { SET64("texts.count", ((uint64_t)1 << 60) + 2) }, NULL },
	{ "gguf_strings_item_length_past_eof", 4, LEFT, ENDS,
	  { SET64("texts.0.length", 10000) }, NULL },
	{ "gguf_strings_item_length_max", 4, LEFT, ENDS,
	  { SET64("texts.0.length", UINT64_MAX) }, NULL },
	{ "gguf_arrays_count_2_63", 4, MANY, NULL,
	  { SET32("texts.item", ARRAY), SET64("texts.count", (uint64_t)1 << 63) }, NULL },
	{ "gguf_arrays_4_deep", 4, "arrays inside arrays", NULL,
	  { SET32("texts.item", ARRAY), SET64("texts.count", 1),
	    INSERT("texts.0.length",
	           "\11\0\0\0\1\0\0\0\0\0\0\0" "\11\0\0\0\1\0\0\0\0\0\0\0"
	           "\0\0\0\0\1\0\0\0\0\0\0\0x") }, NULL },
	{ "gguf_arrays_5_deep", 4, "arrays inside arrays", NULL,
	  { SET32("texts.item", ARRAY), SET64("texts.count", 1),
	    INSERT("texts.0.length",
	           "\11\0\0\0\1\0\0\0\0\0\0\0" "\11\0\0\0\1\0\0\0\0\0\0\0"
	           "\11\0\0\0\1\0\0\0\0\0\0\0" "\0\0\0\0\1\0\0\0\0\0\0\0x") }, NULL },

	/* general.alignment. CVE-2025-0317: 0 divides; llama.cpp PR#26318: 2^31 and
	 * a type that is not u32. */
	{ "gguf_alignment_0", 4, "general.alignment is 0", NULL, { SET32("align", 0) }, NULL },
	{ "gguf_alignment_3", 4, "general.alignment is 3", NULL, { SET32("align", 3) }, NULL },
	{ "gguf_alignment_131072", 4, "general.alignment is 131072", NULL,
	  { SET32("align", 131072) }, NULL },
	{ "gguf_alignment_2_31", 4, "general.alignment is 2147483648", NULL,
	  { SET32("align", 0x80000000) }, NULL },
	{ "gguf_alignment_i32", 4, "general.alignment is not a u32", NULL,
	  { SET32("align.type", I32) }, NULL },
	{ "gguf_alignment_f32", 4, "general.alignment is not a u32", NULL,
	  { SET32("align.type", F32) }, NULL },
	{ "gguf_alignment_u64", 4, "general.alignment is not a u32", NULL,
	  { SET32("align.type", U64), INSERT("align", "\40\0\0\0") }, NULL },
	{ "gguf_alignment_array", 4, "general.alignment is not a u32", NULL,
	  { SET32("align.type", ARRAY), INSERT("align", "\4\0\0\0\1\0\0\0\0\0\0\0") }, NULL },
	{ "gguf_alignment_twice", 4, "general.alignment occurs twice", NULL,
	  { SET64("keys", 5),
	    INSERT("a", "\21\0\0\0\0\0\0\0general.alignment\4\0\0\0\40\0\0\0") }, NULL },

	/* Tensor names. */
	{ "gguf_tensor_name_length_0", 4, "a tensor name of 0 bytes", NULL,
	  { SET64("a", 0) }, NULL },
	{ "gguf_tensor_name_length_past_eof", 4, LEFT, ENDS, { SET64("a", 5000) }, NULL },
	{ "gguf_tensor_name_length_65536", 4, "a tensor name of 65536 bytes", NULL,
	  { SET64("a", 65536) }, NULL },
	{ "gguf_tensor_name_length_max", 4, "a tensor name of 18446744073709551615 bytes",
	  NULL, { SET64("a", UINT64_MAX) }, NULL },
	{ "gguf_tensor_name_not_utf8", 4, "a tensor name that is not UTF-8", NULL,
	  { TEXT("a.name", "\x80") }, NULL },
	{ "gguf_tensor_name_nul", 4, "a tensor name that is not UTF-8", NULL,
	  { SET8("a.name", 0) }, NULL },
	{ "gguf_tensor_name_twice", 4, "tensor a.weight occurs twice", NULL,
	  { TEXT("b.name", "a.weight") }, NULL },

	/* Dimensions. CVE-2024-21802: ne[] written past its end; whisper.cpp#3787. */
	{ "gguf_axes_5", 4, "5 dimensions, GGUF has at most 4", NULL,
	  { SET32("a.axes", 5),
	    INSERT("a.ne0", "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0") }, NULL },
	{ "gguf_axes_9", 4, "9 dimensions, GGUF has at most 4", NULL,
	  { SET32("a.axes", 9),
	    INSERT("a.ne0", "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
	           "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0") },
	  NULL },
	{ "gguf_axes_negative", 4, "4294967295 dimensions", NULL,
	  { SET32("a.axes", -1) }, NULL },
	{ "gguf_ne_0_leaves_a_hole", 4, "a hole of 64 bytes", NULL,
	  { SET64("a.ne1", 0) }, NULL },
	{ "gguf_ne_negative", 4, "overflows", NULL, { SET64("a.ne0", -8) }, NULL },
	{ "gguf_ne_product_overflows", 4, "product of its dimensions overflows", NULL,
	  { SET64("a.ne0", (uint64_t)1 << 32), SET64("a.ne1", (uint64_t)1 << 32) }, NULL },
	/* 8 × (2^61 + 2) wraps to 16, the true number of values. */
	{ "gguf_ne_product_wraps", 4, "product of its dimensions overflows", NULL,
	  { SET64("a.ne1", ((uint64_t)1 << 61) + 2) }, NULL },
	/* 4 × 8 × (2^59 + 2) wraps to 64, the true number of bytes. */
	{ "gguf_ne_bytes_wrap", 4, "its size in bytes overflows", NULL,
	  { SET64("a.ne1", ((uint64_t)1 << 59) + 2) }, NULL },
	{ "gguf_ne_bytes_wrap_to_4_mib", 4, "its size in bytes overflows", NULL,
	  { { 0 } }, bytes_wrap_to_4_mib },
	{ "gguf_ne_bytes_wrap_quantized", 4, "its size in bytes overflows", NULL,
	  { { 0 } }, bytes_wrap_quantized },
	{ "gguf_ne_bytes_2_63", 4, "its size in bytes overflows", NULL,
	  { { 0 } }, bytes_2_63 },
	{ "gguf_ne_pad_wraps", 4, "its size in bytes overflows", NULL, { { 0 } }, pad_wraps },
	{ "gguf_ne_0_hides_overflow", 4, "product of its dimensions overflows", NULL,
	  { { 0 } }, zero_hides_overflow },
	{ "gguf_sizes_sum_wraps", 4, "bytes of data", "its end overflows", { { 0 } }, sum_wraps },
	{ "gguf_row_not_of_whole_blocks", 4, "Q8_0 needs rows of 32, got 33", NULL,
	  { SET64("b.ne0", 33) }, NULL },
	{ "gguf_row_of_blocks_along_the_wrong_axis", 4, "Q8_0 needs rows of 32, got 2", NULL,
	  { SET64("b.ne0", 2), SET64("b.ne1", 32) }, NULL },

	/* Types. Below 256 an unknown one passes by its size, but only from a file. */
	{ "gguf_type_256", 4, "the type number 256", NULL, { SET32("a.type", 256) }, NULL },
	{ "gguf_type_2_31", 4, "the type number 2147483648", NULL,
	  { SET32("a.type", 0x80000000) }, NULL },
	{ "gguf_type_negative", 4, "the type number 4294967295", NULL,
	  { SET32("a.type", -1) }, NULL },
	{ "gguf_type_larger_overlaps", 4, "overlaps the tensor before it", NULL,
	  { SET32("a.type", T_F64) }, NULL },
	{ "gguf_type_smaller_leaves_a_hole", 4, "a hole of 32 bytes", NULL,
	  { SET32("a.type", T_F16) }, NULL },
	{ "gguf_type_unknown_without_room", 4, "bytes of data", "not known, and so its size from a pipe",
	  { { 0 } }, unknown_type_without_room },

	/* Places. CVE-2026-7482 (ollama PR#14406): an extent beyond the file, read
	 * and then written into the output. */
	{ "gguf_offset_unaligned", 4, "is not a multiple of 32", NULL,
	  { SET64("b.offset", 65) }, NULL },
	{ "gguf_offset_past_eof", 4, "a hole of", NULL, { SET64("c.offset", 1 << 20) }, NULL },
	{ "gguf_offset_2_63", 4, "a hole of", NULL,
	  { SET64("c.offset", (uint64_t)1 << 63) }, NULL },
	/* ggml-org/ggml#709: as a signed number it lies before the data. */
	{ "gguf_offset_negative", 4, "c.bias: its offset 18446744073709551584 is wrong", NULL,
	  { SET64("c.offset", UINT64_MAX - 31) }, NULL },
	{ "gguf_offset_hole", 4, "a hole of 32 bytes lies before it", NULL,
	  { SET64("c.offset", 192) }, NULL },
	{ "gguf_offset_same", 4, "overlaps the tensor before it", NULL,
	  { SET64("b.offset", 0) }, NULL },
	{ "gguf_offset_inside", 4, "overlaps the tensor before it", NULL,
	  { SET64("b.offset", 32) }, NULL },
	{ "gguf_first_offset_not_0", 4, "a hole of 32 bytes lies before it", NULL,
	  { SET64("a.offset", 32), SET64("b.offset", 96), SET64("c.offset", 192) }, NULL },
	{ "gguf_last_tensor_past_eof", 4, "exceed the", ENDS, { SET64("c.ne0", 5000) }, NULL },

	/* The end. CVE-2026-7482 again; GHSA-p5mv-gjc5-mwqv: short reads. Truncation
	 * at every byte is tested beside this table. */
	{ "gguf_no_data", 4, "exceed the 0 bytes of data", ENDS, { CUT("data") }, NULL },
	{ "gguf_index_only", 4, "exceed the 0 bytes of data", ENDS, { CUT("index.end") }, NULL },
	{ "gguf_trailing_byte", 4, "its content ends at", "bytes after the end",
	  { TAIL("\0") }, NULL },
	{ "gguf_trailing_zeros", 4, "its content ends at", "bytes after the end",
	  { TAIL("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") }, NULL },
	{ "gguf_trailing_file", 4, "its content ends at", "bytes after the end",
	  { TAIL("GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") }, NULL },
	{ "gguf_padding_cut_short", 4, "its content ends at", "padding at the end is cut",
	  { CUT("data.end"), TAIL("\0\0\0") }, NULL },

	/* Keys of our own that contradict themselves. */
	{ "gguf_apr_blob_without_type", 4, "without its apr.type.", NULL,
	  { { 0 } }, blob_without_type },
	{ "gguf_apr_blob_as_string", 4, "a key of ours", NULL, { { 0 } }, blob_as_string },
	{ "gguf_apr_blob_type_of_value", 4, "a value that no key names", NULL,
	  { { 0 } }, blob_type_of_value },
	{ "gguf_apr_blob_type_of_another", 4, "a key of ours", NULL,
	  { { 0 } }, blob_type_of_another },
	{ "gguf_apr_dtype_of_no_tensor", 4, "names no tensor", NULL,
	  { { 0 } }, dtype_of_no_tensor },
	{ "gguf_apr_dtype_unknown", 4, "a key of ours", NULL, { { 0 } }, dtype_unknown },
	{ "gguf_apr_dtype_other_size", 4, "takes 72 bytes, not 64", NULL,
	  { { 0 } }, dtype_other_size },
	{ "gguf_apr_shape_of_9_axes", 4, "a key of ours", NULL, { { 0 } }, shape_of_9_axes },
	{ "gguf_apr_dtype_without_shape", 4, "contradicts its apr.dtype.", NULL,
	  { { 0 } }, dtype_without_shape },
	{ "gguf_apr_dtype_twice", 4, "occurs twice", NULL, { { 0 } }, dtype_twice },
	{ "gguf_apr_scale_of_no_tensor", 4, "apr.scale.nobody names no tensor", NULL,
	  { { 0 } }, scale_of_no_tensor },
	{ "gguf_apr_scale_of_f32", 4, "contradicts its apr.scale.", NULL,
	  { { 0 } }, scale_of_f32 },
	{ "gguf_apr_scale_of_nothing", 4, "contradicts its apr.scale.", NULL,
	  { { 0 } }, scale_of_nothing },
	{ "gguf_apr_scale_infinite", 4, "a scale that is not finite", NULL,
	  { { 0 } }, scale_infinite },
	{ "gguf_apr_scale_nan", 4, "a scale that is not finite", NULL, { { 0 } }, scale_nan },
	{ "gguf_apr_scale_f64", 4, "a key of ours", NULL, { { 0 } }, scale_f64 },
	{ "gguf_apr_scale_list", 4, "a key of ours", NULL, { { 0 } }, scale_list },
	{ "gguf_apr_scale_without_zero", 4, "contradicts its apr.scale.", NULL,
	  { { 0 } }, scale_without_zero },
	{ "gguf_apr_zero_without_scale", 4, "a key of ours", NULL,
	  { { 0 } }, zero_without_scale },
	{ "gguf_apr_zero_u32", 4, "a key of ours", NULL, { { 0 } }, zero_u32 },
	{ "gguf_apr_zero_of_dtype", 4, "a key of ours", NULL, { { 0 } }, zero_of_dtype },
	{ "gguf_apr_scale_twice", 4, "metadata key apr.scale.t occurs twice", NULL,
	  { { 0 } }, scale_twice },
	{ "gguf_apr_scale_and_dtype", 4, "both apr.dtype. and apr.scale. keys", NULL,
	  { { 0 } }, scale_and_dtype },
	{ "gguf_apr_licence_as_string", 4, "a key of ours", NULL,
	  { { 0 } }, licence_as_string },
	{ "gguf_apr_reserve_holds_something", 4, "a key of ours", NULL,
	  { { 0 } }, reserve_short },
	{ "gguf_apr_reserve_long_holds_something", 4, "a key of ours", NULL,
	  { { 0 } }, reserve_long },
	{ "gguf_apr_reserve_twice", 4, "a key of ours", NULL, { { 0 } }, reserve_twice },
	{ "gguf_apr_reserve_as_string", 4, "a key of ours", NULL,
	  { { 0 } }, reserve_as_string },
	{ "gguf_apr_sign_of_wrong_size", 4, "apr.sign.0 has 100 bytes", NULL,
	  { { 0 } }, sign_of_wrong_size },
	{ "gguf_apr_prov_without_0", 4, "a key of ours", NULL, { { 0 } }, prov_without_0 },
	{ "gguf_apr_prov_not_json", 4, "is not valid JSON", NULL, { { 0 } }, prov_not_json },
	{ "gguf_apr_prov_too_long", 4, "a key of ours", NULL, { { 0 } }, prov_too_long },
	{ "gguf_apr_json_as_number", 4, "a key of ours", NULL, { { 0 } }, json_as_number },
	{ "gguf_apr_json_key_twice", 4, "metadata key config occurs twice", NULL,
	  { { 0 } }, json_key_twice },
};

static void
write_fault(struct folder *folder, const struct fault *f)
{
	struct gen g = { 0 };
	size_t i;

	(f->build ? f->build : mother)(&g);
	for (i = 0; i < sizeof f->edits / sizeof *f->edits; i++)
		edit(&g, &f->edits[i]);
	folder_file(folder, f->name, &g);
	folder_fault(folder, f->name, f->status, f->says, f->pipe);
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct gen g = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&folder, &faults[i]);
	/* The mother itself must pass; it has no line in the manifest. */
	mother(&g);
	folder_file(&folder, "good", &g);
	g.n = mark_at(&g, "data.end");
	folder_file(&folder, "good_unpadded", &g);
	gen_free(&g);
	return folder_close(&folder);
}
