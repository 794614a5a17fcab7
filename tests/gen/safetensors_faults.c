/* safetensors_faults: safetensors files with a single fault each.
 *
 * A row changes one text of the mother's header, whose length follows; or it
 * changes the file around it. Each rule of the format (README and reader of
 * safetensors/safetensors) is broken at least once, and each rule of the keys of
 * our own.
 */
#include "safetensors.h"

#define MOTHER \
	"{\"__metadata__\":{\"format\":\"pt\",\"key\":\"value\"}," \
	"\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," \
	"\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}}"
#define DATA 27

/* One tensor of n bytes, stored as bytes, with keys of our own about it. */
#define OURS(KEYS) \
	"{\"__metadata__\":{" KEYS "}," \
	"\"q\":{\"dtype\":\"U8\",\"shape\":[18],\"data_offsets\":[0,18]}}"
#define Q4_0 "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"[1,32]\""

enum around {
	WHOLE,
	SHORTER,    /* the data, by one byte */
	LONGER,
	SAYS_LESS,  /* the length: a byte less than there is */
	SAYS_MORE,
	SAYS,       /* the length: value */
	CUT_AT,     /* the file: after value bytes */
	DATA_OF     /* value bytes of data */
};

#define TEXT_OF(S) S, sizeof(S) - 1

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: where it differs */
	const char *from;        /* of MOTHER; NULL: all of it */
	const char *to;
	size_t to_n;
	enum around around;
	uint64_t value;
} faults[] = {
#define CHANGE(NAME, SAYS_THAT, FROM, TO) \
	{ NAME, 4, SAYS_THAT, NULL, FROM, TEXT_OF(TO), WHOLE, 0 }
#define HEADER(NAME, SAYS_THAT, TEXT) \
	{ NAME, 4, SAYS_THAT, NULL, NULL, TEXT_OF(TEXT), WHOLE, 0 }
#define CARRIER(NAME, SAYS_THAT, KEYS) \
	{ NAME, 4, SAYS_THAT, NULL, NULL, TEXT_OF(OURS(KEYS)), DATA_OF, 18 }
#define AROUND(NAME, SAYS_THAT, PIPE, HOW, VALUE) \
	{ NAME, 4, SAYS_THAT, PIPE, "", "", 0, HOW, VALUE }

	/* The length. */
	AROUND("safetensors_length_cut", "not a model file of a known format", NULL, CUT_AT, 7),
	AROUND("safetensors_length_alone", "not a model file of a known format", NULL, CUT_AT, 8),
	AROUND("safetensors_length_0", "the header ends where", NULL, SAYS, 0),
	AROUND("safetensors_length_1", "the header ends where", NULL, SAYS, 1),
	AROUND("safetensors_length_less", "the header ends where", NULL, SAYS_LESS, 0),
	AROUND("safetensors_length_more", "something other than spaces after the header", NULL,
	       SAYS_MORE, 0),
	AROUND("safetensors_length_past_eof", "exceeds the", "something other than spaces", SAYS, 1000),
	AROUND("safetensors_length_100_mb", "exceeds the", "something other than spaces", SAYS,
	       100000000),
	AROUND("safetensors_length_over_100_mb", "a header of 100000001 bytes, at most 100000000", NULL,
	       SAYS, 100000001),
	AROUND("safetensors_length_200_mb", "a header of 200000000 bytes, at most 100000000", NULL,
	       SAYS, 200000000),
	AROUND("safetensors_length_4_gib", "a header of 4294967296 bytes", NULL, SAYS,
	       (uint64_t)1 << 32),
	AROUND("safetensors_length_2_63", "not a model file of a known format", NULL, SAYS,
	       (uint64_t)1 << 63),
	AROUND("safetensors_length_max", "not a model file of a known format", NULL, SAYS, UINT64_MAX),

	/* The data: covered to the last byte, by nothing twice. */
	AROUND("safetensors_data_cut", "exceed the 26 bytes of data", "ends here", SHORTER, 0),
	AROUND("safetensors_data_none", "exceed the 0 bytes of data", "ends here", DATA_OF, 0),
	AROUND("safetensors_data_trailing", "its content ends at", "bytes after the end", LONGER, 0),
	CHANGE("safetensors_data_hole", "a hole of 1 bytes lies before it", "[24,27]", "[25,28]"),
	CHANGE("safetensors_data_hole_first", "its offset 8 is wrong: the other tensors leave room for it at 0", "[0,24]", "[8,32]"),
	CHANGE("safetensors_data_overlap", "overlaps the tensor before it", "[24,27]", "[23,26]"),
	CHANGE("safetensors_data_same", "overlaps the tensor before it", "[24,27]", "[0,3]"),
	{ "safetensors_data_not_covered", 4, "its content ends at", "bytes after the end",
	  ",\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}", "", 0, WHOLE, 0 },
	{ "safetensors_data_without_tensors", 4, "its content ends at", "bytes after the end",
	  NULL, TEXT_OF("{}"), WHOLE, 0 },
	CHANGE("safetensors_data_far_away", "a hole of", "[24,27]",
	       "[18446744073709551612,18446744073709551615]"),

	/* data_offsets against dtype and shape. */
	CHANGE("safetensors_offsets_backwards", "end before they begin", "[24,27]", "[27,24]"),
	CHANGE("safetensors_offsets_too_short", "takes 24 bytes, not 23", "[0,24]", "[0,23]"),
	CHANGE("safetensors_offsets_too_long", "takes 24 bytes, not 27", "[0,24]", "[0,27]"),
	CHANGE("safetensors_offsets_one", "data_offsets of 1 numbers", "[24,27]", "[24]"),
	CHANGE("safetensors_offsets_none", "data_offsets of 0 numbers", "[24,27]", "[]"),
	CHANGE("safetensors_offsets_three", "more than 2 numbers", "[24,27]", "[24,27,27]"),
	CHANGE("safetensors_offsets_nested", "a whole number", "[24,27]", "[[24,27]]"),
	CHANGE("safetensors_offsets_no_list", "a list of whole numbers", "[24,27]", "24"),

	/* Numbers in digits alone. */
	CHANGE("safetensors_number_exponent", "a whole number", "[0,24]", "[0,2.4e1]"),
	CHANGE("safetensors_number_exponent_1e3", "a whole number", "[3]", "[3e0]"),
	CHANGE("safetensors_number_capital_exponent", "a whole number", "[3]", "[3E0]"),
	CHANGE("safetensors_number_fraction", "a whole number", "[3]", "[3.0]"),
	CHANGE("safetensors_number_negative", "a whole number", "[3]", "[-3]"),
	CHANGE("safetensors_number_negative_zero", "a whole number", "[0,24]", "[-0,24]"),
	CHANGE("safetensors_number_plus", "a whole number", "[3]", "[+3]"),
	CHANGE("safetensors_number_leading_zero", "a leading zero", "[3]", "[03]"),
	CHANGE("safetensors_number_hexadecimal", "a comma or the end of a list", "[3]", "[0x3]"),
	CHANGE("safetensors_number_text", "a whole number", "[3]", "[\"3\"]"),
	CHANGE("safetensors_number_true", "a whole number", "[3]", "[true]"),
	CHANGE("safetensors_number_null", "a whole number", "[3]", "[null]"),
	CHANGE("safetensors_number_missing", "a whole number", "[2,3]", "[2,,3]"),
	CHANGE("safetensors_number_comma_last", "a whole number", "[2,3]", "[2,3,]"),
	CHANGE("safetensors_number_2_64", "does not fit in 64 bits", "[3]", "[18446744073709551616]"),
	CHANGE("safetensors_number_long", "does not fit in 64 bits", "[3]",
	       "[300000000000000000000000000000000]"),

	/* Shapes. */
	CHANGE("safetensors_shape_overflows", "the product of its dimensions overflows", "[3]",
	       "[4294967296,4294967296]"),
	CHANGE("safetensors_shape_times_size_overflows", "its size in bytes overflows", "[2,3]",
	       "[4611686018427387904]"),
	CHANGE("safetensors_shape_overflows_but_empty", "the product of its dimensions overflows",
	       "[3]", "[4294967296,4294967296,0]"),
	CHANGE("safetensors_shape_wraps_to_size", "the product of its dimensions overflows", "[3]",
	       "[3,4294967296,4294967296]"),
	CHANGE("safetensors_shape_of_9", "more than 8 numbers (E001)", "[3]", "[1,1,1,1,1,1,1,1,3]"),
	CHANGE("safetensors_shape_no_list", "a list of whole numbers", "[3]", "3"),

	/* dtypes: of this writing, or not at all. */
	CHANGE("safetensors_dtype_unknown", "the dtype Q4_0, which is not known here: UnsupportedQuantization (E001)", "\"U8\"",
	       "\"Q4_0\""),
	CHANGE("safetensors_dtype_lower_case", "the dtype u8, which is not known here: UnsupportedQuantization (E001)", "\"U8\"",
	       "\"u8\""),
	CHANGE("safetensors_dtype_4_bit", "the dtype F4, which is not known here: UnsupportedQuantization (E001)", "\"U8\"",
	       "\"F4\""),
	CHANGE("safetensors_dtype_empty", "which is not known here: UnsupportedQuantization (E001)", "\"U8\"", "\"\""),
	CHANGE("safetensors_dtype_long", "a dtype of more than 64 bytes", "\"U8\"",
	       "\"U8888888888888888888888888888888888888888888888888888888888888888\""),
	CHANGE("safetensors_dtype_number", "the name of a dtype", "\"U8\"", "8"),
	CHANGE("safetensors_dtype_escape_sequence", "the dtype \\x1b[2J, which", "\"U8\"",
	       "\"\\u001b[2J\""),

	/* Members of a tensor: three, once. */
	CHANGE("safetensors_member_dtype_missing", "without dtype, shape or data_offsets",
	       "\"dtype\":\"U8\",", ""),
	CHANGE("safetensors_member_shape_missing", "without dtype, shape or data_offsets",
	       "\"shape\":[3],", ""),
	CHANGE("safetensors_member_offsets_missing", "without dtype, shape or data_offsets",
	       ",\"data_offsets\":[24,27]", ""),
	CHANGE("safetensors_member_none", "without dtype, shape or data_offsets",
	       "{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}", "{}"),
	CHANGE("safetensors_member_dtype_twice", "dtype occurs twice", "\"dtype\":\"U8\",",
	       "\"dtype\":\"U8\",\"dtype\":\"U8\","),
	CHANGE("safetensors_member_shape_twice", "shape occurs twice", "\"shape\":[3],",
	       "\"shape\":[3],\"sh\\u0061pe\":[3],"),
	CHANGE("safetensors_member_offsets_twice", "data_offsets occurs twice", "\"data_offsets\":[24,27]",
	       "\"data_offsets\":[24,27],\"data_offsets\":[24,27]"),
	CHANGE("safetensors_member_unknown", "strides, which no tensor has", "\"shape\":[3],",
	       "\"shape\":[3],\"strides\":[1],"),
	CHANGE("safetensors_member_capital", "Shape, which no tensor has", "\"shape\":[3]",
	       "\"Shape\":[3]"),
	CHANGE("safetensors_tensor_list", "an object that describes a tensor",
	       "{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}", "[]"),
	CHANGE("safetensors_tensor_null", "an object that describes a tensor",
	       "{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}", "null"),
	CHANGE("safetensors_tensor_text", "an object that describes a tensor",
	       "{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}", "\"b\""),

	/* Names. */
	CHANGE("safetensors_name_twice", "tensor a occurs twice", "\"b\"", "\"a\""),
	CHANGE("safetensors_name_twice_by_escape", "tensor a occurs twice", "\"b\"", "\"\\u0061\""),
	CHANGE("safetensors_name_empty", "a tensor name of 0 bytes", "\"b\"", "\"\""),
	CHANGE("safetensors_name_nul", "not UTF-8 text without NUL", "\"b\"", "\"b\\u0000\""),
	CHANGE("safetensors_name_raw_nul", "a control character in a string", "\"b\"", "\"b\0\""),
	CHANGE("safetensors_name_not_utf8", "not UTF-8 text", "\"b\"", "\"\xff\""),
	CHANGE("safetensors_name_overlong_utf8", "not UTF-8 text", "\"b\"", "\"\xc0\xaf\""),
	CHANGE("safetensors_name_surrogate_utf8", "not UTF-8 text", "\"b\"", "\"\xed\xa0\x80\""),
	CHANGE("safetensors_name_cut_utf8", "not UTF-8 text", "\"b\"", "\"\xc3\""),
	CHANGE("safetensors_name_half_surrogate", "half a pair of surrogates", "\"b\"", "\"\\ud800\""),
	CHANGE("safetensors_name_second_half_first", "half a pair of surrogates", "\"b\"",
	       "\"\\udc00\\ud800\""),
	CHANGE("safetensors_name_half_surrogate_and_letter", "half a pair of surrogates", "\"b\"",
	       "\"\\ud800x\""),
	CHANGE("safetensors_name_two_first_halves", "half a pair of surrogates", "\"b\"",
	       "\"\\ud800\\ud800\""),
	CHANGE("safetensors_name_line_feed", "a control character in a string", "\"b\"", "\"b\n\""),
	CHANGE("safetensors_name_bad_escape", "an escape of JSON is expected", "\"b\"", "\"\\x62\""),
	CHANGE("safetensors_name_short_escape", "a hexadecimal digit is expected", "\"b\"", "\"\\u62\""),
	CHANGE("safetensors_name_number", "the name of a member", "\"b\"", "7"),
	CHANGE("safetensors_name_bare", "the name of a member", "\"b\"", "b"),
	CHANGE("safetensors_name_single_quotes", "the name of a member", "\"b\"", "'b'"),

	/* __metadata__: text only. */
	CHANGE("safetensors_metadata_twice", "__metadata__ occurs twice", "\"b\":{",
	       "\"__metadata__\":{},\"b\":{"),
	CHANGE("safetensors_metadata_twice_by_escape", "__metadata__ occurs twice", "\"b\":{",
	       "\"__met\\u0061data__\":{},\"b\":{"),
	CHANGE("safetensors_metadata_key_twice", "metadata key format occurs twice", "\"key\"",
	       "\"format\""),
	CHANGE("safetensors_metadata_key_empty", "a metadata key is not UTF-8 text", "\"key\"", "\"\""),
	CHANGE("safetensors_metadata_number", "text, which every value is", "\"value\"", "1"),
	CHANGE("safetensors_metadata_null", "text, which every value is", "\"value\"", "null"),
	CHANGE("safetensors_metadata_object", "text, which every value is", "\"value\"", "{}"),
	CHANGE("safetensors_metadata_list", "text, which every value is", "\"value\"", "[]"),
	CHANGE("safetensors_metadata_nul", "not UTF-8 text without NUL", "\"value\"", "\"\\u0000\""),
	CHANGE("safetensors_metadata_not_utf8", "not UTF-8 text", "\"value\"", "\"\x80\""),
	CHANGE("safetensors_metadata_is_list", "an object of strings",
	       "{\"format\":\"pt\",\"key\":\"value\"}", "[\"format\"]"),
	CHANGE("safetensors_metadata_is_text", "an object of strings",
	       "{\"format\":\"pt\",\"key\":\"value\"}", "\"format\""),
	CHANGE("safetensors_metadata_is_null", "an object of strings",
	       "{\"format\":\"pt\",\"key\":\"value\"}", "null"),

	/* JSON. */
	HEADER("safetensors_json_list", "not a model file of a known format", "[]"),
	HEADER("safetensors_json_number", "not a model file of a known format", "7"),
	HEADER("safetensors_json_nothing", "the header ends where", "{"),
	HEADER("safetensors_json_blank_first", "not a model file of a known format", " {}"),
	HEADER("safetensors_json_bom", "not a model file of a known format", "\xef\xbb\xbf{}"),
	HEADER("safetensors_json_deep", "an object that describes a tensor",
	       "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
	CHANGE("safetensors_json_comma_first", "the name of a member", "{\"__metadata__\"",
	       "{,\"__metadata__\""),
	CHANGE("safetensors_json_comma_last", "the name of a member", "[24,27]}}", "[24,27]},}"),
	CHANGE("safetensors_json_comma_missing", "a comma or the end of an object", "},\"b\"", "}\"b\""),
	CHANGE("safetensors_json_colon_missing", "a colon is expected", "\"b\":", "\"b\""),
	CHANGE("safetensors_json_colon_twice", "an object that describes", "\"b\":", "\"b\"::"),
	CHANGE("safetensors_json_comment", "the name of a member", "\"b\":", "/* b */\"b\":"),
	CHANGE("safetensors_json_not_closed", "the header ends where", "[24,27]}}", "[24,27]}"),
	CHANGE("safetensors_json_string_not_closed", "the header ends where the end of a string",
	       "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]}}", "\"b"),
	CHANGE("safetensors_json_closed_twice", "something other than spaces", "[24,27]}}",
	       "[24,27]}}}"),
	CHANGE("safetensors_json_two_objects", "something other than spaces", "[24,27]}}",
	       "[24,27]}}{}"),
	CHANGE("safetensors_json_text_behind", "something other than spaces", "[24,27]}}",
	       "[24,27]}} x"),

	/* Something else hides where padding belongs: polyglots. */
	CHANGE("safetensors_padding_nul", "something other than spaces", "[24,27]}}", "[24,27]}}\0\0"),
	CHANGE("safetensors_padding_line_feed", "something other than spaces", "[24,27]}}",
	       "[24,27]}}\n"),
	CHANGE("safetensors_padding_tab", "something other than spaces", "[24,27]}}", "[24,27]}}\t"),
	CHANGE("safetensors_padding_zip", "something other than spaces", "[24,27]}}",
	       "[24,27]}}  PK\3\4\24\0\0\0"),
	CHANGE("safetensors_padding_gguf", "something other than spaces", "[24,27]}}",
	       "[24,27]}} GGUF\3\0\0\0"),

	/* Keys of our own. */
	CARRIER("safetensors_apr_list_no_json", "is not valid JSON", "\"apr.metadata\":\"[\""),
	CARRIER("safetensors_apr_list_object", "apr.metadata, which is one of ours",
	        "\"apr.metadata\":\"{}\""),
	CARRIER("safetensors_apr_list_row", "apr.metadata, which is one of ours",
	        "\"apr.metadata\":\"[[]]\""),
	CARRIER("safetensors_apr_list_type", "bad metadata row",
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"u65\\\",1]]\""),
	CARRIER("safetensors_apr_list_value", "a value that is not a u8",
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"u8\\\",256]]\""),
	CARRIER("safetensors_apr_list_key_twice", "metadata key a occurs twice",
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"u8\\\",1],[\\\"a\\\",\\\"u8\\\",1]]\""),
	CARRIER("safetensors_apr_list_key_and_member", "metadata key a occurs twice",
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"u8\\\",1]]\",\"a\":\"1\""),
	CARRIER("safetensors_apr_list_member_twice", "metadata key a occurs twice", "\"a\":\"1\","
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"string\\\"],[\\\"a\\\",\\\"string\\\"]]\""),
	CARRIER("safetensors_apr_list_member_missing", "apr.metadata, which is one of ours",
	        "\"apr.metadata\":\"[[\\\"a\\\",\\\"string\\\"]]\""),
	CARRIER("safetensors_apr_list_member_not_string", "apr.metadata, which is one of ours",
	        "\"a\":\"1\",\"apr.metadata\":\"[[\\\"a\\\",\\\"u8\\\"]]\""),
	CARRIER("safetensors_apr_list_member_of_ours", "apr.metadata, which is one of ours",
	        "\"apr.metadata\":\"[[\\\"apr.metadata\\\",\\\"string\\\"]]\""),
	CARRIER("safetensors_apr_list_blob_missing", "apr.metadata, which is one of ours",
	        "\"apr.metadata\":"
	        "\"[[\\\"a\\\",\\\"array:u8\\\",{\\\"blob\\\":\\\"value:a\\\"}]]\""),
	CARRIER("safetensors_apr_blob_alone", "belongs to nothing", "\"apr.blob.x\":\"AAAA\""),
	CARRIER("safetensors_apr_list_blob_and_more", "its value is not the next blob",
	        "\"apr.blob.value:a\":\"\",\"apr.metadata\":"
	        "\"[[\\\"a\\\",\\\"array:u8\\\",{\\\"blob\\\":\\\"value:a\\\",\\\"x\\\":1}]]\""),
	CARRIER("safetensors_apr_blobs_no_list", "apr.blobs, which is one of ours",
	        "\"apr.blobs\":\"{}\""),
	CARRIER("safetensors_apr_blobs_row", "apr.blobs, which is one of ours",
	        "\"apr.blobs\":\"[[\\\"x\\\"]]\",\"apr.blob.x\":\"\""),
	CARRIER("safetensors_apr_blobs_missing", "apr.blobs, which is one of ours",
	        "\"apr.blobs\":\"[[\\\"x\\\",\\\"file\\\"]]\""),
	CARRIER("safetensors_apr_blobs_twice", "blob x occurs twice",
	        "\"apr.blobs\":\"[[\\\"x\\\",\\\"file\\\"],[\\\"x\\\",\\\"file\\\"]]\","
	        "\"apr.blob.x\":\"AAAA\""),
	CARRIER("safetensors_apr_blobs_value", "a value that no key names",
	        "\"apr.blobs\":\"[[\\\"x\\\",\\\"value\\\"]]\",\"apr.blob.x\":\"AAAA\""),
	CARRIER("safetensors_base64_alphabet", "not base64", "\"apr.licence\":\"AA-_\""),
	CARRIER("safetensors_base64_blank", "not base64", "\"apr.licence\":\"AAAA AAAA\""),
	CARRIER("safetensors_base64_cut", "not base64", "\"apr.licence\":\"AAA\""),
	CARRIER("safetensors_base64_unpadded", "not base64", "\"apr.licence\":\"AA\""),
	CARRIER("safetensors_base64_padding_first", "not base64", "\"apr.licence\":\"=AAA\""),
	CARRIER("safetensors_base64_padding_third", "not base64", "\"apr.licence\":\"A===\""),
	CARRIER("safetensors_base64_padding_inside", "not base64", "\"apr.licence\":\"AA==AAAA\""),
	CARRIER("safetensors_base64_padding_twice", "not base64", "\"apr.licence\":\"AAA==\""),
	CARRIER("safetensors_base64_spare_bits", "not base64", "\"apr.licence\":\"AAB=\""),
	CARRIER("safetensors_base64_more_spare_bits", "not base64", "\"apr.licence\":\"AB==\""),
	CARRIER("safetensors_apr_prov_no_json", "is not valid JSON", "\"apr.prov.0\":\"AAAA\""),
	CARRIER("safetensors_apr_prov_without_0", "belongs to nothing", "\"apr.prov.1\":\"e30=\""),
	CARRIER("safetensors_apr_prov_00", "belongs to nothing", "\"apr.prov.00\":\"e30=\""),
	CARRIER("safetensors_apr_sign_no_json", "is not valid JSON", "\"apr.sign.0\":\"AAAA\""),
	CARRIER("safetensors_apr_sign_of_wrong_size", "apr.sign.0 has 2 bytes", "\"apr.sign.0\":\"e30=\""),
	CARRIER("safetensors_apr_source_no_json", "is not valid JSON", "\"apr.source\":\"{\""),
	CARRIER("safetensors_apr_source_list", "apr.source, which is one of ours",
	        "\"apr.source\":\"[]\""),
	CARRIER("safetensors_apr_dtype_unknown", "apr.dtype.q, which is one of ours",
	        "\"apr.dtype.q\":\"Q4_9\",\"apr.shape.q\":\"[1,32]\""),
	CARRIER("safetensors_apr_dtype_of_no_tensor", "belongs to nothing",
	        "\"apr.dtype.x\":\"Q4_0\",\"apr.shape.x\":\"[1,32]\""),
	CARRIER("safetensors_apr_dtype_without_shape", "contradicts its apr.dtype.",
	        "\"apr.dtype.q\":\"Q4_0\""),
	CARRIER("safetensors_apr_shape_without_dtype", "belongs to nothing", "\"apr.shape.q\":\"[1,32]\""),
	CARRIER("safetensors_apr_shape_other_size", "takes 36 bytes, not 18",
	        "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"[2,32]\""),
	CARRIER("safetensors_apr_shape_rows", "Q4_0 needs rows of 32",
	        "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"[32,1]\""),
	CARRIER("safetensors_apr_shape_of_9", "contradicts its apr.dtype.",
	        "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"[1,1,1,1,1,1,1,1,32]\""),
	CARRIER("safetensors_apr_shape_text", "contradicts its apr.dtype.",
	        "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"[\\\"x\\\"]\""),
	CARRIER("safetensors_apr_shape_number", "contradicts its apr.dtype.",
	        "\"apr.dtype.q\":\"Q4_0\",\"apr.shape.q\":\"32\""),
	HEADER("safetensors_apr_dtype_of_f32", "contradicts its apr.dtype.",
	       "{\"__metadata__\":{\"apr.dtype.q\":\"I32\",\"apr.shape.q\":\"[1]\"},"
	       "\"q\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"),
	HEADER("safetensors_apr_dtype_of_two_axes", "contradicts its apr.dtype.",
	       "{\"__metadata__\":{\"apr.dtype.q\":\"I32\",\"apr.shape.q\":\"[1]\"},"
	       "\"q\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]}}"),
};

static void
put_header(struct gen *g, const struct fault *f)
{
	const char *at = f->from ? strstr(MOTHER, f->from) : NULL;
	size_t before;

	if (!f->from) {
		put(g, f->to, f->to_n);
		return;
	}
	if (!at || (*f->from && strstr(at + 1, f->from)))
		gen_die("this text does not stand in the mother once", f->from);
	before = (size_t)(at - MOTHER);
	put(g, MOTHER, before);
	put(g, f->to, f->to_n);
	put_text(g, at + strlen(f->from));
}

static void
put_file(struct gen *g, const struct fault *f)
{
	struct gen header = { 0 };
	size_t data = DATA;

	put_header(&header, f);
	if (f->around == SHORTER)
		data--;
	else if (f->around == LONGER)
		data++;
	else if (f->around == DATA_OF)
		data = (size_t)f->value;
	put_safetensors_n(g, (char *)header.p, header.n, data);
	if (f->around == SAYS_LESS)
		edit(g, &(struct edit)SET64("length", header.n - 1));
	else if (f->around == SAYS_MORE)
		edit(g, &(struct edit)SET64("length", header.n + 1));
	else if (f->around == SAYS)
		edit(g, &(struct edit)SET64("length", f->value));
	else if (f->around == CUT_AT)
		g->n = (size_t)f->value;
	gen_free(&header);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct gen g = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		const struct fault *f = &faults[i];

		put_file(&g, f);
		folder_file(&folder, f->name, &g);
		folder_fault(&folder, f->name, f->status, f->says, f->pipe);
		gen_free(&g);
	}
	/* The mothers must pass; they have no line in the manifest. */
	put_safetensors(&g, MOTHER, DATA);
	folder_file(&folder, "good", &g);
	gen_free(&g);
	put_safetensors(&g, OURS(Q4_0), 18);
	folder_file(&folder, "good_ours", &g);
	gen_free(&g);
	return folder_close(&folder);
}
