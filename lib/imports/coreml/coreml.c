#include "imports/coreml/coreml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#define DEPTH 4       /* of pipelines in pipelines */
#define USER_KEY 256  /* bytes of the name of a key that users define */

/* What a model is, by the number of its message. */
enum what { PIPELINE, PIPELINE_IN, NETWORK, LINEAR, PROGRAM, EMPTY, REFUSED };
static const struct {
	uint32_t number;
	enum what what;
	const char *name;
} types[] = {
	{ 200, PIPELINE_IN, "pipelineClassifier" }, { 201, PIPELINE_IN, "pipelineRegressor" },
	{ 202, PIPELINE, "pipeline" }, { 300, LINEAR, "glmRegressor" },
	{ 301, REFUSED, "supportVectorRegressor" }, { 302, REFUSED, "treeEnsembleRegressor" },
	{ 303, NETWORK, "neuralNetworkRegressor" }, { 304, REFUSED, "bayesianProbitRegressor" },
	{ 400, LINEAR, "glmClassifier" }, { 401, REFUSED, "supportVectorClassifier" },
	{ 402, REFUSED, "treeEnsembleClassifier" }, { 403, NETWORK, "neuralNetworkClassifier" },
	{ 404, REFUSED, "kNearestNeighborsClassifier" }, { 500, NETWORK, "neuralNetwork" },
	{ 501, REFUSED, "itemSimilarityRecommender" }, { 502, PROGRAM, "mlProgram" },
	{ 555, REFUSED, "customModel" }, { 556, REFUSED, "linkedModel" },
	{ 600, EMPTY, "oneHotEncoder" }, { 601, EMPTY, "imputer" },
	{ 602, EMPTY, "featureVectorizer" }, { 603, EMPTY, "dictVectorizer" },
	{ 604, EMPTY, "scaler" }, { 606, EMPTY, "categoricalMapping" }, { 607, EMPTY, "normalizer" },
	{ 609, EMPTY, "arrayFeatureExtractor" }, { 610, EMPTY, "nonMaximumSuppression" },
	{ 900, EMPTY, "identity" }, { 2000, REFUSED, "textClassifier" },
	{ 2001, REFUSED, "wordTagger" }, { 2002, REFUSED, "visionFeaturePrint" },
	{ 2003, REFUSED, "soundAnalysisPreprocessing" }, { 2004, REFUSED, "gazetteer" },
	{ 2005, REFUSED, "wordEmbedding" }, { 2006, REFUSED, "audioFeaturePrint" },
	{ 3000, REFUSED, "serializedModel" },
};

static int read_model(struct coreml *s, const uint8_t *p, uint64_t n, const char *prefix,
                      unsigned depth);

static void
open_message(struct coreml *s, struct protobuf *m, const struct protobuf_field *f)
{
	protobuf_open(m, f->p, (size_t)f->value, s->import.source.name, s->import.err);
}

/* ---- keys ---- */

static int
add_user_key(struct coreml *s, const struct protobuf_field *entry)
{
	struct protobuf_field f, key = { .p = NULL }, value = { .p = NULL };
	struct buf name = { 0 };
	struct protobuf m;
	int r;

	open_message(s, &m, entry);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.form == PROTOBUF_BYTES && f.number <= 2)
			*(f.number == 1 ? &key : &value) = f;
	if (r < 0)
		return -1;
	if (!key.p || key.value == 0 || key.value > USER_KEY || memchr(key.p, 0, (size_t)key.value))
		return import_fail(&s->import, ERR_CORRUPT, "has a key of a user without a name");
	buf_text(&name, "coreml.user.");
	buf_put(&name, key.p, (size_t)key.value);
	r = buf_string(&name) ? import_text(&s->import, (char *)name.p, value.p, (size_t)value.value)
	                      : err_memory(s->import.err);
	buf_free(&name);
	return r;
}

static int
read_metadata(struct coreml *s, const struct protobuf_field *metadata)
{
	static const char *const keys[] = { NULL, "general.description", "general.version",
		"general.author", "general.license" };
	struct protobuf_field f;
	struct protobuf m;
	int r;

	open_message(s, &m, metadata);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES)
			continue;
		if (f.number <= 4 && f.value > 0 &&
		    import_text(&s->import, keys[f.number], f.p, (size_t)f.value) < 0)
			return -1;
		if (f.number == 100 && add_user_key(s, &f) < 0)
			return -1;
	}
	return r;
}

static int
read_description(struct coreml *s, const struct protobuf_field *description)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	open_message(s, &m, description);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 100 && f.form == PROTOBUF_BYTES && read_metadata(s, &f) < 0)
			return -1;
	return r;
}

/* ---- networks ---- */

