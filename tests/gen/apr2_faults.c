/* apr2_faults: APR2 files with a single fault each. Offsets, sizes and checksums
 * are computed after the change, so that they are right unless they are the fault.
 * Status 0 in the manifest: not a fault, but unusual.
 */
#include "stream.h"

/* A file as its parts. */
struct parts {
	struct frames frames;   /* "metadata" is a frame only here, for its text */
	struct gen index, data, file;
	size_t before;          /* frames before the data, the metadata included */
	uint32_t flags;
};

#define NAMES 3
static const struct tensor {
	const char *name;
	uint8_t dtype, axes;
	uint64_t dims[2], offset, bytes;
} tensors[NAMES] = {
	{ "a", 0, 2, { 2, 3 }, 0, 24 },
	{ "b", 16, 2, { 1, 32 }, 64, 34 },
	{ "u", 64 + 60, 1, { 7, 0 }, 128, 32 },
};

/* The first n of the tensors. */
static void
put_index(struct gen *g, size_t n)
{
	static const char *const marks[NAMES][7] = {
		{ "a.length", "a.name", "a.dtype", "a.axes", "a.dims", "a.offset", "a.size" },
		{ "b.length", "b.name", "b.dtype", "b.axes", "b.dims", "b.offset", "b.size" },
		{ "u.length", "u.name", "u.dtype", "u.axes", "u.dims", "u.offset", "u.size" },
	};
	static const char *const raw[NAMES] = { "a.raw", "b.raw", "u.raw" };
	static const char *const flags[NAMES] = { "a.flags", "b.flags", "u.flags" };
	size_t i, k;

	mark(g, "count");
	put_u32(g, (uint32_t)n);
	mark(g, "reserved");
	put_u32(g, 0);
	for (i = 0; i < n; i++) {
		const struct tensor *t = &tensors[i];

		mark(g, marks[i][0]);
		put_number(g, strlen(t->name), 2);
		mark(g, marks[i][1]);
		put_text(g, t->name);
		mark(g, marks[i][2]);
		put_u8(g, t->dtype);
		mark(g, marks[i][3]);
		put_u8(g, t->axes);
		mark(g, marks[i][4]);
		for (k = 0; k < t->axes; k++)
			put_u64(g, t->dims[k]);
		mark(g, marks[i][5]);
		put_u64(g, t->offset);
		mark(g, marks[i][6]);
		put_u64(g, t->bytes);
		mark(g, raw[i]);
		put_u64(g, 0);
		mark(g, flags[i]);
		put_u32(g, 0);
	}
	mark(g, "index.end");
}

static void
put_data(struct gen *g)
{
	mark(g, "a.data");
	put_ramp(g, 24);
	put_align(g, 64);
	mark(g, "b.data");
	put_ramp(g, 34);
	put_align(g, 64);
	mark(g, "u.data");
	put_ramp(g, 32);
}

/* Aligned to 64, signed, quantized, streaming, from GGUF. */
#define FLAGS (0x002 | 0x020 | 0x040 | 0x080 | 0x200)

/* The mother: the file that our writer makes of the mother of streams, byte for byte. */
static void
apr2_mother(struct parts *m)
{
	struct frames stream = { 0 };
	struct gen *body;
	size_t i;

	m->flags = FLAGS;
	mother(&stream);
	put_frame(&m->frames, "metadata", "META",
	          "{\"apr_version\":\"2.0.0\",\"model_type\":\"llama\","
	          "\"architecture\":{\"name\":\"llama\"},\"source_format\":\"gguf\","
	          "\"quantization\":{\"method\":\"Q8_0\",\"bits_per_weight\":16},"
	          "\"config\":{\"a\": [1, 2.50]},"
	          "\"apr_stream\":{\"version\":1,\"source\":{\"format\":\"gguf\",\"version\":3},"
	          "\"metadata\":[[\"general.architecture\",\"string\",\"llama\"],"
	          "[\"config\",\"json\"],[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}]],"
	          "\"blobs\":[[\"value:ids\",\"value\",1042],[\"README\",\"text/plain\",5]],"
	          "\"licence\":4,\"provenance\":[13],\"signatures\":1}}");
	for (i = 0; i < stream.n; i++) {
		struct frame *f = &stream.list[i];

		if (strcmp(f->kind, "blob") != 0 && strcmp(f->kind, "lice") != 0)
			continue;
		body = put_frame(&m->frames, f->id, f->kind, f->head);
		put(body, f->body.p, f->body.n);
	}
	m->before = m->frames.n;
	put_index(&m->index, NAMES);
	put_data(&m->data);
	body = put_frame(&m->frames, "sums", "sums", "{\"checksum\":\"crc32\"}");
	for (i = 0; i < NAMES; i++)
		put_u32(body, crc32_of(m->data.p + tensors[i].offset, tensors[i].bytes));
	for (i = 0; i < stream.n; i++) {
		struct frame *f = &stream.list[i];

		if (strcmp(f->kind, "prov") != 0 && strcmp(f->kind, "sign") != 0)
			continue;
		body = put_frame(&m->frames, f->id, f->kind, f->head);
		put(body, f->body.p, f->body.n);
	}
	frames_free(&stream);
}

