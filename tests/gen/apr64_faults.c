/* apr64_faults: APR files with the header of 64 bytes, with a single fault each, and
 * other files that begin with their magic. Offsets, sizes and checksums are computed
 * after the change, so that they are right unless they are the fault. Status 0 in the
 * manifest: not a fault, but unusual.
 */
#include "apr64.h"

#define OWN "{\"version\":1,\"source\":{\"format\":\"gguf\",\"version\":3}," \
	"\"metadata\":[[\"general.architecture\",\"string\",\"llama\"],[\"config\",\"json\"]," \
	"[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}]]," \
	"\"blobs\":[[\"value:ids\",\"value\",1042],[\"README\",\"text/plain\",5]]," \
	"\"licence\":4,\"provenance\":[13],\"signatures\":1}"
#define TYPES "{\"b\":[\"Q8_0\",[1,32]],\"u\":[\"GGML_60\",[7]]}"

static void
put_member(struct gen *g, const char *name, const void *p, size_t n)
{
	put_text(g, ",\"");
	put_text(g, name);
	put_text(g, "\":");
	put_base64(g, p, n);
}

/* The mother: what our own writer makes of it, to the byte. */
static void
apr64_mother(struct apr64 *m)
{
	static const uint64_t dims[] = { 2, 3 }, b[] = { 34 }, u[] = { 32 };
	struct frames stream = { 0 };
	struct frame *f;
	struct gen sign = { 0 };

	mother(&stream);
	m->flags = 0x400;
	put_text(&m->text, "{\"model_type\":\"llama\",\"license\":null,\"architecture\":\"llama\","
	         "\"data_source\":null,\"data_license\":null,\"original_format\":\"gguf\","
	         "\"total_size\":90,\"param_count\":45,\"config\":{\"a\": [1, 2.50]},"
	         "\"apr_stream\":" OWN ",\"apr_tensors\":" TYPES);
	f = frame_by(&stream, "ids");
	put_member(&m->text, "apr.blob.value:ids", f->body.p, f->body.n);
	put_member(&m->text, "apr.blob.README", "hello", 5);
	put_member(&m->text, "apr.licence", "free", 4);
	put_member(&m->text, "apr.prov.0", "{\"what\":\"it\"}", 13);
	f = frame_by(&stream, "sign");
	put(&sign, f->head, f->head_n);
	put(&sign, f->body.p, f->body.n);
	put_member(&m->text, "apr.sign.0", sign.p, sign.n);
	put_text(&m->text, "}");
	mark(&m->index, "a");
	apr64_entry(m, "a", 0, 2, dims, 0, 24);
	mark(&m->index, "b");
	apr64_entry(m, "b", 7, 1, b, 64, 34);
	mark(&m->index, "u");
	apr64_entry(m, "u", 7, 1, u, 128, 32);
	put_ramp(&m->data, 24);
	put_align(&m->data, 64);
	put_ramp(&m->data, 34);
	put_align(&m->data, 64);
	put_ramp(&m->data, 32);
	gen_free(&sign);
	frames_free(&stream);
}

/* One of each part but the longest, to be cut and changed at every byte. */
static void
small(struct apr64 *m)
{
	static const uint64_t dims[] = { 2 };

	m->flags = 0x400;
	put_text(&m->text, "{\"model_type\":\"unknown\",\"license\":null,\"data_source\":null,"
	         "\"data_license\":null,\"total_size\":8,\"param_count\":2,\"k\":[1],\"apr_stream\":{\"version\":1,\"source\":{},\"metadata\":["
	         "[\"k\",\"json\"]],\"blobs\":[],\"licence\":1,\"signatures\":0},"
	         "\"apr.licence\":\"eA==\"}");
	apr64_entry(m, "a", 0, 1, dims, 0, 8);
	put_ramp(&m->data, 8);
}

/* Offsets of an entry's fields, from its beginning: its name has one byte. */
#define NAME_AT 2
#define CODE_AT 3
#define AXES_AT 4
#define DIMS_AT 5

/* The text FROM, which stands in the metadata once, becomes TO. */
struct replace {
	const char *from, *to;
	size_t n;
};
#define META(FROM, TO) .text = { FROM, TO, sizeof(TO) - 1 }

