/* t_skops: what is refused in files of skops. t_estimators has the models that are read. */
#include <string.h>

#include "core/crc32.h"
#include "predict/predict.h"
#include "predict/readers.h"
#include "test.h"

/* ---- an archive ---- */

struct archive {
	struct buf b, directory;
	unsigned count;
};

static void
add_head(struct buf *b, const char *name, const void *p, size_t n, bool local, uint32_t at)
{
	buf_text(b, local ? "PK\3\4" : "PK\1\2");
	if (!local)
		buf_u16(b, 20);
	buf_u16(b, 20);
	buf_zeros(b, 8); /* flags, stored, time and date */
	buf_u32(b, crc32_add(0, p, n));
	buf_u32(b, (uint32_t)n);
	buf_u32(b, (uint32_t)n);
	buf_u16(b, (uint16_t)strlen(name));
	buf_u16(b, 0);
	if (!local) {
		buf_zeros(b, 10);
		buf_u32(b, at);
	}
	buf_text(b, name);
}

static void
add(struct archive *a, const char *name, const void *p, size_t n)
{
	uint32_t at = (uint32_t)a->b.n;

	add_head(&a->b, name, p, n, true, 0);
	buf_put(&a->b, p, n);
	add_head(&a->directory, name, p, n, false, at);
	a->count++;
}

static void
finish(struct archive *a)
{
	uint32_t at = (uint32_t)a->b.n;

	buf_put(&a->b, a->directory.p, a->directory.n);
	buf_text(&a->b, "PK\5\6");
	buf_zeros(&a->b, 4);
	buf_u16(&a->b, (uint16_t)a->count);
	buf_u16(&a->b, (uint16_t)a->count);
	buf_u32(&a->b, (uint32_t)a->directory.n);
	buf_u32(&a->b, at);
	buf_u16(&a->b, 0);
}

/* Reads an archive of a schema and an array; said: part of the message. */
static void
refuse(const char *schema, const char *header, const char *said)
{
	struct archive a = { .count = 0 };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	struct buf array = { 0 };
	int r;

	buf_put(&array, "\x93NUMPY\1\0", 8);
	buf_u16(&array, (uint16_t)strlen(header));
	buf_text(&array, header);
	buf_zeros(&array, 16);
	add(&a, "12345678.npy", array.p, array.n);
	add(&a, "schema.json", schema, strlen(schema));
	finish(&a);
	r = skops_probe(a.b.p, a.b.n) ? predict_read(&m, predict_probe(a.b.p, a.b.n), a.b.p, a.b.n, "in", &e) : 1;
	test_ok(r == -1 && strstr(e.fact, said), "%.60s: %s", schema, e.fact);
	predictor_free(&m);
	buf_free(&array);
	buf_free(&a.b);
	buf_free(&a.directory);
}

#define NODE(CLASS, MODULE, LOADER) \
	"\"__class__\":\"" CLASS "\",\"__module__\":\"" MODULE "\",\"__loader__\":\"" LOADER "\""
#define RIDGE(FIELD) "{" NODE("Ridge", "sklearn.linear_model._ridge", "ObjectNode") ",\"content\":{" \
	NODE("dict", "builtins", "DictNode") ",\"content\":{\"coef_\":" FIELD "}}}"
#define FILE_OF(CLASS) "{" NODE(CLASS, "numpy", "NdArrayNode") ",\"type\":\"numpy\",\"file\":\"12345678.npy\"}"
#define GOOD "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"

/* An archive of n nodes in each other, or of a list of many references to one array. */
static void
large(bool deep)
{
	struct buf b = { 0 };
	size_t i, n = deep ? 1500 : 100000;

	if (!deep)
		buf_text(&b, "{" NODE("list", "builtins", "ListNode") ",\"content\":[");
	for (i = 0; i < n; i++)
		buf_text(&b, deep ? "{" NODE("list", "builtins", "ListNode") ",\"content\":["
		         : i ? "," FILE_OF("ndarray") : FILE_OF("ndarray"));
	for (i = 0; i < (deep ? n : 1); i++)
		buf_text(&b, "]}");
	refuse(buf_string(&b), GOOD, "");
	buf_free(&b);
}

int
main(void)
{
	refuse("{}", GOOD, "a node has no __loader__");
	refuse("{\"__loader__\":\"JsonNode\",\"content\":\"[\"}", GOOD, "");
	refuse("{" NODE("system", "posix", "FunctionNode") "}", GOOD, "posix.system");
	refuse("{" NODE("system", "posix", "ObjectNode") ",\"content\":{" NODE("tuple", "builtins", "TupleNode")
	       ",\"content\":[]}}", GOOD, "posix.system");
	refuse("{" NODE("Popen", "elsewhere", "ObjectNode") "}", GOOD, "elsewhere.Popen");
	refuse(RIDGE("{" NODE("ndarray", "numpy", "NdArrayNode") ",\"type\":\"numpy\",\"file\":\"1.npy\"}"), GOOD,
	       "has no member 1.npy");
	refuse(RIDGE("{" NODE("ndarray", "numpy", "NdArrayNode") ",\"type\":\"numpy\",\"file\":\"schema.json\"}"),
	       GOOD, "not an array of NumPy");
	refuse(RIDGE(FILE_OF("ndarray")), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }",
	       "another number of bytes than its shape");
	refuse(RIDGE(FILE_OF("ndarray")), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,", "no shape");
	refuse(RIDGE(FILE_OF("ndarray")), "{'descr': '<f8', 'shape': (99999999999,), }", "no shape");
	refuse(RIDGE(FILE_OF("ndarray")), "{'fortran_order': False, 'shape': (2,), }", "no type");
	refuse(RIDGE(FILE_OF("ndarray")), "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }", "big-endian");
	refuse(RIDGE(FILE_OF("ndarray")), "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "");
	refuse(RIDGE("{" NODE("csr_matrix", "scipy.sparse", "SparseMatrixNode") ",\"file\":\"12345678.npy\"}"), GOOD,
	       "");
	refuse(RIDGE("{" NODE("ndarray", "numpy", "NdArrayNode") ",\"type\":\"json\",\"content\":[]}"), GOOD,
	       "an array of objects has no shape");
	large(true);
	large(false);
	return test_done();
}
