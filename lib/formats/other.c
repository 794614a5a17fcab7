#include "formats/other.h"

#include <string.h>

#include "core/le.h"

#define MAGIC(TEXT) 0, sizeof(TEXT) - 1, TEXT
#define ONNX "its framework can export the model as ONNX or as arrays of NumPy"
#define TREES "models of trees are read in the forms that apr-predict(1) lists"
#define ENGINE "an engine runs only on the GPU and version that built it, and its layout is not " \
	"published: use the model that it was built from"
#define PAGE "the server sent a page, such as an error or a login, and not the file"
#define BINARY "TensorFlow can save it in its binary form (.pb)"
#define PICKLED "a pickle runs code when Python loads it; " ONNX

static const struct format_other others[] = {
	{ MAGIC("APR1\1\0"), "a model of whisper.apr (magic APR1)", NULL },
	{ MAGIC("APR1"), "an APR1 file of an unknown layout", NULL },
	{ MAGIC("APBUNDLE"), "an APBUNDLE archive of models", NULL },
	{ MAGIC("ggml"), "a big-endian GGML file from before GGUF", NULL },
	{ MAGIC("algg"), "a LoRA adapter of GGML from before GGUF", NULL },
	{ MAGIC("FUGG"), "a big-endian GGUF file", NULL },
	{ MAGIC("ftrt"), "a TensorRT engine", ENGINE },
	{ MAGIC("ptrt"), "a TensorRT engine", ENGINE },
	{ MAGIC("\x12\1\0\0\0\0\0\0"), "a parameter file of MXNet", ONNX },
	{ MAGIC("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\x08"), "a parameter file of PaddlePaddle",
	  ONNX },
	{ MAGIC("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\x08"), "a parameter file of PaddlePaddle",
	  ONNX },
	{ MAGIC("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\6\0\0\0\x08"), "a parameter file of PaddlePaddle",
	  ONNX },
	{ MAGIC("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\x08"), "a parameter file of PaddlePaddle",
	  ONNX },
	{ MAGIC("CBM1"), "a model of CatBoost", TREES },
	{ MAGIC("binf"), "a model of XGBoost", TREES },
	{ MAGIC("bs64\t"), "a model of XGBoost", TREES },
	{ MAGIC("ZF0x"), "a compressed file of joblib", PICKLED },
	{ MAGIC("\x78\x01"), "compressed by zlib, as joblib does", PICKLED },
	{ MAGIC("\x78\x5e"), "compressed by zlib, as joblib does", PICKLED },
	{ MAGIC("\x78\x9c"), "compressed by zlib, as joblib does", PICKLED },
	{ MAGIC("\x78\xda"), "compressed by zlib, as joblib does", PICKLED },
	{ MAGIC("ccopy_reg\n"), "a pickled object of Python", PICKLED },
	{ MAGIC("ccopyreg\n"), "a pickled object of Python", PICKLED },
	{ MAGIC("node {"), "a graph of TensorFlow as text (.pbtxt)", BINARY },
	{ MAGIC("saved_model_schema_version"), "a SavedModel of TensorFlow as text (.pbtxt)", BINARY },
	{ MAGIC("\x28\xb5\x2f\xfd"), "compressed by zstd", NULL },
	{ MAGIC("\x1f\x8b"), "compressed by gzip", NULL },
	{ MAGIC("age-encryption.org/"), "encrypted by age", NULL },
	{ MAGIC("version https://git-lfs"), "a Git LFS pointer",
	  "the file that it stands for was not downloaded: git lfs pull does that" },
	{ MAGIC("<!DOCTYPE"), "a web page", PAGE },
	{ MAGIC("<!doctype"), "a web page", PAGE },
	{ MAGIC("<html"), "a web page", PAGE },
	{ MAGIC("<?xml"), "an XML file", NULL },
	{ MAGIC("\x7f" "ELF"), "a program (ELF)", NULL },
	{ MAGIC("%PDF"), "a PDF file", NULL },
	{ MAGIC("7z\xbc\xaf\x27\x1c"), "compressed by 7-Zip", NULL },
	{ MAGIC("\xfd" "7zXZ"), "compressed by xz", NULL },
	{ MAGIC("BZh"), "compressed by bzip2", NULL },
	{ MAGIC("RIFF"), "a RIFF file, such as sound", NULL },
	{ MAGIC("\x89PNG"), "a PNG image", NULL },
};

/* The old binary form of XGBoost: f32 base score, u32 features, i32 classes, two i32 that are 0 or
 * 1, u32 version.minor (0 in older files), zeros. */
static bool
is_xgboost(const uint8_t *head, size_t n)
{
	size_t i;

	if (n < 64 || le32(head + 4) == 0 || le32(head + 4) > 1u << 24 || le32(head + 8) > 65536 ||
	    le32(head + 12) > 1 || le32(head + 16) > 1 || le32(head + 20) > 9 || le32(head + 24) > 99)
		return false;
	for (i = 28; i < 64 && head[i] == 0; i++)
		;
	return i == 64;
}

/* A program of PaddlePaddle, a protocol buffer: field 1 is a block, whose number is 0 and whose
 * parent is -1. */
static bool
is_paddle(const uint8_t *head, size_t n)
{
	static const uint8_t block[] = { 0x08, 0, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 1 };
	size_t at = 1;

	while (at < n && at < 5 && head[at] >= 0x80)
		at++;
	at++;
	return n > at + sizeof block && head[0] == 0x0a && memcmp(head + at, block, sizeof block) == 0;
}

const struct format_other *
format_other_json(json_t *o)
{
	static const struct {
		const char *members[2];
		struct format_other other;
	} rows[] = {
		{ { "learner", "version" }, { 0, 0, NULL, "a model of XGBoost (JSON)", TREES } },
		{ { "tree_info", "name" }, { 0, 0, NULL, "a model of LightGBM (JSON)", TREES } },
		{ { "oblivious_trees", "model_info" }, { 0, 0, NULL, "a model of CatBoost (JSON)", TREES } },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (json_object_get(o, rows[i].members[0]) && json_object_get(o, rows[i].members[1]))
			return &rows[i].other;
	return NULL;
}

const struct format_other *
format_other(const uint8_t *head, size_t n)
{
	static const struct format_other xgboost = { 0, 0, NULL, "a model of XGBoost (old binary form)",
		TREES }, paddle = { 0, 0, NULL, "a program of PaddlePaddle (.pdmodel)", ONNX };
	const struct format_other *x;

	for (x = others; x < others + sizeof others / sizeof *others; x++)
		if (n >= x->at + x->n && memcmp(head + x->at, x->magic, x->n) == 0)
			return x;
	return is_xgboost(head, n) ? &xgboost : is_paddle(head, n) ? &paddle : NULL;
}
