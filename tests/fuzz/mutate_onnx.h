/* mutate_onnx: changes to models of ONNX that keep the lengths of messages right: fields are left out, doubled,
 * exchanged and given other values at any depth; and whole operators are put between two others. */
#ifndef MUTATE_ONNX_H
#define MUTATE_ONNX_H

#include "dice.h"
#include "mutate.h"
#include "wire/protobuf.h"

#define ONNX_FIELDS 512 /* of a message that are told apart */
#define ONNX_NAME 24

static void
onnx_varint(struct buf *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		buf_u8(b, (uint8_t)(v | 128));
	buf_u8(b, (uint8_t)v);
}

static void
onnx_bytes(struct buf *b, uint32_t number, const void *p, size_t n)
{
	onnx_varint(b, number << 3 | PROTOBUF_BYTES);
	onnx_varint(b, n);
	buf_put(b, p, n);
}

static void
onnx_text(struct buf *b, uint32_t number, const char *text)
{
	onnx_bytes(b, number, text, strlen(text));
}

static void
onnx_field(struct buf *b, const struct protobuf_field *f)
{
	if (f->form == PROTOBUF_BYTES) {
		onnx_bytes(b, f->number, f->p, (size_t)f->value);
		return;
	}
	onnx_varint(b, f->number << 3 | f->form);
	if (f->form == PROTOBUF_VARINT)
		onnx_varint(b, f->value);
	else
		buf_integer(b, f->form == PROTOBUF_8 ? 8 : 4, f->value);
}

/* The fields of a message; 0 if the bytes are not one. */
static size_t
onnx_split(const uint8_t *p, size_t n, struct protobuf_field *to)
{
	struct protobuf m;
	struct err e = ERR_INIT;
	size_t count = 0;
	int r = 1;

	protobuf_open(&m, p, n, "in", &e);
	while (count < ONNX_FIELDS && (r = protobuf_next(&m, &to[count])) == 1)
		count++;
	return r < 0 ? 0 : count;
}

static const struct {
	const char *name, *domain;
} onnx_operators[] = {
	{ "Abs", "" }, { "Sqrt", "" }, { "Not", "" }, { "Clip", "" }, { "Add", "" }, { "Div", "" }, { "Pow", "" }, { "Equal", "" },
	{ "Max", "" }, { "Mean", "" }, { "Where", "" }, { "ReduceSum", "" }, { "ReduceLogSumExp", "" }, { "ArgMax", "" },
	{ "TopK", "" }, { "Softmax", "" }, { "CumSum", "" }, { "MatMul", "" }, { "Gemm", "" }, { "CDist", "com.microsoft" },
	{ "Identity", "" }, { "Reshape", "" }, { "Flatten", "" }, { "Squeeze", "" }, { "Unsqueeze", "" }, { "Transpose", "" },
	{ "Concat", "" }, { "Split", "" }, { "Slice", "" }, { "Gather", "" }, { "Shape", "" }, { "Size", "" },
	{ "ConstantOfShape", "" }, { "Expand", "" }, { "Cast", "" }, { "Constant", "" }, { "LabelEncoder", "ai.onnx.ml" },
	{ "CategoryMapper", "ai.onnx.ml" }, { "OneHotEncoder", "ai.onnx.ml" }, { "ArrayFeatureExtractor", "ai.onnx.ml" },
	{ "FeatureVectorizer", "ai.onnx.ml" }, { "DictVectorizer", "ai.onnx.ml" }, { "ZipMap", "ai.onnx.ml" },
	{ "Scaler", "ai.onnx.ml" }, { "Normalizer", "ai.onnx.ml" }, { "Binarizer", "ai.onnx.ml" }, { "Imputer", "ai.onnx.ml" },
	{ "LinearRegressor", "ai.onnx.ml" }, { "LinearClassifier", "ai.onnx.ml" },
	{ "TreeEnsemble", "ai.onnx.ml" }, { "SVMClassifier", "ai.onnx.ml" }, { "SVMRegressor", "ai.onnx.ml" }, { "StringNormalizer", "" },
	{ "Tokenizer", "com.microsoft" }, { "TfIdfVectorizer", "" },
};