/* A layer: its name stands first, but nothing demands that. */
static int
read_layer(struct coreml *s, const struct protobuf_field *layer, const char *prefix)
{
	struct protobuf_field f, body = { .p = NULL };
	struct buf name = { 0 };
	struct protobuf m;
	int r;

	buf_text(&name, prefix);
	open_message(s, &m, layer);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES)
			continue;
		if (f.number == 1)
			buf_put(&name, f.p, (size_t)f.value);
		if (f.number >= 100)
			body = f;
	}
	if (r == 0 && buf_string(&name) && memchr(name.p, 0, name.n))
		r = import_fail(&s->import, ERR_CORRUPT, "has a layer whose name has a NUL");
	else if (r == 0 && !buf_ok(&name))
		r = err_memory(s->import.err);
	else if (r == 0 && body.p)
		r = coreml_layer(s, &name, body.number, &body);
	buf_free(&name);
	return r;
}

static int
read_network(struct coreml *s, const struct protobuf_field *network, const char *prefix)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	open_message(s, &m, network);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES && read_layer(s, &f, prefix) < 0)
			return -1;
	return r;
}

/* ---- linear models ---- */

static int
add_doubles(struct coreml *s, const char *prefix, const char *name, const uint8_t *p, uint64_t n)
{
	struct import_place x = { .p = p };
	struct buf full = { 0 };
	uint64_t dims[1] = { n / 8 };
	int r;

	if (n % 8)
		return import_fail(&s->import, ERR_CORRUPT, "has %s that are not numbers of 8 bytes", name);
	buf_text(&full, prefix);
	buf_text(&full, name);
	r = buf_string(&full) ? import_tensor(&s->import, (char *)full.p, full.n,
	                                      dtype_by_name("F64"), 1, dims, &x)
	                      : err_memory(s->import.err);
	buf_free(&full);
	return r;
}

static int
read_linear(struct coreml *s, const struct protobuf_field *model, const char *prefix)
{
	struct protobuf_field f, row;
	struct protobuf m, inner;
	struct buf name = { 0 };
	unsigned rows = 0;
	int r;

	open_message(s, &m, model);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 2 && f.form == PROTOBUF_BYTES &&
		    add_doubles(s, prefix, "offset", f.p, f.value) < 0)
			return -1;
		if (f.number != 1 || f.form != PROTOBUF_BYTES)
			continue;
		buf_clear(&name);
		buf_printf(&name, "weights.%u", rows++);
		open_message(s, &inner, &f);
		while ((r = protobuf_next(&inner, &row)) > 0)
			if (row.number == 1 && row.form == PROTOBUF_BYTES && buf_string(&name) &&
			    (r = add_doubles(s, prefix, (char *)name.p, row.p, row.value)) < 0)
				break;
		if (r < 0)
			break;
	}
	buf_free(&name);
	return r;
}

/* ---- models ---- */

static int
read_pipeline(struct coreml *s, const struct protobuf_field *pipeline, const char *prefix,
              unsigned depth)
{
	struct buf name = { 0 };
	struct protobuf_field f;
	struct protobuf m;
	unsigned count = 0;
	int r;

	open_message(s, &m, pipeline);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number != 1 || f.form != PROTOBUF_BYTES)
			continue;
		buf_clear(&name);
		buf_printf(&name, "%smodels.%u.", prefix, count++);
		if (!buf_string(&name) ||
		    read_model(s, f.p, f.value, (char *)name.p, depth + 1) < 0) {
			r = buf_ok(&name) ? -1 : err_memory(s->import.err);
			break;
		}
	}
	buf_free(&name);
	return r;
}

/* The only member of a message that is a pipeline itself. */
static int
read_pipeline_in(struct coreml *s, const struct protobuf_field *outer, const char *prefix,
                 unsigned depth)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	open_message(s, &m, outer);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES &&
		    read_pipeline(s, &f, prefix, depth) < 0)
			return -1;
	return r;
}

static int
refuse(struct coreml *s, const char *name)
{
	return import_fail(&s->import, ERR_FORMAT, "holds a Core ML model of type %s, which is not read",
	                   name);
}

static int
read_type(struct coreml *s, const struct protobuf_field *f, const char *prefix, unsigned depth)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types && types[i].number != f->number; i++)
		;
	if (i == sizeof types / sizeof *types)
		return import_fail(&s->import, ERR_FORMAT, "holds a Core ML model of type %" PRIu32
		                   ", which is not known", f->number);
	if (depth == 0 && import_source(&s->import, "type", json_string(types[i].name)) < 0)
		return -1;
	switch (types[i].what) {
	case PIPELINE:
		return read_pipeline(s, f, prefix, depth);
	case PIPELINE_IN:
		return read_pipeline_in(s, f, prefix, depth);
	case NETWORK:
		return read_network(s, f, prefix);
	case LINEAR:
		return read_linear(s, f, prefix);
	case PROGRAM:
		return coreml_program(s, f);
	case EMPTY:
		return 0;
	default:
		return refuse(s, types[i].name);
	}
}

