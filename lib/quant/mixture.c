#include "quant/mixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"

#define COUNT(A) (sizeof(A) / sizeof(A)[0])

/* The mixtures, and a bit for each, so that a rule can name several. */
#define MIXTURES(X) \
	X(F32, "f32", NULL, "F32", "F32", 0) \
	X(F16, "f16", "fp16", "F16", "F16", 1) \
	X(BF16, "bf16", NULL, "BF16", "BF16", 32) \
	X(Q8_0, "q8_0", NULL, "Q8_0", "Q8_0", 7) \
	X(Q4_0, "q4_0", "int4", "Q4_0", "Q6_K", 2) \
	X(Q4_1, "q4_1", NULL, "Q4_1", "Q6_K", 3) \
	X(Q5_0, "q5_0", NULL, "Q5_0", "Q6_K", 8) \
	X(Q5_1, "q5_1", NULL, "Q5_1", "Q6_K", 9) \
	X(Q2_K, "q2_k", NULL, "Q2_K", "Q6_K", 10) \
	X(Q2_K_S, "q2_k_s", NULL, "Q2_K", "Q6_K", 21) \
	X(Q3_K_S, "q3_k_s", NULL, "Q3_K", "Q6_K", 11) \
	X(Q3_K_M, "q3_k_m", "q3_k", "Q3_K", "Q6_K", 12) \
	X(Q3_K_L, "q3_k_l", NULL, "Q3_K", "Q6_K", 13) \
	X(Q4_K_S, "q4_k_s", NULL, "Q4_K", "Q6_K", 14) \
	X(Q4_K_M, "q4_k_m", "q4_k", "Q4_K", "Q6_K", 15) \
	X(Q5_K_S, "q5_k_s", NULL, "Q5_K", "Q6_K", 16) \
	X(Q5_K_M, "q5_k_m", "q5_k", "Q5_K", "Q6_K", 17) \
	X(Q6_K, "q6_k", NULL, "Q6_K", "Q6_K", 18) \
	X(IQ4_NL, "iq4_nl", NULL, "IQ4_NL", "Q6_K", 25) \
	X(IQ4_XS, "iq4_xs", NULL, "IQ4_XS", "Q6_K", 30) \
	X(IQ3_XXS, "iq3_xxs", NULL, "IQ3_XXS", "Q5_K", 23) \
	X(IQ3_XS, "iq3_xs", NULL, "IQ3_S", "Q6_K", 22) \
	X(IQ3_S, "iq3_s", NULL, "IQ3_S", "Q6_K", 26) \
	X(IQ3_M, "iq3_m", NULL, "IQ3_S", "Q6_K", 27) \
	X(IQ2_XXS, "iq2_xxs", NULL, "IQ2_XXS", "Q5_K", 19) \
	X(IQ2_XS, "iq2_xs", NULL, "IQ2_XS", "Q5_K", 20) \
	X(IQ2_S, "iq2_s", NULL, "IQ2_XS", "Q5_K", 28) \
	X(IQ2_M, "iq2_m", NULL, "IQ2_S", "Q5_K", 29) \
	X(IQ1_S, "iq1_s", NULL, "IQ1_S", "Q5_K", 24) \
	X(IQ1_M, "iq1_m", NULL, "IQ1_M", "Q5_K", 31) \
	X(TQ1_0, "tq1_0", NULL, "TQ1_0", "Q6_K", 36) \
	X(TQ2_0, "tq2_0", NULL, "TQ2_0", "Q6_K", 37) \
	X(MXFP4_MOE, "mxfp4_moe", NULL, "MXFP4", "Q8_0", 38)

#define NUMBER(id, ...) N_##id,
enum { MIXTURES(NUMBER) };
#define M(id) (UINT64_C(1) << N_##id)
#define ROW(id, ...) { __VA_ARGS__, false },
static const struct mixture mixtures[] = { MIXTURES(ROW) };

const struct mixture *
mixture_row(unsigned index)
{
	return index < COUNT(mixtures) ? &mixtures[index] : NULL;
}

const struct mixture *
mixture_by_name(const char *name)
{
	const struct mixture *m;

	for (m = mixtures; m < mixtures + COUNT(mixtures); m++)
		if (!strcasecmp(m->name, name) || (m->alias && !strcasecmp(m->alias, name)))
			return m;
	return NULL;
}