/* One of each part but the longest, to be cut and changed at every byte. */
static void
small(struct parts *m)
{
	m->flags = 0x002 | 0x080;
	put_frame(&m->frames, "metadata", "META",
	          "{\"apr_version\":\"2.0.0\",\"model_type\":\"unknown\","
	          "\"architecture\":{\"name\":\"unknown\"},\"source_format\":\"unknown\","
	          "\"apr_stream\":{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],"
	          "\"licence\":1,\"provenance\":[2],\"signatures\":0}}");
	put_text(put_frame(&m->frames, "lice", "lice", "{}"), "x");
	m->before = m->frames.n;
	put_index(&m->index, 1);
	put_ramp(&m->data, tensors[0].bytes);
	put_u32(put_frame(&m->frames, "sums", "sums", "{\"checksum\":\"crc32\"}"),
	        crc32_of(m->data.p, m->data.n));
	put_frame(&m->frames, "prov", "prov", "{}");
}

/* All except the footer. */
static void
assemble(struct parts *m)
{
	struct gen *g = &m->file;
	const struct frame *metadata = &m->frames.list[0];
	struct gen frames = { 0 };
	size_t i;

	for (i = 1; i < m->before; i++)
		write_frame(&frames, &m->frames.list[i]);
	mark(g, "magic");
	put_text(g, "APR2");
	mark(g, "major");
	put_number(g, 2, 2);
	mark(g, "minor");
	put_number(g, 0, 2);
	mark(g, "flags");
	put_u32(g, m->flags);
	mark(g, "metadata_offset");
	put_u32(g, 32);
	mark(g, "metadata_size");
	put_u32(g, (uint32_t)metadata->head_n);
	mark(g, "index_offset");
	put_u32(g, (uint32_t)(32 + metadata->head_n));
	mark(g, "index_size");
	put_u32(g, (uint32_t)m->index.n);
	mark(g, "data_offset");
	put_u32(g, (uint32_t)((32 + metadata->head_n + m->index.n + frames.n + 63) / 64 * 64));
	mark(g, "metadata");
	put(g, metadata->head, metadata->head_n);
	put(g, m->index.p, m->index.n);
	mark(g, "frames");
	put(g, frames.p, frames.n);
	mark(g, "padding");
	put_align(g, 64);
	mark(g, "data");
	put(g, m->data.p, m->data.n);
	put_align(g, 64);
	mark(g, "tail");
	for (i = m->before; i < m->frames.n; i++)
		write_frame(g, &m->frames.list[i]);
	gen_free(&frames);
}

static void
put_footer(struct gen *g)
{
	uint32_t crc = crc32_of(g->p, g->n);

	mark(g, "footer");
	put_u32(g, crc);
	mark(g, "footer.magic");
	put_text(g, "2RPA");
	mark(g, "footer.size");
	put_u64(g, g->n + 8);
	mark(g, "end");
}

static void
parts_free(struct parts *m)
{
	frames_free(&m->frames);
	gen_free(&m->index);
	gen_free(&m->data);
	gen_free(&m->file);
	*m = (struct parts){ 0 };
}

#define OWN "its member apr_stream has "
#define META(FROM, TO) .frames = { HEAD("metadata", FROM, TO) }
#define INDEX(...) .index = { __VA_ARGS__ }
#define FRAMES_(...) .frames = { __VA_ARGS__ }
#define FILE_(...) .file = { __VA_ARGS__ }
#define FOOTER(...) .footer = { __VA_ARGS__ }

#define ROW_ARCH "[\"general.architecture\",\"string\",\"llama\"]"
#define ROW_IDS "[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}]"
#define ROW_CONFIG "[\"config\",\"json\"]"