static const char *const onnx_attributes[] = {
	"axis", "axes", "keepdims", "perm", "k", "to", "split", "starts", "ends", "steps", "shape", "alpha", "transA", "transB",
	"allowzero", "metric", "keys_strings", "keys_int64s", "keys_floats", "values_strings", "values_int64s", "values_floats",
	"keys_tensor", "values_tensor", "default_tensor", "default_string", "default_int64", "default_float", "cats_strings",
	"cats_int64s", "zeros", "classes_strings", "string_vocabulary", "inputdimensions", "offset", "scale", "norm", "threshold",
	"imputed_value_floats", "imputed_value_int64s", "replaced_value_float", "case_change_action", "is_case_sensitive",
	"stopwords", "mark", "mincharnum", "pad_value", "separators", "tokenexp", "mode", "min_gram_length", "max_gram_length",
	"max_skip_count", "ngram_counts", "ngram_indexes", "pool_strings", "pool_int64s", "weights", "coefficients", "intercepts",
	"classlabels_strings", "classlabels_int64s", "post_transform", "rho", "kernel_type", "kernel_params", "tree_roots", "value", "value_ints", "value_string", "noop_with_empty_axes",
};

static const char *const onnx_texts[] = {
	"x", "text", "y", "a", "", "LOWER", "UPPER", "NONE", "L1", "L2", "MAX", "TF", "IDF", "TFIDF", "euclidean", "SOFTMAX", "LOGISTIC",
	"SOFTMAX_ZERO", "PROBIT", "[a-z]+", "[^a-z]", "\\w+\\d*", ".", " ", "a{2,9}", "[[:alpha:]]", "a*", "(a|b)+", "\\s", "cat", "the",
	"label", "probabilities", "\xc3\xa9", "\xff", "city", "c1", "c2", "c3", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t12",
};

static const uint64_t onnx_numbers[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 64, 127, 128, 1000, 65536, 1u << 24, (uint64_t)1 << 31, (uint64_t)1 << 53,
	(uint64_t)1 << 62, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2,
};

static const uint32_t onnx_floats[] = {
	0, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x3f000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f7fffffu, 1, 0x41000000u,
};

/* An attribute that may have a list, a number, a text or a tensor. */
static void
onnx_attribute(struct buf *node, struct dice *d)
{
	struct buf a = { 0 }, list = { 0 }, tensor = { 0 };
	unsigned i, n = roll(d, 6), kind = roll(d, 6);

	onnx_text(&a, 1, ONE_OF(d, onnx_attributes));
	if (kind == 0) {
		onnx_varint(&a, 2 << 3 | PROTOBUF_4);
		buf_u32(&a, ONE_OF(d, onnx_floats));
	} else if (kind == 1) {
		onnx_varint(&a, 3 << 3);
		onnx_varint(&a, ONE_OF(d, onnx_numbers));
	} else if (kind == 2) {
		onnx_text(&a, 4, ONE_OF(d, onnx_texts));
	} else if (kind == 3) {
		for (i = 0; i < n; i++)
			buf_u32(&list, ONE_OF(d, onnx_floats));
		onnx_bytes(&a, 7, list.p, list.n);
	} else if (kind == 4) {
		for (i = 0; i < n; i++)
			onnx_varint(&list, ONE_OF(d, onnx_numbers));
		onnx_bytes(&a, 8, list.p, list.n);
	} else {
		for (i = 0; i < n; i++)
			onnx_text(&a, 9, ONE_OF(d, onnx_texts));
		onnx_varint(&tensor, 1 << 3);
		onnx_varint(&tensor, n);
		onnx_varint(&tensor, 2 << 3);
		onnx_varint(&tensor, 7);
		for (i = 0; i < n; i++)
			onnx_varint(&list, ONE_OF(d, onnx_numbers));
		onnx_bytes(&tensor, 7, list.p, list.n);
		if (roll(d, 2))
			onnx_bytes(&a, 5, tensor.p, tensor.n);
	}
	onnx_bytes(node, 5, a.p, a.n);
	buf_free(&a);
	buf_free(&list);
	buf_free(&tensor);
}

