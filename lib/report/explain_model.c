/* Explanations of models. */
#include "report/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/classic.h"
#include "arch/guess.h"
#include "arch/hyper.h"
#include "arch/match.h"
#include "arch/shape.h"
#include "arch/size.h"
#include "arch/words.h"
#include "core/text.h"

/* What a model is, from its keys and its tensors. */
struct known {
	struct subject *s;
	const struct arch *arch;
	const struct arch_words *words;
	struct sizes sizes;
	struct hyper hyper;        /* if it could be read: */
	bool has_hyper;
	struct err problem;        /* else the reason, or no error */
	uint64_t blocks;           /* of the tensors; in models of two parts: of the decoder, */
	uint64_t encoder;          /* and of the encoder */
	uint64_t channels;         /* of a spectrogram */
	bool gate;                 /* feed-forward networks are gated */
};

static uint64_t
size_of(const struct known *k, char letter)
{
	return sizes_get(&k->sizes, letter);
}

/* ---- what tensors show ---- */

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
see_embeddings(struct known *k, const struct tensor *t)
{
	uint64_t *v = k->sizes.of;

	if (tensor_ndim(t) != 2)
		return;
	v['V' - 'A'] = tensor_dims(t)[0];
	if (!v['W' - 'A'])
		v['W' - 'A'] = tensor_dims(t)[1];
}

static void
see_tensor(struct known *k, const struct tensor *t, const struct match *m)
{
	const char *name = k->s->form == ARCH_GGUF && m->rule->role != ROLES
	                       ? role_name(m->rule->role, ARCH_GGUF) : rule_name(m->rule);
	bool whisper = m->rule->role == ROLES;

	if (!name)
		return;
	if (strchr(name, '#') && (strncmp(name, "enc.", 4) == 0 ||
	                          strncmp(name, "encoder.block", 13) == 0 ||
	                          strncmp(name, "model.encoder.", 14) == 0))
		k->encoder = most(k->encoder, m->block + 1);
	else if (strchr(name, '#'))
		k->blocks = most(k->blocks, m->block + 1);
	k->gate |= m->rule->role == ROLE_GATE || m->rule->role == ROLE_GATE_EXPS ||
	           m->rule->role == ROLE_ENC_GATE;
	if (m->rule->role == ROLE_EMBED || (whisper && strstr(name, "embed_tokens")))
		see_embeddings(k, t);
	if (whisper && strstr(name, "encoder.conv1") && !m->bias && tensor_ndim(t) == 3)
		k->channels = tensor_dims(t)[1];
}

static void
see_tensors(struct known *k)
{
	const struct model *plan = k->s->plan;
	struct match m;
	size_t i;

	for (i = 0; i < plan->tensor_count; i++)
		if (match_find(k->arch, k->s->form, tensor_name(plan->tensors[i]), 0, &m))
			see_tensor(k, plan->tensors[i], &m);
}

/* Members of config.json that only Whisper has. */
static void
see_config(struct known *k)
{
	const json_t *c = k->s->config;

	if (!c || !k->arch->folder || strcmp(k->arch->folder, "whisper") != 0)
		return;
	json_member_u64(c, "decoder_attention_heads", &k->sizes.of['H' - 'A']);
	json_member_u64(c, "decoder_ffn_dim", &k->sizes.of['F' - 'A']);
	json_member_u64(c, "max_target_positions", &k->sizes.of['P' - 'A']);
	if (size_of(k, 'H') && !size_of(k, 'K'))
		k->sizes.of['K' - 'A'] = size_of(k, 'W') / size_of(k, 'H');
	k->sizes.of['G' - 'A'] = size_of(k, 'H');
}

