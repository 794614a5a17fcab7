#include "imports/ggml/ggml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"

#define KEY 96        /* bytes of a key that is made here */
#define DIMS 4        /* of a tensor of GGML */
#define ALIGN 32
#define LAYER 9       /* tensors of a layer of LLaMA */
#define ENDS 3        /* tensors of LLaMA outside its layers */
#define CONTEXT 2048  /* of LLaMA, which its files do not state */
#define EPSILON 5e-6f /* between those of LLaMA 1 and 2, as llama.cpp's own converter chooses */
#define ENCODERS 64   /* maximum number of layers of silero VAD */

const struct format_option ggml_options[] = {
	{ "arch", "NAME", "the program that a GGML file belongs to, such as gpt2", false, NULL },
	{ NULL, NULL, NULL, false, NULL }
};

/* ---- the header ---- */

static const char *
key_of(const struct ggml *g, const struct ggml_field *f, char key[KEY])
{
	snprintf(key, KEY, "%s.%s", g->layout->arch, f->key);
	return key;
}

static int
read_type(struct ggml *g, const struct ggml_field *f, uint32_t v)
{
	g->generation = g->layout->generation ? g->layout->generation : v / 1000 + 1;
	if (f->use == GGML_FTYPE && g->generation > 3)
		return import_fail(&g->import, ERR_VERSION, "has blocks of version %" PRIu32
		                   ", which is not known", v / 1000);
	return 0;
}

static int
read_field(struct ggml *g, const struct ggml_field *f)
{
	uint32_t v = reader_u32(&g->at);
	char key[KEY];
	float real;

	if (g->at.failed)
		return -1;
	if (f->use == GGML_DROP)
		return 0;
	if (f->use == GGML_TYPE || f->use == GGML_FTYPE)
		return read_type(g, f, v);
	if (f->use == GGML_VOCAB)
		g->tokens = v;
	else if (f->use == GGML_EMBD)
		g->embd = v;
	else if (f->use == GGML_HEADS)
		g->heads = v;
	else if (f->use == GGML_LAYERS)
		g->layers = v;
	else if (f->use == GGML_MELS)
		g->mels = v;
	if (!f->key)
		return 0;
	key_of(g, f, key);
	memcpy(&real, &v, sizeof real);
	if (f->use == GGML_KEY_F32)
		return import_f32(&g->import, key, real);
	if (f->use == GGML_KEY_BOOL)
		return import_bool(&g->import, key, v != 0);
	if (v == 0 || v > INT32_MAX)
		return reader_fail(&g->at, ERR_CORRUPT, "%s is %" PRIi32, key, (int32_t)v);
	return import_u32(&g->import, key, v);
}

static int
read_header(struct ggml *g)
{
	const struct ggml_field *f;

	reader_skip(&g->at, g->layout->from ? 8 : 4);
	if (import_text(&g->import, "general.architecture", g->layout->arch,
	                strlen(g->layout->arch)) < 0)
		return -1;
	for (f = g->layout->fields; f->use != GGML_END; f++)
		if (read_field(g, f) < 0)
			return -1;
	return 0;
}

/* The mel filters are a tensor. */
static int
read_filters(struct ggml *g)
{
	static const char name[] = "audio.mel_filterbank";
	uint64_t dims[2] = { reader_u32(&g->at), 0 }, bytes;
	struct import_place x = { .p = NULL };

	dims[1] = reader_u32(&g->at);
	if (g->at.failed)
		return -1;
	if (dims[0] != g->mels || dims[1] == 0)
		return reader_fail(&g->at, ERR_CORRUPT, "%" PRIu64 " mel filters of %" PRIu64
		                   " values, but the header says %" PRIu32, dims[0], dims[1], g->mels);
	x.p = g->import.p + reader_tell(&g->at);
	if (num_mul(dims[0], dims[1] * 4, &bytes) < 0 || bytes > reader_left(&g->at))
		return reader_fail(&g->at, ERR_CORRUPT, "mel filters end behind the file");
	reader_skip(&g->at, bytes);
	return import_tensor(&g->import, name, sizeof name - 1, dtype_by_name("F32"), 2, dims, &x);
}

/* ---- silero VAD ---- */

