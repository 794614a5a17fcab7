/* torch_good: sound files of PyTorch, and one that only --opaque accepts. */
#include <zlib.h>

#include "torch_sparse.h"
#include "torch_tar.h"

#define FLOATS STORAGE("FloatStorage", "0", "\006")
#define VIEW(OFFSET, SHAPE, STRIDES) TENSOR_OF(FLOATS, OFFSET, SHAPE, STRIDES)
#define NAMED(N, NAME) "X" LENGTH(N) NAME
#define VIEWS \
	"(" NAMED("\005", "plain") VIEW("K\000", "K\002K\003\206", "K\003K\001\206") \
	NAMED("\006", "turned") VIEW("K\000", "K\003K\002\206", "K\001K\003\206") \
	NAMED("\006", "column") VIEW("K\001", "K\002\205", "K\003\205") \
	NAMED("\007", "every_2") VIEW("K\000", "K\003\205", "K\002\205") \
	NAMED("\010", "expanded") VIEW("K\003", "K\002K\003\206", "K\000K\000\206") \
	NAMED("\007", "overlap") VIEW("K\000", "K\003K\002\206", "K\001K\001\206") \
	NAMED("\004", "tied") VIEW("K\000", "K\002K\003\206", "K\003K\001\206") \
	NAMED("\004", "size") VIEW("K\000", "ctorch\nSize\n" "K\002K\003\206\205R", "K\003K\001\206") \
	NAMED("\003", "box") VIEW("K\000", "K\002K\001K\003\207", "K\003K\143K\001\207") "u"

static const char views[] = PROTO DICT VIEWS ".";
static const char views_4[] = "\200\004\214\013collections\224\214\013OrderedDict\224\223\224)R\224" VIEWS ".";
static const char checkpoint[] = PROTO "}(" NAMED("\005", "epoch") "K\003" NAMED("\005", "model") "}"
	NAMED("\012", "state_dict") DICT NAMED("\010", "module.w") TENSOR "ss"
	NAMED("\011", "optimizer") "}" NAMED("\005", "state") "}K\000}" NAMED("\003", "avg") TENSOR "sssu.";
static const char calls[] = BESIDE("cos\nsystem\n" NAMED("\002", "id") "\205R");
static const char depends[] = ALONE(TENSOR_OF("cos\nsystem\n" NAMED("\002", "id") "\205R", "K\000",
	SHAPE_2_3, STRIDES_3_1));
static const char quantized[] = PROTO "}" KEY("q") "ctorch._utils\n_rebuild_qtensor\n("
	STORAGE("QInt8Storage", "0", "\004") "K\000K\002K\002\206K\002K\001\206"
	"ctorch\nper_tensor_affine\nG\077\340\000\000\000\000\000\000K\003\207\211" DICT "tRs.";
static const char bytes[] = PROTO "}" KEY("w")
	TENSOR_OF(STORAGE("ByteStorage", "0", "\030"), "K\000", "K\030\205", "K\001\205") "s.";

/* Types that are kept as numbers, with a key that says what they mean. */
#define QUANTIZED(TYPE, N, SHAPE, STRIDES, SCHEME) \
	"ctorch._utils\n_rebuild_qtensor\n(" STORAGE(TYPE, "0", N) "K\000" SHAPE STRIDES SCHEME "\211" \
	DICT "tR"
#define HALF "G\077\340\000\000\000\000\000\000"
#define MARKED(TYPE, KEY, N, SHAPE, STRIDES, MARKS) \
	"ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(TYPE, KEY, N) "K\000" SHAPE STRIDES "\211" DICT \
	MARKS "tR"
#define CONJ "}X" LENGTH("\004") "conj\210s"
#define NEG "}X" LENGTH("\003") "neg\210s"
#define BOTH "}(X" LENGTH("\004") "conj\210X" LENGTH("\003") "neg\210u"
static const char meanings[] = PROTO "}(" NAMED("\004", "axis")
	QUANTIZED("QInt8Storage", "\004", "K\002K\002\206", "K\002K\001\206",
	          "(ctorch\nper_channel_affine\n"
	          TENSOR_OF(STORAGE("DoubleStorage", "1", "\002"), "K\000", "K\002\205", "K\001\205")
	          TENSOR_OF(STORAGE("LongStorage", "2", "\002"), "K\000", "K\002\205", "K\001\205")
	          "K\000t")
	NAMED("\005", "lists")
	QUANTIZED("QUInt8Storage", "\004", "K\002K\002\206", "K\002K\001\206",
	          "(ctorch\nper_channel_affine\n](" HALF "K\001e](K\000K\007eK\001t")
	NAMED("\006", "quint8") QUANTIZED("QUInt8Storage", "\004", "K\004\205", "K\001\205",
	                                "ctorch\nper_tensor_affine\n" HALF "K\003\207")
	NAMED("\006", "qint32") QUANTIZED("QInt32Storage", "\001", "K\001\205", "K\001\205",
	                                "ctorch\nper_tensor_affine\n" HALF "K\000\207")
	NAMED("\012", "complex128") TENSOR_OF(STORAGE("ComplexDoubleStorage", "3", "\002"), "K\000",
	                                     "K\002\205", "K\001\205")
	NAMED("\010", "backward") TENSOR_OF(STORAGE("ComplexDoubleStorage", "3", "\002"), "K\001",
	                                    ")", ")")
	NAMED("\004", "conj") MARKED("ComplexDoubleStorage", "3", "\002", "K\002\205", "K\001\205", CONJ)
	NAMED("\004", "both") MARKED("ComplexDoubleStorage", "3", "\002", "K\002\205", "K\001\205", BOTH)
	NAMED("\003", "neg") MARKED("DoubleStorage", "3", "\004", "K\002K\002\206", "K\001K\002\206", NEG)
	NAMED("\003", "c64") MARKED("ComplexFloatStorage", "4", "\002", "K\002\205", "K\001\205", CONJ)
	"u.";