/* Puts an operator between a node and those that use its first output. */
static void
onnx_insert(struct buf *to, const struct protobuf_field *node, struct dice *d)
{
	static struct protobuf_field f[ONNX_FIELDS];
	size_t i, n = onnx_split(node->p, (size_t)node->value, f), op = roll(d, sizeof onnx_operators / sizeof *onnx_operators);
	struct buf first = { 0 }, second = { 0 };
	char name[ONNX_NAME];
	bool done = false;

	snprintf(name, sizeof name, "new%u", roll(d, 1u << 20));
	for (i = 0; i < n; i++)
		if (f[i].number == 2 && f[i].form == PROTOBUF_BYTES && !done) {
			onnx_text(&first, 2, name);
			onnx_bytes(&second, 2, f[i].p, (size_t)f[i].value);
			done = true;
		} else {
			onnx_field(&first, &f[i]);
		}
	onnx_text(&second, 1, name);
	for (i = roll(d, 4); i > 0; i--)
		onnx_text(&second, 1, ONE_OF(d, onnx_texts));
	onnx_text(&second, 4, onnx_operators[op].name);
	onnx_text(&second, 7, onnx_operators[op].domain);
	for (i = roll(d, 7); i > 0; i--)
		onnx_attribute(&second, d);
	onnx_bytes(to, 1, first.p, first.n);
	if (done)
		onnx_bytes(to, 1, second.p, second.n);
	buf_free(&first);
	buf_free(&second);
}

/* A field with another value. */
static void
onnx_change(struct buf *to, struct protobuf_field f, struct dice *d)
{
	size_t n = f.form == PROTOBUF_BYTES ? (size_t)f.value : 0;
	struct buf b = { 0 };

	if (f.form == PROTOBUF_VARINT) {
		f.value = ONE_OF(d, onnx_numbers);
	} else if (f.form == PROTOBUF_4) {
		f.value = ONE_OF(d, onnx_floats);
	} else if (f.form == PROTOBUF_BYTES && roll(d, 2)) {
		const char *text = ONE_OF(d, onnx_texts);

		f.p = (const uint8_t *)text;
		f.value = strlen(text);
	} else if (n) {
		buf_put(&b, f.p, n);
		mutate_piece(&b, 0, &n);
		f.p = b.p;
		f.value = b.n;
	}
	onnx_field(to, &f);
	buf_free(&b);
}

/* A message in which one field is changed, maybe deep inside. graph: its nodes are operators. */
static void
onnx_message(struct buf *to, const uint8_t *p, size_t n, unsigned depth, bool graph, struct dice *d)
{
	struct protobuf_field *f = calloc(ONNX_FIELDS, sizeof *f);
	struct buf inside = { 0 };
	size_t count, at, other, i;

	must(f);
	count = onnx_split(p, n, f);
	at = count ? roll(d, (unsigned)count) : 0;
	other = count ? roll(d, (unsigned)count) : 0;
	for (i = 0; i < count; i++) {
		bool deeper = f[i].form == PROTOBUF_BYTES && depth < 5 && (depth == 0 ? f[i].number == 7 : roll(d, 4) > 0);

		if (depth == 0 ? f[i].number == 7 && roll(d, 16) > 0 : i == at) {
			if (graph && f[i].number == 1 && f[i].form == PROTOBUF_BYTES && roll(d, 3) == 0) {
				onnx_insert(to, &f[i], d);
			} else if (deeper) {
				buf_clear(&inside);
				onnx_message(&inside, f[i].p, (size_t)f[i].value, depth + 1, depth == 0 && f[i].number == 7, d);
				onnx_bytes(to, f[i].number, inside.n ? inside.p : f[i].p, inside.n ? inside.n : (size_t)f[i].value);
			} else {
				switch (roll(d, 6)) {
				case 0:
					break;
				case 1:
					onnx_field(to, &f[i]);
					onnx_field(to, &f[i]);
					break;
				case 2:
					onnx_field(to, &f[other]);
					break;
				case 3:
					onnx_field(to, &f[i]);
					onnx_field(to, &f[other]);
					break;
				default:
					onnx_change(to, f[i], d);
				}
			}
		} else {
			onnx_field(to, &f[i]);
		}
	}
	buf_free(&inside);
	free(f);
}

/* A model with a change or several. */
static void
mutate_onnx(struct buf *b, struct dice *d)
{
	unsigned times = 1 + roll(d, 3);
	struct buf to = { 0 };

	for (; times > 0; times--) {
		buf_clear(&to);
		onnx_message(&to, b->p, b->n, 0, false, d);
		if (to.n == 0)
			break;
		buf_clear(b);
		buf_put(b, to.p, to.n);
	}
	buf_free(&to);
}

#endif