static void
know(struct known *k, struct subject *s)
{
	struct err ignored = ERR_INIT;

	*k = (struct known){ .s = s, .arch = arch_refine(s->arch, s->plan) };
	k->words = arch_words(k->arch);
	if (s->form == ARCH_GGUF)
		sizes_keys(&k->sizes, &s->w, k->arch->name, &ignored);
	else
		sizes_config(&k->sizes, s->config, &ignored);
	see_tensors(k);
	see_config(k);
	if (!k->arch->missing)
		k->has_hyper = hyper_read(&k->hyper, &s->w, &k->problem) == 0;
}

/* ---- lines ---- */

static void
put_size(struct buf *b, const struct known *k)
{
	const char *name = arch_size_name(k->arch, size_of(k, 'W'), k->blocks);
	struct arch_sizes sizes;
	char text[ARCH_SIZE];

	arch_count(k->arch, k->s->w.plan, &sizes);
	if (name)
		buf_printf(b, " (%s)", name);
	if (sizes.all)
		buf_printf(b, ", %s parameters", arch_size_text(text, &sizes));
}

static void
put_architecture(struct buf *b, const struct known *k)
{
	uint64_t blocks = k->blocks ? k->blocks : size_of(k, 'B');

	buf_text(b, k->words->kind);
	if (k->encoder)
		buf_printf(b, ": %" PRIu64 " encoder blocks, %" PRIu64 " decoder blocks",
		           k->encoder, blocks);
	else if (blocks)
		buf_printf(b, ": %" PRIu64 " block%s", blocks, blocks == 1 ? "" : "s");
	if (size_of(k, 'W'))
		buf_printf(b, "%s hidden size %" PRIu64, k->encoder || blocks ? "," : ":",
		           size_of(k, 'W'));
}

static void
put_states(struct buf *b, const struct known *k)
{
	buf_text(b, k->words->mixes);
	if (size_of(k, 'Z') && size_of(k, 'M'))
		buf_printf(b, ": %" PRIu64 " values for each of %" PRIu64 " channels",
		           size_of(k, 'Z'), size_of(k, 'M'));
	if (size_of(k, 'C'))
		buf_printf(b, ", after a convolution over %" PRIu64 " tokens", size_of(k, 'C'));
}

static void
put_heads(struct buf *b, const struct known *k)
{
	uint64_t h = size_of(k, 'H'), g = size_of(k, 'G');

	buf_printf(b, "%" PRIu64 " heads", h);
	if (size_of(k, 'K'))
		buf_printf(b, " of %" PRIu64, size_of(k, 'K'));
	if (size_of(k, 'L'))
		buf_printf(b, "; latent: keys and values of a token are %" PRIu64 " values",
		           size_of(k, 'L'));
	else if (g == 1 && h > 1)
		buf_text(b, "; multi-query: all heads share one key and value head");
	else if (g && g < h && h % g == 0)
		buf_printf(b, "; grouped-query: %" PRIu64 " key and value heads, each for %" PRIu64
		           " query heads", g, h / g);
	else if (g == h)
		buf_text(b, "; multi-head: each with keys and values of its own");
}

static void
put_attention(struct buf *b, const struct known *k)
{
	const struct hyper *h = &k->hyper;
	uint64_t i, n = 0;

	if (k->words->mixes) {
		put_states(b, k);
		return;
	}
	if (size_of(k, 'H'))
		put_heads(b, k);
	else
		buf_text(b, "the number of heads is not the same in all blocks, or not stated");
	if (!k->has_hyper)
		return;
	for (i = 0; i < h->layers; i++)
		n += h->windowed[i];
	if (n)
		buf_printf(b, "; %" PRIu64 " of %" PRIu64 " blocks see only the last %" PRIu64
		           " positions", n, h->layers, h->window);
	if (h->attn_cap > 0)
		buf_printf(b, "; scores are capped at %g", (double)h->attn_cap);
}

