/* onnx_good: sound files of ONNX. */
#include "onnx.h"

/* One tensor of each type, as raw_data and in its typed field, with the same values. */
#define TYPE(NUMBER, NAME, DIMS, RAW, TYPED) \
	"5:{" DIMS "2:" NUMBER " 8:\"" NAME ".raw\" 9:<" RAW ">}" \
	"5:{" DIMS "2:" NUMBER " 8:\"" NAME ".typed\" " TYPED "}"

static const char types[] = ONNX_MODEL(
	TYPE("1", "FLOAT", "1:2 ", "0000803f000000c0", "4:f1 4:f-2")
	TYPE("2", "UINT8", "1:2 ", "01ff", "5:[1 255]")
	TYPE("3", "INT8", "1:2 ", "01fe", "5:[1 -2]")
	TYPE("4", "UINT16", "1:2 ", "0100ffff", "5:[1 65535]")
	TYPE("5", "INT16", "1:2 ", "0100feff", "5:1 5:-2")
	TYPE("6", "INT32", "1:2 ", "01000000feffffff", "5:[1 -2]")
	TYPE("7", "INT64", "1:2 ", "0100000000000000feffffffffffffff", "7:[1 -2]")
	TYPE("9", "BOOL", "1:2 ", "0100", "5:[1 0]")
	TYPE("10", "FLOAT16", "1:2 ", "003c00c0", "5:[15360 49152]")
	TYPE("11", "DOUBLE", "1:2 ", "000000000000f03f00000000000000c0", "10:d[1 -2]")
	TYPE("12", "UINT32", "1:2 ", "01000000ffffffff", "11:[1 4294967295]")
	TYPE("13", "UINT64", "1:2 ", "01000000000000000200000000000000", "11:[1 2]")
	TYPE("14", "COMPLEX64", "1:1 ", "0000803f000000c0", "4:f[1 -2]")
	TYPE("16", "BFLOAT16", "1:2 ", "803f00c0", "5:[16256 49152]")
	TYPE("17", "FLOAT8E4M3FN", "1:2 ", "38c0", "5:[56 192]")
	TYPE("18", "FLOAT8E4M3FNUZ", "1:5 ", "40c8017f80", "5:[64 200 1 127 128]")
	TYPE("19", "FLOAT8E5M2", "1:2 ", "3cc0", "5:[60 192]")
	TYPE("20", "FLOAT8E5M2FNUZ", "1:5 ", "40c4017f80", "5:[64 196 1 127 128]")
	TYPE("21", "UINT4", "1:3 ", "f107", "5:[241 7]")
	TYPE("22", "INT4", "1:3 ", "f107", "5:[1 -1 7]")
	TYPE("23", "FLOAT4E2M1", "1:3 ", "f107", "5:[241 7]")
	TYPE("24", "FLOAT8E8M0", "1:2 ", "7f80", "5:[127 128]")
	TYPE("25", "UINT2", "1:5 ", "e402", "5:[228 2]")
	TYPE("26", "INT2", "1:5 ", "e402", "5:[228 2]"));

/* Tensors in all places. */
static const char places[] =
	"1:8 2:\"maker\" 3:\"1.0\" 4:\"some.domain\" 5:3 6:\"about the model\" 7:{"
	"2:\"main\" 10:\"about the graph\" "
	"11:{1:\"x\" 2:{1:{1:1 2:{1:{2:\"batch\"} 1:{1:3} 1:{}}}}} "
	"11:{1:\"in\" 2:{1:{1:1 2:{1:{1:2}}}}} "
	"12:{1:\"y\" 2:{1:{1:7 2:{}}}} "
	"1:{2:\"c1\" 4:\"Constant\" 5:{1:\"value\" 5:{1:2 2:1 8:\"ignored\" 4:f[1 2]} 20:4}} "
	"1:{2:\"c2\" 4:\"Constant\" 5:{1:\"value_float\" 2:f0.5 20:1}} "
	"1:{2:\"c3\" 4:\"Constant\" 5:{1:\"value_floats\" 7:f[1 2 3] 20:6}} "
	"1:{2:\"c4\" 4:\"Constant\" 5:{1:\"value_int\" 3:-7 20:2}} "
	"1:{2:\"c5\" 4:\"Constant\" 5:{1:\"value_ints\" 8:4 8:5 20:7}} "
	"1:{2:\"c6\" 4:\"Constant\" 5:{1:\"value_string\" 4:\"text\" 20:3}} "
	"1:{2:\"c7\" 4:\"Constant\" 5:{1:\"sparse_value\" 22:{1:{1:2 2:1 4:f[1 2]} "
	"2:{1:2 2:7 7:[1 4]} 3:6} 20:11}} "
	"1:{1:\"cond\" 2:\"z\" 4:\"If\" "
	"5:{1:\"then_branch\" 6:{2:\"then\" 5:{1:1 2:1 8:\"in\" 4:f8}} 20:5} "
	"5:{1:\"else_branch\" 6:{2:\"else\" 5:{1:1 2:1 8:\"in\" 4:f9}} 20:5}} "
	"5:{1:2 2:1 8:\"in\" 9:<0000803f00000040>} "
	"5:{2:1 8:\"scalar\" 9:<0000803f>} "
	"5:{1:0 1:4 2:1 8:\"empty\"} "
	"5:{1:2 2:8 8:\"texts\" 6:\"a\" 6:\"b\"} "
	"5:{1:2 2:1 8:\"noted\" 9:<0000803f00000040> 99:\"a field of the future\"} "
	"15:{1:{1:2 2:1 8:\"sp\" 4:f[1 2]} 2:{1:2 1:2 2:7 7:[0 1 1 0]} 3:[2 3]}"
	"} 8:{1:\"\" 2:17} 8:{1:\"com.microsoft\" 2:1} 14:{1:\"author\" 2:\"nobody\"} "
	"25:{1:\"f\" 7:{2:\"inner\" 4:\"Constant\" 5:{1:\"value_float\" 2:f3 20:1}}}";

