/* stream_faults: streams with a single fault each. Checksums are right unless
 * they are the fault.
 */
#include "stream.h"

#define DIFFERS "contradicts the plan"
#define JSON "is not valid JSON"
#define PLAN "APRS"

/* Some text that stands in the plan of the mother once. */
#define ROW_COUNT "[\"count\",\"u32\",7]"
#define ROW_EPS "[\"eps\",\"f32\",\"0.100000001\"]"
#define ROW_IDS "[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}]"
#define ROW_A "[\"a\",\"F32\",[2,3]]"
#define ROW_B "[\"b\",\"Q8_0\",[1,32]]"
#define ROW_U "[\"u\",\"GGML_60\",[7],{\"bytes\":32}]"
#define ROW_VALUE "[\"value:ids\",\"value\",1042]"
#define ROW_README "[\"README\",\"text/plain\",5]"

#define DEEP8 "[[[[[[[["
#define DEEP64 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8
#define DEEP512 DEEP64 DEEP64 DEEP64 DEEP64 DEEP64 DEEP64 DEEP64 DEEP64
#define NAME16 "Qwen3-0.6B-Base-"
#define NAME128 NAME16 NAME16 NAME16 NAME16 NAME16 NAME16 NAME16 NAME16

#define DEEP2048 DEEP512 DEEP512 DEEP512 DEEP512

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: where it differs */
	struct change changes[2];
} faults[] = {
	/* The shape of a frame. */
	{ "stream_without_plan", 4, "not a model file of a known format", NULL,
	  { DROP(PLAN) } },
	{ "stream_kind_with_digit", 4, "no frame begins here", NULL,
	  { KIND("a", "TEN5") } },
	{ "stream_kind_with_nul", 4, "no frame begins here", NULL,
	  { KIND("a", "TEN\0") } },
	{ "stream_kind_upper_unknown", 4, "LICE: a frame that this tool does not know", NULL,
	  { KIND("lice", "LICE") } },
	{ "stream_kind_seal", 4, "SEAL: the plan says that nothing is sealed", NULL,
	  { BEFORE("a", "SEAL", "{}") } },
	{ "stream_kind_spar", 4, "SPAR: the plan says that this is dense", NULL,
	  { BEFORE("a", "SPAR", "{}") } },
	{ "stream_kind_skey", 4, "SKEY: one more than the plan announces", NULL,
	  { BEFORE("ids", "SKEY", "{}") } },
	{ "stream_plan_twice", 4, "APRS: a frame that this tool does not know", NULL,
	  { TWICE(PLAN) } },
	{ "stream_head_length_256_mib", 4, "exceeds the", "ends here",
	  { HEAD_SAYS(PLAN, 256 << 20) } },
	{ "stream_head_length_over_256_mib", 4, "exceeds 256 MiB", NULL,
	  { HEAD_SAYS(PLAN, (256 << 20) + 1) } },
	{ "stream_head_length_max", 4, "exceeds 256 MiB", NULL,
	  { HEAD_SAYS(PLAN, UINT32_MAX) } },
	{ "stream_head_length_past_eof", 4, "exceeds the", "ends here",
	  { HEAD_SAYS("u", 100000) } },
	{ "stream_head_length_0", 4, "CRC of its head differs", NULL,
	  { HEAD_SAYS("a", 0) } },
	{ "stream_body_length_past_eof", 4, "exceeds the", "the plan announces 24",
	  { BODY_SAYS("a", 100000) } },
	{ "stream_body_length_2_63", 4, "exceeds the", "the plan announces 24",
	  { BODY_SAYS("a", (uint64_t)1 << 63) } },
	{ "stream_body_length_max", 4, "exceeds the", "the plan announces 24",
	  { BODY_SAYS("a", UINT64_MAX) } },
	{ "stream_body_length_0", 4, "the plan announces 24", NULL,
	  { BODY_SAYS("a", 0) } },
	{ "stream_unknown_body_length_max", 4, "exceeds the", "ends here",
	  { BEFORE("a", "xtra", "{}"), BODY_SAYS("new", UINT64_MAX - 1) } },

	/* Checksums. */
	{ "stream_crc_of_plan", 4, "APRS: the CRC of its head differs", NULL,
	  { HEAD_CRC(PLAN) } },
	{ "stream_crc_of_plan_body", 4, "APRS: the CRC of its body differs", NULL,
	  { BODY_CRC(PLAN) } },
	{ "stream_crc_of_blob_head", 4, "blob: the CRC of its head differs", NULL,
	  { HEAD_CRC("README") } },
	{ "stream_crc_of_value", 4, "blob: the CRC of its body differs", NULL,
	  { BODY_CRC("ids") } },
	{ "stream_crc_of_licence", 4, "lice: the CRC of its body differs", NULL,
	  { BODY_CRC("lice") } },
	{ "stream_crc_of_tensor_head", 4, "TENS: the CRC of its head differs", NULL,
	  { HEAD_CRC("b") } },
	{ "stream_crc_of_tensor", 4, "TENS: the CRC of its body differs", NULL,
	  { BODY_CRC("u") } },
	{ "stream_crc_of_prov_body", 4, "prov: the CRC of its body differs", NULL,
	  { BODY_CRC("prov") } },
	{ "stream_crc_of_signature", 4, "sign: the CRC of its body differs", NULL,
	  { BODY_CRC("sign") } },
	{ "stream_crc_of_unknown_frame", 4, "xtra: the CRC of its body differs", NULL,
	  { BEFORE("a", "xtra", "{}"), BODY_CRC("new") } },
	{ "stream_crc_of_done", 4, "DONE: the CRC of its head differs", NULL,
	  { HEAD_CRC("DONE") } },
	{ "stream_crc_of_done_body", 4, "DONE: the CRC of its body differs", NULL,
	  { BODY_CRC("DONE") } },

	/* JSON. */
	{ "stream_json_cut", 4, JSON, NULL, { HEAD(PLAN, "\"signatures\":1}", "") } },
	{ "stream_json_array", 4, "is not a JSON object", NULL,
	  { HEAD("DONE", "{\"tensors\":3}", "[3]") } },
	{ "stream_json_empty", 4, JSON, NULL, { HEAD("lice", "{}", "") } },
	{ "stream_json_two_values", 4, JSON, NULL, { HEAD("lice", "{}", "{}{}") } },
	{ "stream_json_nul_behind", 4, JSON, NULL, { HEAD("lice", "{}", "{}\0") } },
	{ "stream_json_duplicate_member", 4, "duplicate object key", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"licence\":4") } },
	{ "stream_json_duplicate_in_tensor", 4, "duplicate object key", NULL,
	  { HEAD("a", "\"name\":\"a\"", "\"name\":\"a\",\"name\":\"a\"") } },
	{ "stream_json_duplicate_in_done", 4, "duplicate object key", NULL,
	  { HEAD("DONE", "\"tensors\":3", "\"tensors\":2,\"tensors\":3") } },
	{ "stream_json_not_utf8", 4, JSON, NULL, { HEAD(PLAN, "llama", "ll\xff") } },
	{ "stream_json_escaped_nul", 4, JSON, NULL, { HEAD(PLAN, "llama", "ll\\u0000") } },
	{ "stream_json_lone_surrogate", 4, JSON, NULL,
	  { HEAD(PLAN, "llama", "ll\\ud800") } },
	{ "stream_json_control_character", 4, JSON, NULL, { HEAD(PLAN, "llama", "ll\x1b") } },
	{ "stream_json_comment", 4, JSON, NULL, { HEAD("lice", "{}", "{/**/}") } },
	{ "stream_json_too_large_number", 4, JSON, NULL,
	  { HEAD(PLAN, "\"signatures\":1", "\"signatures\":1e999") } },
	{ "stream_json_too_deep", 4, JSON, NULL,
	  { HEAD(PLAN, "\"signatures\":1", "\"x\":" DEEP2048 DEEP64) } },
	{ "stream_json_of_prov", 4, JSON, NULL,
	  { HEAD("prov", "{\"what\":\"it\"}", "{\"what\":\"it\"]") } },
	{ "stream_json_of_signature", 4, JSON, NULL, { HEAD("sign", "\"}", "\"]") } },
	{ "stream_json_of_unknown_frame", 4, JSON, NULL,
	  { BEFORE("a", "xtra", "no JSON") } },

	/* The plan. */
	{ "stream_plan_version_2", 4, "its plan has version 2", NULL,
	  { HEAD(PLAN, "{\"version\":1", "{\"version\":2") } },
	{ "stream_plan_version_0", 4, "its plan has version 0", NULL,
	  { HEAD(PLAN, "{\"version\":1", "{\"version\":0") } },
	{ "stream_plan_version_real", 4, "bad version", NULL,
	  { HEAD(PLAN, "{\"version\":1", "{\"version\":1.0") } },
	{ "stream_plan_version_missing", 4, "bad version", NULL,
	  { HEAD(PLAN, "{\"version\":1,", "{") } },
	{ "stream_plan_source_missing", 4, "bad source", NULL,
	  { HEAD(PLAN, "\"source\"", "\"sauce\"") } },
	{ "stream_plan_metadata_missing", 4, "bad metadata", NULL,
	  { HEAD(PLAN, "\"metadata\"", "\"metadatum\"") } },
	{ "stream_plan_blobs_missing", 4, "blob list", NULL,
	  { HEAD(PLAN, "\"blobs\"", "\"globs\"") } },
	{ "stream_plan_tensors_missing", 4, "bad tensor list", NULL,
	  { HEAD(PLAN, "\"tensors\"", "\"tenors\"") } },
	{ "stream_plan_tensors_object", 4, "bad tensor list", NULL,
	  { HEAD(PLAN, "[" ROW_A "," ROW_B "," ROW_U "]", "{}") } },
	{ "stream_plan_signatures_missing", 4, "bad number of signatures", NULL,
	  { HEAD(PLAN, "\"signatures\"", "\"signature\"") } },
	{ "stream_plan_signatures_1025", 4, "bad number of signatures", NULL,
	  { HEAD(PLAN, "\"signatures\":1", "\"signatures\":1025") } },
	{ "stream_plan_signatures_negative", 4, "bad number of signatures", NULL,
	  { HEAD(PLAN, "\"signatures\":1", "\"signatures\":-1") } },
	{ "stream_plan_licence_negative", 4, "bad licence", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":-4") } },
	{ "stream_plan_licence_max", 4, "bad licence", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":\"18446744073709551615\"") } },
	{ "stream_plan_folder_number", 4, "bad name of a folder", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"folder\":7") } },
	{ "stream_plan_folder_empty", 4, "bad name of a folder", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"folder\":\"\"") } },
	{ "stream_plan_folder_dots", 4, "bad name of a folder", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"folder\":\"..\"") } },
	{ "stream_plan_folder_path", 4, "bad name of a folder", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"folder\":\"a/b\"") } },
	{ "stream_plan_folder_256", 4, "bad name of a folder", NULL,
	  { HEAD(PLAN, "\"licence\":4", "\"licence\":4,\"folder\":\"" NAME128 NAME128 "\"") } },
	{ "stream_plan_provenance_65537", 4, "bad provenance row", NULL,
	  { HEAD(PLAN, "[13]", "[65537]") } },
	{ "stream_plan_provenance_text", 4, "bad provenance list", NULL,
	  { HEAD(PLAN, "[13]", "\"13\"") } },

	/* Metadata rows. */
	{ "stream_meta_row_of_2", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u32\"]") } },
	{ "stream_meta_row_of_4", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u32\",7,8]") } },
	{ "stream_meta_row_object", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "{\"count\":7}") } },
	{ "stream_meta_type_unknown", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u33\",7]") } },
	{ "stream_meta_type_array_alone", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"array\",[]]") } },
	{ "stream_meta_type_too_deep", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"array:array:array:array:u8\",[]]") } },
	{ "stream_meta_key_empty", 4, "a metadata key is not UTF-8 text", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"\",\"u32\",7]") } },
	{ "stream_meta_key_twice", 4, "metadata key eps occurs twice", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"eps\",\"u32\",7]") } },
	{ "stream_meta_key_number", 4, "bad metadata row", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[7,\"u32\",7]") } },
	{ "stream_meta_u32_too_large", 4, "a value that is not a u32", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u32\",4294967296]") } },
	{ "stream_meta_u32_negative", 4, "a value that is not a u32", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u32\",-1]") } },
	{ "stream_meta_u32_real", 4, "a value that is not a u32", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u32\",7.0]") } },
	{ "stream_meta_u64_too_large", 4, "a value that is not a u64", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u64\",\"18446744073709551616\"]") } },
	{ "stream_meta_i64_too_small", 4, "a value that is not a i64", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"i64\",\"-9223372036854775809\"]") } },
	{ "stream_meta_i8_minus_129", 4, "a value that is not a i8", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"i8\",-129]") } },
	{ "stream_meta_bool_number", 4, "a value that is not a bool", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"bool\",1]") } },
	{ "stream_meta_string_number", 4, "a value that is not a string", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"string\",7]") } },
	{ "stream_meta_f32_number", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",0.5]") } },
	{ "stream_meta_f32_hexadecimal", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",\"0x10\"]") } },
	{ "stream_meta_f32_blank", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",\" 1\"]") } },
	{ "stream_meta_f32_empty", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",\"\"]") } },
	{ "stream_meta_f32_half_a_number", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",\"1e\"]") } },
	{ "stream_meta_f32_other_nan", 4, "a value that is not a f32", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",\"nan(1)\"]") } },
	{ "stream_meta_array_is_none", 4, "a value that is not a array:u32", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"array:u32\",7]") } },
	{ "stream_meta_array_item", 4, "a value that is not a array:u32", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"array:u32\",[1,\"x\"]]") } },
	{ "stream_meta_array_in_array_inline", 4, "a value that is not a array:array:u8", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"array:array:u8\",[[1]]]") } },
	{ "stream_meta_escape_sequence", 4, "gives \\x1b[31m a value", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"\\u001b[31m\",\"u32\",-1]") } },

	/* Values and side files in blobs. */
	{ "stream_blob_of_no_key", 4, "a value that no key names", NULL,
	  { HEAD(PLAN, ROW_IDS, "[\"ids\",\"u8\",1]") } },
	{ "stream_blob_that_is_not_there", 4, "its value is not the next blob", NULL,
	  { HEAD(PLAN, ROW_IDS, "[\"ids\",\"array:u8\",{\"blob\":\"value:idx\"}]") } },
	{ "stream_blob_for_two_keys", 4, "its value is not the next blob", NULL,
	  { HEAD(PLAN, ROW_COUNT, "[\"count\",\"u8\",{\"blob\":\"value:ids\"}]") } },
	{ "stream_blob_side_file_for_key", 4, "a value that no key names", NULL,
	  { HEAD(PLAN, ROW_EPS, "[\"eps\",\"f32\",{\"blob\":\"README\"}]") } },
	{ "stream_blob_reference_with_more", 4, "its value is not the next blob", NULL,
	  { HEAD(PLAN, "{\"blob\":\"value:ids\"}", "{\"blob\":\"value:ids\",\"x\":1}") } },
	{ "stream_blob_side_file_first", 4, "its value is not the next blob", NULL,
	  { HEAD(PLAN, ROW_VALUE "," ROW_README, ROW_README "," ROW_VALUE),
	    SWAP("ids") } },
	{ "stream_blob_name_twice", 4, "blob value:ids occurs twice", NULL,
	  { HEAD(PLAN, "\"README\"", "\"value:ids\"") } },
	{ "stream_blob_name_empty", 4, "bad blob row", NULL,
	  { HEAD(PLAN, "\"README\"", "\"\"") } },
	{ "stream_blob_size_negative", 4, "bad blob row", NULL,
	  { HEAD(PLAN, "\"text/plain\",5]", "\"text/plain\",-5]") } },
	{ "stream_blob_row_of_2", 4, "bad blob row", NULL,
	  { HEAD(PLAN, "\"text/plain\",5]", "\"text/plain\"]") } },

	/* Tensor rows. */
	{ "stream_tensor_name_empty", 4, "a tensor name of 0 bytes", NULL,
	  { HEAD(PLAN, ROW_A, "[\"\",\"F32\",[2,3]]") } },
	{ "stream_tensor_name_twice", 4, "tensor b occurs twice", NULL,
	  { HEAD(PLAN, ROW_A, "[\"b\",\"F32\",[2,3]]") } },
	{ "stream_tensor_dtype_unknown", 4, "has the unknown dtype F33", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F33\",[2,3]]") } },
	{ "stream_tensor_dtype_256", 4, "has the unknown dtype GGML_256", NULL,
	  { HEAD(PLAN, ROW_U, "[\"u\",\"GGML_256\",[7],{\"bytes\":32}]") } },
	{ "stream_tensor_dtype_number", 4, "bad tensor row", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",0,[2,3]]") } },
	{ "stream_tensor_dtype_escape", 4, "has the unknown dtype \\x1b[2J", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"\\u001b[2J\",[2,3]]") } },
	{ "stream_tensor_shape_text", 4, "bad tensor row", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",\"2,3\"]") } },
	{ "stream_tensor_axes_9", 4, "9 dimensions, at most 8", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[1,1,1,1,1,1,1,2,3]]") } },
	{ "stream_tensor_axis_negative", 4, "bad shape", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[-2,-3]]") } },
	{ "stream_tensor_axis_real", 4, "bad shape", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[2.0,3]]") } },
	{ "stream_tensor_axis_2_64", 4, "bad shape", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[\"18446744073709551616\"]]") } },
	{ "stream_tensor_product_wraps", 4, "product of its dimensions overflows", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[\"9223372036854775810\",2,3]]") } },
	{ "stream_tensor_bytes_wrap", 4, "its size in bytes overflows", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[\"4611686018427387910\"]]") } },
	{ "stream_tensor_0_hides_overflow", 4, "product of its dimensions overflows", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[\"4611686018427387904\",0,8]]") } },
	{ "stream_tensor_row_of_blocks", 4, "Q8_0 needs rows of 32, got 1", NULL,
	  { HEAD(PLAN, ROW_B, "[\"b\",\"Q8_0\",[32,1]]") } },
	{ "stream_tensor_other_size", 4, "of this shape takes 24 bytes, not 25", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[2,3],{\"bytes\":25}]") } },
	{ "stream_tensor_size_missing", 4, "the size of type GGML_60 is not known", NULL,
	  { HEAD(PLAN, ROW_U, "[\"u\",\"GGML_60\",[7]]") } },
	{ "stream_tensor_size_max", 4, "the size of type GGML_60 is not known", NULL,
	  { HEAD(PLAN, "\"bytes\":32", "\"bytes\":\"18446744073709551615\"") } },
	{ "stream_tensor_size_negative", 4, "bad tensor size", NULL,
	  { HEAD(PLAN, "\"bytes\":32", "\"bytes\":-32") } },
	{ "stream_tensor_sealed", 4, "lies in a SEAL frame", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[2,3],{\"kind\":\"SEAL\"}]") } },
	{ "stream_tensor_row_of_5", 4, "bad tensor row", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\",[2,3],{},0]") } },
	{ "stream_tensor_row_of_2", 4, "bad tensor row", NULL,
	  { HEAD(PLAN, ROW_A, "[\"a\",\"F32\"]") } },

	/* Frames against the plan. */
	{ "stream_frame_other_name", 4, DIFFERS ", which has a here", NULL,
	  { HEAD("a", "\"a\"", "\"A\"") } },
	{ "stream_frame_other_dtype", 4, DIFFERS ", which has a here", NULL,
	  { HEAD("a", "F32", "I32") } },
	{ "stream_frame_other_shape", 4, DIFFERS ", which has a here", NULL,
	  { HEAD("a", "[2,3]", "[3,2]") } },
	{ "stream_frame_more_members", 4, DIFFERS ", which has a here", NULL,
	  { HEAD("a", "\"name\"", "\"x\":1,\"name\"") } },
	{ "stream_frame_other_blob", 4, DIFFERS ", which has README here", NULL,
	  { HEAD("README", "README", "README.md") } },
	{ "stream_frame_other_blob_type", 4, DIFFERS ", which has README here", NULL,
	  { HEAD("README", "text/plain", "text/html") } },
	{ "stream_frame_shorter_tensor", 4, "a body of 3 bytes, but the plan announces 24",
	  NULL, { BODY("a", "abc") } },
	{ "stream_frame_longer_blob", 4, "a body of 6 bytes, but the plan announces 5", NULL,
	  { BODY("README", "hello!") } },
	{ "stream_frame_shorter_licence", 4, "a body of 3 bytes, but the plan announces 4",
	  NULL, { BODY("lice", "MIT") } },
	{ "stream_frame_longer_prov", 4, "a head of 14 bytes, but the plan announces 13", NULL,
	  { HEAD("prov", "it", "its") } },
	{ "stream_frame_prov_with_body", 4, "a body of 1 bytes, but the plan announces 0",
	  NULL, { BODY("prov", "x") } },
	{ "stream_frame_longer_signature", 4, "a head of 2049 bytes, but the plan", NULL,
	  { HEAD("sign", "\"}", "\" }") } },
	{ "stream_frame_shorter_signature", 4, "but the plan announces 160", NULL,
	  { BODY("sign", "x") } },
	{ "stream_frame_plan_with_body", 4, "APRS: it has a body", NULL,
	  { BODY(PLAN, "x") } },
	{ "stream_frames_swapped_tensors", 4, DIFFERS ", which has a here", NULL,
	  { SWAP("a") } },
	{ "stream_frames_swapped_blobs", 4, DIFFERS ", which has value:ids here", NULL,
	  { SWAP("ids") } },
	{ "stream_frames_licence_before_blob", 4, "lice: the plan announces", NULL,
	  { SWAP("README") } },
	{ "stream_frames_tensor_before_licence", 4, "TENS: the plan announces", NULL,
	  { SWAP("lice") } },
	{ "stream_frames_prov_before_tensor", 4, "prov: the plan announces", NULL,
	  { SWAP("u") } },
	{ "stream_frames_signature_before_prov", 4, "sign: the plan announces", NULL,
	  { SWAP("prov") } },
	{ "stream_frames_done_before_signature", 4, "1 sign frames, 0 came", NULL,
	  { SWAP("sign") } },
	{ "stream_frames_first_tensor_missing", 4, DIFFERS ", which has a here", NULL,
	  { DROP("a") } },
	{ "stream_frames_last_tensor_missing", 4, "3 TENS frames, 2 came", NULL,
	  { DROP("u") } },
	{ "stream_frames_value_missing", 4, DIFFERS ", which has value:ids here", NULL,
	  { DROP("ids") } },
	{ "stream_frames_side_file_missing", 4, "2 blob frames, 1 came", NULL,
	  { DROP("README") } },
	{ "stream_frames_licence_missing", 4, "1 lice frames, 0 came", NULL,
	  { DROP("lice") } },
	{ "stream_frames_prov_missing", 4, "1 prov frames, 0 came", NULL,
	  { DROP("prov") } },
	{ "stream_frames_signature_missing", 4, "1 sign frames, 0 came", NULL,
	  { DROP("sign") } },
	{ "stream_frames_tensor_twice", 4, DIFFERS ", which has b here", NULL,
	  { TWICE("a") } },
	{ "stream_frames_last_tensor_twice", 4, "TENS: one more than the plan", NULL,
	  { TWICE("u") } },
	{ "stream_frames_side_file_twice", 4, "blob: one more than the plan", NULL,
	  { TWICE("README") } },
	{ "stream_frames_licence_twice", 4, "lice: one more than the plan", NULL,
	  { TWICE("lice") } },
	{ "stream_frames_prov_twice", 4, "prov: one more than the plan", NULL,
	  { TWICE("prov") } },
	{ "stream_frames_signature_twice", 4, "sign: one more than the plan", NULL,
	  { TWICE("sign") } },
	{ "stream_frames_licence_unannounced", 4, "lice: one more than the plan", NULL,
	  { HEAD(PLAN, "\"licence\":4,", "") } },

	/* Tensors whose zeros are left out: a has 24 bytes. */
	{ "stream_gaps_without_number", 4, "GAPS: its body is too short", NULL,
	  { KIND("a", "GAPS"), BODY("a", "1234567") } },
	{ "stream_gaps_of_nothing", 4, "0 zeros and 0 bytes, but 24", NULL,
	  { KIND("a", "GAPS"), BODY("a", "\0\0\0\0\0\0\0\0") } },
	{ "stream_gaps_too_many_zeros", 4, "25 zeros and 0 bytes, but 24", NULL,
	  { KIND("a", "GAPS"), BODY("a", "\x19\0\0\0\0\0\0\0") } },
	{ "stream_gaps_zeros_wrap", 4, "18446744073709551615 zeros and 1 bytes, but 24", NULL,
	  { KIND("a", "GAPS"), BODY("a", "\xff\xff\xff\xff\xff\xff\xff\xff" "1") } },
	{ "stream_gaps_too_many_bytes", 4, "23 zeros and 2 bytes, but 24", NULL,
	  { KIND("a", "GAPS"), BODY("a", "\x17\0\0\0\0\0\0\0" "12") } },
	{ "stream_gaps_incomplete", 4, "TENS: 3 bytes of the last tensor are missing", NULL,
	  { KIND("a", "GAPS"), BODY("a", "\x14\0\0\0\0\0\0\0" "1") } },
	{ "stream_gaps_of_another", 4, DIFFERS ", which has a here", NULL,
	  { KIND("a", "GAPS"), HEAD("a", "F32", "I32") } },
	{ "stream_gaps_out_of_order", 4, "GAPS: the plan announces", NULL,
	  { KIND("a", "GAPS"), SWAP("lice") } },
	{ "stream_gaps_after_the_last", 4, "GAPS: one more than the plan", NULL,
	  { BEFORE("prov", "GAPS", "{}") } },

	/* The end. */
	{ "stream_done_missing", 4, "ends before DONE", NULL, { DROP("DONE") } },
	{ "stream_done_without_tensors", 4, "ends before DONE", NULL, { CUT_AT("a") } },
	{ "stream_done_other_count", 4, "DONE: it contradicts the plan", NULL,
	  { HEAD("DONE", "3", "2") } },
	{ "stream_done_without_count", 4, "DONE: it contradicts the plan", NULL,
	  { HEAD("DONE", "tensors", "tenors") } },
	{ "stream_done_with_body", 4, "DONE: it contradicts the plan", NULL,
	  { BODY("DONE", "x") } },
	{ "stream_done_twice", 4, "bytes after the end of the stream", NULL,
	  { TWICE("DONE") } },
	{ "stream_trailing_byte", 4, "bytes after the end of the stream", NULL,
	  { TAIL_OF("\0") } },
	{ "stream_trailing_line", 4, "bytes after the end of the stream", NULL,
	  { TAIL_OF("\n") } },
	{ "stream_trailing_unknown_frame", 4, "bytes after the end of the stream", NULL,
	  { BEFORE("DONE", "xtra", "{}"), SWAP("new") } },

	/* Values that are not of the type of their key. */
	{ "stream_value_of_other_type", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "array:u8", "array:i8") } },
	{ "stream_value_not_an_array", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "array:u8", "u8") } },
	{ "stream_value_not_of_strings", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "array:u8", "array:string") } },
	{ "stream_value_too_short", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "\"value\",1042", "\"value\",12"),
	    BODY("ids", "\0\0\0\0\6\4\0\0\0\0\0\0") } },
	{ "stream_value_too_long", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "\"value\",1042", "\"value\",16"),
	    BODY("ids", "\0\0\0\0\3\0\0\0\0\0\0\0abcd") } },
	{ "stream_value_count_wraps", 4, "is not the value that its key announces", NULL,
	  { HEAD(PLAN, "\"array:u8\",{\"blob\":\"value:ids\"}],[\"eps\",\"f32\",\"0.100000001\"]]"
	         ",\"blobs\":[[\"value:ids\",\"value\",1042]",
	         "\"array:u32\",{\"blob\":\"value:ids\"}],[\"eps\",\"f32\",\"0.100000001\"]]"
	         ",\"blobs\":[[\"value:ids\",\"value\",16]"),
	    BODY("ids", "\4\0\0\0\1\0\0\0\0\0\0\100abcd") } },
};

