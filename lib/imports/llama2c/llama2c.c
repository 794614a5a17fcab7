#include "imports/llama2c/llama2c.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/le.h"
#include "core/num.h"
#include "core/opened.h"
#include "imports/words.h"

#define MAGIC 0x616b3432u
#define HEADER 256     /* bytes of version 1 and 2 */
#define LEGACY 28      /* bytes of version 0 */
#define DIM_MAX (1u << 20)
#define LAYERS_MAX 4096
#define VOCAB_MAX (1u << 24)
#define EPSILON 1e-5f  /* as in run.c */
#define BASE 10000.0f
#define TOKEN_MAX 65536 /* bytes */

static const struct format_option llama2c_options[] = {
	{ "tokenizer", FORMAT_FILE, "the tokenizer of a llama2.c file, such as tok512.bin", false, NULL },
	{ NULL, NULL, NULL, false, NULL }
};

/* ---- the header ---- */

/* The seven sizes, if a model can have them. vocab: with its sign removed. */
static bool
read_sizes(const uint8_t *p, uint32_t size[LLAMA2C_SIZES])
{
	static const uint32_t most[LLAMA2C_SIZES] = { DIM_MAX, DIM_MAX, LAYERS_MAX, DIM_MAX, DIM_MAX,
		VOCAB_MAX, VOCAB_MAX };
	unsigned i;

	for (i = 0; i < LLAMA2C_SIZES; i++) {
		size[i] = le32(p + 4 * i);
		if (i == LLAMA2C_V && size[i] >> 31)
			size[i] = 0 - size[i];
		if (size[i] == 0 || size[i] > most[i])
			return false;
	}
	return size[LLAMA2C_D] % size[LLAMA2C_H] == 0 && size[LLAMA2C_H] % size[LLAMA2C_K] == 0 &&
	       size[LLAMA2C_D] / size[LLAMA2C_H] % 2 == 0;
}

static bool
has_magic(const uint8_t *p, size_t n)
{
	return n >= 4 && le32(p) == MAGIC;
}

static int
read_new_header(struct llama2c *l)
{
	struct import *im = &l->import;
	uint32_t version;

	if (im->n < HEADER)
		return import_fail(im, ERR_CORRUPT, "ends after %" PRIu64 " bytes, in its header", im->n);
	version = le32(im->p + 4);
	if (version != 1 && version != 2)
		return import_fail(im, ERR_VERSION, "is a llama2.c file of version %" PRIu32
		                   ", which is not known", version);
	l->version = version;
	if (!read_sizes(im->p + 8, l->size) || le32(im->p + 8 + 4 * LLAMA2C_V) >> 31)
		return import_fail(im, ERR_CORRUPT, "has sizes that no model has");
	if (im->p[36] > 1)
		return import_fail(im, ERR_CORRUPT, "has a flag for a shared matrix that is %u",
		                   im->p[36]);
	l->shared = im->p[36];
	l->group = version == 2 ? le32(im->p + 37) : 0;
	if (version == 2 && (l->group == 0 || l->size[LLAMA2C_D] % l->group))
		return import_fail(im, ERR_CORRUPT, "has groups of %" PRIu32 " values, which do not "
		                   "divide rows of %" PRIu32, l->group, l->size[LLAMA2C_D]);
	l->at = HEADER;
	return 0;
}

static int
read_header(struct llama2c *l)
{
	struct import *im = &l->import;

	if (has_magic(im->p, (size_t)im->n))
		return read_new_header(l);
	if (im->n < LEGACY || !read_sizes(im->p, l->size))
		return import_fail(im, ERR_CORRUPT, "has sizes that no model of llama2.c has");
	l->shared = !(le32(im->p + 4 * LLAMA2C_V) >> 31);
	l->at = LEGACY;
	return 0;
}

/* ---- tensors ---- */

/* Values are products of a small integer and the scale of its group. */
static void
make_values(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const uint8_t *scales = x->data;
	uint64_t i;

	for (i = first; i < first + count; i++, to += 4)
		le_f32_put(to, le_f32(scales + i / x->more[0] * 4) * (float)(int8_t)x->p[i]);
}

/* A kind of tensor: one for each layer, or one. Dimensions are indexes of sizes, or KV. */
#define KV LLAMA2C_SIZES
#define NONE (-1)
struct shape {
	const char *name;
	int outer, inner; /* outer NONE: a vector */
	bool layers;
};