static int
add_numbers(struct import *im, const char *key, const uint32_t *v, uint32_t n, unsigned step)
{
	struct buf wire = { 0 };
	uint32_t i;
	int r;

	import_array(&wire, VALUE_U32, n);
	for (i = 0; i < n; i++)
		buf_u32(&wire, v[i * step]);
	r = import_value(im, key, (struct value_type){ 1, VALUE_U32 }, &wire);
	buf_free(&wire);
	return r;
}

static int
read_silero_layers(struct ggml *g)
{
	static const char *const lists[] = { "silero-vad.encoder.input_channels",
		"silero-vad.encoder.output_channels", "silero-vad.encoder.kernel_sizes" };
	uint32_t v[ENCODERS * 3], i, n = reader_u32(&g->at);

	if (!g->at.failed && (n == 0 || n > ENCODERS))
		return reader_fail(&g->at, ERR_CORRUPT, "%" PRIu32 " layers of an encoder", n);
	for (i = 0; i < 3 * n && i < ENCODERS * 3; i++)
		v[i] = reader_u32(&g->at);
	if (g->at.failed || import_u32(&g->import, "silero-vad.encoder.block_count", n) < 0)
		return -1;
	for (i = 0; i < 3; i++)
		if (add_numbers(&g->import, lists[i], v + i, n, 3) < 0)
			return -1;
	return 0;
}

static int
read_silero(struct ggml *g)
{
	static const char *const before[] = { "silero-vad.window_length",
		"silero-vad.context_length" };
	static const char *const after[] = { "silero-vad.lstm.input_length",
		"silero-vad.lstm.hidden_length", "silero-vad.final.input_channels",
		"silero-vad.final.output_channels" };
	struct import *im = &g->import;
	char version[48];
	uint32_t v[3], n;
	const uint8_t *p;
	size_t i;

	reader_skip(&g->at, 4);
	n = reader_u32(&g->at);
	p = reader_take(&g->at, n <= 64 ? n : 64);
	if (!p || n > 64)
		return reader_fail(&g->at, ERR_CORRUPT, "a type of model of %" PRIu32 " bytes", n);
	if (import_text(im, "general.architecture", "silero-vad", 10) < 0 ||
	    import_text(im, "silero-vad.model_type", p, n) < 0)
		return -1;
	for (i = 0; i < 3; i++)
		v[i] = reader_u32(&g->at);
	snprintf(version, sizeof version, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, v[0], v[1], v[2]);
	if (g->at.failed || import_text(im, "general.version", version, strlen(version)) < 0)
		return -1;
	for (i = 0; i < 2; i++)
		if (import_u32(im, before[i], reader_u32(&g->at)) < 0)
			return -1;
	if (read_silero_layers(g) < 0)
		return -1;
	for (i = 0; i < 4; i++)
		if (import_u32(im, after[i], reader_u32(&g->at)) < 0)
			return -1;
	g->generation = 3;
	return g->at.failed ? -1 : 0;
}

/* ---- tensors ---- */

/* LLaMA's names, as its authors chose them, and GGUF's. */
static const struct { const char *theirs, *ours; } llama_names[] = {
	{ "tok_embeddings.weight", "token_embd.weight" },
	{ "norm.weight", "output_norm.weight" },
	{ "attention.wq.weight", "attn_q.weight" },
	{ "attention.wk.weight", "attn_k.weight" },
	{ "attention.wv.weight", "attn_v.weight" },
	{ "attention.wo.weight", "attn_output.weight" },
	{ "attention_norm.weight", "attn_norm.weight" },
	{ "feed_forward.w1.weight", "ffn_gate.weight" },
	{ "feed_forward.w2.weight", "ffn_down.weight" },
	{ "feed_forward.w3.weight", "ffn_up.weight" },
	{ "ffn_norm.weight", "ffn_norm.weight" },
};