#define MATRIX "(X" LENGTH("\007") "storagectorch\nFloatStorage\nX" LENGTH("\001") "0X" \
	LENGTH("\003") "cpuJ\000\000\004\000tQ"
static const char slices[] = PROTO "}(" NAMED("\003", "col")
	TENSOR_OF(MATRIX, "K\001",
	          "J\000\000\001\000K\001\206", "K\004K\001\206")
	NAMED("\004", "pair")
	TENSOR_OF(MATRIX, "K\001",
	          "J\000\000\001\000K\002\206", "K\004K\001\206") "u.";

static const float values[] = { 1, 2, 3, 4, 5, 6 };

/* A tuple whose first member is a tensor of 2 values. */
static const char constants[] = PROTO
	TENSOR_OF(STORAGE("FloatStorage", "0", "\002"), "K\000", "K\002\205", "K\001\205") "K\001\206.";

static void
swap_values(uint8_t *to)
{
	const uint8_t *from = (const uint8_t *)values;
	size_t i;

	for (i = 0; i < sizeof values; i++)
		to[i] = from[i / 4 * 4 + 3 - i % 4];
}

static void
write_file(const struct folder *f, const char *name, const struct member *list, size_t n)
{
	struct gen g = { 0 };

	put_zip(&g, list, n);
	folder_file((struct folder *)(uintptr_t)f, name, &g);
	gen_free(&g);
}

static void
write_with(struct folder *f, const char *name, const char *pickle, size_t n, const void *storage,
           size_t bytes_n)
{
	const struct member list[] = { { "a/data.pkl", pickle, n, 0 },
		{ "a/data/0", storage, bytes_n, 0 }, { "a/version", "3\n", 2, 0 } };

	write_file(f, name, list, 3);
}

/* Deflate a member, and write its header with the sizes of both. */
static void
write_deflated(struct folder *f)
{
	static uint8_t pickle[4096], storage[256];
	struct member list[] = { { "a/data.pkl", pickle, 0, 0 }, { "a/data/0", storage, 0, 0 } };
	const void *from[] = { views, values };
	const size_t sizes[] = { sizeof views - 1, sizeof values };
	uint8_t *to[] = { pickle, storage };
	struct gen g = { 0 };
	char name[32];
	size_t i, k;

	for (i = 0; i < 2; i++) {
		z_stream s = { .next_in = (z_const Bytef *)(uintptr_t)from[i],
			.avail_in = (uInt)sizes[i], .next_out = to[i], .avail_out = i ? 256 : 4096 };

		if (deflateInit2(&s, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
		    deflate(&s, Z_FINISH) != Z_STREAM_END)
			gen_die("cannot be deflated", "member");
		list[i].n = s.total_out;
		deflateEnd(&s);
	}
	put_zip(&g, list, 2);
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++) {
			const struct edit e[] = { { EDIT_SET, name, 8, 2, NULL, 0 },
				{ EDIT_SET, name, sizes[i], 4, NULL, 0 },
				{ EDIT_SET, name, crc_of(from[i], sizes[i]), 4, NULL, 0 } };
			static const char *const words[] = { "method", "bytes", "crc" };
			size_t w;

			for (w = 0; w < 3; w++) {
				snprintf(name, sizeof name, "%c%zu.%s", k ? 'c' : 'l', i, words[w]);
				edit(&g, &e[w]);
			}
		}
	folder_file(f, "views_deflated", &g);
	gen_free(&g);
}

