/* Explanations of tensors. */
#include "report/explain.h"

#include <inttypes.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/match.h"
#include "arch/normal/normal.h"
#include "arch/words.h"
#include "model/block.h"

/* A tensor and the rule for its name. */
struct known {
	struct subject *s;
	const struct tensor *t;   /* in the subject's form of names */
	const struct arch *arch;
	struct match match;       /* if */
	bool known;
	struct sizes sizes;
};

/* Factors of rotary positions, which any GGUF file may have, have no rule. */
static bool
is_rotary(struct known *k)
{
	static const struct arch_rule rules[] = { { ROLE_ROPE_FREQS, NULL, NULL, CHANGE_NONE, 0 },
		{ ROLE_ROPE_LONG, NULL, NULL, CHANGE_NONE, 0 },
		{ ROLE_ROPE_SHORT, NULL, NULL, CHANGE_NONE, 0 } };
	char name[MATCH_NAME];
	size_t i;

	for (i = 0; k->s->form == ARCH_GGUF && i < sizeof rules / sizeof *rules; i++)
		if (strcmp(match_template(&rules[i], ARCH_GGUF, false, name), tensor_name(k->t)) == 0) {
			k->match = (struct match){ .rule = &rules[i] };
			return true;
		}
	return false;
}

static void
know(struct known *k, struct subject *s, size_t index)
{
	struct err ignored = ERR_INIT;

	*k = (struct known){ .s = s, .t = s->plan->tensors[index] };
	if (!s->arch)
		return;
	k->arch = arch_refine(s->arch, s->plan);
	k->known = match_find(k->arch, s->form, tensor_name(k->t), 0, &k->match) ||
	           is_rotary(k);
	if (s->form == ARCH_GGUF)
		sizes_keys(&k->sizes, &s->w, k->arch->name, &ignored);
	else
		sizes_config(&k->sizes, s->config, &ignored);
}

static bool
is_in_block(const struct known *k)
{
	char name[MATCH_NAME];
	const char *p = match_template(k->match.rule, k->s->form, k->match.bias, name);

	return p && strchr(p, '#');
}

static void
put_no_role(struct buf *b, const struct known *k)
{
	if (!k->arch)
		buf_text(b, "not known: the architecture of the model is not known");
	else if (arch_is_apart(tensor_name(k->t), k->s->form))
		buf_text(b, "none: the forward pass does not read it");
	else
		buf_printf(b, "not known: %s has no tensor of this name", arch_words(k->arch)->family
		           ? arch_words(k->arch)->family : k->arch->name);
}

static void
put_role(struct buf *b, const struct known *k, const struct role_words *w)
{
	if (k->match.bias && !(k->match.rule->flags & RULE_AS_BIAS))
		buf_text(b, "bias of the ");
	buf_text(b, w->what);
	if (is_in_block(k))
		buf_printf(b, " of block %" PRIu64, k->match.block);
	if (rule_name(k->match.rule) && strchr(rule_name(k->match.rule), '*') && k->s->form == ARCH_FOLDER)
		buf_printf(b, ", expert %" PRIu64, k->match.expert);
}

static void
put_type(struct buf *b, const struct tensor *t)
{
	const struct dtype *d = tensor_type(t);
	const struct block_part *p = block_parts(d);
	size_t i;

	buf_printf(b, "%s, %" PRIu64 " bytes", d->name, tensor_bytes(t));
	if (tensor_items(t))
		buf_printf(b, ", %.4g bits per weight",
		           8.0 * (double)tensor_bytes(t) / (double)tensor_items(t));
	if (d->items > 1)
		buf_printf(b, "; blocks of %u values in %u bytes, %" PRIu64 " in a row", d->items,
		           d->bytes, tensor_row(t) / d->items);
	for (i = 0; p && p[i].name; i++)
		buf_printf(b, "%s%s", i ? ", " : "; a block has ", p[i].name);
}

static void
put_statistics(struct buf *b, const struct stats *s)
{
	uint64_t finite = stats_finite(s);

	if (finite)
		buf_printf(b, "mean %.6g, standard deviation %.6g, from %.6g to %.6g",
		           stats_mean(s), stats_std(s), s->min, s->max);
	else
		buf_text(b, "no finite value");
	if (s->zeros)
		buf_printf(b, ", %" PRIu64 " of %" PRIu64 " are 0", s->zeros, s->count);
}