/* MXFP4_MOE: the shape decides; experts are stacked in three dimensions. */
bool
mixture_goes_by_names(const struct mixture *m)
{
	return strcmp(m->type, m->output) != 0 && m != &mixtures[N_MXFP4_MOE];
}

struct mixture
mixture_plain(const struct dtype *type)
{
	return (struct mixture){ .name = type->name, .type = type->name,
		.output = type->name, .plain = true };
}

/* The role of a matrix, as far as rules distinguish it. */
enum role {
	EMBEDDING = 1, OUTPUT = 2, VALUES = 4, KEYS = 8, QUERIES = 16, ATTENTION = 32,
	UP = 64, GATE = 128, DOWN = 256, OTHER = 512
};

static enum role
role_of(const char *name)
{
	static const struct {
		const char *part;
		enum role role;
	} parts[] = {
		/* Matrices that make values, alone or with others, are the most sensitive. */
		{ "attn_qkv.weight", VALUES },    { "attn_kv_b.weight", VALUES },
		{ "attn_v.weight", VALUES },      { "attn_k.weight", KEYS },
		{ "attn_q.weight", QUERIES },     { "attn_output.weight", ATTENTION },
		{ "ffn_up", UP }, { "ffn_gate", GATE }, { "ffn_down", DOWN },
	};
	size_t i;

	if (!strcmp(name, "output.weight"))
		return OUTPUT;
	if (!strcmp(name, "token_embd.weight") || !strcmp(name, "per_layer_token_embd.weight"))
		return EMBEDDING;
	for (i = 0; i < COUNT(parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].role;
	return OTHER;
}

/* ---- rules ---- */

/* Facts about a model, and about a place among n blocks, that rules use. */
enum fact {
	GQA4 = 1,         /* four or more queries share a key */
	EXPERTS4 = 2,     /* four or more experts */
	EXPERTS8 = 4,     /* eight of them, as in the first Mixtral */
	FALCON = 8,
	IMPORTANCE = 16,  /* an importance matrix is at hand */
	FIRST_16TH = 32,  /* place < n / 16 */
	FIRST_8TH = 64,   /* place < n / 8 */
	MIDDLE = 128,     /* n / 8 <= place < 7 n / 8 */
	FIRST_2 = 256,    /* place < 2 */
	FIRST_4 = 512,
	MORE_BITS = 1024, /* the first and last eighth, and every third place between */
	STACKED = 2048    /* three dimensions: the matrices of experts */
};

struct rule {
	uint64_t mixtures;
	unsigned roles;
	unsigned needs, forbids; /* facts */
	const char *type, *why;
};

#define TWO_BITS (M(IQ2_XXS) | M(IQ2_XS) | M(IQ2_S) | M(IQ2_M) | M(IQ1_S) | M(IQ1_M))
#define TWO_BITS_UPPER (M(IQ2_S) | M(IQ2_M))
#define ONE_BIT (M(IQ1_S) | M(IQ1_M))

/* The first rule that fits decides; if none does, the mixture's own type is used. */
static const struct rule rules[] = {
	{ M(MXFP4_MOE), ~0u, STACKED, 0, "MXFP4", "experts" },
	{ M(MXFP4_MOE), ~0u, 0, 0, "Q8_0", "not an expert" },

	{ M(IQ2_XXS) | M(IQ2_XS) | ONE_BIT, EMBEDDING, 0, 0, "Q2_K", "embedding" },
	{ TWO_BITS_UPPER | M(IQ3_XXS), EMBEDDING, 0, 0, "IQ3_S", "embedding" },
	{ M(TQ1_0) | M(TQ2_0), EMBEDDING, 0, 0, "Q4_K", "embedding" },
	{ ~UINT64_C(0), EMBEDDING, 0, 0, NULL, "mixture" },

	{ TWO_BITS, VALUES, GQA4, 0, "Q4_K", "values, shared" },
	{ TWO_BITS, VALUES, EXPERTS4, 0, "Q4_K", "values of experts" },
	{ TWO_BITS_UPPER, VALUES, 0, 0, "IQ3_S", "values" },
	{ TWO_BITS, VALUES, 0, 0, "Q2_K", "values" },
	{ TWO_BITS, KEYS, EXPERTS8, 0, "Q4_K", "keys of 8 experts" },
	{ TWO_BITS_UPPER, DOWN, FIRST_8TH, 0, "IQ3_S", "first blocks" },
	{ TWO_BITS, DOWN, FIRST_8TH, 0, "Q2_K", "first blocks" },
	{ TWO_BITS, ATTENTION, EXPERTS8, 0, "Q5_K", "attention of 8 experts" },
	{ ONE_BIT, ATTENTION, 0, 0, "IQ2_XXS", "attention output" },
	{ TWO_BITS_UPPER, ATTENTION, 0, 0, "IQ3_S", "attention output" },
	{ TWO_BITS, ~0u, 0, 0, NULL, "mixture" },

	{ ~UINT64_C(0), VALUES | KEYS, EXPERTS8, 0, "Q8_0",
	  "keys and values of 8 experts" },
	{ M(Q2_K) | M(Q2_K_S), VALUES, GQA4, 0, "Q4_K", "values, shared" },
	{ M(Q2_K), VALUES, 0, 0, "Q3_K", "values" },
	{ M(IQ3_XXS) | M(IQ3_XS) | M(IQ3_S), VALUES, GQA4, 0, "Q4_K", "values, shared" },
	{ M(IQ3_XXS), VALUES, 0, IMPORTANCE, "IQ3_S", "values, no importance" },
	{ M(IQ3_M), VALUES, 0, 0, "Q4_K", "values" },
	{ M(Q3_K_M), VALUES, FIRST_2, 0, "Q5_K", "values, first blocks" },
	{ M(Q3_K_M), VALUES, 0, 0, "Q4_K", "values" },
	{ M(Q3_K_L), VALUES, 0, 0, "Q5_K", "values" },
	{ M(IQ4_NL) | M(IQ4_XS), VALUES, GQA4, 0, "Q5_K", "values, shared" },
	{ M(Q4_K_M) | M(Q5_K_M), VALUES, MORE_BITS, 0, "Q6_K", "values, some blocks" },
	{ M(Q4_K_S), VALUES, FIRST_4, 0, "Q5_K", "values, first blocks" },

	{ M(IQ3_XS), KEYS | QUERIES, 0, 0, "IQ3_XXS", "keys and queries" },
	{ M(IQ3_XXS), KEYS | QUERIES, 0, 0, "IQ2_S", "keys and queries" },

	{ M(Q2_K), DOWN, 0, 0, "Q3_K", "ffn down" },
	{ M(Q2_K_S), DOWN, FIRST_8TH, 0, "Q4_K", "first blocks" },
	{ M(IQ3_XXS), DOWN, FIRST_8TH, IMPORTANCE, "Q4_K", "first blocks" },
	{ M(IQ3_XXS), DOWN, 0, IMPORTANCE, "Q3_K", "ffn down, no importance" },
	{ M(Q3_K_M), DOWN, FIRST_16TH, 0, "Q5_K", "first blocks" },
	{ M(Q3_K_M), DOWN, 0, FALCON, "Q4_K", "ffn down" },
	{ M(Q3_K_M), DOWN, MORE_BITS, 0, "Q4_K", "some blocks" },
	{ M(IQ3_M), DOWN, FIRST_8TH, 0, "Q4_K", "first blocks" },
	{ M(IQ3_M), DOWN, EXPERTS8 | MORE_BITS, 0, "Q4_K", "some blocks" },
	{ M(Q3_K_L), DOWN, FALCON, 0, "Q4_K", "ffn down" },
	{ M(Q3_K_L), DOWN, 0, 0, "Q5_K", "ffn down" },
	{ M(Q4_K_M), DOWN, FALCON | FIRST_16TH, 0, "Q6_K", "first blocks" },
	{ M(Q4_K_M), DOWN, FALCON | MORE_BITS, 0, "Q5_K", "some blocks" },
	{ M(Q4_K_M), DOWN, MORE_BITS, FALCON, "Q6_K", "some blocks" },
	{ M(IQ4_NL) | M(IQ4_XS), DOWN, FIRST_8TH, IMPORTANCE, "Q5_K", "first blocks" },
	{ M(Q5_K_M), DOWN, MORE_BITS, 0, "Q6_K", "some blocks" },
	{ M(Q4_K_S), DOWN, FIRST_8TH, FALCON, "Q5_K", "first blocks" },
	{ M(Q4_0), DOWN, FIRST_8TH | IMPORTANCE, 0, "Q4_1", "first blocks" },
	{ M(Q5_0), DOWN, FIRST_8TH | IMPORTANCE, 0, "Q5_1", "first blocks" },

	{ M(Q3_K_L), ATTENTION, FALCON, 0, "Q4_K", "attention output" },
	{ ~UINT64_C(0), ATTENTION, FALCON, 0, NULL, "mixture" },
	{ M(Q2_K) | M(Q3_K_S) | M(Q3_K_M) | M(Q4_K_S) | M(Q4_K_M) | M(IQ4_NL) | M(IQ4_XS) | M(IQ3_XXS) |
	  M(IQ3_XS) | M(IQ3_S) | M(IQ3_M), ATTENTION, EXPERTS8, 0, "Q5_K",
	  "attention of 8 experts" },
	{ ~UINT64_C(0), ATTENTION, EXPERTS8, 0, NULL, "mixture" },
	{ M(Q2_K), ATTENTION, 0, 0, "Q3_K", "attention output" },
	{ M(IQ3_XXS), ATTENTION, 0, 0, "IQ3_S", "attention output" },
	{ M(Q3_K_M) | M(IQ3_M), ATTENTION, 0, 0, "Q4_K", "attention output" },
	{ M(Q3_K_L), ATTENTION, 0, 0, "Q5_K", "attention output" },

	{ M(IQ3_XS), GATE | UP, MIDDLE, 0, "IQ3_XXS", "middle blocks" },
};

static const struct rule *
find_rule(uint64_t mixture, enum role role, unsigned facts)
{
	static const struct rule none = { .why = "mixture" };
	size_t i;

	for (i = 0; i < COUNT(rules); i++)
		if (rules[i].mixtures & mixture && rules[i].roles & role &&
		    (facts & rules[i].needs) == rules[i].needs && !(facts & rules[i].forbids))
			return &rules[i];
	return &none;
}

/* ---- places ---- */

/* A tensor among those of its role. */
struct place {
	size_t index;     /* in the caller's list */
	const char *name;
	uint64_t block;   /* of "blk.N."; 0 if there is none */
	bool in_block;
	enum role role;
	uint64_t rank;    /* among the matrices of its role that are not kept */
};

/* Tensors outside of blocks come first; then by block, then by name. Experts of a block have the
 * same name. */
static int
by_block(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order;

	if (x->in_block != y->in_block)
		return x->in_block ? 1 : -1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void
find_block(struct place *p)
{
	const char *s = p->name + 4;
	char *end;

	if (strncmp(p->name, "blk.", 4) != 0 || *s < '0' || *s > '9')
		return;
	p->block = strtoull(s, &end, 10);
	p->in_block = *end == '.';
}

/* Facts about a place among n. */
static unsigned
facts_of_place(uint64_t i, uint64_t n)
{
	unsigned facts = 0;

	facts |= i < n / 16 ? FIRST_16TH : 0;
	facts |= i < n / 8 ? FIRST_8TH : 0;
	facts |= i >= n / 8 && i < 7 * n / 8 ? MIDDLE : 0;
	facts |= i < 2 ? FIRST_2 : 0;
	facts |= i < 4 ? FIRST_4 : 0;
	if (i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2)
		facts |= MORE_BITS;
	return facts;
}

static unsigned
facts_of_model(const struct mixture_model *model)
{
	unsigned facts = 0;

	facts |= model->heads_kv && model->heads / model->heads_kv >= 4 ? GQA4 : 0;
	facts |= model->experts >= 4 ? EXPERTS4 : 0;
	facts |= model->experts == 8 ? EXPERTS8 : 0;
	facts |= !strcmp(model->architecture, "falcon") ? FALCON : 0;
	facts |= model->importance ? IMPORTANCE : 0;
	return facts;
}

/* The 70 B shape: 80 blocks with shared keys and values, which are so small that better
 * types cost nothing. */
static bool
is_70b(const struct mixture_model *model)
{
	if (model->blocks != 80)
		return false;
	return !strcmp(model->architecture, "qwen2") ||
	       (!strcmp(model->architecture, "llama") && model->heads != model->heads_kv);
}

/* ---- one tensor ---- */

const struct dtype *
mixture_fallback(const struct dtype *wanted, uint64_t row)
{
	static const struct {
		const char *from, *to;
	} smaller_blocks[] = {
		{ "IQ1_S", "IQ4_NL" },   { "IQ1_M", "IQ4_NL" },   { "IQ2_XXS", "IQ4_NL" },
		{ "IQ2_XS", "IQ4_NL" },  { "IQ2_S", "IQ4_NL" },   { "IQ3_XXS", "IQ4_NL" },
		{ "IQ3_S", "IQ4_NL" },   { "IQ4_XS", "IQ4_NL" },  { "Q2_K", "Q4_0" },
		{ "Q3_K", "Q4_0" },      { "TQ1_0", "Q4_0" },     { "TQ2_0", "Q4_0" },
		{ "Q4_K", "Q5_0" },      { "Q5_K", "Q5_1" },      { "Q6_K", "Q8_0" },
	};
	const struct dtype *type = wanted;
	size_t i;

	if (dtype_fills(wanted, row))
		return wanted;
	for (i = 0; i < COUNT(smaller_blocks); i++)
		if (!strcmp(smaller_blocks[i].from, wanted->name))
			type = dtype_by_name(smaller_blocks[i].to);
	return dtype_fills(type, row) ? type : dtype_by_name("F16");
}

/* Types with few enough bits that they are noise without importance; llama-quantize
 * refuses. */
static bool
needs_importance(const struct mixture *m, const struct dtype *type, enum role role)
{
	static const char *const types[] = { "IQ3_XXS", "IQ2_XXS", "IQ2_XS", "IQ2_S",
		"IQ1_M", "IQ1_S" };
	size_t i;

	if (role & (EMBEDDING | OUTPUT))
		return false;
	for (i = 0; i < COUNT(types); i++)
		if (!strcmp(type->name, types[i]))
			return true;
	return !strcmp(type->name, "Q2_K") && !strcmp(m->name, "q2_k_s");
}

/* The state shared by the choices for all tensors of a model. */
struct choosing {
	const struct mixture *mixture;
	const struct mixture_options *options;
	const struct mixture_model *model;
	bool tied;
	unsigned facts;
	uint64_t values; /* matrices that make values; rules use their place among these */
};

static const struct dtype *
output_type(const struct choosing *c, const struct dtype *type, uint64_t row)
{
	struct overrides *o = c->options->overrides;

	if (o && o->output) {
		o->outputs++;
		return o->output;
	}
	if (c->facts & FALCON || !dtype_fills(type, row))
		return dtype_by_name("Q8_0");
	return dtype_by_name(c->mixture->output);
}

/* The place of a tensor: the number in its name if experts make counting pointless, else a
 * count. */
static unsigned
place_facts(const struct choosing *c, const struct place *p)
{
	if (p->role == VALUES)
		return facts_of_place(p->rank, c->values);
	return facts_of_place(c->model->experts > 1 ? p->block : p->rank,
	                      c->model->blocks);
}

/* True for what has three dimensions in GGUF: the matrices of experts, above all. */
static bool
is_stacked(const struct choosing *c, const struct place *p, const struct tensor *t)
{
	if (c->model->names && c->model->names[p->index].stacked)
		return true;
	return tensor_ndim(t) > 2 && tensor_dims(t)[tensor_ndim(t) - 3] > 1;
}

static const struct dtype *
apply_rules(const struct choosing *c, const struct place *p, const struct tensor *t,
            const char **why)
{
	const struct dtype *type = dtype_by_name(c->mixture->type);
	uint64_t mixture = UINT64_C(1) << (c->mixture - mixtures);
	unsigned facts = c->facts | place_facts(c, p);
	const struct rule *rule;

	if (p->role == OUTPUT || (p->role == EMBEDDING && c->tied)) {
		*why = "output matrix";
		return output_type(c, type, tensor_row(t));
	}
	if (is_stacked(c, p, t))
		facts |= STACKED;
	rule = find_rule(mixture, p->role, facts);
	*why = rule->why;
	if (rule->type)
		type = dtype_by_name(rule->type);
	if (p->role == VALUES && is_70b(c->model) && !(mixture & TWO_BITS) &&
	    (!strcmp(type->name, "Q3_K") || !strcmp(type->name, "Q4_K"))) {
		*why = "values of a 70 B model";
		return dtype_by_name("Q5_K");
	}
	return type;
}

/* The type that an override gives, or NULL. */
static const struct dtype *
own_type(const struct choosing *c, const struct place *p, const struct tensor *t,
         bool block_type, const char **why, int *fault, struct err *e)
{
	struct overrides *o = c->options->overrides;
	const struct override_rule *rule;

	if (!o)
		return NULL;
	if (o->embedding && p->role == EMBEDDING) {
		*why = "--token-embedding-type";
		o->embeddings++;
		return o->embedding;
	}
	if (o->output && p->role == OUTPUT) {
		*why = "--output-tensor-type";
		o->outputs++;
		return o->output;
	}
	/* As in llama-quantize, F32, F16 and BF16 have no exceptions. */
	rule = block_type ? override_find(o, tensor_name(t), fault, e) : NULL;
	if (rule)
		*why = rule->text;
	return rule ? rule->type : NULL;
}

/* ranks: places counted so far, for tensors that rules decide. */
static int
choose(const struct choosing *c, struct place *p, const struct tensor *t,
       uint64_t *ranks, struct mixture_choice *out, struct err *e)
{
	const struct dtype *type = dtype_by_name(c->mixture->type), *own;
	bool block_type = type->quantized || c->mixture->plain;
	bool pure = c->options->pure || c->mixture->plain;
	const char *rule = pure ? "pure" : "mixture";
	int fault = 0;

	own = own_type(c, p, t, block_type, &rule, &fault, e);
	if (own) {
		type = own;
	} else if (!pure && block_type) {
		p->rank = ranks[p->role]++;
		type = apply_rules(c, p, t, &rule);
	}
	*out = (struct mixture_choice){
		.type = mixture_fallback(type, tensor_row(t)), .wanted = type, .rule = rule
	};
	out->named = p->role != OTHER;
	out->needs_importance = needs_importance(c->mixture, out->type, p->role);
	return fault;
}

static const char *
why_kept(const struct choosing *c, const struct place *p, const struct tensor *t)
{
	struct overrides *o = c->options->overrides;

	if (!o || !o->leave_output || p->role != OUTPUT)
		return mixture_kept(t, p->name);
	o->left++;
	return "--leave-output-tensor";
}

int
mixture_choose(const struct mixture *m, const struct mixture_options *options,
               const struct mixture_model *model, struct tensor *const *tensors, size_t n,
               struct mixture_choice *out, struct err *e)
{
	struct choosing c = { .mixture = m, .options = options, .model = model,
		.tied = true, .facts = facts_of_model(model) };
	struct place *places = mem_array(n, sizeof *places);
	uint64_t ranks[OTHER + 1] = { 0 };
	size_t i;
	int r = 0;

	if (!places)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		places[i] = (struct place){ .index = i, .name = tensor_name(tensors[i]) };
		if (model->names)
			places[i].name = model->names[i].gguf;
		places[i].role = role_of(places[i].name);
		find_block(&places[i]);
		c.values += places[i].role == VALUES;
		c.tied &= places[i].role != OUTPUT;
	}
	qsort(places, n, sizeof *places, by_block);
	for (i = 0; r == 0 && i < n; i++) {
		struct place *p = &places[i];
		const struct tensor *t = tensors[p->index];
		const char *kept = why_kept(&c, p, t);

		if (kept) {
			out[p->index] = (struct mixture_choice){ .type = tensor_type(t),
				.wanted = tensor_type(t), .rule = kept, .kept = true };
			continue;
		}
		r = choose(&c, p, t, ranks, &out[p->index], e);
	}
	free(places);
	return r;
}