static void
put_positions(struct buf *b, const struct known *k)
{
	const struct rope *r = &k->hyper.rope;

	if (k->words->positions) {
		buf_text(b, k->words->positions);
	} else if (k->arch->flags & ARCH_POSITIONS) {
		buf_text(b, "learned: a vector for each position");
	} else if (!k->has_hyper) {
		buf_text(b, "rotary");
	} else {
		buf_printf(b, "rotary (RoPE), base %.10g, over %" PRIu64 " of %" PRIu64
		           " values of a head", r->base, r->rot, k->hyper.head_k);
		if (r->yarn || r->factor != 1)
			buf_printf(b, ", stretched %g times (%s)", r->factor,
			           r->yarn ? "YaRN" : "linear");
		else if (r->factors)
			buf_text(b, ", with a factor for each pair of values");
	}
}

static void
put_norms(struct buf *b, const struct known *k)
{
	uint32_t f = k->arch->flags;
	bool layer = f & ARCH_LAYER_NORM;

	buf_text(b, layer ? "layer norm" : "RMS norm");
	if (f & ARCH_POST_ONLY)
		buf_text(b, " after each sublayer");
	else if (f & ARCH_POST_NORMS)
		buf_text(b, " before and after each sublayer");
	else if (f & ARCH_ONE_NORM)
		buf_text(b, ", one in each block");
	if (f & ARCH_QK_NORM)
		buf_text(b, "; queries and keys have a norm");
	if (k->has_hyper)
		buf_printf(b, "; epsilon %g", (double)k->hyper.eps);
}

static void
put_ffn(struct buf *b, const struct known *k)
{
	static const char *const acts[] = { [ACT_SILU] = "SiLU", [ACT_GELU_TANH] = "GELU",
		[ACT_GELU_ERF] = "GELU", [ACT_GELU_HALF] = "GELU",
		[ACT_RELU_SQUARED] = "the square of ReLU" };
	bool gated = k->arch->flags & ARCH_GATED;

	if (k->words->ffn)
		buf_text(b, k->words->ffn);
	else
		buf_printf(b, "%s with %s", gated ? "gated" : "two layers",
		           k->has_hyper ? acts[k->hyper.act] : k->arch->flags & ARCH_GELU ? "GELU"
		                                                                         : "SiLU");
	if (size_of(k, 'F') && !k->words->mixes)
		buf_printf(b, ", size %" PRIu64, size_of(k, 'F'));
}

/* Appends nothing if the model has no experts. */
static void
put_experts(struct buf *b, const struct known *k)
{
	uint64_t used = k->has_hyper ? k->hyper.experts_used : 0;

	if (!size_of(k, 'E'))
		return;
	if (!used && k->s->config)
		json_member_u64(k->s->config, "num_experts_per_tok", &used);
	buf_printf(b, "%" PRIu64, size_of(k, 'E'));
	if (used)
		buf_printf(b, ", %" PRIu64 " chosen for each token", used);
	if (size_of(k, 'X'))
		buf_printf(b, "; size %" PRIu64 " each", size_of(k, 'X'));
	if (size_of(k, 'S'))
		buf_printf(b, "; shared experts of size %" PRIu64 " see every token",
		           size_of(k, 'S'));
}

static void
put_vocabulary(struct buf *b, const struct known *k)
{
	static const char *const files[] = { "tokenizer.json", "tokenizer.model", "vocab.txt" };
	const char *kind = model_text(k->s->w.plan, "tokenizer.ggml.model");
	const char *pre = model_text(k->s->w.plan, "tokenizer.ggml.pre");
	size_t i, n;

	if (size_of(k, 'V'))
		buf_printf(b, "%" PRIu64 " tokens", size_of(k, 'V'));
	else
		buf_text(b, "size not known");
	if (kind) {
		buf_printf(b, "; tokenizer %s", strcmp(kind, "llama") == 0 ? "SentencePiece (llama)" :
		           strcmp(kind, "gpt2") == 0 ? "BPE (gpt2)" :
		           strcmp(kind, "bert") == 0 ? "WordPiece (bert)" : kind);
		if (pre)
			buf_printf(b, ", pre-tokenizer %s", pre);
		return;
	}
	for (i = 0; i < sizeof files / sizeof *files; i++)
		if (weights_file(&k->s->w, files[i], &n)) {
			buf_printf(b, "; tokenizer in %s", files[i]);
			return;
		}
	buf_text(b, "; without a tokenizer");
}