static int
read_model(struct coreml *s, const uint8_t *p, uint64_t n, const char *prefix, unsigned depth)
{
	struct protobuf_field f;
	struct protobuf m;
	bool typed = false;
	int r;

	if (depth > DEPTH)
		return import_fail(&s->import, ERR_CORRUPT, "has pipelines in more than %d others", DEPTH);
	protobuf_open(&m, p, (size_t)n, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (depth == 0 && f.number == 1 && f.form == PROTOBUF_VARINT &&
		    import_u32(&s->import, "coreml.specification_version", (uint32_t)f.value) < 0)
			return -1;
		if (f.form != PROTOBUF_BYTES)
			continue;
		if (depth == 0 && f.number == 2 && read_description(s, &f) < 0)
			return -1;
		if (f.number < 200)
			continue;
		if (typed)
			return import_fail(&s->import, ERR_CORRUPT, "is a model of two types");
		typed = true;
		if (read_type(s, &f, prefix, depth) < 0)
			return -1;
	}
	if (r == 0 && !typed)
		return import_fail(&s->import, ERR_CORRUPT, "has a model without a type");
	return r;
}

/* ---- the format ---- */

static int
read_file(struct import *im)
{
	struct coreml *s = (struct coreml *)im;
	struct coreml_package *given = (struct coreml_package *)(uintptr_t)im->given;

	s->package.folder = -1;
	if (given) { /* the model is not the file that the user named: offsets in it mean nothing */
		s->package = *given;
		*given = (struct coreml_package){ .folder = -1, .model = { .fd = -1 } };
		im->base = READER_UNKNOWN;
	}
	if (read_model(s, im->p, im->n, "", 0) < 0)
		return -1;
	if (s->decoded)
		import_note(im, "quantized tensors, decoded to F32: %" PRIu64, s->decoded);
	if (s->arguments)
		import_note(im, "left out: constants that are arguments of operations: %" PRIu64,
		            s->arguments);
	if (s->left_out)
		import_note(im, "left out: layers of kinds that are not read: %" PRIu64, s->left_out);
	return 0;
}

static void
close_all(struct import *im)
{
	struct coreml *s = (struct coreml *)im;
	struct coreml_code *next;

	for (; s->codes; s->codes = next) {
		next = s->codes->next;
		free(s->codes);
	}
	coreml_values_free(s);
	coreml_blobs_free(s);
	coreml_package_free(&s->package);
}

static const struct import_kind kind = {
	.format = &format_coreml, .bytes = sizeof(struct coreml), .read = read_file,
	.close = close_all,
};

static struct source *
coreml_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
            struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

static struct source *
coreml_open_path(const char *path, const struct format_options *options,
                 void (*note)(const char *), const struct format **which, struct err *e)
{
	struct source *s = NULL;
	struct coreml_package p;
	struct reader model;

	if (coreml_package_open(&p, path, e) > 0) {
		model = p.model;
		p.model.fd = -1;
		s = import_open_with(&kind, &model, options, note, &p, e);
		*which = &format_coreml;
	}
	coreml_package_free(&p);
	return s;
}

/* Skip the varint at *at; a length of at most 4 bytes. Its value, or 0. */
static uint32_t
skip_length(const uint8_t *head, size_t n, size_t *at)
{
	uint32_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 28 && *at < n; shift += 7) {
		v |= (uint32_t)(head[*at] & 0x7f) << shift;
		if (head[(*at)++] < 0x80)
			return v;
	}
	return 0;
}

/* A version below 32, then a description. It begins with an input or output, which begins with a
 * name, and a text or a type follows; or with a function. A SavedModel of TensorFlow begins alike,
 * but its first message begins with another field, or another one follows the text. */
static bool
probe(const uint8_t *head, size_t n)
{
	uint32_t whole, name;
	size_t at = 3, end;
	uint8_t first;

	if (n < 8 || head[0] != 0x08 || head[1] == 0 || head[1] >= 32 || head[2] != 0x12 ||
	    skip_length(head, n, &at) == 0 || at + 3 > n)
		return false;
	first = head[at++];
	if (first == 0xa2 && head[at] == 0x01)
		return true;
	whole = skip_length(head, n, &at);
	end = at + whole;
	if ((first != 0x0a && first != 0x52) || whole < 3 || at >= n || head[at++] != 0x0a)
		return false;
	name = skip_length(head, n, &at);
	if (name == 0 || name > end - at)
		return false;
	end = at + name == end ? 0 : at + name; /* of the name, if a field follows */
	for (; name > 0 && at < n; name--, at++)
		if (head[at] < 0x20)
			return false;
	return !end || end >= n || head[end] == 0x12 || head[end] == 0x1a;
}

static const struct format_reads reads = {
	.open = coreml_open,
	.open_path = coreml_open_path,
	.describe = import_describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_coreml = {
	.name = "coreml",
	.title = "Core ML",
	.probe = probe,
	.reads = &reads,
};
