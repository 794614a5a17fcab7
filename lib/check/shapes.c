/* shapes: shapes, vocabulary and positions against the hyper-parameters, missing tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/hyper.h"
#include "check/judge.h"
#include "check/points.h"
#include "core/mem.h"
#include "model/low_rank.h"

enum { SHAPES_MISSING, SHAPES_UNKNOWN, SHAPES_BIAS, SHAPES_ARCH, SHAPES_SIZES };

const struct rule shapes_rules[] = {
	[SHAPES_MISSING] = { "MODEL-MISSING", FINDING_ERROR, "every block has its tensors, and the model the others",
	                     "the conversion stopped early or dropped tensors; convert again" },
	[SHAPES_UNKNOWN] = { "MODEL-UNKNOWN", FINDING_INFO,
	                     "the architecture has a use for every tensor",
	                     "programs ignore the tensor or refuse the model" },
	[SHAPES_BIAS] = { "MODEL-BIAS", FINDING_WARN, "all blocks or none have a bias",
	                  "a bias was not loaded; convert the source again" },
	[SHAPES_ARCH] = { "MODEL-ARCHITECTURE", FINDING_INFO, "the architecture is known",
	                  "points about roles of tensors are not judged" },
	[SHAPES_SIZES] = { "MODEL-SIZES", FINDING_ERROR, "the hyper-parameters are possible",
	                   "programs refuse the model; compare its keys with the source" },
	{ NULL, FINDING_INFO, NULL, NULL },
};

/* ---- point 32 ---- */

static void
shape_text(char *to, size_t size, unsigned n, const uint64_t *dims)
{
	size_t at = 0;
	unsigned i;

	to[0] = '\0';
	for (i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, dims[i] ? "%s%" PRIu64 : "%s?",
		                       i ? "x" : "", dims[i]);
}

/* The shape that a rule gives in the form of the subject; its number of dimensions, or
 * UINT_MAX: any. */
static unsigned
asked(const struct survey *s, const struct match *m, uint64_t dims[TENSOR_DIMS])
{
	const bool gguf = s->subject.form == ARCH_GGUF;
	struct sizes sizes = s->sizes;
	uint64_t stack, v;
	unsigned n;

	if (!rule_shape(m->rule))
		return UINT32_MAX;
	sizes.of['V' - 'A'] = sizes.of['P' - 'A'] = 0; /* points 33 and 38 */
	n = shape_dims(rule_shape(m->rule), &sizes, dims, &stack);
	if (m->bias && !(m->rule->flags & RULE_AS_BIAS) && n > 1) {
		if (m->rule->change == CHANGE_TURN)
			dims[0] = dims[n - 1];
		n = 1;
	}
	if (!gguf)
		return n;
	if (shape_stacks(rule_shape(m->rule)) && n < TENSOR_DIMS && !strchr(match_name(m->rule,
	    ARCH_GGUF, m->bias, 0, 0, (char[MATCH_NAME]){ 0 }), '*')) {
		memmove(dims + 1, dims, n++ * sizeof *dims);
		dims[0] = stack;
	}
	switch (m->rule->change) {
	case CHANGE_TURN:
		if (!m->bias && n >= 2) {
			v = dims[n - 1];
			dims[n - 1] = dims[n - 2];
			dims[n - 2] = v;
		}
		return n;
	case CHANGE_NONE:
	case CHANGE_PAIRS_Q:
	case CHANGE_PAIRS_K:
	case CHANGE_PLUS_ONE:
	case CHANGE_NEG_EXP:
	case CHANGE_QKV:
		return n;
	default:
		return UINT32_MAX;
	}
}

/* Whether dimensions are those asked for; 0 is any. */
static bool
same(unsigned n, const uint64_t *asked, const uint64_t *is)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (asked[i] && asked[i] != is[i])
			return false;
	return true;
}

/* GGUF drops dimensions of 1. */
static unsigned
squeeze(unsigned n, const uint64_t *from, uint64_t to[TENSOR_DIMS])
{
	unsigned i, k = 0;

	for (i = 0; i < n; i++)
		if (from[i] != 1)
			to[k++] = from[i];
	return k;
}