static void
put_input(struct buf *b, const struct known *k)
{
	buf_text(b, k->words->input);
	if (k->channels)
		buf_printf(b, " of %" PRIu64 " channels", k->channels);
}

static void
put_context(struct buf *b, const struct known *k)
{
	if (size_of(k, 'P'))
		buf_printf(b, "%" PRIu64 " positions", size_of(k, 'P'));
}

static void
put_output(struct buf *b, const struct known *k)
{
	buf_text(b, k->words->output);
}

#define TYPES 64

/* The types of the tensors, those of most bytes first. */
static void
put_types(struct buf *b, const struct known *k)
{
	const struct model *m = k->s->plan;
	struct { const struct dtype *type; size_t n; uint64_t bytes; } of[TYPES], swap;
	size_t i, j, n = 0;

	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *t = tensor_type(m->tensors[i]);

		for (j = 0; j < n && of[j].type != t; j++)
			;
		if (j == TYPES)
			continue;
		if (j == n)
			of[n++].type = t, of[j].n = 0, of[j].bytes = 0;
		of[j].n++;
		of[j].bytes += tensor_bytes(m->tensors[i]);
		for (; j > 0 && of[j].bytes > of[j - 1].bytes; j--)
			swap = of[j], of[j] = of[j - 1], of[j - 1] = swap;
	}
	for (i = 0; i < n; i++)
		buf_printf(b, "%s%s in %zu tensor%s", i ? ", " : "", of[i].type->name, of[i].n,
		           of[i].n == 1 ? "" : "s");
	if (n)
		buf_printf(b, "; %.2f bits per weight", model_bits_per_weight(m));
}

static void
put_runs(struct buf *b, const struct known *k)
{
	if (k->arch->missing)
		buf_printf(b, "apr-run does not run this architecture: it needs %s",
		           k->arch->missing);
	else if (k->has_hyper)
		buf_text(b, "apr-run runs this architecture");
	else
		buf_printf(b, "apr-run runs this architecture, but not this model: %s",
		           k->problem.fact);
}

static json_t *
numbers(const struct known *k)
{
	static const struct { char letter; const char *name; } rows[] = {
		{ 'W', "hidden_size" }, { 'H', "heads" }, { 'G', "kv_heads" }, { 'K', "head_size" },
		{ 'F', "feed_forward" }, { 'V', "vocabulary" }, { 'P', "context" },
		{ 'E', "experts" }, { 'L', "latent" }, { 'Z', "state" },
	};
	json_t *o = json_object();
	size_t i;

	json_object_set_new(o, "blocks", json_from_u64(k->blocks));
	if (k->encoder)
		json_object_set_new(o, "encoder_blocks", json_from_u64(k->encoder));
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (size_of(k, rows[i].letter))
			json_object_set_new(o, rows[i].name,
			                    json_from_u64(size_of(k, rows[i].letter)));
	return o;
}

static const struct {
	const char *name;
	void (*put)(struct buf *b, const struct known *k);
} lines[] = {
	{ "architecture", put_architecture }, { "attention", put_attention },
	{ "positions", put_positions }, { "norms", put_norms }, { "feed_forward", put_ffn },
	{ "experts", put_experts }, { "vocabulary", put_vocabulary }, { "context", put_context },
	{ "input", put_input }, { "output", put_output }, { "types", put_types },
	{ "runs", put_runs },
};