/* Set out to our name; other names stay. */
static void
rename_llama(const char *name, size_t n, struct buf *out)
{
	const char layer[] = "layers.";
	size_t i, from = 0;

	if (n > sizeof layer - 1 && memcmp(name, layer, sizeof layer - 1) == 0) {
		for (from = sizeof layer - 1; from < n && name[from] >= '0' && name[from] <= '9'; from++)
			;
		if (from == n || name[from] != '.' || from == sizeof layer - 1)
			from = 0;
	}
	for (i = 0; i < sizeof llama_names / sizeof *llama_names; i++) {
		size_t skip = from ? from + 1 : 0;

		if (strlen(llama_names[i].theirs) != n - skip ||
		    memcmp(llama_names[i].theirs, name + skip, n - skip) != 0 || (from > 0) != (i > 1))
			continue;
		if (from) {
			buf_text(out, "blk.");
			buf_put(out, name + sizeof layer - 1, from - (sizeof layer - 1));
			buf_text(out, ".");
		}
		buf_text(out, llama_names[i].ours);
		return;
	}
	buf_put(out, name, n);
}

/* Find the values behind the head of a tensor. */
static int
place_values(struct ggml *g, const char *name, uint32_t number, unsigned ndim,
             const uint64_t *dims)
{
	struct import *im = &g->import;
	struct import_place x = { .p = NULL };
	uint64_t items = 1, bytes, at = reader_tell(&g->at);
	const struct dtype *type;
	unsigned i;

	for (i = 0; i < ndim; i++)
		if (num_mul(items, dims[i], &items) < 0)
			items = UINT64_MAX;
	type = ggml_type(g, number, name, items, ndim ? dims[ndim - 1] : 1, &x, &bytes);
	if (!type)
		return -1;
	if (g->layout && g->layout->flags & GGML_ALIGNED &&
	    (num_align(at, ALIGN, &at) < 0 || reader_skip(&g->at, at - reader_tell(&g->at)) < 0))
		return -1;
	if (items == UINT64_MAX || bytes > reader_left(&g->at))
		return reader_fail(&g->at, ERR_CORRUPT, "tensor %.200s needs %" PRIu64
		                   " bytes, but %" PRIu64 " are left", name, bytes,
		                   reader_left(&g->at));
	x.p = im->p + at;
	reader_skip(&g->at, bytes);
	type = ggml_settle(g, type, bytes, &x);
	return import_tensor(im, name, strlen(name), type, ndim, dims, &x);
}

static int
read_tensor(struct ggml *g)
{
	struct reader *r = &g->at;
	uint32_t i, ndim = reader_u32(r), n = reader_u32(r), number = reader_u32(r);
	uint64_t dims[DIMS];
	struct buf name = { 0 };
	const uint8_t *p;
	int status;

	if (!r->failed && ndim > DIMS)
		return reader_fail(r, ERR_CORRUPT, "a tensor of %" PRIu32 " dimensions", ndim);
	if (!r->failed && (n == 0 || n > TENSOR_NAME))
		return reader_fail(r, ERR_CORRUPT, "a name of %" PRIu32 " bytes", n);
	for (i = 0; i < ndim && !r->failed; i++) {
		dims[ndim - 1 - i] = reader_u32(r);
		if (!r->failed && (dims[ndim - 1 - i] == 0 || dims[ndim - 1 - i] > INT32_MAX))
			return reader_fail(r, ERR_CORRUPT, "a dimension of %" PRIi32,
			                   (int32_t)dims[ndim - 1 - i]);
	}
	p = r->failed ? NULL : reader_take(r, n);
	if (!p)
		return -1;
	if (memchr(p, 0, n))
		return reader_fail(r, ERR_CORRUPT, "a name with a NUL");
	if (g->layout && g->layout->flags & GGML_LLAMA)
		rename_llama((const char *)p, n, &name);
	else
		buf_put(&name, p, n);
	status = buf_string(&name) ? place_values(g, (char *)name.p, number, ndim, dims)
	                           : err_memory(g->import.err);
	buf_free(&name);
	return status;
}

/* ---- LLaMA ---- */

static const struct tensor *
find_tensor(const struct model *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0)
			return m->tensors[i];
	return NULL;
}

/* Rows of a matrix; 0 if it is missing. */
static uint64_t
rows_of(const struct model *m, const char *name)
{
	const struct tensor *t = find_tensor(m, name);

	return t && tensor_ndim(t) == 2 ? tensor_dims(t)[0] : 0;
}

