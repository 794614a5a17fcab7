/* torch_export: models of torch.export in their three forms, sound ones (SOUND) and ones with one
 * fault each (MANIFEST). The values of the storage are 1 to 6.
 */
#include "torch.h"

static const float values[] = { 1, 2, 3, 4, 5, 6 };

#define SIZES(X) "\"sizes\":[" X "],"
#define INT(N) "{\"as_int\":" N "}"
#define META(DTYPE, DIMS, STRIDES, OFFSET) \
	"\"tensor_meta\":{\"dtype\":" DTYPE "," SIZES(DIMS) "\"requires_grad\":false," \
	"\"device\":{\"type\":\"cpu\",\"index\":null},\"strides\":[" STRIDES "]," \
	"\"storage_offset\":" INT(OFFSET) ",\"layout\":7}"
#define ROW_OF(NAME, MEMBER, META) \
	"\"" NAME "\":{\"path_name\":\"" MEMBER "\",\"is_param\":true,\"use_pickle\":false," META "}"
#define PICKLED(NAME, MEMBER, META) \
	"\"" NAME "\":{\"path_name\":\"" MEMBER "\",\"is_param\":true,\"use_pickle\":true," META "}"
#define LIST(ROWS) "{\"config\":{" ROWS "}}"
#define DIMS_2_3 INT("2") "," INT("3")
#define BY_ROWS INT("3") "," INT("1")
#define PLAIN ROW_OF("w", "weight_0", META("7", DIMS_2_3, BY_ROWS, "0"))
#define GRAPH "{\"graph_module\":{},\"schema_version\":{\"major\":8,\"minor\":14}}"

static const char weights[] = LIST(PLAIN ","
	ROW_OF("turned", "weight_0", META("7", INT("3") "," INT("2"), INT("1") "," INT("3"), "0")) ","
	ROW_OF("tail", "weight_0", META("7", INT("2"), INT("1"), "4")) ","
	ROW_OF("one", "weight_0", META("7", "", "", "2")) ","
	PICKLED("pickled", "weight_1", META("7", DIMS_2_3, BY_ROWS, "0")));
static const char constants[] = LIST(ROW_OF("c", "tensor_0", META("5", INT("1"), INT("1"), "0")) ","
	PICKLED("object", "custom_obj_0", "\"tensor_meta\":null"));
static const char none[] = LIST("");
static const char evil[] = PROTO "cos\nsystem\nX" LENGTH("\002") "id\205R.";
static const char state[] = PROTO DICT KEY("w") TENSOR "s.";
static const char empty_state[] = PROTO DICT ".";
static const char single[] = PROTO TENSOR ".";
static const char array[] = PROTO ARRAY("K\002\205", DTYPE("u1", "|"), "\211", "C\00212") ".";
#define AS(NAME) PICKLED(NAME, "weight_1", META("1", INT("2"), INT("1"), "0"))
static const char five[] = LIST(AS("a") "," AS("b") "," AS("c") "," AS("d") "," AS("e"));
static const char pair[] = PROTO TENSOR TENSOR "\206.";

/* ---- members ---- */

enum { FORMAT, MODEL, WEIGHTS, WEIGHT_0, WEIGHT_1, CONSTANTS, TENSOR_0, OBJECT, INPUTS, ALL };

static struct gen one, two, full, empty, hostile, arrays;

static void
fill_new(struct member *m)
{
	static const uint64_t number = 7;

	m[FORMAT] = (struct member){ "m/archive_format", "pt2", 3, 0 };
	m[MODEL] = (struct member){ "m/models/model.json", GRAPH, sizeof GRAPH - 1, 0 };
	m[WEIGHTS] = (struct member){ "m/data/weights/model_weights_config.json", weights,
		sizeof weights - 1, 0 };
	m[WEIGHT_0] = (struct member){ "m/data/weights/weight_0", values, sizeof values, 0 };
	m[WEIGHT_1] = (struct member){ "m/data/weights/weight_1", one.p, one.n, 0 };
	m[CONSTANTS] = (struct member){ "m/data/constants/model_constants_config.json", constants,
		sizeof constants - 1, 0 };
	m[TENSOR_0] = (struct member){ "m/data/constants/tensor_0", &number, 8, 0 };
	m[OBJECT] = (struct member){ "m/data/constants/custom_obj_0", evil, sizeof evil - 1, 0 };
	m[INPUTS] = (struct member){ "m/data/sample_inputs/model.pt", evil, sizeof evil - 1, 0 };
}