/* A number of the index: entry, offset in it, value, width. */
struct poke {
	const char *entry;
	unsigned at, width;
	uint64_t value;
};
#define INDEX(...) .index = { __VA_ARGS__ }
#define HEADER(...) .header = { __VA_ARGS__ } /* the file, before its checksums */
#define AFTER(...) .after = { __VA_ARGS__ }   /* and after them */

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: the message for a pipe, if it differs */
	struct replace text;
	struct poke index[3];
	struct edit header[3], after[3];
} faults[] = {
	/* The header. */
	{ "apr64_magic_only", 4, "ends here", NULL, AFTER(CUT("major")) },
	{ "apr64_header_cut", 4, "ends here", NULL, AFTER(CUT("zeros")) },
	{ "apr64_header_only", 4, "cut short", "ends here", AFTER(CUT("metadata")) },
	{ "apr64_header_crc", 4, "its header is damaged: its CRC is", NULL,
	  AFTER(ADD32("header_crc", 1)) },
	{ "apr64_header_changed", 4, "its header is damaged: its CRC is", NULL,
	  AFTER(SET8("zeros", 1)) },
	{ "apr64_version_3", 4, "is APR version 3.0", NULL, HEADER(SET8("major", 3)) },
	{ "apr64_version_0", 4, "is APR version 0.0", NULL, HEADER(SET8("major", 0)) },
	{ "apr64_flag_encrypted", 4, "is an encrypted APR file", NULL,
	  HEADER(TEXT("flags", "\4\4")) },
	{ "apr64_flag_column_major", 4, "is an APR file whose tensors lie in columns", NULL,
	  HEADER(TEXT("flags", "\0\x0c")) },
	{ "apr64_compressed", 4, "is an APR file that is compressed as a whole", NULL,
	  HEADER(TEXT("flags", "\1\4"), TEXT("metadata", "\1\2\3\4")) },
	{ "apr64_count_1_more", 4, "a tensor without a name", NULL, HEADER(SET32("count", 4)) },
	{ "apr64_count_1_less", 4, "metadata key apr.sign.0, which is one of ours", NULL, HEADER(SET32("count", 2)) },
	{ "apr64_count_max", 4, "an index of 4294967295 tensors does not fit", NULL,
	  HEADER(SET32("count", UINT32_MAX)) },
	{ "apr64_metadata_at_0", 4, "the metadata begins at byte 0 instead of 64", NULL,
	  HEADER(SET64("metadata_offset", 0)) },
	{ "apr64_metadata_at_128", 4, "the metadata begins at byte 128 instead of 64", NULL,
	  HEADER(SET64("metadata_offset", 128)) },
	{ "apr64_metadata_size_0", 4, "a hole of", NULL, HEADER(SET32("metadata_size", 0)) },
	{ "apr64_metadata_size_less", 4, "is not JSON", NULL, HEADER(ADD32("metadata_size", -1)) },
	{ "apr64_metadata_size_more", 4, "lies before it ends at", NULL, HEADER(ADD32("metadata_size", 1)) },
	{ "apr64_metadata_size_max", 4, "metadata of 4294967295 bytes exceeds 256 MiB", NULL,
	  HEADER(SET32("metadata_size", UINT32_MAX)) },
	{ "apr64_metadata_size_256_mib", 4, "the index begins at byte", NULL,
	  HEADER(SET32("metadata_size", 256u << 20)) },
	{ "apr64_index_at_0", 4, "the index begins at byte 0, but", NULL,
	  HEADER(SET64("index_offset", 0)) },
	{ "apr64_index_at_max", 4, "bytes lies before the index", NULL,
	  HEADER(SET64("index_offset", UINT64_MAX)) },
	{ "apr64_data_at_0", 4, "the data begins at byte 0, but the index at", NULL,
	  HEADER(SET64("data_offset", 0)) },
	{ "apr64_data_at_less", 4, "an index of 3 tensors does not fit into its 0 bytes", NULL,
	  HEADER(SET64("data_offset", 5056)) },
	{ "apr64_data_at_max", 4, "its data begins at byte 18446744073709551615",
	  "bytes are left in the index", HEADER(SET64("data_offset", UINT64_MAX)) },

	/* The metadata: JSON, and strictly so. */
	{ "apr64_json_list", 4, "byte 64: not an object", NULL, HEADER(TEXT("metadata", "[")) },
	{ "apr64_json_no_value", 4, "byte 78: no value", NULL, META("\"llama\",\"lic", "x,\"lic") },
	{ "apr64_json_no_colon", 4, "no colon", NULL, META("{\"model_type\":", "{\"model_type\"") },
	{ "apr64_json_no_name", 4, "no name of a member", NULL,
	  META("{\"model_type\":", "{model_type:") },
	{ "apr64_json_no_comma", 4, "neither a comma nor the end", NULL,
	  META(":null,\"arch", ":null\"arch") },
	{ "apr64_json_comma_at_end", 4, "no name of a member", NULL, META("TFNa\"}", "TFNa\",}") },
	{ "apr64_json_two", 4, "something after its end", NULL, META("TFNa\"}", "TFNa\"}{}") },
	{ "apr64_json_number_plus", 4, "no value", NULL, META(":90,", ":+90,") },
	{ "apr64_json_number_zero", 4, "neither a comma nor the end", NULL, META(":90,", ":090,") },
	{ "apr64_json_number_point", 4, "a number without digits", NULL, META(":90,", ":90.,") },
	{ "apr64_json_number_exponent", 4, "a number without digits", NULL,
	  META(":90,", ":90e+,") },
	{ "apr64_json_number_minus", 4, "a number without digits", NULL, META(":90,", ":-,") },
	{ "apr64_json_word", 4, "no value", NULL, META("\"data_license\":null", "\"x\":nul") },
	{ "apr64_json_escape", 4, "an escape that JSON does not have", NULL,
	  META("\"license\"", "\"\\x\"") },
	{ "apr64_json_unit", 4, "no hexadecimal digit", NULL,
	  META("\"license\":null", "\"license\":\"\\u00g0\"") },
	{ "apr64_json_half_pair", 4, "half a pair of surrogates", NULL,
	  META("\"license\":null", "\"license\":\"\\ud800\"") },
	{ "apr64_json_low_first", 4, "half a pair of surrogates", NULL,
	  META("\"license\":null", "\"license\":\"\\udc00\\ud800\"") },
	{ "apr64_json_control", 4, "a control character in a string", NULL,
	  META("\"license\":null", "\"license\":\"\n\"") },
	{ "apr64_json_nul", 4, "a control character in a string", NULL,
	  META("\"license\":null", "\"license\":\"\0\"") },
	{ "apr64_json_not_utf8", 4, "a string that is not UTF-8", NULL,
	  META("\"license\":null", "\"license\":\"\xff\"") },
	{ "apr64_json_overlong", 4, "a string that is not UTF-8", NULL,
	  META("\"license\":null", "\"license\":\"\xe0\x80\x80\"") },
	{ "apr64_json_surrogate", 4, "a string that is not UTF-8", NULL,
	  META("\"license\":null", "\"license\":\"\xed\xa0\x80\"") },
	{ "apr64_json_too_high", 4, "a string that is not UTF-8", NULL,
	  META("\"license\":null", "\"license\":\"\xf4\x90\x80\x80\"") },
	{ "apr64_json_cut_character", 4, "a string that is not UTF-8", NULL,
	  META("\"license\":null", "\"license\":\"\xc3\"") },
	{ "apr64_json_name_nul", 4, "is not valid JSON", NULL,
	  META("\"license\"", "\"\\u0000\"") },
	{ "apr64_json_name_twice", 4, "metadata key license occurs twice", NULL,
	  META("\"data_source\":", "\"lic\\u0065nse\":") },
	{ "apr64_json_name_empty", 4, "a metadata key is not UTF-8 text", NULL,
	  META("\"license\"", "\"\"") },

	/* What other programs read of a model must follow from what is signed. */
#define NOT_DERIVED(x) "its member " x " is not what follows from its keys and tensors"
	{ "apr64_derived_type", 4, NOT_DERIVED("model_type"), NULL,
	  META("{\"model_type\":\"llama\"", "{\"model_type\":\"qwen2\"") },
	{ "apr64_derived_missing", 4, NOT_DERIVED("architecture"), NULL,
	  META("\"architecture\":\"llama\",", "") },
	{ "apr64_derived_licence", 4, NOT_DERIVED("license"), NULL,
	  META("\"license\":null", "\"license\":\"MIT\"") },
	{ "apr64_derived_count", 4, NOT_DERIVED("param_count"), NULL,
	  META("\"param_count\":45", "\"param_count\":46") },
	{ "apr64_derived_rope", 4, NOT_DERIVED("rope_theta"), NULL,
	  META("\"license\":null", "\"rope_theta\":5,\"license\":null") },
	{ "apr64_derived_context", 4, NOT_DERIVED("max_position_embeddings"), NULL,
	  META("\"license\":null", "\"max_position_embeddings\":5,\"license\":null") },
	{ "apr64_derived_vocabulary", 4, NOT_DERIVED("tokenizer.vocabulary"), NULL,
	  META("\"license\":null", "\"tokenizer.vocabulary\":[\"a\"],\"license\":null") },

	/* Our own members. */
	{ "apr64_own_is_list", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("\"apr_stream\":" OWN, "\"apr_stream\":[]") },
	{ "apr64_own_version", 4, "its plan has version 2", NULL,
	  META("{\"version\":1,\"source\"", "{\"version\":2,\"source\"") },
	{ "apr64_own_no_source", 4, "its plan has a bad source", NULL,
	  META("{\"format\":\"gguf\",\"version\":3}", "7") },
	{ "apr64_own_member_missing", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("[\"config\",\"json\"]", "[\"confi\",\"json\"]") },
	{ "apr64_own_member_twice", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("[\"config\",\"json\"]", "[\"config\",\"json\"],[\"config\",\"json\"]") },
	{ "apr64_own_member_ours", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("[\"config\",\"json\"]", "[\"apr.licence\",\"json\"]") },
	{ "apr64_own_member_type", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("[\"config\",\"json\"]", "[\"config\",\"string\"]") },
	{ "apr64_own_tensors", 4, "its plan has a bad tensor list", NULL,
	  META("\"signatures\":1}", "\"signatures\":1,\"tensors\":[]}") },
	{ "apr64_types_is_list", 4, "metadata key apr_tensors, which is one of ours", NULL,
	  META("\"apr_tensors\":" TYPES, "\"apr_tensors\":[]") },
	{ "apr64_types_of_nothing", 4, "metadata key apr_tensors, which is one of ours", NULL,
	  META("\"apr_tensors\":{", "\"apr_tensors\":{\"x\":[\"Q8_0\",[32]],") },
	{ "apr64_types_unknown", 4, "b: contradicts apr_tensors", NULL, META("\"Q8_0\"", "\"Q\"") },
	{ "apr64_types_shape", 4, "b: Q8_0 of this shape takes 68 bytes, not 34", NULL,
	  META("[1,32]", "[2,32]") },
	{ "apr64_types_shape_is_text", 4, "b: contradicts apr_tensors", NULL,
	  META("[1,32]", "\"1\"") },
	{ "apr64_types_of_f32", 4, "a: contradicts apr_tensors", NULL,
	  META("\"apr_tensors\":{", "\"apr_tensors\":{\"a\":[\"F32\",[2,3]],") },
	{ "apr64_blob_missing", 4, "blob README is not there", NULL,
	  META(",\"apr.blob.README\":\"aGVsbG8=\"", "") },
	{ "apr64_blob_extra", 4, "metadata key apr.blob.x, which is one of ours, belongs to", NULL,
	  META(",\"apr.blob.README\"", ",\"apr.blob.x\":\"\",\"apr.blob.README\"") },
	{ "apr64_blob_longer", 4, "metadata key apr.blob.README, which is one of ours", NULL,
	  META("\"aGVsbG8=\"", "\"aGVsbG8hISEh\"") },
	{ "apr64_blob_is_number", 4, "metadata key apr.blob.README, which is one of ours", NULL,
	  META("\"aGVsbG8=\"", "12345678") },
	{ "apr64_blob_not_base64", 4, "with a value that is not base64", NULL,
	  META("\"aGVsbG8=\"", "\"aGVs*G8=\"") },
	{ "apr64_blob_spare_bits", 4, "with a value that is not base64", NULL,
	  META("\"aGVsbG8=\"", "\"aGVsbG9=\"") },
	{ "apr64_blob_escape", 4, "with a value that is not base64", NULL,
	  META("\"aGVsbG8=\"", "\"a\\/sbG8=\"") },
	{ "apr64_value_of_another_type", 4, "value:ids: is not the value that its key announces", NULL,
	  META("\"array:u8\"", "\"array:u16\"") },
	{ "apr64_licence_missing", 4, "metadata key apr.licence, which is one of ours", NULL,
	  META(",\"apr.licence\":\"ZnJlZQ==\"", "") },
	{ "apr64_licence_not_announced", 4, "metadata key apr.licence, which is one of ours", NULL,
	  META("\"licence\":4,", "") },
	{ "apr64_licence_size", 4, "metadata key apr.licence, which is one of ours", NULL,
	  META("\"licence\":4,", "\"licence\":8,") },
	{ "apr64_licence_shorter_by_1", 4, "metadata key apr.licence, which is one of ours", NULL,
	  META("\"licence\":4,", "\"licence\":5,") },
	{ "apr64_prov_missing", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META(",\"apr.prov.0\":\"eyJ3aGF0IjoiaXQifQ==\"", "") },
	{ "apr64_prov_not_json", 4, "is not valid JSON", NULL,
	  META("\"eyJ3aGF0IjoiaXQifQ==\"", "\"eyJ3aGF0IjoiaXQiXQ==\"") },
	{ "apr64_prov_size", 4, "metadata key apr.prov.0, which is one of ours", NULL,
	  META("\"provenance\":[13]", "\"provenance\":[20]") },
	{ "apr64_sign_missing", 4, "metadata key apr_stream, which is one of ours", NULL,
	  META("\"signatures\":1}", "\"signatures\":2}") },
	{ "apr64_sign_not_announced", 4, "metadata key apr.sign.0, which is one of ours, belongs",
	  NULL, META("\"signatures\":1}", "\"signatures\":0}") },
	{ "apr64_sign_size", 4, "metadata key apr.sign.0, which is one of ours", NULL,
	  META("\"apr.sign.0\":\"", "\"apr.sign.0\":\"AAAA") },
	{ "apr64_sign_not_json", 4, "is not valid JSON", NULL,
	  META("\"apr.sign.0\":\"ey", "\"apr.sign.0\":\"fy") },

	/* The index. */
	{ "apr64_name_length_0", 4, "a tensor without a name", NULL, INDEX({ "a", 0, 2, 0 }) },
	{ "apr64_name_length_max", 4, "the index ends inside an entry", NULL,
	  INDEX({ "a", 0, 2, 65535 }) },
	{ "apr64_name_not_utf8", 4, "a tensor name is not UTF-8 text", NULL,
	  INDEX({ "a", NAME_AT, 1, 0xff }) },
	{ "apr64_name_nul", 4, "a tensor name is not UTF-8 text", NULL,
	  INDEX({ "b", NAME_AT, 1, 0 }) },
	{ "apr64_name_twice", 4, "tensor b occurs twice", NULL,
	  META("\"apr_tensors\":" TYPES, "\"apr_tensors\":{}"), INDEX({ "u", NAME_AT, 1, 'b' }) },
	{ "apr64_dtype_255", 4, "a: has the dtype code 255, which is not known", NULL,
	  INDEX({ "a", CODE_AT, 1, 255 }) },
	{ "apr64_dtype_15", 4, "a: has the dtype code 15, which is not known", NULL,
	  INDEX({ "a", CODE_AT, 1, 15 }) },
	{ "apr64_dtype_of_another_size", 4, "a: 24 bytes are not a tensor of dtype code 1", NULL,
	  INDEX({ "a", CODE_AT, 1, 1 }) },
	{ "apr64_dtype_q4_k_of_24", 4, "a: 24 bytes are not a tensor of dtype code 12", NULL,
	  INDEX({ "a", CODE_AT, 1, 12 }) },
	{ "apr64_axes_9", 4, "a: 9 dimensions, at most 8", NULL, INDEX({ "a", AXES_AT, 1, 9 }) },
	{ "apr64_axes_255", 4, "a: 255 dimensions, at most 8", NULL,
	  INDEX({ "a", AXES_AT, 1, 255 }) },
	{ "apr64_axes_8", 4, "dtype code 0 and this shape", NULL, INDEX({ "a", AXES_AT, 1, 8 }) },
	{ "apr64_dims_overflow", 4, "a: 24 bytes are not a tensor", NULL,
	  INDEX({ "a", DIMS_AT, 8, UINT64_MAX }, { "a", DIMS_AT + 8, 8, UINT64_MAX }) },
	{ "apr64_dims_overflow_to_24", 4, "a: 24 bytes are not a tensor", NULL,
	  INDEX({ "a", DIMS_AT, 8, UINT64_C(1) << 63 }, { "a", DIMS_AT + 8, 8, 2 }) },
	{ "apr64_size_less", 4, "a: 23 bytes are not a tensor of dtype code 0", NULL,
	  INDEX({ "a", DIMS_AT + 24, 8, 23 }) },
	{ "apr64_size_max", 4, "bytes are not a tensor of dtype code 0", NULL,
	  INDEX({ "a", DIMS_AT + 24, 8, UINT64_MAX }) },
	{ "apr64_offset_same", 4, "overlaps the tensor before it", NULL,
	  INDEX({ "b", DIMS_AT + 8, 8, 0 }) },
	{ "apr64_offset_hole", 4, "a hole of", NULL, INDEX({ "u", DIMS_AT + 8, 8, 192 }) },
	{ "apr64_offset_first", 4, "bytes lies before it", NULL, INDEX({ "a", DIMS_AT + 16, 8, 8 }) },
	{ "apr64_offset_max", 4, "bytes lies before it", NULL,
	  INDEX({ "u", DIMS_AT + 8, 8, UINT64_MAX - 15 }) },

	/* The end. */
	{ "apr64_data_cut", 4, "bytes of data", "ends here", AFTER(CUT("data")) },
	{ "apr64_padding_cut", 4, "the file ends before its checksum", NULL,
	  AFTER(CUT("data.end")) },
	{ "apr64_footer_missing", 4, "the file ends before its checksum", NULL,
	  AFTER(CUT("footer")) },
	{ "apr64_footer_crc", 4, "is damaged: its CRC is", NULL, AFTER(ADD32("footer", 1)) },
	{ "apr64_data_changed", 4, "is damaged: its CRC is", NULL, AFTER(ADD32("data", 1)) },
	/* A byte less, so that there is padding. */
	{ "apr64_padding_changed", 4, "is damaged: its CRC is", NULL, META("2.50", "2.5"),
	  AFTER(SET8("metadata.end", 1)) },
	{ "apr64_trailing_byte", 4, "bytes after the end of the model", NULL, AFTER(TAIL("\0")) },
	{ "apr64_trailing_zeros", 4, "bytes after the end of the model", NULL,
	  AFTER(TAIL("\0\0\0\0\0\0\0\0\0\0\0\0")) },
	{ "apr64_footer_long_size", 4, "the footer says 1 bytes", NULL,
	  AFTER(TAIL("2RPA\1\0\0\0\0\0\0\0")) },

	/* Oddities that are not faults. */
	{ "apr64_odd_flag", 0, "the flags 0x8000 have no known meaning", NULL,
	  HEADER(TEXT("flags", "\0\x84")) },
	{ "apr64_odd_shard", 0, "is marked as one of several shards", NULL,
	  HEADER(TEXT("flags", "\x10\4")) },
	{ "apr64_odd_compressed", 0, "is marked as compressed, but is not", NULL,
	  HEADER(TEXT("flags", "\2\4")) },
	{ "apr64_odd_header_crc_0", 0, "its header has no checksum", NULL,
	  HEADER(SET32("header_crc", 0)) },
};