#define ZEROS64 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe;   /* pipe: the message for a pipe, if it differs */
	struct change frames[2];   /* of metadata and frames */
	struct edit index[2];      /* of the index */
	struct edit file[2];       /* of the file without its footer */
	struct edit footer[2];     /* of the whole file */
} faults[] = {
	/* Magic and version. */
	{ "apr2_magic_only", 4, "ends here", NULL, FOOTER(CUT("major")) },
	{ "apr2_magic_apr1", 4, "an APR1 file of an unknown layout", NULL,
	  FILE_(TEXT("magic", "APR1")) },
	{ "apr2_magic_aprn", 4, "UnsupportedVersion: is APRN version 2.0", NULL, FILE_(TEXT("magic", "APRN")) },
	{ "apr2_magic_apr0", 4, "its header is damaged", NULL,
	  FILE_(TEXT("magic", "APR\0")) },
	{ "apr2_magic_lower", 4, "not a model file of a known format", NULL,
	  FILE_(TEXT("magic", "apr2")) },
	{ "apr2_version_3_0", 4, "is APR version 3.0", NULL, FILE_(TEXT("major", "\3\0")) },
	{ "apr2_version_1_0", 4, "is APR version 1.0", NULL, FILE_(TEXT("major", "\1\0")) },
	{ "apr2_version_0_2", 4, "is APR version 0.2", NULL, FILE_(TEXT("major", "\0\0\2\0")) },
	{ "apr2_version_big_endian", 4, "is APR version 512.0", NULL,
	  FILE_(TEXT("major", "\0\2")) },
	{ "apr2_header_of_64_bytes", 4, "its header is damaged", NULL,
	  FILE_(SET64("metadata_offset", 64)) },

	/* Flags. */
	{ "apr2_flag_sharded", 4, "is one of several files, and the others cannot be found", NULL,
	  FILE_(SET32("flags", FLAGS | 0x008)) },
	{ "apr2_flag_encrypted", 4, "is an encrypted APR2 file", NULL,
	  FILE_(SET32("flags", FLAGS | 0x010)) },

	/* Sections. */
	{ "apr2_metadata_in_header", 4, "the metadata begins at byte 31", NULL,
	  FILE_(SET32("metadata_offset", 31)) },
	{ "apr2_metadata_after_hole", 4, "lies before the metadata", NULL,
	  FILE_(SET32("metadata_offset", 128)) },
	{ "apr2_metadata_offset_max", 4, "lies before the metadata", NULL,
	  FILE_(SET32("metadata_offset", UINT32_MAX)) },
	{ "apr2_metadata_size_0", 4, "lies before the index", NULL,
	  FILE_(SET32("metadata_size", 0)) },
	{ "apr2_metadata_size_too_long", 4, "the index begins at byte", NULL,
	  FILE_(ADD32("metadata_size", 1)) },
	{ "apr2_metadata_size_256_mib", 4, "the index begins at byte", NULL,
	  FILE_(SET32("metadata_size", 256 << 20)) },
	{ "apr2_metadata_size_over_256_mib", 4, "exceeds 256 MiB", NULL,
	  FILE_(SET32("metadata_size", (256 << 20) + 1)) },
	{ "apr2_metadata_size_max", 4, "exceeds 256 MiB", NULL,
	  FILE_(SET32("metadata_size", UINT32_MAX)) },
	{ "apr2_index_in_metadata", 4, "the index begins at byte 100", NULL,
	  FILE_(SET32("index_offset", 100)) },
	{ "apr2_index_after_hole", 4, "lies before the index", NULL,
	  FILE_(SET32("index_offset", 2000)) },
	{ "apr2_index_offset_max", 4, "lies before the index", NULL,
	  FILE_(SET32("index_offset", UINT32_MAX)) },
	{ "apr2_index_size_0", 4, "has no room for its header", NULL,
	  FILE_(SET32("index_size", 0)) },
	{ "apr2_index_size_7", 4, "has no room for its header", NULL,
	  FILE_(SET32("index_size", 7)) },
	{ "apr2_index_size_less", 4, "the index ends inside an entry", NULL,
	  FILE_(ADD32("index_size", -1)) },
	{ "apr2_index_size_more", 4, "are left in the index", NULL,
	  INDEX(INSERT("index.end", "x")) },
	{ "apr2_index_size_max", 4, "the data begins at byte", NULL,
	  FILE_(SET32("index_size", UINT32_MAX)) },
	{ "apr2_data_in_index", 4, "but the index ends at", NULL,
	  FILE_(SET32("data_offset", 64)) },
	{ "apr2_data_offset_0", 4, "but the index ends at", NULL,
	  FILE_(SET32("data_offset", 0)) },
	{ "apr2_data_offset_unaligned", 4, "not a multiple of 64", NULL,
	  FILE_(INSERT("padding", "\0"), ADD32("data_offset", 1)) },
	{ "apr2_data_offset_past_eof", 4, "it was cut short", "a hole of",
	  FILE_(SET32("data_offset", 1 << 20)) },
	{ "apr2_data_offset_max", 4, "it was cut short", "not a multiple of 64",
	  FILE_(SET32("data_offset", UINT32_MAX)) },
	{ "apr2_data_after_hole", 4, "bytes lies before the data", NULL,
	  FILE_(INSERT("padding", ZEROS64), ADD32("data_offset", 64)) },

	/* What other programs read of a model must follow from what is signed. */
#define NOT_DERIVED(x) "its member " x " is not what follows from its keys and tensors"
	{ "apr2_derived_version", 4, NOT_DERIVED("apr_version"), NULL, META("2.0.0", "2.1.0") },
	{ "apr2_derived_type", 4, NOT_DERIVED("model_type"), NULL,
	  META("\"model_type\":\"llama\"", "\"model_type\":\"qwen2\"") },
	{ "apr2_derived_type_missing", 4, NOT_DERIVED("model_type"), NULL,
	  META("\"model_type\":\"llama\",", "") },
	{ "apr2_derived_architecture", 4, NOT_DERIVED("architecture"), NULL,
	  META("{\"name\":\"llama\"}", "{\"name\":\"qwen2\"}") },
	{ "apr2_derived_parameter", 4, NOT_DERIVED("architecture"), NULL,
	  META("{\"name\":\"llama\"}", "{\"name\":\"llama\",\"rope.freq_base\":5}") },
	{ "apr2_derived_source", 4, NOT_DERIVED("source_format"), NULL,
	  META("\"source_format\":\"gguf\"", "\"source_format\":\"onnx\"") },
	{ "apr2_derived_quantization", 4, NOT_DERIVED("quantization"), NULL,
	  META("weight\":16", "weight\":4.5") },
	{ "apr2_derived_quantization_missing", 4, NOT_DERIVED("quantization"), NULL,
	  META("\"quantization\":{\"method\":\"Q8_0\",\"bits_per_weight\":16},", "") },
	/* Metadata. */
	{ "apr2_json_cut", 4, "no name of a member", NULL, META("\"signatures\":1}}", "") },
	{ "apr2_json_nul_after_number", 4, "neither a comma nor the end", NULL,
	  META("\"signatures\":1}}", "\"signatures\":1\0}}") },
	{ "apr2_json_array", 4, "is not JSON at byte 32: not an object", NULL, META("{\"apr_version\":\"2.0.0\",", "[") },
	{ "apr2_json_duplicate", 4, "metadata key model_type occurs twice", NULL,
	  META("\"model_type\":\"llama\"", "\"model_type\":\"llama\",\"model_type\":\"x\"") },
	{ "apr2_json_duplicate_deep", 4, "the object that ends here have one name", NULL,
	  META("{\"a\": [1, 2.50]}", "{\"a\":1,\"a\":2}") },
	{ "apr2_json_duplicate_in_list", 4, "the object that ends here have one name", NULL,
	  META("[1, 2.50]", "[{\"b\":{}},{\"b\":1,\"c\":[],\"b\":{}}]") },
	{ "apr2_json_duplicate_escaped", 4, "the object that ends here have one name", NULL,
	  META("{\"a\": [1, 2.50]}",
	       "{\"a\xc3\xa9\xf0\x9f\x98\x80\":1,\"\\u0061\\u00e9\\ud83d\\ude00\":2}") },
	{ "apr2_json_not_utf8", 4, "a string that is not UTF-8", NULL,
	  META("\"model_type\":\"llama\"", "\"model_type\":\"\xff\"") },
	{ "apr2_json_nul", 4, "a NUL in a string", NULL,
	  META("\"model_type\":\"llama\"", "\"model_type\":\"\\u0000\"") },
	{ "apr2_json_two_values", 4, "something after its end", NULL,
	  META("\"signatures\":1}}", "\"signatures\":1}}{}") },
	{ "apr2_json_too_large_number", 4, "a number that is too large", NULL,
	  META("weight\":16", "weight\":1e999") },
	{ "apr2_json_too_large_integer", 4, "a number that is too large", NULL,
	  META("[1, 2.50]", "[9223372036854775808]") },
	{ "apr2_json_too_small_integer", 4, "a number that is too large", NULL,
	  META("[1, 2.50]", "[-9223372036854775809]") },
	{ "apr2_plan_version_2", 4, "its plan has version 2", NULL,
	  META("\"apr_stream\":{\"version\":1", "\"apr_stream\":{\"version\":2") },
	{ "apr2_plan_not_an_object", 4, OWN "no list of metadata or blobs", NULL,
	  META("\"apr_stream\":{", "\"apr_stream\":7,\"x\":{") },
	{ "apr2_plan_without_metadata", 4, OWN "no list of metadata or blobs", NULL,
	  META("\"metadata\"", "\"meta\"") },
	{ "apr2_plan_without_blobs", 4, OWN "no list of metadata or blobs", NULL,
	  META("\"blobs\"", "\"blob\"") },
	{ "apr2_plan_with_tensors", 4, "its plan has a bad tensor list", NULL,
	  META("\"licence\":4", "\"licence\":4,\"tensors\":[]") },
	{ "apr2_plan_source_missing", 4, "its plan has a bad source", NULL,
	  META("\"source\"", "\"sauce\"") },
	{ "apr2_plan_row_without_member", 4, "a key whose member is not there", NULL,
	  META(ROW_CONFIG, "[\"configuration\",\"json\"]") },
	{ "apr2_plan_row_of_own_member", 4, "a key whose member is not there", NULL,
	  META(ROW_CONFIG, "[\"apr_stream\",\"json\"]") },
	{ "apr2_plan_row_of_other_type", 4, OWN "a bad metadata row", NULL,
	  META(ROW_CONFIG, "[\"config\",\"string\"]") },
	{ "apr2_plan_rows_out_of_order", 4, "or out of order", NULL,
	  META(ROW_ARCH "," ROW_CONFIG, ROW_CONFIG ",[\"apr_version\",\"json\"]") },
	{ "apr2_plan_row_twice", 4, "or out of order", NULL,
	  META(ROW_ARCH, ROW_CONFIG) },
	{ "apr2_plan_key_twice", 4, "metadata key config occurs twice", NULL,
	  META(ROW_ARCH, "[\"config\",\"u8\",1]") },
	{ "apr2_plan_empty_not_a_list", 4, "its list of empty tensors is not one", NULL,
	  META("\"licence\":4", "\"licence\":4,\"empty\":{}") },
	{ "apr2_plan_empty_too_large", 4, "its list of empty tensors is not one", NULL,
	  META("\"licence\":4", "\"licence\":4,\"empty\":[3]") },
	{ "apr2_plan_empty_of_full", 4, "its list of empty tensors is not one", NULL,
	  META("\"licence\":4", "\"licence\":4,\"empty\":[0]") },
	{ "apr2_plan_blob_of_no_key", 4, "a value that no key names", NULL,
	  META(ROW_IDS, "[\"ids\",\"u8\",1]") },
	{ "apr2_plan_value_of_other_type", 4, "is not the value that its key announces", NULL,
	  META("array:u8", "array:string") },

	/* The index. */
	{ "apr2_count_one_more", 4, "the index ends inside an entry", NULL, INDEX(SET32("count", 4)) },
	{ "apr2_count_one_less", 4, "are left in the index", NULL, INDEX(SET32("count", 2)) },
	{ "apr2_count_0", 4, "are left in the index", NULL, INDEX(SET32("count", 0)) },
	{ "apr2_count_max", 4, "does not fit", NULL, INDEX(SET32("count", UINT32_MAX)) },
	{ "apr2_name_length_0", 4, "a tensor without a name", NULL,
	  INDEX(TEXT("a.length", "\0\0")) },
	{ "apr2_name_length_past_index", 4, "the index ends inside an entry", NULL,
	  INDEX(TEXT("a.length", "\377\377")) },
	{ "apr2_name_not_utf8", 4, "name is not UTF-8", NULL, INDEX(TEXT("a.name", "\x80")) },
	{ "apr2_name_nul", 4, "name is not UTF-8", NULL, INDEX(SET8("a.name", 0)) },
	{ "apr2_name_twice", 4, "b: occurs twice in the index", NULL,
	  INDEX(TEXT("a.name", "b")) },
	{ "apr2_names_unsorted", 4, "the index is not sorted", NULL, INDEX(TEXT("a.name", "c")) },
	{ "apr2_dtype_15", 4, "has the dtype code 15", NULL, INDEX(SET8("a.dtype", 15)) },
	{ "apr2_dtype_21", 4, "has the dtype code 21", NULL, INDEX(SET8("a.dtype", 21)) },
	{ "apr2_dtype_31", 4, "has the dtype code 31", NULL, INDEX(SET8("a.dtype", 31)) },
	{ "apr2_dtype_41", 4, "has the dtype code 41", NULL, INDEX(SET8("a.dtype", 41)) },
	{ "apr2_dtype_47", 4, "has the dtype code 47", NULL, INDEX(SET8("a.dtype", 47)) },
	{ "apr2_dtype_51_unlisted", 4, "has a dtype by name, and no such name is listed", NULL,
	  INDEX(SET8("a.dtype", 51)) },
	{ "apr2_types_too_many", 4, "more names of types are listed", NULL,
	  META("\"licence\":4", "\"licence\":4,\"types\":[\"MY4[32,18]\"]") },
	{ "apr2_dtype_52", 4, "has the dtype code 52", NULL, INDEX(SET8("a.dtype", 52)) },
	{ "apr2_dtype_63", 4, "has the dtype code 63", NULL, INDEX(SET8("a.dtype", 63)) },
	{ "apr2_dtype_64_is_f32", 4, "has the dtype code 64", NULL, INDEX(SET8("a.dtype", 64)) },
	{ "apr2_dtype_128", 4, "has the dtype code 128", NULL, INDEX(SET8("a.dtype", 128)) },
	{ "apr2_dtype_255", 4, "has the dtype code 255", NULL, INDEX(SET8("a.dtype", 255)) },
	{ "apr2_axes_9", 4, "9 dimensions, at most 8", NULL,
	  INDEX(SET8("a.axes", 9), INSERT("a.dims", "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
	        "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
	        "\1\0\0\0\0\0\0\0")) },
	{ "apr2_axes_255", 4, "255 dimensions, at most 8", NULL, INDEX(SET8("a.axes", 255)) },
	{ "apr2_dims_product_wraps", 4, "product of its dimensions overflows", NULL,
	  INDEX(SET64("a.dims", ((uint64_t)1 << 63) + 2)) },
	{ "apr2_dims_bytes_wrap", 4, "its size in bytes overflows", NULL,
	  INDEX(SET64("a.dims", ((uint64_t)1 << 61) + 2)) },
	{ "apr2_dims_negative", 4, "overflows", NULL, INDEX(SET64("a.dims", -2)) },
	{ "apr2_dims_0", 4, "takes 0 bytes, not 24", NULL, INDEX(SET64("a.dims", 0)) },
	{ "apr2_dims_of_other_size", 4, "takes 36 bytes, not 24", NULL,
	  INDEX(SET64("a.dims", 3)) },
	{ "apr2_row_of_blocks", 4, "Q8_0 needs rows of 32, got 1", NULL,
	  INDEX(TEXT("b.dims", "\40\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0")) },
	{ "apr2_size_one_less", 4, "takes 24 bytes, not 23", NULL, INDEX(SET64("a.size", 23)) },
	{ "apr2_size_max", 4, "takes 24 bytes, not 18446744073709551615", NULL,
	  INDEX(SET64("a.size", UINT64_MAX)) },
	{ "apr2_size_of_unknown_past_eof", 4, "bytes of data", NOT_DERIVED("quantization"),
	  INDEX(SET64("u.size", 1 << 20)) },
	{ "apr2_size_of_unknown_overflows", 4, "overflows", NULL,
	  INDEX(SET64("u.size", UINT64_MAX - 1)) },
	{ "apr2_size_of_unknown_max", 4, "the size of type GGML_60 is not known", NULL,
	  INDEX(SET64("u.size", UINT64_MAX)) },
	{ "apr2_raw_size", 4, "is stored compressed, from 24 bytes", NULL,
	  INDEX(SET64("a.raw", 24)) },
	{ "apr2_entry_lz4", 4, "is stored with lz4", NULL, INDEX(SET32("a.flags", 1)) },
	{ "apr2_entry_zstd", 4, "is stored with zstd", NULL, INDEX(SET32("a.flags", 2)) },
	{ "apr2_entry_sealed", 4, "is sealed, but the metadata says", NULL, INDEX(SET32("a.flags", 4)) },
	{ "apr2_entry_sparse", 4, "is stored sparse", NULL, INDEX(SET32("a.flags", 8)) },
	{ "apr2_entry_unknown_flag", 4, "the unknown flags 0x80000000", NULL,
	  INDEX(SET32("a.flags", 0x80000000)) },
	{ "apr2_offset_unaligned", 4, "is not a multiple of 64", NULL,
	  INDEX(SET64("b.offset", 32)) },
	{ "apr2_offset_same", 4, "overlaps the tensor before it", NULL,
	  INDEX(SET64("b.offset", 0)) },
	{ "apr2_offset_hole", 4, "a hole of 64 bytes lies before it", NULL,
	  INDEX(SET64("u.offset", 192)) },
	{ "apr2_offset_first", 4, "a hole of 64 bytes lies before it", NULL,
	  INDEX(SET64("a.offset", 64), SET64("b.offset", 128)) },
	{ "apr2_offset_past_eof", 4, "a hole of", NULL, INDEX(SET64("u.offset", 1 << 20)) },
	{ "apr2_offset_negative", 4, "u: its offset 18446744073709551552 is wrong", NULL,
	  INDEX(SET64("u.offset", -64)) },

	/* Frames before the data. */
	{ "apr2_blob_crc_of_head", 4, "blob: the CRC of its head differs", NULL,
	  FRAMES_(HEAD_CRC("ids")) },
	{ "apr2_blob_crc_of_body", 4, "blob: the CRC of its body differs", NULL,
	  FRAMES_(BODY_CRC("README")) },
	{ "apr2_blob_other_name", 4, "it contradicts its metadata, which has README here", NULL,
	  FRAMES_(HEAD("README", "README", "READYOU")) },
	{ "apr2_blob_other_size", 4, "a body of 4 bytes, but its metadata announces 5", NULL,
	  FRAMES_(BODY("README", "hell")) },
	{ "apr2_blob_missing", 4, "that the metadata announces is not there", NULL,
	  FRAMES_(DROP("README")) },
	{ "apr2_blob_twice", 4, "blob: one more than its metadata announces", NULL,
	  FRAMES_(TWICE("README")) },
	{ "apr2_blobs_swapped", 4, "which has value:ids here", NULL, FRAMES_(SWAP("ids")) },
	{ "apr2_blob_after_licence", 4, "blob: out of order", NULL, FRAMES_(SWAP("README")) },
	{ "apr2_blob_into_data", 4, "blob: it reaches into the tensor data", NULL,
	  FRAMES_(BODY_SAYS("README", 500)) },
	{ "apr2_blob_body_length_max", 4, "exceeds the", "blob: it reaches into the tensor data",
	  FRAMES_(BODY_SAYS("README", UINT64_MAX)) },
	{ "apr2_blob_head_length_past_eof", 4, "exceeds the", "ends here",
	  FRAMES_(HEAD_SAYS("README", 100000)) },
	{ "apr2_licence_missing", 4, "that the metadata announces is not there", NULL,
	  FRAMES_(DROP("lice")) },
	{ "apr2_licence_twice", 4, "lice: one more than its metadata announces", NULL,
	  FRAMES_(TWICE("lice")) },
	{ "apr2_licence_other_size", 4, "a body of 3 bytes, but its metadata announces 4", NULL,
	  FRAMES_(BODY("lice", "MIT")) },
	{ "apr2_licence_not_json", 4, "is not valid JSON", NULL,
	  FRAMES_(HEAD("lice", "{}", "{")) },
	{ "apr2_unknown_upper_before_data", 4, "SPAR: a frame that this tool does not know",
	  NULL, FRAMES_(KIND("lice", "SPAR")) },
	{ "apr2_sign_before_data", 4, "sign: out of order", NULL,
	  FRAMES_(KIND("lice", "sign")) },

	/* Data. The sums name the tensor, and without them the footer knows. */
	{ "apr2_data_changed", 4, "a: its data is damaged", NULL,
	  FILE_(SET8("data", 0)) },
	{ "apr2_sums_changed", 4, "a: its data is damaged", NULL,
	  FRAMES_(BODY("sums", "\0\0\0\0\0\0\0\0\0\0\0\0")) },
	{ "apr2_data_changed_and_footer_not", 4, "is damaged: its CRC is", NULL,
	  FRAMES_(DROP("sums")), FOOTER(SET8("data", 0)) },
	{ "apr2_sums_of_2_tensors", 4, "sums: a body of 8 bytes for 3 tensors", NULL,
	  FRAMES_(BODY("sums", "\0\0\0\0\0\0\0\0")) },
	{ "apr2_sums_twice", 4, "sums: out of order", NULL, FRAMES_(TWICE("sums")) },
	{ "apr2_sums_after_prov", 4, "sums: out of order", NULL, FRAMES_(SWAP("sums")) },
	{ "apr2_sums_crc", 4, "sums: the CRC of its body differs", NULL,
	  FRAMES_(BODY_CRC("sums")) },

	/* Frames after the data. */
	{ "apr2_prov_missing", 4, "a prov or sign frame that the metadata announces", NULL,
	  FRAMES_(DROP("prov")) },
	{ "apr2_prov_twice", 4, "prov: one more than its metadata announces", NULL,
	  FRAMES_(TWICE("prov")) },
	{ "apr2_prov_longer", 4, "prov: a head of 14 bytes instead of 13", NULL,
	  FRAMES_(HEAD("prov", "it", "its")) },
	{ "apr2_prov_with_body", 4, "prov: a body of 1 bytes", NULL, FRAMES_(BODY("prov", "x")) },
	{ "apr2_prov_not_json", 4, "is not valid JSON", NULL,
	  FRAMES_(HEAD("prov", "it\"}", "it\"]")) },
	{ "apr2_prov_after_sign", 4, "prov: out of order", NULL, FRAMES_(SWAP("prov")) },
	{ "apr2_sign_missing", 4, "a prov or sign frame that the metadata announces", NULL,
	  FRAMES_(DROP("sign")) },
	{ "apr2_sign_twice", 4, "sign: one more than its metadata announces", NULL,
	  FRAMES_(TWICE("sign")) },
	{ "apr2_sign_shorter", 4, "sign: a body of 1 bytes", NULL, FRAMES_(BODY("sign", "x")) },
	{ "apr2_sign_crc", 4, "sign: the CRC of its body differs", NULL,
	  FRAMES_(BODY_CRC("sign")) },
	{ "apr2_blob_after_data", 4, "blob: out of order", NULL, FRAMES_(KIND("prov", "blob")) },
	{ "apr2_unknown_upper_after_data", 4, "SPAR: a frame that this tool does not know", NULL,
	  FRAMES_(KIND("prov", "SPAR")) },
	{ "apr2_done_after_data", 4, "DONE: a frame that this tool does not know", NULL,
	  FRAMES_(BEFORE("sign", "DONE", "{\"tensors\":3}")) },
	{ "apr2_frame_is_none", 4, "neither a frame nor the footer begins here", NULL,
	  FRAMES_(KIND("prov", "pro5")) },

	/* The end. */
	{ "apr2_footer_missing", 4, "ends before its footer", NULL, FOOTER(CUT("footer")) },
	{ "apr2_footer_cut", 4, "ends before its footer", NULL, FOOTER(CUT("footer.size")) },
	{ "apr2_footer_magic", 4, "neither a frame nor the footer begins here", NULL,
	  FOOTER(TEXT("footer", "\0\0\0\0ARP2")) },
	{ "apr2_footer_crc", 4, "is damaged: its CRC is", NULL,
	  FOOTER(TEXT("footer", "\1\2\3\4")) },
	{ "apr2_footer_size_less", 4, "the footer says 1000 bytes", NULL,
	  FOOTER(SET64("footer.size", 1000)) },
	{ "apr2_footer_size_max", 4, "the footer says 18446744073709551615 bytes", NULL,
	  FOOTER(SET64("footer.size", UINT64_MAX)) },
	{ "apr2_padding_changed", 4, "is damaged: its CRC is", NULL,
	  FOOTER(SET8("padding", 1)) },

	/* Oddities that are not faults: a warning, and an error only with --strict. */
	{ "apr2_odd_flag", 0, "the flags 0x400 have no known meaning", NULL,
	  FILE_(SET32("flags", FLAGS | 0x400)) },
	{ "apr2_odd_flag_compressed", 0, "is marked as compressed, but no tensor is", NULL,
	  FILE_(SET32("flags", FLAGS | 0x001)) },
	{ "apr2_odd_trailing_byte", 0, "1 bytes after its footer are ignored", NULL,
	  FOOTER(TAIL("\0")) },
	{ "apr2_odd_trailing_file", 0, "bytes after its footer are ignored", NULL,
	  FOOTER(TAIL("APR2\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")) },
};
#define EDITS(X) (X), sizeof(X) / sizeof *(X)