static void
write_file(struct folder *f, const char *name, const struct member *m, size_t n)
{
	struct gen g = { 0 };

	put_zip(&g, m, n);
	folder_file(f, name, &g);
	gen_free(&g);
}

/* ---- sound files ---- */

static void
write_sound(struct folder *f)
{
	const struct member old[] = {
		{ "serialized_exported_program.json", GRAPH, sizeof GRAPH - 1, 0 },
		{ "serialized_state_dict.pt", full.p, full.n, 0 },
		{ "serialized_constants.pt", empty.p, empty.n, 0 },
		{ "serialized_example_inputs.pt", evil, sizeof evil - 1, 0 }, { "version", "8.2", 3, 0 } };
	const struct member first[] = {
		{ "serialized_exported_program.json", GRAPH, sizeof GRAPH - 1, 0 },
		{ "serialized_state_dict.json", full.p, full.n, 0 }, { "version", "1", 1, 0 } };
	const struct member middle[] = { { "m/archive_format", "pt2", 3, 0 },
		{ "m/models/model.json", GRAPH, sizeof GRAPH - 1, 0 },
		{ "m/data/weights/model.pt", full.p, full.n, 0 },
		{ "m/data/constants/model.pt", empty.p, empty.n, 0 },
		{ "m/data/sample_inputs/model.pt", evil, sizeof evil - 1, 0 } };
	static const char two_a[] = LIST(PLAIN);
	const struct member models[] = { { "archive_format", "pt2", 3, 0 },
		{ "models/a.json", GRAPH, sizeof GRAPH - 1, 0 },
		{ "models/b.json", GRAPH, sizeof GRAPH - 1, 0 },
		{ "data/weights/a_weights_config.json", two_a, sizeof two_a - 1, 0 },
		{ "data/weights/b_weights_config.json", two_a, sizeof two_a - 1, 0 },
		{ "data/weights/weight_0", values, sizeof values, 0 },
		{ "data/constants/a_constants_config.json", none, sizeof none - 1, 0 },
		{ "data/constants/b_constants_config.json", none, sizeof none - 1, 0 } };
	uint8_t swapped[sizeof values];
	struct member m[ALL + 1];
	size_t i;

	fill_new(m);
	write_file(f, "export_new", m, ALL);
	for (i = 0; i < sizeof values; i++)
		swapped[i] = ((const uint8_t *)values)[i / 4 * 4 + 3 - i % 4];
	m[WEIGHTS] = (struct member){ m[WEIGHTS].name, two_a, sizeof two_a - 1, 0 };
	m[CONSTANTS] = (struct member){ m[CONSTANTS].name, none, sizeof none - 1, 0 };
	write_file(f, "export_plain", m, ALL);
	m[WEIGHT_0].p = swapped;
	m[ALL] = (struct member){ "m/byteorder", "big", 3, 0 };
	write_file(f, "export_big_endian", m, ALL + 1);
	write_file(f, "export_old", old, 5);
	write_file(f, "export_first", first, 3);
	write_file(f, "export_middle", middle, 5);
	write_file(f, "export_two_models", models, 8);
}

/* ---- faults ---- */

struct row {
	const char *name;
	int status;
	const char *says;
	int which;         /* the member that is replaced; ALL: one is added */
	const char *member; /* its name; NULL: the same */
	const char *p;
	size_t n;
};
#define BAD(NAME, SAYS, WHICH, TEXT) { NAME, 4, SAYS, WHICH, NULL, TEXT, sizeof(TEXT) - 1 }
#define ONE(NAME, SAYS, ROWS) BAD(NAME, SAYS, WEIGHTS, LIST(ROWS))
#define OF(NAME, SAYS, META) ONE(NAME, SAYS, ROW_OF("w", "weight_0", META))
#define MOVED(NAME, SAYS, WHICH, TO, TEXT) { NAME, 4, SAYS, WHICH, TO, TEXT, sizeof(TEXT) - 1 }