/* Columns of a matrix of 65536 x 4, whose values are 0, 1, 2, …: w[:, 1:2] and w[:, 1:3]. */
static void
write_slices(struct folder *f)
{
	static float matrix[65536 * 4];
	size_t i;

	for (i = 0; i < sizeof matrix / sizeof *matrix; i++)
		matrix[i] = (float)i;
	write_with(f, "slices", slices, sizeof slices - 1, matrix, sizeof matrix);
}

#define MAGIC "\200\002\212\nl\374\234F\371 j\250P\031."
#define COUNT "\212\005\000\272\035\322\005" /* 25000000000 */

/* The legacy form up to the bytes of its storage: the test adds a hole of 100 GB. */
static void
write_sparse(struct folder *f)
{
	static const char head[] = MAGIC "\200\002M\351\003.\200\002}." PROTO "}" KEY("a")
		TENSOR_OF("(X" LENGTH("\007") "storagectorch\nFloatStorage\n" KEY("0") "X" LENGTH("\003")
		          "cpu" COUNT "NtQ", "K\000", COUNT "\205", "K\001\205")
		"s.\200\002]" KEY("0") "a.";
	struct gen g = { 0 };

	put(&g, head, sizeof head - 1);
	put_u64(&g, UINT64_C(25000000000));
	folder_file(f, "sparse_head", &g);
	gen_free(&g);
}

/* The CRC-32 of the storage is wrong. */
static void
write_wrong_crc(struct folder *f)
{
	static const struct edit wrong[] = { SET32("l1.crc", 1), SET32("c1.crc", 1) };
	struct gen g = { 0 };

	put_torch(&g, views, sizeof views - 1);
	edit(&g, &wrong[0]);
	edit(&g, &wrong[1]);
	folder_file(f, "views_wrong_crc", &g);
	gen_free(&g);
}

static const char arrays[] = PROTO "}(" NAMED("\001", "w") TENSOR
	NAMED("\003", "big") ARRAY("K\002\205", DTYPE("i2", ">"), "\211", "C\004\001\002\377\376")
	NAMED("\006", "turned") ARRAY_IN("numpy._core", "K\002K\003\206", DTYPE("u1", "|"), "\210",
	                               "C\006\001\002\003\004\005\006")
	NAMED("\007", "letters") ARRAY("K\004\205", DTYPE("u1", "|"), "\211",
	                                LETTERS("\006", "\001\303\277\302\200\177"))
	NAMED("\004", "none") ARRAY("K\000\205", DTYPE("f4", "<"), "\211", "C\000")
	NAMED("\007", "objects") ARRAY("K\001\205", DTYPE("O8", "|"), "\211", "]Na")
	NAMED("\006", "scalar") "cnumpy._core.multiarray\nscalar\n" DTYPE("i2", "<") "C\002\001\000\206R"
	"u.";

#define TWENTY_THOUSAND "J\040\116\000\000"
static const char many_scales[] = PROTO "}" NAMED("\004", "many")
	QUANTIZED("QInt8Storage", "\004", TWENTY_THOUSAND "\205", "K\000\205",
	          "(ctorch\nper_channel_affine\n"
	          TENSOR_OF(STORAGE("DoubleStorage", "1", "\002"), "K\000", TWENTY_THOUSAND "\205", "K\000\205")
	          TENSOR_OF(STORAGE("LongStorage", "2", "\002"), "K\000", TWENTY_THOUSAND "\205", "K\000\205")
	          "K\000t") "s.";

static void
write_meanings(struct folder *f)
{
	static const uint8_t codes[] = { 1, 2, 3, 127 };
	static const double scales[] = { 0.5, 0.1 }, numbers[] = { 1, 2, 3, 4 };
	static const int64_t zeros[] = { 3, -1 };
	static const float floats[] = { 1, 2, 3, 4 };
	struct member list[] = { { "a/data.pkl", meanings, sizeof meanings - 1, 0 },
		{ "a/data/0", codes, sizeof codes, 0 }, { "a/data/1", scales, sizeof scales, 0 },
		{ "a/data/2", zeros, sizeof zeros, 0 }, { "a/data/3", numbers, sizeof numbers, 0 },
		{ "a/data/4", floats, sizeof floats, 0 } };

	write_file(f, "meanings", list, 6);
	list[0] = (struct member){ list[0].name, many_scales, sizeof many_scales - 1, 0 };
	write_file(f, "many_scales", list, 6);
}

/* What torch.jit.save adds. */
static void
write_script(struct folder *f)
{
	static const char code[] = "class M(Module):\n  c = CONSTANTS.c0\n";
	static const char evil[] = "cos\nsystem\n(S'id'\ntR.";
	const struct member list[] = { { "a/data.pkl", views, sizeof views - 1, 0 },
		{ "a/data/0", values, sizeof values, 0 },
		{ "a/constants.pkl", constants, sizeof constants - 1, 0 },
		{ "a/constants/0", values + 4, 8, 0 },
		{ "a/code/__torch__/m.py", code, sizeof code - 1, 0 },
		{ "a/code/__torch__/m.py.debug_pkl", evil, sizeof evil - 1, 0 },
		{ "a/extra/empty", "", 0, 0 }, { "a/extra/info.txt", "hello", 5, 0 } };

	write_file(f, "script", list, 8);
}