static bool
fits(const struct tensor *t, unsigned n, const uint64_t *dims)
{
	uint64_t asked_for[TENSOR_DIMS], is[TENSOR_DIMS];
	unsigned k;

	if (n == UINT32_MAX)
		return true;
	if (n == tensor_ndim(t))
		return same(n, dims, tensor_dims(t));
	k = squeeze(n, dims, asked_for);
	return k == squeeze(tensor_ndim(t), tensor_dims(t), is) && same(k, asked_for, is);
}

static void
judge_shape(const struct survey *s, const struct survey_tensor *t, struct findings *f)
{
	char is[TENSOR_SHAPE_TEXT], should[TENSOR_SHAPE_TEXT];
	uint64_t dims[TENSOR_DIMS];
	struct match m = t->match;
	unsigned n = asked(s, &m, dims), other;
	uint64_t more[TENSOR_DIMS];

	if (fits(t->t, n, dims))
		return;
	/* Several rules may have the name: folders have it for two roles. */
	while (match_find(s->subject.arch, s->subject.form, t->name, m.index + 1, &m)) {
		other = asked(s, &m, more);
		if (fits(t->t, other, more))
			return;
	}
	shape_text(should, sizeof should, n, dims);
	findings_add(f, point_rule(32), tensor_name(t->t),
	             "its shape is %s, but the hyper-parameters ask for %s",
	             tensor_shape_text(t->t, is), should);
}

/* ---- points 33, 38, 48 ---- */

static const struct survey_tensor *
of_role(const struct survey *s, enum role role)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->tensors[i].known && s->tensors[i].match.rule->role == role &&
		    !s->tensors[i].match.bias)
			return &s->tensors[i];
	return NULL;
}

static uint64_t
rows(const struct survey_tensor *t)
{
	return tensor_ndim(t->t) ? tensor_dims(t->t)[0] : 1;
}

/* A key of the architecture ("llama.NAME"), or a member of config.json. */
static int
arch_key(const struct survey *s, const char *name, uint64_t *v)
{
	char key[512];
	const char *arch = s->subject.form == ARCH_GGUF
	                       ? model_text(s->source->plan, "general.architecture") : NULL;

	if (!arch)
		return survey_key(s, name, v);
	snprintf(key, sizeof key, "%.400s.%s", arch, name);
	return survey_key(s, key, v);
}

/* Items of an array; 0 if the model lacks the key. */
static uint64_t
array_items(const struct survey *s, const char *key)
{
	struct value_type type;
	size_t n;
	const uint8_t *p = weights_value(&s->subject.w, key, &type, &n);
	uint64_t count = 0;
	unsigned i;

	for (i = 0; p && type.depth == 1 && n >= 12 && i < 8; i++)
		count |= (uint64_t)p[4 + i] << (8 * i);
	return count;
}

static void
judge_vocabulary(const struct survey *s, struct findings *f)
{
	const struct survey_tensor *t = of_role(s, ROLE_EMBED), *out = of_role(s, ROLE_OUT);
	uint64_t n, tokens = array_items(s, "tokenizer.ggml.tokens");

	if (!t)
		return;
	if (arch_key(s, "vocab_size", &n) == 0 && n != rows(t))
		findings_add(f, point_rule(33), tensor_name(t->t), "has %" PRIu64
		             " rows, but vocab_size is %" PRIu64, rows(t), n);
	else if (tokens && tokens != rows(t))
		findings_add(f, point_rule(33), tensor_name(t->t), "has %" PRIu64
		             " rows, but the tokenizer has %" PRIu64 " tokens", rows(t), tokens);
	else if (out && rows(out) != rows(t))
		findings_add(f, point_rule(33), tensor_name(out->t), "has %" PRIu64
		             " rows, but the embeddings have %" PRIu64, rows(out), rows(t));
}