/* Keys that follow from shapes, and those that the files lack. */
static int
finish_llama(struct ggml *g)
{
	struct import *im = &g->import;
	const struct tensor *t = find_tensor(&im->plan, "token_embd.weight");
	uint64_t ff = rows_of(&im->plan, "blk.0.ffn_gate.weight");
	uint64_t kv = rows_of(&im->plan, "blk.0.attn_k.weight");

	if (t && tensor_row(t) < g->embd) {
		import_fail(im, ERR_FORMAT, "is one of several parts of a model");
		return err_hint(im->err, "the parts have slices of each tensor; a file in one piece is read");
	}
	if (im->plan.tensor_count < ENDS || g->layers > (im->plan.tensor_count - ENDS) / LAYER)
		return import_fail(im, ERR_CORRUPT, "has %zu tensors, but %" PRIu32 " layers need %d "
		                   "each and %d beside them", im->plan.tensor_count, g->layers, LAYER,
		                   ENDS);
	if (ff > 0 && ff <= UINT32_MAX &&
	    import_u32(im, "llama.feed_forward_length", (uint32_t)ff) < 0)
		return -1;
	if (kv > 0 && g->heads <= g->embd && kv <= g->embd &&
	    import_u32(im, "llama.attention.head_count_kv",
	               (uint32_t)(kv / (g->embd / g->heads))) < 0)
		return -1;
	import_note(im, "the file states neither context length nor epsilon: %d and %g are taken",
	            CONTEXT, (double)EPSILON);
	return import_u32(im, "llama.context_length", CONTEXT) < 0 ||
	       import_f32(im, "llama.attention.layer_norm_rms_epsilon", EPSILON) < 0 ? -1 : 0;
}

/* ---- the file ---- */

static int
read_start(struct ggml *g)
{
	struct import *im = &g->import;
	const char *arch = import_chosen(im, &ggml_options[0]);

	if (im->n >= 16 && memcmp(im->p, "lmgg", 4) == 0 && memcmp(im->p + 8, "silero", 6) == 0)
		return read_silero(g);
	g->layout = im->n >= 4 ? ggml_layout_of(im, arch) : NULL;
	if (!g->layout)
		return im->n < 4 ? import_fail(im, ERR_CORRUPT, "ends after %" PRIu64 " bytes", im->n)
		                 : -1;
	if (read_header(g) < 0 || (g->layout->flags & GGML_FILTERS && read_filters(g) < 0))
		return -1;
	return g->layout->flags & GGML_WORDLESS ? 0 : ggml_vocabulary(g);
}

static int
read_file(struct import *im)
{
	struct ggml *g = (struct ggml *)im;

	reader_memory(&g->at, im->p, (size_t)im->n, im->source.name, im->err);
	if (read_start(g) < 0)
		return -1;
	while (!reader_at_end(&g->at))
		if (read_tensor(g) < 0)
			return -1;
	if (g->at.failed || (g->layout && g->layout->flags & GGML_LLAMA && finish_llama(g) < 0))
		return -1;
	if (g->converted)
		import_note(im, "tensors with blocks of 2023, converted to today's: %" PRIu64,
		            g->converted);
	if (g->widened)
		import_note(im, "tensors with blocks of 2023 whose scales no type of today holds, "
		            "decoded to F32: %" PRIu64, g->widened);
	if (g->layout && g->layout->from &&
	    import_source(im, "version", json_integer((json_int_t)(im->p[4]))) < 0)
		return -1;
	return import_source(im, "form", json_string(g->layout ? g->layout->title : "silero VAD"));
}

/* ---- the format ---- */

static const struct import_kind kind = {
	.format = &format_ggml, .bytes = sizeof(struct ggml), .read = read_file,
};

static struct source *
ggml_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 4 && (memcmp(head, "lmgg", 4) == 0 || memcmp(head, "fmgg", 4) == 0 ||
	                  memcmp(head, "tjgg", 4) == 0);
}

static const struct format_reads reads = {
	.open = ggml_open,
	.describe = import_describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_ggml = {
	.name = "ggml",
	.title = "GGML",
	.probe = probe,
	.reads = &reads,
	.options = ggml_options,
};