/* Files that share only four bytes with these. */
static const struct relative {
	const char *name, *says;
	size_t n;
	const char bytes[48];
} relatives[] = {
	{ "other_tsp", "is a model of aprender-tsp, which plans routes", 40,
	  "APR\0\1\0\0\0\0PST\x17\x6d\xda\xb1\0\1\0\0\0\x30" },
	{ "other_wrapped_stored", "is an APR1 file inside a wrapper", 40, "APR\0\0\x10\0\0\0APR1" },
	{ "other_wrapped_lz4", "is an APR1 file inside a wrapper", 40, "APR\0\1\x10\0\0\0\x40" },
	{ "other_wrapped_zstd", "is an APR1 file inside a wrapper", 48,
	  "APR\0\2\0\0\0\0\x28\xb5\x2f\xfd" },
	{ "other_family", "is no APR of version 2, but another file of that family", 40,
	  "APR\0\7\7\7\7" },
	{ "other_apr1_json", "bytes in a file of", 20, "APR1\x10\0\0\0{\"a\":1}" },
	{ "other_apr1_whisper", "a model of whisper.apr", 48, "APR1\1\0\0\1\0\7\0\1" },
	{ "other_apbundle", "an APBUNDLE archive of models", 40, "APBUNDLE\1\0\0\0" },
};