/* What values alone show, whatever the role is. Appends nothing if they show nothing. */
static void
put_faults(struct buf *b, const struct stats *s)
{
	if (s->nan + s->inf)
		buf_printf(b, "broken: %" PRIu64 " values are NaN and %" PRIu64 " infinite (NanDetected)",
		           s->nan, s->inf);
	else if (s->count && s->zeros == s->count)
		buf_text(b, "suspicious: all values are 0");
	else if (s->count > 1 && s->min == s->max)
		buf_printf(b, "constant: all values are %.6g", s->min);
}

/* Compares the figures with the ranges of the architecture. */
static void
put_ranges(struct buf *b, const struct known *k, const struct stats *s)
{
	static const char *const names[NORMALS] = { [NORMAL_MEAN] = "mean",
		[NORMAL_STD] = "standard deviation", [NORMAL_MIN] = "minimum",
		[NORMAL_MAX] = "maximum" };
	const double figure[NORMALS] = { [NORMAL_MEAN] = stats_mean(s),
		[NORMAL_STD] = stats_std(s), [NORMAL_MIN] = s->min, [NORMAL_MAX] = s->max };
	const struct normal *n;
	size_t compared = 0, before = b->n;
	int i;

	for (i = 0; i < NORMALS; i++) {
		n = names[i] ? normal_find(k->arch, k->s->form, &k->match, (enum normal_of)i) : NULL;
		if (!n)
			continue;
		compared++;
		if ((n->least || n->most) && (figure[i] < n->least || figure[i] > n->most))
			buf_printf(b, "%swrong: %s%s %.4g is not between %.4g and %.4g",
			           b->n > before ? "; " : "", i == NORMAL_MEAN &&
			           normal_is_norm(k->match.rule) ? "LayerNormMean: " : "", names[i],
			           figure[i], n->least, n->most);
		else if (figure[i] < n->low || figure[i] > n->high)
			buf_printf(b, "%sunusual: %s %.4g is not between %.4g and %.4g",
			           b->n > before ? "; " : "", names[i], figure[i], n->low, n->high);
	}
	if (b->n == before && compared)
		buf_text(b, "healthy: the figures are usual for this role");
	else if (b->n == before)
		buf_text(b, "no fault found; no range is known for this role");
}

static json_t *
numbers(const struct known *k, const struct stats *s)
{
	json_t *o = json_object(), *shape = json_array();
	unsigned i;

	for (i = 0; i < tensor_ndim(k->t); i++)
		json_array_append_new(shape, json_from_u64(tensor_dims(k->t)[i]));
	json_object_set_new(o, "shape", shape);
	json_object_set_new(o, "dtype", json_string(tensor_type(k->t)->name));
	json_object_set_new(o, "bytes", json_from_u64(tensor_bytes(k->t)));
	if (k->known && is_in_block(k))
		json_object_set_new(o, "block", json_from_u64(k->match.block));
	if (!s)
		return o;
	json_object_set_new(o, "nan", json_from_u64(s->nan));
	json_object_set_new(o, "inf", json_from_u64(s->inf));
	json_object_set_new(o, "zeros", json_from_u64(s->zeros));
	if (stats_finite(s)) {
		json_object_set_new(o, "mean", json_real(stats_mean(s)));
		json_object_set_new(o, "std", json_real(stats_std(s)));
		json_object_set_new(o, "min", json_real(s->min));
		json_object_set_new(o, "max", json_real(s->max));
	}
	return o;
}

json_t *
explain_tensor(struct subject *s, size_t index, const struct stats *st, struct err *e)
{
	const struct role_words *w;
	json_t *o = json_object();
	struct buf b = { 0 };
	struct known k;

	know(&k, s, index);
	w = k.known ? role_words(k.match.rule) : NULL;
	buf_text(&b, tensor_name(k.t));
	explain_set(o, "title", &b);
	if (w)
		put_role(&b, &k, w);
	else
		put_no_role(&b, &k);
	explain_set(o, "role", &b);
	if (w && !k.match.bias)
		json_object_set_new(o, "does", json_string(w->does));
	words_shape(&b, k.t, k.known ? &k.match : NULL, &k.sizes, s->form);
	explain_set(o, "shape", &b);
	put_type(&b, k.t);
	explain_set(o, "type", &b);
	if (st)
		put_statistics(&b, st);
	else
		buf_printf(&b, "none: %s has no decoder here", tensor_type(k.t)->name);
	explain_set(o, "statistics", &b);
	if (st)
		put_faults(&b, st);
	if (st && b.n == 0 && k.known && stats_finite(st))
		put_ranges(&b, &k, st);
	if (b.n > 0)
		explain_set(o, "verdict", &b);
	if (json_object_set_new(o, "numbers", numbers(&k, st)) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}