/* Names that follow nodes, and what nodes say. */
#define WEIGHT(NAME) "5:{1:2 1:3 2:1 8:\"" NAME "\" 9:z24} "
#define BYTES_OF(NAME) "5:{1:4 2:3 8:\"" NAME "\" 9:z4} "
#define ONE(NAME) "5:{2:1 8:\"" NAME "\" 9:z4} "
static const char names[] = ONNX_MODEL(
	"1:{1:\"x\" 1:\"onnx::MatMul_1\" 3:\"/enc/fc1/MatMul\" 4:\"MatMul\"} "
	"1:{1:\"x\" 1:\"onnx::MatMul_2\" 3:\"/enc/fc1/MatMul_1\" 4:\"MatMul\"} "
	"1:{1:\"x\" 1:\"onnx::Conv_3\" 1:\"onnx::Conv_4\" 3:\"/stem/Conv\" 4:\"Conv\"} "
	"1:{1:\"x\" 1:\"onnx::MatMul_5\" 3:\"MatMul_77\" 4:\"MatMul\"} "
	"1:{1:\"x\" 1:\"onnx::MatMul_6\" 3:\"/MatMul\" 4:\"MatMul\"} "
	"1:{1:\"x\" 1:\"onnx::Add_7\" 3:\"/enc/Add\" 4:\"Add\"} "
	"1:{1:\"x\" 1:\"head.weight\" 3:\"/head/Gemm\" 4:\"Gemm\" 5:{1:\"transB\" 3:1 20:2}} "
	"1:{1:\"x\" 1:\"plain.weight\" 3:\"/plain/Gemm\" 4:\"Gemm\"} "
	"1:{1:\"q\" 1:\"q_scale\" 1:\"q_zero\" 4:\"DequantizeLinear\" 5:{1:\"axis\" 3:0 20:2}} "
	"1:{1:\"x\" 1:\"nb\" 1:\"nb_scale\" 4:\"MatMulNBits\" 5:{1:\"bits\" 3:4 20:2} "
	"5:{1:\"block_size\" 3:32 20:2}} "
	WEIGHT("onnx::MatMul_1") WEIGHT("onnx::MatMul_2") WEIGHT("onnx::Conv_3")
	WEIGHT("onnx::Conv_4") WEIGHT("onnx::MatMul_5") WEIGHT("onnx::MatMul_6")
	WEIGHT("onnx::Add_7") WEIGHT("head.weight") WEIGHT("plain.weight")
	WEIGHT("/a/b/weight") WEIGHT("enc.fc1.weight") WEIGHT("enc.fc1.weight~2")
	BYTES_OF("q") ONE("q_scale") BYTES_OF("q_zero") BYTES_OF("nb") ONE("nb_scale")
	BYTES_OF("annotated")
	"14:{1:\"annotated\" 2:{1:\"SCALE_TENSOR\" 2:\"q_scale\"} "
	"2:{1:\"ZERO_POINT_TENSOR\" 2:\"q_zero\"}} ");

#define AT(LOCATION, MORE) "13:{1:\"location\" 2:\"" LOCATION "\"} " MORE "14:1"
static const char external[] = ONNX_MODEL(
	"5:{" ONNX_W ONNX_VALUES "} "
	"5:{1:3 2:1 8:\"a\" " AT("data.bin", "13:{1:\"offset\" 2:\"4\"} 13:{1:\"length\" 2:\"12\"} ") "} "
	"5:{1:4 2:3 8:\"b\" " AT("./other.bin", "13:{1:\"checksum\" 2:\"12dada1fff4d4787ade3333147202c3b443e376f\"} ") "} "
	"5:{1:5 2:22 8:\"c\" " AT("data.bin", "13:{1:\"offset\" 2:\"16\"} ") "} ");

/* data.bin: 4 bytes, three floats, five values of 4 bits. */
static const char data[] = "!<00000000" "0000803f0000004000004040" "f17e0f>";

int
main(int argc, char **argv)
{
	static const struct { const char *name, *text; } files[] = {
		{ "good", ONNX_INIT(ONNX_W ONNX_VALUES) }, { "types", types }, { "places", places },
		{ "names", names }, { "external", external }, { "data.bin", data },
		{ "other.bin", "!<01020304>" },
		/* Another order of fields, which --from onnx takes. */
		{ "backwards", "8:{2:17} 7:{5:{" ONNX_W ONNX_VALUES "}} 1:8" },
		/* Messages of other programs that begin alike. */
		{ "coreml", "1:4 2:{1:{1:\"image\" 3:{4:{1:8 2:8}}} 10:{1:\"classes\"} 100:{1:\"x\"}} "
		  "500:{1:{1:\"layer\"}}" },
		{ "graphdef", "1:{1:\"node\" 2:\"Const\" 5:{1:\"dtype\" 2:{6:1}}} 4:{1:27}" },
		{ "savedmodel", "1:1 2:{1:{1:{1:{1:\"Add\"}} 4:\"serve\"} 2:{1:{1:\"n\"}}}" },
		{ "numbers", "1:8 2:\"maker\" 9:4" },
	};
	struct folder f;
	size_t i;

	folder_open(&f, argc, argv);
	for (i = 0; i < sizeof files / sizeof *files; i++) {
		struct gen g = { 0 };

		put_proto(&g, files[i].text);
		folder_file(&f, files[i].name, &g);
		gen_free(&g);
	}
	return folder_close(&f);
}