static void
judge_positions(const struct survey *s, struct findings *f)
{
	const struct survey_tensor *t = of_role(s, ROLE_POSITIONS);
	uint64_t want = sizes_get(&s->sizes, 'P');

	if (t && want && rows(t) < want)
		findings_add(f, point_rule(38), tensor_name(t->t), "has %" PRIu64
		             " positions, but the context has %" PRIu64, rows(t), want);
}

static void
judge_mels(const struct survey *s, struct findings *f)
{
	static const char *const names[] = { "num_mel_bins", "n_mels", "feature_size",
		"audio.num_mel_bins" };
	uint64_t want = 0, a, b;
	size_t i, k;

	for (k = 0; k < sizeof names / sizeof *names && !want; k++)
		if (survey_key(s, names[k], &want) < 0)
			arch_key(s, names[k], &want);
	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];

		if (!strstr(tensor_name(t->t), "mel_filters"))
			continue;
		if (tensor_ndim(t->t) != 2 || !want)
			continue;
		a = tensor_dims(t->t)[0];
		b = tensor_dims(t->t)[1];
		if (a != want && b != want)
			findings_add(f, point_rule(48), tensor_name(t->t), "is %" PRIu64 "x%" PRIu64
			             ", but the model expects %" PRIu64 " bands", a, b, want);
	}
}

/* ---- tensors that are missing ---- */

static bool
is_factor(const struct survey *s, const char *name, const char *suffix)
{
	const size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0 && model_find(s->source->plan, LOWRANK_KEY);
}

/* Finds the rule of a tensor, from a rule on. A left factor stands for its matrix. */
static bool
find_rule(const struct survey *s, const struct survey_tensor *t, size_t from, struct match *m)
{
	char name[MATCH_NAME];

	if (t->known)
		return match_find(s->subject.arch, s->subject.form, t->name, from, m);
	if (!is_factor(s, t->name, LOWRANK_LEFT) || strlen(t->name) >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)(strlen(t->name) - strlen(LOWRANK_LEFT)), t->name);
	return match_find(s->subject.arch, s->subject.form, name, from, m);
}

struct counts {
	uint64_t weights, biases;
};

static void
judge_counts(const struct survey *s, const struct counts *c, size_t i, uint64_t blocks,
             struct findings *f)
{
	const struct arch_rule *r = arch_rule(s->subject.arch, i);
	char name[MATCH_NAME];

	match_template(r, s->subject.form, false, name);
	if (!strchr(name, '#') || !c->weights)
		return;
	if (!(r->flags & RULE_OPTIONAL) && blocks && c->weights < blocks)
		findings_add(f, &shapes_rules[SHAPES_MISSING], name,
		             "%" PRIu64 " of %" PRIu64 " blocks lack it", blocks - c->weights, blocks);
	if (c->biases && c->biases < c->weights)
		findings_add(f, &shapes_rules[SHAPES_BIAS], name, "%" PRIu64 " of %" PRIu64
		             " blocks lack its bias", c->weights - c->biases, c->weights);
}

/* Whether a rule asks for a tensor that has a name in the form of the subject. */
static bool
is_needed(const struct survey *s, const struct arch_rule *r)
{
	char name[MATCH_NAME];

	match_template(r, s->subject.form, (r->flags & RULE_AS_BIAS) != 0, name);
	return r->role != ROLES && !(r->flags & (RULE_OPTIONAL | RULE_UNUSED)) && *name;
}

/* Whether all architectures of this name need the role, and by their first rule for it. */
static bool
all_need(const struct survey *s, enum role role)
{
	const struct arch *own = s->subject.arch, *a;
	const struct arch_rule *r;
	size_t i, k;

	for (i = 0; (a = arch_row(i)); i++) {
		if (a != own && (!a->name || !own->name || strcmp(a->name, own->name) != 0))
			continue;
		for (k = 0; (r = arch_rule(a, k)) && r->role != role; k++)
			;
		if (!r || !is_needed(s, r))
			return false;
	}
	return true;
}

/* Marks the roles of all tensors; folders may have one name for two roles. */
static void
find_roles(const struct survey *s, bool seen[ROLES + 1])
{
	struct match m;
	size_t i, from;

	for (i = 0; i < s->count; i++)
		for (from = 0; find_rule(s, &s->tensors[i], from, &m); from = m.index + 1)
			seen[m.rule->role] = true;
}

