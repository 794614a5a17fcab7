/* onnx_faults: files of ONNX with one fault each. */
#include "onnx.h"

#define F(NAME, SAYS, TEXT) { NAME, 4, SAYS, TEXT }
#define INIT(TENSOR) ONNX_INIT(TENSOR)
#define W ONNX_W
#define RAW ONNX_VALUES
#define ENTRY(KEY, VALUE) "13:{1:\"" KEY "\" 2:\"" VALUE "\"} "
#define EXTERNAL(MORE) INIT(W MORE "14:1")
#define AT(FILE) ENTRY("location", FILE)
#define OUTSIDE(FILE) "is not a file in the model's folder"
#define DEEP(X) "1:{4:\"If\" 5:{1:\"b\" 6:{" X "}}}"
#define DEEP4(X) DEEP(DEEP(DEEP(DEEP(X))))
#define DEEP16(X) DEEP4(DEEP4(DEEP4(DEEP4(X))))

static const struct { const char *name; int status; const char *says, *text; } rows[] = {
	/* the wire format */
	F("onnx_cut_length", "exceeds the", "1:8 8:{2:17} !<3aff0100>"),
	F("onnx_length_huge", "exceeds the", "1:8 8:{2:17} !<3affffffffffffffffff01>"),
	F("onnx_varint_11", "a number of more than 64 bits",
	  "1:8 8:{2:17} !<28808080808080808080808000> 7:{}"),
	F("onnx_group", "a field of form 3", ONNX_MODEL("!<0b> !<0c>")),
	F("onnx_group_end", "a field of form 4", ONNX_MODEL("!<0c>")),
	F("onnx_form_6", "a field of form 6", ONNX_MODEL("!<0e>")),
	F("onnx_field_0", "field numbers are 1 to", ONNX_MODEL("!<0200>")),
	F("onnx_wire_type_graph", "graph of ModelProto is a number, not bytes", "1:8 8:{2:17} 7:5"),
	F("onnx_wire_type_version", "ir_version of ModelProto",
	  "1:8 8:{2:17} 7:{2:\"g\"} 1:\"8\""),
	F("onnx_wire_type_dims", "dims of TensorProto is 4 bytes", INIT("1:f2 2:1 8:\"w\" 9:z8")),
	F("onnx_wire_type_raw", "raw_data of TensorProto is a number", INIT(W "9:1")),
	F("onnx_wire_type_name", "name of TensorProto is a number", INIT("1:2 2:1 8:1")),
	F("onnx_wire_type_floats", "float_data of TensorProto is a number", INIT(W "4:1")),
	F("onnx_wire_type_node", "node of GraphProto is a number", ONNX_MODEL("1:1")),
	F("onnx_wire_type_op", "op_type of NodeProto is a number", ONNX_MODEL("1:{4:1}")),
	F("onnx_wire_type_attribute", "t of AttributeProto is a number",
	  ONNX_MODEL("1:{4:\"Constant\" 2:\"c\" 5:{1:\"value\" 5:1}}")),
	F("onnx_wire_type_metadata", "value of StringStringEntryProto is a number",
	  ONNX_MODEL("") "14:{1:\"a\" 2:1}"),
	/* doubled fields */
	F("onnx_two_graphs", "ModelProto has two fields graph", ONNX_MODEL("") "7:{}"),
	F("onnx_two_versions", "ModelProto has two fields ir_version", ONNX_MODEL("") "1:8"),
	F("onnx_two_names", "TensorProto has two fields name", INIT(W RAW "8:\"v\"")),
	F("onnx_two_types", "TensorProto has two fields data_type", INIT(W RAW "2:1")),
	F("onnx_two_raws", "TensorProto has two fields raw_data", INIT(W RAW RAW)),
	F("onnx_two_ops", "NodeProto has two fields op_type", ONNX_MODEL("1:{4:\"A\" 4:\"B\"}")),
	F("onnx_two_metadata", "onnx.metadata.a", ONNX_MODEL("") "14:{1:\"a\"} 14:{1:\"a\"}"),
	F("onnx_names_twice", "is the name of two tensors of one graph",
	  ONNX_MODEL("5:{" W RAW "} 5:{" W RAW "}")),
	F("onnx_names_twice_constant", "is the name of two tensors of one graph",
	  ONNX_MODEL("5:{" W RAW "} 1:{2:\"w\" 4:\"Constant\" 5:{1:\"value_float\" 2:f1}}")),
	/* names */
	F("onnx_no_name", "has a tensor without a name", INIT("1:1 2:1 9:z4")),
	F("onnx_name_not_utf8", "whose name is not UTF-8", INIT("1:1 2:1 8:<ff41> 9:z4")),
	F("onnx_name_nul", "whose name is not UTF-8", INIT("1:1 2:1 8:<4100> 9:z4")),
	/* shapes and types */
	F("onnx_dim_negative", "has a negative dimension", INIT("1:-1 2:1 8:\"w\" 9:z4")),
	F("onnx_dims_huge", "has an impossible shape",
	  INIT("1:9223372036854775807 1:9223372036854775807 2:1 8:\"w\" 9:z4")),
	F("onnx_dim_huge", "do not fit its shape", INIT("1:4000000000000000000 2:2 8:\"w\" 9:z4")),
	F("onnx_dims_overflow_bytes", "do not fit its shape",
	  INIT("1:9223372036854775807 2:11 8:\"w\" 9:z4")),
	F("onnx_dims_9", "has more than 8 dimensions",
	  INIT("1:[1 1 1 1 1 1 1 1 1] 2:1 8:\"w\" 9:z4")),
	F("onnx_dims_cut", "packed numbers that end inside a number",
	  INIT("1:<80> 2:1 8:\"w\" 9:z4")),
	F("onnx_no_type", "has no data_type", INIT("1:1 8:\"w\" 9:z4")),
	F("onnx_type_0", "has no data_type", INIT("1:1 2:0 8:\"w\" 9:z4")),
	F("onnx_type_99", "has the data_type 99, which is not known", INIT("1:1 2:99 8:\"w\" 9:z4")),
	F("onnx_type_negative", "which is not known", INIT("1:1 2:-1 8:\"w\" 9:z4")),
	F("onnx_complex128", "has the data_type COMPLEX128", INIT("1:1 2:15 8:\"w\" 9:z16")),
	F("onnx_segment", "is a segment of a tensor", INIT(W RAW "3:{1:0 2:1}")),
	/* values */
	F("onnx_no_values", "has no values", INIT(W)),
	F("onnx_raw_short", "has 4 bytes in raw_data", INIT(W "9:z4")),
	F("onnx_raw_long", "has 17 bytes in raw_data", INIT(W "9:z17")),
	F("onnx_raw_empty", "has 0 bytes in raw_data", INIT(W "9:\"\"")),
	F("onnx_raw_of_empty", "has 4 bytes in raw_data", INIT("1:0 2:1 8:\"w\" 9:z4")),
	F("onnx_raw_int4", "has 3 bytes in raw_data", INIT("1:3 2:22 8:\"w\" 9:z3")),
	F("onnx_raw_and_floats", "has its values in two places", INIT(W RAW "4:f[1 2 3 4]")),
	F("onnx_floats_and_ints", "has values of type FLOAT in another field than float_data",
	  INIT(W "4:f[1 2 3 4] 5:[1 2 3 4]")),
	F("onnx_wrong_typed_field", "has values of type FLOAT in another field than float_data",
	  INIT(W "5:[1 2 3 4]")),
	F("onnx_int64_in_int32s", "in another field than int64_data",
	  INIT("1:1 2:7 8:\"w\" 5:[1]")),
	F("onnx_floats_few", "has 12 bytes in float_data", INIT(W "4:f[1 2 3]")),
	F("onnx_floats_unpacked_few", "has 2 numbers, its shape needs 4", INIT(W "4:f1 4:f2")),
	F("onnx_floats_unpacked_one", "has 1 number, its shape needs 4", INIT(W "4:f1")),
	F("onnx_floats_cut", "has 15 bytes in float_data", INIT(W "4:z15")),
	F("onnx_floats_two_fields_cut", "packed numbers that end inside a number",
	  INIT(W "4:f[1 2] 4:z7")),
	F("onnx_ints_many", "has 3 numbers, its shape needs 2", INIT("1:2 2:6 8:\"w\" 5:[1 2 3]")),
	F("onnx_ints_cut", "packed numbers that end inside a number",
	  INIT("1:2 2:6 8:\"w\" 5:<0180>")),
	F("onnx_ints_11", "packed numbers that end inside a number",
	  INIT("1:1 2:6 8:\"w\" 5:<8080808080808080808000>")),
	F("onnx_int8_128", "has a number that is not a value of INT8: 128",
	  INIT("1:1 2:3 8:\"w\" 5:[128]")),
	F("onnx_uint8_negative", "has a number that is not a value of UINT8: -1",
	  INIT("1:1 2:2 8:\"w\" 5:[-1]")),
	F("onnx_bool_2", "has a number that is not a value of BOOL: 2",
	  INIT("1:1 2:9 8:\"w\" 5:[2]")),
	F("onnx_f16_65536", "has a number that is not a value of FLOAT16",
	  INIT("1:1 2:10 8:\"w\" 5:[65536]")),
	F("onnx_int32_wide", "has a number that is not a value of INT32",
	  INIT("1:1 2:6 8:\"w\" 5:[2147483648]")),
	F("onnx_uint32_wide", "has a number that is not a value of UINT32",
	  INIT("1:1 2:12 8:\"w\" 11:[4294967296]")),
	F("onnx_int4_many", "its shape needs 2", INIT("1:3 2:22 8:\"w\" 5:[1 2 3 4]")),
	F("onnx_int4_wide", "its shape needs 2", INIT("1:3 2:22 8:\"w\" 5:[1 2 200]")),
	F("onnx_constant_wrong", "has a number that is not a value of INT8",
	  ONNX_MODEL("1:{2:\"c\" 4:\"Constant\" 5:{1:\"value\" 5:{1:1 2:3 5:[300]}}}")),
	/* sparse */
	F("onnx_sparse_no_indices", "has a sparse tensor without indices",
	  ONNX_MODEL("15:{1:{1:1 2:1 8:\"s\" 4:f[1]} 3:4}")),
	F("onnx_sparse_no_values", "has a sparse tensor without values",
	  ONNX_MODEL("15:{2:{1:1 2:7 7:[1]} 3:4}")),
	F("onnx_sparse_counts", "values and indices do not fit",
	  ONNX_MODEL("15:{1:{1:1 2:1 8:\"s\" 4:f[1]} 2:{1:2 2:7 7:[1 2]} 3:4}")),
	F("onnx_sparse_rank", "values and indices do not fit",
	  ONNX_MODEL("15:{1:{1:1 2:1 8:\"s\" 4:f[1]} 2:{1:1 1:3 2:7 7:[1 2 3]} 3:[4 4]}")),
	F("onnx_sparse_index_type", "values and indices do not fit",
	  ONNX_MODEL("15:{1:{1:1 2:1 8:\"s\" 4:f[1]} 2:{1:1 2:6 5:[1]} 3:4}")),
	F("onnx_sparse_no_name", "has a tensor without a name",
	  ONNX_MODEL("15:{1:{1:1 2:1 4:f[1]} 2:{1:1 2:7 7:[1]} 3:4}")),
	/* external data */
	F("onnx_external_and_raw", "has its values in two places", EXTERNAL(RAW AT("data.bin"))),
	F("onnx_external_unmarked", "its data_location does not say so",
	  INIT(W RAW AT("data.bin"))),
	F("onnx_location_2", "has an unknown data_location", INIT(W RAW "14:2")),
	F("onnx_external_no_location", "has external data without a location", EXTERNAL("")),
	F("onnx_external_empty", "has external data without a location", EXTERNAL(AT(""))),
	F("onnx_external_twice", "states the same of its external data twice",
	  EXTERNAL(AT("data.bin") AT("data.bin"))),
	F("onnx_external_absolute", OUTSIDE(), EXTERNAL(AT("/etc/passwd"))),
	F("onnx_external_above", OUTSIDE(), EXTERNAL(AT("../data.bin"))),
	F("onnx_external_above_inside", OUTSIDE(), EXTERNAL(AT("a/../../data.bin"))),
	F("onnx_external_dot", OUTSIDE(), EXTERNAL(AT("./../data.bin"))),
	F("onnx_external_memory", OUTSIDE(), EXTERNAL(AT("*/_ORT_MEM_ADDR_/*"))),
	F("onnx_external_nul", OUTSIDE(), EXTERNAL("13:{1:\"location\" 2:<61002e62>} ")),
	F("onnx_external_hidden", OUTSIDE(), EXTERNAL(AT(".data"))),
	F("onnx_external_offset_text", "whose offset is not a number",
	  EXTERNAL(AT("data.bin") ENTRY("offset", "1x"))),
	F("onnx_external_offset_negative", "whose offset is not a number",
	  EXTERNAL(AT("data.bin") ENTRY("offset", "-4"))),
	F("onnx_external_offset_huge", "whose offset is not a number",
	  EXTERNAL(AT("data.bin") ENTRY("offset", "99999999999999999999"))),
	F("onnx_external_length_text", "whose length is not a number",
	  EXTERNAL(AT("data.bin") ENTRY("length", ""))),
	F("onnx_external_checksum_text", "whose checksum is not that of SHA-1",
	  EXTERNAL(AT("data.bin") ENTRY("checksum", "abc"))),
	F("onnx_external_length", "has 8 bytes of external data, its shape and type need 16",
	  EXTERNAL(AT("data.bin") ENTRY("length", "8"))),
	F("onnx_external_end", "has external data at byte 10 of data.bin, which has only 24 bytes",
	  EXTERNAL(AT("data.bin") ENTRY("offset", "10"))),
	F("onnx_external_far", "has external data at byte 9223372036854775800",
	  EXTERNAL(AT("data.bin") ENTRY("offset", "9223372036854775800"))),
	F("onnx_external_link", "is a link, which is not followed", EXTERNAL(AT("link.bin"))),
	F("onnx_external_folder", "is not a regular file", EXTERNAL(AT("folder"))),
	{ "onnx_external_missing", 3, "missing.bin: cannot be opened", EXTERNAL(AT("missing.bin")) },
	/* the whole */
	F("onnx_no_graph", "it has no graph", "1:8 8:{2:17}"),
	F("onnx_no_version", "it has no ir_version", "1:0 7:{2:\"g\"}"),
	F("onnx_deep", "nests more than 32 graphs", ONNX_MODEL(DEEP16(DEEP16("")))),
};

int
main(int argc, char **argv)
{
	struct folder f;
	struct gen data = { 0 };
	size_t i;

	folder_open(&f, argc, argv);
	put_ramp(&data, 24);
	folder_file(&f, "data.bin", &data);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *external = strstr(rows[i].text, "14:1}");
		struct gen g = { 0 };

		put_proto(&g, rows[i].text);
		folder_file(&f, rows[i].name, &g);
		folder_fault(&f, rows[i].name, rows[i].status, rows[i].says,
		             external && strstr(rows[i].name, "onnx_external_") ? "" : NULL);
		gen_free(&g);
	}
	gen_free(&data);
	return folder_close(&f);
}