static void
replace_text(struct gen *g, const struct replace *x)
{
	size_t n = strlen(x->from), i;
	struct gen old = *g;

	for (i = 0; i + n <= old.n && memcmp(old.p + i, x->from, n) != 0; i++)
		;
	if (i + n > old.n)
		gen_die("this text is not in the metadata", x->from);
	*g = (struct gen){ 0 };
	put(g, old.p, i);
	put(g, x->to, x->n);
	put(g, old.p + i + n, old.n - i - n);
	gen_free(&old);
}

#define EDITS(X) (X), sizeof(X) / sizeof *(X)

static void
edit_all(struct gen *g, const struct edit *edits, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		edit(g, &edits[i]);
}

static void
finish(struct apr64 *m, const struct fault *f)
{
	apr64_assemble(m);
	apr64_header_crc(m);
	if (f && f->header[0].op != EDIT_NONE) {
		edit_all(&m->file, EDITS(f->header));
		if (!f->header[0].mark || strcmp(f->header[0].mark, "header_crc") != 0)
			apr64_header_crc(m);
	}
	apr64_footer(m);
	if (f)
		edit_all(&m->file, EDITS(f->after));
}

static void
write_fault(struct folder *folder, const struct fault *f)
{
	struct apr64 m = { 0 };
	size_t i;

	apr64_mother(&m);
	if (f->text.from)
		replace_text(&m.text, &f->text);
	for (i = 0; i < 3 && f->index[i].entry; i++) {
		const struct poke *x = &f->index[i];
		size_t at = mark_at(&m.index, x->entry) + x->at;
		unsigned k;

		for (k = 0; k < x->width; k++)
			m.index.p[at + k] = (uint8_t)(x->value >> 8 * k);
	}
	finish(&m, f);
	folder_file(folder, f->name, &m.file);
	folder_fault(folder, f->name, f->status, f->says, f->pipe);
	apr64_free(&m);
}