static const struct shape embd = { "token_embd", LLAMA2C_V, LLAMA2C_D, false };
static const struct shape attn_norm = { "attn_norm", NONE, LLAMA2C_D, true };
static const struct shape attn_q = { "attn_q", LLAMA2C_D, LLAMA2C_D, true };
static const struct shape attn_k = { "attn_k", KV, LLAMA2C_D, true };
static const struct shape attn_v = { "attn_v", KV, LLAMA2C_D, true };
static const struct shape attn_output = { "attn_output", LLAMA2C_D, LLAMA2C_D, true };
static const struct shape ffn_norm = { "ffn_norm", NONE, LLAMA2C_D, true };
static const struct shape ffn_gate = { "ffn_gate", LLAMA2C_F, LLAMA2C_D, true };
static const struct shape ffn_down = { "ffn_down", LLAMA2C_D, LLAMA2C_F, true };
static const struct shape ffn_up = { "ffn_up", LLAMA2C_F, LLAMA2C_D, true };
static const struct shape norm = { "output_norm", NONE, LLAMA2C_D, false };
static const struct shape output = { "output", LLAMA2C_V, LLAMA2C_D, false };

static const struct shape *const legacy_order[] = { &embd, &attn_norm, &attn_q, &attn_k, &attn_v,
	&attn_output, &ffn_norm, &ffn_gate, &ffn_down, &ffn_up, &norm, NULL };
static const struct shape *const order[] = { &attn_norm, &ffn_norm, &norm, &embd, &attn_q, &attn_k,
	&attn_v, &attn_output, &ffn_gate, &ffn_down, &ffn_up, NULL };

static uint64_t
size_of(const struct llama2c *l, int which)
{
	if (which == KV)
		return (uint64_t)l->size[LLAMA2C_D] / l->size[LLAMA2C_H] * l->size[LLAMA2C_K];
	return which == NONE ? 1 : l->size[which];
}

static int
too_short(const struct llama2c *l, const char *name)
{
	return import_fail(&l->import, ERR_CORRUPT, "ends inside %s: it has %" PRIu64 " bytes", name,
	                   l->import.n);
}

/* The tensor of one layer; moves l->at behind it. Sizes are below 2^20, so products fit. */
static int
add_one(struct llama2c *l, const struct shape *s, const char *name)
{
	struct import *im = &l->import;
	const uint64_t dims[2] = { size_of(l, s->outer), size_of(l, s->inner) };
	const uint64_t values = dims[0] * dims[1];
	const bool small = l->version == 2 && s->outer != NONE;
	uint64_t bytes = small ? values + values / l->group * 4 : values * 4;
	struct import_place x = { .p = im->p + l->at };

	if (small && values % l->group)
		return import_fail(im, ERR_CORRUPT, "has groups of %" PRIu32 " values, which do not "
		                   "divide %s", l->group, name);
	if (bytes > im->n - l->at)
		return too_short(l, name);
	l->at += bytes;
	if (small) {
		x.make = make_values;
		x.in = 1;
		x.out = 4;
		x.more[0] = l->group;
		x.data = x.p + values;
	}
	return import_tensor(im, name, strlen(name), dtype_by_name("F32"), s->outer == NONE ? 1 : 2,
	                     s->outer == NONE ? dims + 1 : dims, &x);
}

static int
add_tensors(struct llama2c *l, const struct shape *s)
{
	uint32_t i, n = s->layers ? l->size[LLAMA2C_N] : 1;
	char name[64];

	for (i = 0; i < n; i++) {
		if (s->layers)
			snprintf(name, sizeof name, "blk.%" PRIu32 ".%s.weight", i, s->name);
		else
			snprintf(name, sizeof name, "%s.weight", s->name);
		if (add_one(l, s, name) < 0)
			return -1;
	}
	return 0;
}

static int
add_all(struct llama2c *l)
{
	const struct shape *const *s = l->version == 0 ? legacy_order : order;
	const uint64_t angles = 4 * (uint64_t)l->size[LLAMA2C_C] *
	                        (l->size[LLAMA2C_D] / l->size[LLAMA2C_H]);

	for (; *s; s++)
		if (add_tensors(l, *s) < 0)
			return -1;
	if (l->version == 0) {
		if (angles > l->import.n - l->at)
			return too_short(l, "the angles of positions");
		l->at += angles;
	}
	if (!l->shared && add_tensors(l, &output) < 0)
		return -1;
	if (l->at < l->import.n)
		return import_fail(&l->import, ERR_CORRUPT, "has %" PRIu64 " bytes behind its last "
		                   "tensor", l->import.n - l->at);
	return 0;
}