static void
edit_all(struct gen *g, const struct edit *edits, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		edit(g, &edits[i]);
}

/* Where a frame comes or goes before the data, the border moves. */
static void
change_parts(struct parts *m, const struct change *changes, size_t n)
{
	size_t i, at, all;

	for (i = 0; i < n; i++) {
		if (changes[i].op == CHANGE_NONE)
			continue;
		at = (size_t)(frame_by(&m->frames, changes[i].id) - m->frames.list);
		all = m->frames.n;
		change_frames(&m->frames, &changes[i]);
		if (at < m->before)
			m->before += m->frames.n - all;
	}
}

static void
write_fault(struct folder *folder, const struct fault *f)
{
	struct parts m = { 0 };

	apr2_mother(&m);
	change_parts(&m, EDITS(f->frames));
	edit_all(&m.index, EDITS(f->index));
	assemble(&m);
	edit_all(&m.file, EDITS(f->file));
	put_footer(&m.file);
	edit_all(&m.file, EDITS(f->footer));
	folder_file(folder, f->name, &m.file);
	folder_fault(folder, f->name, f->status, f->says, f->pipe);
	parts_free(&m);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct parts m = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&folder, &faults[i]);
	/* These must pass; they have no line in the manifest. */
	apr2_mother(&m);
	assemble(&m);
	put_footer(&m.file);
	folder_file(&folder, "good", &m.file);
	parts_free(&m);
	small(&m);
	assemble(&m);
	put_footer(&m.file);
	folder_file(&folder, "good_small", &m.file);
	parts_free(&m);
	return folder_close(&folder);
}