static void
put_classic(struct buf *b, struct model *m)
{
	uint64_t trees, nodes, features, outputs;
	struct classic_form said;

	classic_form(m, &said);
	classic_trees(m, &trees, &nodes);
	classic_sizes(m, &features, &outputs);
	if (trees)
		buf_printf(b, "%" PRIu64 " tree%s with %" PRIu64 " nodes%s", trees, trees == 1 ? "" : "s",
		           nodes, features || outputs ? ", " : "");
	if (outputs)
		buf_printf(b, "%" PRIu64 " centers, ", outputs);
	if (features)
		buf_printf(b, "%" PRIu64 " feature%s", features, features == 1 ? "" : "s");
	if (said.classes && !said.centers)
		buf_printf(b, ", %" PRIu64 " classes", said.classes);
}

/* A classical model. */
static json_t *
explain_classic(struct subject *s, const struct classic_words *w)
{
	const char *payload = model_text(s->w.plan, "apr1.payload"), *type = model_text(s->w.plan, "apr1.model_type");
	struct known k = { .s = s };
	json_t *o = json_object();
	struct buf b = { 0 };

	buf_printf(&b, "%s: %s (%s)", s->w.name, w->kind, payload ? payload : type ? type : w->type);
	explain_set(o, "title", &b);
	json_object_set_new(o, "purpose", json_string(w->purpose));
	json_object_set_new(o, "computes", json_string(w->how));
	put_classic(&b, s->w.plan);
	if (b.n > 0)
		explain_set(o, "sizes", &b);
	json_object_set_new(o, "input", json_string(w->input));
	json_object_set_new(o, "output", json_string(w->output));
	put_types(&b, &k);
	explain_set(o, "types", &b);
	json_object_set_new(o, "runs", json_string(payload ? "apr-predict MODEL predicts for rows, if it knows "
	                                                     "the payload"
	                                                   : "apr-predict MODEL predicts for rows"));
	return o;
}

/* A model whose architecture is not known: what can be said without it. */
static json_t *
explain_unknown(struct subject *s)
{
	struct known k = { .s = s };
	json_t *o = json_object();
	struct buf b = { 0 };
	char text[ARCH_NAME];

	if (arch_said_text(s->w.plan, text))
		buf_printf(&b, "%s: an architecture that is not known here: %s", s->w.name, text);
	else
		buf_printf(&b, "%s: a model that does not state its architecture", s->w.name);
	explain_set(o, "title", &b);
	buf_printf(&b, "%zu tensors, %" PRIu64 " parameters; the names of the tensors are not "
	           "those of an architecture in apr-explain --list", s->plan->tensor_count,
	           model_parameters(s->plan));
	explain_set(o, "architecture", &b);
	put_types(&b, &k);
	explain_set(o, "types", &b);
	return o;
}

json_t *
explain_model(struct subject *s, struct err *e)
{
	const char *name = model_text(s->w.plan, "general.name");
	struct buf b = { 0 };
	struct known k;
	json_t *o;
	size_t i;

	if (!s->arch && classic_words(s->w.plan))
		return explain_classic(s, classic_words(s->w.plan));
	if (!s->arch)
		return explain_unknown(s);
	know(&k, s);
	o = json_object();
	buf_printf(&b, "%s: %s", s->w.name, k.words->family ? k.words->family : k.arch->name);
	put_size(&b, &k);
	explain_set(o, "title", &b);
	if (name && *name) {
		buf_text(&b, name);
		explain_set(o, "name", &b);
	}
	json_object_set_new(o, "purpose", json_string(k.words->purpose));
	json_object_set_new(o, "about", json_string(k.words->trait));
	for (i = 0; i < sizeof lines / sizeof *lines; i++) {
		lines[i].put(&b, &k);
		if (b.n > 0)
			explain_set(o, lines[i].name, &b);
	}
	json_object_set_new(o, "numbers", numbers(&k));
	hyper_free(&k.hyper);
	if (!json_object_get(o, "runs") || !json_object_get(o, "numbers")) {
		json_decref(o);
		err_memory(e);
		return NULL;
	}
	return o;
}
