#include "imports/classic/classic.h"

#include <string.h>

#include "predict/readers.h"

struct classic {
	struct import import;
	struct form form;
};

/* Values that do not lie in the file. */
static const struct map nowhere = { .fd = -1 };

static int
add_part(struct import *im, const struct form_part *p)
{
	struct import_place x = { .p = p->data.p, .map = &nowhere };

	return import_tensor(im, p->name, strlen(p->name), dtype_by_name(p->type), p->ndim, p->dims, &x);
}

static int
add_form(struct import *im, const struct predictor *m, const char *library)
{
	struct form *f = &((struct classic *)im)->form;
	const char *type = form_type(m);
	size_t i;

	if (form_make(m, im->source.name, f, im->err) < 0)
		return err_hint(im->err, "apr-predict predicts with it");
	if (import_text(im, FORM_KEY, f->json.p, f->json.n) < 0 ||
	    import_text(im, "apr1.model_type", type, strlen(type)) < 0)
		return -1;
	for (i = 0; i < f->count; i++)
		if (add_part(im, f->parts[i]) < 0)
			return -1;
	return import_source(im, "library", json_string(library));
}

static int
read_file(struct import *im)
{
	const struct predict_reader *reader = predict_probe(im->p, (size_t)im->n);
	struct predictor m = { .covers = true };
	int r = -1;

	if (im->n > PREDICT_BYTES)
		return import_fail(im, ERR_MEMORY, "is larger than 2 GiB");
	if (!reader)
		return import_fail(im, ERR_FORMAT, "is not a classical model");
	if (predict_read(&m, reader, im->p, (size_t)im->n, im->source.name, im->err) == 0)
		r = add_form(im, &m, reader->library);
	predictor_free(&m);
	return r;
}

static void
close_file(struct import *im)
{
	form_free(&((struct classic *)im)->form);
}

/* ---- the formats ---- */

static bool
has(const uint8_t *p, size_t n, const char *text)
{
	return memmem(p, n, text, strlen(text)) != NULL;
}

static bool
is_xgboost(const uint8_t *p, size_t n)
{
	return xgboost_old_probe(p, n) || (n > 16 && *p == '{' && has(p, n, "learner") && predict_probe(p, n));
}

static bool
is_lightgbm(const uint8_t *p, size_t n)
{
	return (n > 14 && (memcmp(p, "tree\nversion=", 13) == 0 || memcmp(p, "tree\r\nversion=", 14) == 0)) ||
	       (n > 14 && *p == '{' && has(p, n, "\"name\"") && has(p, n, "\"tree\""));
}

static bool
is_catboost(const uint8_t *p, size_t n)
{
	return n > 16 && *p == '{' && !is_xgboost(p, n) && !is_lightgbm(p, n) && predict_probe(p, n);
}

static bool
is_sklearn(const uint8_t *p, size_t n)
{
	return skops_probe(p, n) || (n > 2 && (*p == 0x80 || *p == 'c') && has(p, n, "sklearn."));
}

/* A graph of ONNX with the operators of lib/predict; format_onnx reads the others. */
static bool
is_onnxml(const uint8_t *p, size_t n)
{
	return onnxml_probe(p, n);
}

#define FORMAT(NAME, TITLE, PEEKS, JSON, WRITES) \
static const struct import_kind NAME##_kind = { \
	.format = &format_##NAME, .bytes = sizeof(struct classic), .read = read_file, .close = close_file, \
}; \
static struct source * \
NAME##_open(struct reader *r, const struct format_options *options, void (*note)(const char *), \
            struct err *e) \
{ \
	return import_open(&NAME##_kind, r, options, note, e); \
} \
static const struct format_reads NAME##_reads = { \
	.open = NAME##_open, .describe = import_describe, .tensor_offset = import_tensor_offset, \
}; \
const struct format format_##NAME = { \
	.name = #NAME, .title = TITLE, .probe = is_##NAME, .peeks = PEEKS, .json = JSON, \
	.reads = &NAME##_reads, .writes = WRITES, \
}

static bool
is_pmml(const uint8_t *p, size_t n)
{
	return pmml_probe(p, n);
}

static bool
is_arpa(const uint8_t *p, size_t n)
{
	return arpa_probe(p, n);
}

FORMAT(xgboost, "XGBoost", PREDICT_PROBE, true, &classic_xgboost_writes);
FORMAT(lightgbm, "LightGBM", 0, true, NULL);
FORMAT(catboost, "CatBoost", 0, true, NULL);
FORMAT(sklearn, "scikit-learn", 0, false, NULL);
FORMAT(onnxml, "ONNX-ML", PREDICT_PROBE, false, NULL);
FORMAT(pmml, "PMML", PREDICT_PROBE, false, NULL);
FORMAT(arpa, "ARPA", PREDICT_PROBE, false, NULL);