/* Two layouts that realizar itself uses, with a valid header. */
static void
write_private(struct folder *folder)
{
	static const char *const says[] = { "with a JSON list as its index",
		"with names of 32-bit length" };
	static const char *const names[] = { "other_json_index", "other_long_lengths" };
	struct apr64 m = { 0 };
	unsigned i;

	for (i = 0; i < 2; i++) {
		m.flags = 0x400;
		m.count = 1;
		put_text(&m.text, "{}");
		if (i == 0) {
			put_text(&m.index, "[{\"name\":\"weights\",\"dtype\":\"F32\"}]");
		} else {
			put_u32(&m.index, 1);
			put_text(&m.index, "a");
			put_fill(&m.index, 0, 40);
		}
		finish(&m, NULL);
		folder_file(folder, names[i], &m.file);
		folder_fault(folder, names[i], 4, says[i], NULL);
		apr64_free(&m);
	}
}

static void
write_relative(struct folder *folder, const struct relative *x)
{
	struct gen g = { 0 };

	put(&g, x->bytes, x->n);
	put_ramp(&g, 100);
	folder_file(folder, x->name, &g);
	folder_fault(folder, x->name, 4, x->says, NULL);
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct apr64 m = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&folder, &faults[i]);
	for (i = 0; i < sizeof relatives / sizeof *relatives; i++)
		write_relative(&folder, &relatives[i]);
	write_private(&folder);
	/* These must pass; they have no line in the manifest. */
	apr64_mother(&m);
	finish(&m, NULL);
	folder_file(&folder, "good", &m.file);
	apr64_free(&m);
	small(&m);
	finish(&m, NULL);
	folder_file(&folder, "good_small", &m.file);
	apr64_free(&m);
	return folder_close(&folder);
}