/* The sizes follow the member, and its own header has none. */
static void
write_late(struct folder *f)
{
	static const struct edit none[] = { SET32("l0.crc", 0), SET32("l0.stored", 0),
		SET32("l0.bytes", 0), SET32("l1.crc", 0), SET32("l1.stored", 0), SET32("l1.bytes", 0) };
	const struct member list[] = { { "a/data.pkl", views, sizeof views - 1, 8 },
		{ "a/data/0", values, sizeof values, 8 } };
	struct gen g = { 0 };
	size_t i;

	put_zip(&g, list, 2);
	for (i = 0; i < sizeof none / sizeof *none; i++)
		edit(&g, &none[i]);
	folder_file(f, "views_late_sizes", &g);
	gen_free(&g);
}

/* The tar form, and sparse tensors of three layouts. */
static void
write_others(struct folder *f)
{
	static const struct tar_form plain;
	static const int64_t pairs[] = { 1, 0, 1, 2, 0, 2 }, rows[] = { 0, 1, 2 }, columns[] = { 1, 0 };
	static const struct { const char *name; struct sparse_file file; } sparse[] = {
		{ "sparse_coo", { .layout = "torch.sparse_coo", .part = { { .type = NULL },
		  { "LongStorage", 2, { 2, 3 }, pairs, sizeof pairs, NULL },
		  { "FloatStorage", 1, { 3 }, values, 12, NULL } }, .ndim = 2, .dims = { 2, 3 },
		  .coalesced = '\211' } },
		{ "sparse_csr", { .layout = "torch.sparse_csr", .part = {
		  { "LongStorage", 1, { 3 }, rows, sizeof rows, NULL },
		  { "LongStorage", 1, { 2 }, columns, sizeof columns, NULL },
		  { "FloatStorage", 1, { 2 }, values, 8, NULL } }, .ndim = 2, .dims = { 2, 3 } } },
		{ "sparse_bsc", { .layout = "torch.sparse_bsc", .part = {
		  { "LongStorage", 1, { 3 }, rows, sizeof rows, NULL },
		  { "LongStorage", 1, { 2 }, columns, sizeof columns, NULL },
		  { "FloatStorage", 3, { 2, 1, 3 }, values, 24, NULL } }, .ndim = 2, .dims = { 2, 6 } } },
	};
	struct gen g = { 0 };
	size_t i;

	made_tar(&g, &plain, TAR_PICKLE, sizeof TAR_PICKLE - 1);
	folder_file(f, "tar", &g);
	for (i = 0; i < sizeof sparse / sizeof *sparse; i++) {
		gen_free(&g);
		put_sparse(&g, &sparse[i].file);
		folder_file(f, sparse[i].name, &g);
	}
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	static const int8_t codes[] = { 1, 2, 3, 127 };
	static const char like_a_pickle[24] = "cos\nsystem\n(S'id'\ntR.";
	uint8_t swapped[sizeof values];
	const struct member bare[] = { { "data.pkl", views, sizeof views - 1, 0 },
		{ "data/0", values, sizeof values, 0 } };
	const struct member big[] = { { "a/data.pkl", views, sizeof views - 1, 0 },
		{ "a/data/0", swapped, sizeof swapped, 0 }, { "a/byteorder", "big", 3, 0 } };
	struct folder f;

	folder_open(&f, argc, argv);
	swap_values(swapped);
	write_with(&f, "views", views, sizeof views - 1, values, sizeof values);
	write_with(&f, "views_protocol_4", views_4, sizeof views_4 - 1, values, sizeof values);
	write_with(&f, "checkpoint", checkpoint, sizeof checkpoint - 1, values, sizeof values);
	write_with(&f, "calls", calls, sizeof calls - 1, values, sizeof values);
	write_with(&f, "depends", depends, sizeof depends - 1, values, sizeof values);
	write_with(&f, "quantized", quantized, sizeof quantized - 1, codes, sizeof codes);
	write_with(&f, "weights_like_a_pickle", bytes, sizeof bytes - 1, like_a_pickle,
	           sizeof like_a_pickle);
	write_file(&f, "views_without_folder", bare, 2);
	write_file(&f, "views_big_endian", big, 3);
	write_deflated(&f);
	write_slices(&f);
	write_sparse(&f);
	write_late(&f);
	write_script(&f);
	write_meanings(&f);
	write_with(&f, "arrays", arrays, sizeof arrays - 1, values, sizeof values);
	write_wrong_crc(&f);
	write_others(&f);
	return folder_close(&f);
}