static void
write_fault(struct folder *folder, const struct fault *f)
{
	struct frames s = { 0 };
	struct gen g = { 0 };

	mother(&s);
	write_changed(&g, &s, f->changes, sizeof f->changes / sizeof *f->changes);
	folder_file(folder, f->name, &g);
	folder_fault(folder, f->name, f->status, f->says, f->pipe);
	frames_free(&s);
	gen_free(&g);
}

/* One frame of every kind but the longest, to be cut at every byte. */
static void
small(struct frames *s)
{
	put_frame(s, PLAN, "APRS",
	          "{\"version\":1,\"source\":{},\"metadata\":[[\"n\",\"u8\",7]],"
	          "\"blobs\":[[\"f\",\"\",2]],\"licence\":1,\"tensors\":[[\"a\",\"F32\",[2]]],"
	          "\"provenance\":[2],\"signatures\":0}");
	put_text(put_frame(s, "f", "blob", "{\"name\":\"f\",\"type\":\"\"}"), "hi");
	put_text(put_frame(s, "lice", "lice", "{}"), "x");
	put_ramp(put_frame(s, "a", "TENS",
	                   "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2]}"), 8);
	put_frame(s, "prov", "prov", "{}");
	put_text(put_frame(s, "new", "xtra", "{}"), "?");
	put_frame(s, "DONE", "DONE", "{\"tensors\":1}");
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct frames s = { 0 };
	struct gen g = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&folder, &faults[i]);
	/* The mother itself must pass; it has no line in the manifest. */
	mother(&s);
	write_frames(&g, &s);
	folder_file(&folder, "good", &g);
	frames_free(&s);
	gen_free(&g);
	small(&s);
	write_frames(&g, &s);
	folder_file(&folder, "good_small", &g);
	frames_free(&s);
	gen_free(&g);
	return folder_close(&folder);
}