/* Roles without any tensor. An adapter has few of them, and packed weights have other names. A
 * model that lacks most of them is a part of one. Returns false for an adapter or a part. */
static bool
judge_roles(const struct survey *s, struct findings *f)
{
	const char *type = model_text(s->source->plan, "general.type");
	const struct arch_rule *r, *lost[ROLES];
	bool seen[ROLES + 1] = { false };
	size_t i, n = 0, have = 0;
	char name[MATCH_NAME];

	if (type && strcmp(type, "model") != 0)
		return false;
	if (json_object_get(s->subject.config, "quantization_config"))
		return true;
	find_roles(s, seen);
	for (i = 0; i < ROLES; i++)
		have += seen[i];
	for (i = 0; (r = arch_rule(s->subject.arch, i)); i++)
		if (!seen[r->role] && all_need(s, r->role)) {
			seen[r->role] = true;
			lost[n++] = r;
		}
	for (i = 0; i < n; i++) {
		match_template(lost[i], s->subject.form, (lost[i]->flags & RULE_AS_BIAS) != 0, name);
		findings_add_at(f, &shapes_rules[SHAPES_MISSING], n > have ? FINDING_WARN : FINDING_ERROR,
		                name, "the model has no such tensor");
	}
	return n <= have;
}

static int
judge_missing(const struct survey *s, struct findings *f, struct err *e)
{
	const struct arch *a = s->subject.arch;
	struct counts *c;
	uint64_t blocks = 0;
	size_t i, n = 0;

	while (arch_rule(a, n))
		n++;
	if (!(c = mem_array(n, sizeof *c)))
		return err_memory(e);
	if (arch_key(s, "block_count", &blocks) < 0 && survey_key(s, "num_hidden_layers", &blocks) < 0)
		survey_key(s, "n_layer", &blocks);
	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];
		struct match m;

		if (is_factor(s, t->name, LOWRANK_RIGHT))
			continue;
		if (!find_rule(s, t, 0, &m)) {
			if (!arch_is_apart(t->name, s->subject.form))
				findings_add(f, &shapes_rules[SHAPES_UNKNOWN], tensor_name(t->t),
				             "%s has no tensor of this name", a->name ? a->name : a->folder);
			continue;
		}
		if (m.expert != 0 || (blocks && m.block >= blocks))
			continue;
		if (m.bias)
			c[m.index].biases++;
		else
			c[m.index].weights++;
	}
	for (i = 0; i < n; i++)
		judge_counts(s, &c[i], i, blocks, f);
	free(c);
	return 0;
}

/* ---- numbers of blocks, heads and the like ---- */

/* These tools read the hyper-parameters of the architectures that they run. */
static void
judge_sizes(const struct survey *s, struct findings *f)
{
	struct err why = ERR_INIT;
	struct hyper h = { .layers = 0 };

	if (s->subject.arch->missing)
		return;
	if (hyper_read(&h, &s->subject.w, &why) < 0 && why.code == ERR_CORRUPT)
		findings_add(f, &shapes_rules[SHAPES_SIZES], NULL, "%s", why.fact);
	hyper_free(&h);
}

int
shapes_judge(const struct survey *s, struct findings *f, struct err *e)
{
	size_t i;

	judge_mels(s, f);
	if (!s->subject.arch) {
		if (s->count)
			findings_add(f, &shapes_rules[SHAPES_ARCH], NULL, "%s",
			             s->arch_fault.code == ERR_NONE ? "nothing names the architecture"
			                                            : s->arch_fault.fact);
		return 0;
	}
	for (i = 0; i < s->count; i++)
		if (s->tensors[i].known)
			judge_shape(s, &s->tensors[i], f);
	judge_vocabulary(s, f);
	judge_positions(s, f);
	if (s->count == 0)
		return 0;
	if (judge_roles(s, f))
		judge_sizes(s, f);
	return judge_missing(s, f, e);
}