/* ---- keys ---- */

static int
add_keys(struct llama2c *l)
{
	static const struct { const char *key; int size; } keys[] = {
		{ "llama.vocab_size", LLAMA2C_V }, { "llama.context_length", LLAMA2C_C },
		{ "llama.embedding_length", LLAMA2C_D }, { "llama.block_count", LLAMA2C_N },
		{ "llama.feed_forward_length", LLAMA2C_F },
		{ "llama.attention.head_count", LLAMA2C_H },
		{ "llama.attention.head_count_kv", LLAMA2C_K },
	};
	struct import *im = &l->import;
	size_t i;

	if (import_text(im, "general.architecture", "llama", 5) < 0)
		return -1;
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (import_u32(im, keys[i].key, l->size[keys[i].size]) < 0)
			return -1;
	if (import_u32(im, "llama.rope.dimension_count",
	               l->size[LLAMA2C_D] / l->size[LLAMA2C_H]) < 0 ||
	    import_f32(im, "llama.rope.freq_base", BASE) < 0)
		return -1;
	return import_f32(im, "llama.attention.layer_norm_rms_epsilon", EPSILON);
}

/* ---- the tokenizer ---- */

static int
read_words(struct reader *r, struct words *w, uint32_t count)
{
	const uint8_t *p;
	uint32_t i, n;

	reader_skip(r, 4);
	for (i = 0; i < count; i++) {
		buf_u32(&w->scores, reader_u32(r));
		n = reader_u32(r);
		if (!r->failed && n > TOKEN_MAX)
			return reader_fail(r, ERR_CORRUPT, "a token of %" PRIu32 " bytes", n);
		p = r->failed ? NULL : reader_take(r, n);
		if (!p)
			return -1;
		words_piece(w, i, p, n);
		if (w->tokens.n > IMPORT_KEYS)
			return reader_fail(r, ERR_CORRUPT, "a vocabulary of more than %u bytes",
			                   IMPORT_KEYS);
	}
	if (!reader_at_end(r))
		return reader_fail(r, ERR_CORRUPT, "more tokens than the %" PRIu32 " of the model",
		                   count);
	return r->failed ? -1 : 0;
}

static int
read_tokenizer(struct llama2c *l, const char *path)
{
	const uint32_t count = l->size[LLAMA2C_V];
	struct words w = { 0 };
	struct reader r;
	int status = -1, fd = opened_file(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		err_errno(l->import.err, path, "cannot be opened");
		l->import.err->missing = errno == ENOENT;
		return -1;
	}
	if (reader_fd(&r, fd, path, l->import.err) == 0) {
		words_begin(&w, count);
		if (read_words(&r, &w, count) == 0)
			status = words_llama(&l->import, &w, true);
		words_free(&w);
		reader_close(&r);
	}
	close(fd);
	return status;
}

/* ---- the file ---- */

static int
read_file(struct import *im)
{
	struct llama2c *l = (struct llama2c *)im;
	const char *tokenizer = import_chosen(im, &llama2c_options[0]);

	if (read_header(l) < 0 || add_keys(l) < 0 ||
	    (tokenizer && read_tokenizer(l, tokenizer) < 0) || add_all(l) < 0)
		return -1;
	if (l->version == 2)
		import_note(im, "tensors of 8-bit groups, decoded to F32: all matrices");
	return import_source(im, "version", json_integer(l->version));
}

static const struct import_kind kind = {
	.format = &format_llama2c, .bytes = sizeof(struct llama2c), .read = read_file,
};

static struct source *
llama2c_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
             struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

/* Version 0 has no magic: its sizes must be those of a model. */
static bool
probe(const uint8_t *head, size_t n)
{
	uint32_t size[LLAMA2C_SIZES];

	return has_magic(head, n) || (n >= LEGACY && read_sizes(head, size));
}

static const struct format_reads reads = {
	.open = llama2c_open,
	.describe = import_describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_llama2c = {
	.name = "llama2c",
	.title = "llama2.c",
	.probe = probe,
	.reads = &reads,
	.options = llama2c_options,
};