static const struct row rows[] = {
	BAD("export_format", "whose archive_format is not pt2 (E003)", FORMAT, "pt3"),
	BAD("export_format_empty", "whose archive_format is not pt2 (E003)", FORMAT, ""),
	MOVED("export_two_formats", "with 2 models of torch.export", ALL, "archive_format", "pt2"),
	MOVED("export_two_forms", "with 2 models of torch.export", ALL,
	      "serialized_exported_program.json", GRAPH),
	MOVED("export_no_graph", "is a package of PyTorch without a graph", MODEL,
	      "m/data/aotinductor/model/model.so", "x"),
	MOVED("export_graph_below", "is a package of PyTorch without a graph", MODEL,
	      "m/models/a/model.json", GRAPH),
	MOVED("export_no_weights", "lacks the list of the weights of the model model", WEIGHTS,
	      "m/x", ""),
	MOVED("export_no_constants", "lacks the list of the constants of the model model", CONSTANTS,
	      "m/x", ""),
	MOVED("export_weights_twice", "has the weights of the model model in two places", ALL,
	      "m/data/weights/model.pt", "x"),
	BAD("export_list_empty", "JSON", WEIGHTS, ""),
	BAD("export_list_text", "JSON", WEIGHTS, "x"),
	BAD("export_list_cut", "JSON", WEIGHTS, "{\"config\":{\"a\""),
	BAD("export_list_no_config", "a list of weights without its config", WEIGHTS, "{}"),
	BAD("export_list_array", "a list of weights without its config", WEIGHTS, "{\"config\":[]}"),
	BAD("export_name_twice", "duplicate", WEIGHTS, LIST(PLAIN "," PLAIN)),
	BAD("export_constant_twice", "tensor w occurs twice", CONSTANTS,
	    LIST(ROW_OF("w", "tensor_0", META("5", INT("1"), INT("1"), "0")))),
	ONE("export_row_number", "has no member that can be used", "\"w\":1"),
	ONE("export_no_path", "has no member that can be used", "\"w\":{\"use_pickle\":false}"),
	ONE("export_path_number", "has no member that can be used",
	    "\"w\":{\"path_name\":7,\"use_pickle\":false}"),
	ONE("export_path_climbs", "has no member that can be used",
	    ROW_OF("w", "../sample_inputs/model.pt", META("1", INT("8"), INT("1"), "0"))),
	ONE("export_no_use_pickle", "has no member that can be used",
	    "\"w\":{\"path_name\":\"weight_0\"," META("7", DIMS_2_3, BY_ROWS, "0") "}"),
	ONE("export_member_missing", "lies in a member that the file lacks: weight_7",
	    ROW_OF("w", "weight_7", META("7", DIMS_2_3, BY_ROWS, "0"))),
	OF("export_type_0", "has a type that is not known",
	   META("0", DIMS_2_3, BY_ROWS, "0")),
	OF("export_type_99", "has a type that is not known",
	   META("99", DIMS_2_3, BY_ROWS, "0")),
	OF("export_type_complex", "reaches past the end of its storage of 24 bytes",
	   META("11", DIMS_2_3, BY_ROWS, "0")),
	OF("export_type_float8", "has the type float8_e4m3fnuz, which is not read",
	   META("31", DIMS_2_3, BY_ROWS, "0")),
	OF("export_type_text", "has no shape, strides, offset or type",
	   META("\"7\"", DIMS_2_3, BY_ROWS, "0")),
	OF("export_shape_symbol", "has no shape, strides, offset or type",
	   META("7", "{\"as_expr\":{\"expr_str\":\"s0\"}}", INT("1"), "0")),
	OF("export_shape_negative", "has no shape, strides, offset or type",
	   META("7", INT("-1"), INT("1"), "0")),
	OF("export_shape_of_9", "at most 8 dimensions",
	   META("7", DIMS_2_3 "," DIMS_2_3 "," DIMS_2_3 "," DIMS_2_3 "," INT("1"),
	        DIMS_2_3 "," DIMS_2_3 "," DIMS_2_3 "," DIMS_2_3 "," INT("1"), "0")),
	OF("export_strides_missing", "has no shape, strides, offset or type",
	   META("7", DIMS_2_3, INT("1"), "0")),
	OF("export_offset_negative", "has no shape, strides, offset or type",
	   META("7", DIMS_2_3, BY_ROWS, "-1")),
	OF("export_offset_past_end", "reaches past the end of its storage of 24 bytes",
	   META("7", DIMS_2_3, BY_ROWS, "1")),
	OF("export_shape_past_end", "reaches past the end of its storage of 24 bytes",
	   META("7", INT("7"), INT("1"), "0")),
	OF("export_shape_overflows", "reaches past the end of its storage of 24 bytes",
	   META("8", INT("9223372036854775807") "," INT("3"), INT("0") "," INT("0"), "0")),
	OF("export_stride_overflows", "reaches past the end of its storage of 24 bytes",
	   META("7", DIMS_2_3, INT("9223372036854775807") "," INT("1"), "0")),
	OF("export_expanded_bomb", "has tensors of 4294967304 bytes in a file of",
	   META("7", INT("1073741824"), INT("0"), "0")),
	OF("export_sparse", "is sparse, or has another layout",
	   "\"tensor_meta\":{\"dtype\":7," SIZES(INT("1")) "\"strides\":[" INT("1")
	   "],\"storage_offset\":" INT("0") ",\"layout\":1}"),
	OF("export_no_layout", "is sparse, or has another layout",
	   "\"tensor_meta\":{\"dtype\":7," SIZES(INT("1")) "\"strides\":[" INT("1")
	   "],\"storage_offset\":" INT("0") "}"),
	BAD("export_storage_short", "reaches past the end of its storage of 5 bytes", WEIGHT_0,
	    "12345"),
	BAD("export_storage_of_fake", "reaches past the end of its storage of 0 bytes", WEIGHT_0, ""),
	BAD("export_inner_calls", "calls os.system('id')", WEIGHT_1,
	    PROTO "cos\nsystem\nX" LENGTH("\002") "id\205R."),
	BAD("export_inner_text", "data/weights/weight_1", WEIGHT_1, "hello"),
	BAD("export_inner_cut", "has no end record", WEIGHT_1, "PK\003\004xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
	BAD("export_inner_nothing", "data/weights/weight_1", WEIGHT_1, ""),
	ONE("export_inner_empty", "lies in an archive of 0 tensors",
	    PICKLED("w", "weight_2", META("7", DIMS_2_3, BY_ROWS, "0"))),
	MOVED("export_graph_climbs", "whose name leaves its folder", MODEL, "m/models/..\\model.json", GRAPH),
};

static void
write_fault(struct folder *f, const char *name, const char *says, const struct member *m, size_t n)
{
	write_file(f, name, m, n);
	folder_fault(f, name, 4, says, NULL);
}

static void
write_faults(struct folder *f)
{
	struct member m[ALL + 1];
	struct gen inner = { 0 };
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];

		fill_new(m);
		m[ALL] = (struct member){ "m/data/weights/weight_2", empty.p, empty.n, 0 };
		m[r->which].p = r->p;
		m[r->which].n = r->n;
		if (r->member)
			m[r->which].name = r->member;
		write_fault(f, r->name, r->says, m, ALL + 1);
	}
	fill_new(m);
	m[WEIGHT_1] = (struct member){ m[WEIGHT_1].name, hostile.p, hostile.n, 0 };
	write_fault(f, "export_inner_hostile", "calls os.system('id')", m, ALL);
	m[WEIGHT_1] = (struct member){ m[WEIGHT_1].name, two.p, two.n, 0 };
	write_fault(f, "export_inner_two", "lies in an archive of 2 tensors", m, ALL);
	fill_new(m);
	m[WEIGHTS] = (struct member){ m[WEIGHTS].name, five, sizeof five - 1, 0 };
	m[WEIGHT_1] = (struct member){ m[WEIGHT_1].name, arrays.p, arrays.n, 0 };
	write_fault(f, "export_inner_arrays", "has arrays of NumPy in more than 4 archives", m, ALL);
	fill_new(m);
	put_zip(&inner, m, ALL);
	m[WEIGHT_1] = (struct member){ m[WEIGHT_1].name, inner.p, inner.n, 0 };
	write_fault(f, "export_inner_export", "without the data.pkl of PyTorch", m, ALL);
	gen_free(&inner);
}

int
main(int argc, char **argv)
{
	struct folder f;

	put_torch(&one, single, sizeof single - 1);
	put_torch(&two, pair, sizeof pair - 1);
	put_torch(&full, state, sizeof state - 1);
	put_torch(&empty, empty_state, sizeof empty_state - 1);
	put_torch(&arrays, array, sizeof array - 1);
	put_torch(&hostile, evil, sizeof evil - 1);
	folder_open(&f, argc, argv);
	write_sound(&f);
	write_faults(&f);
	return folder_close(&f);
}
