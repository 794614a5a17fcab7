#include "prune/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "prune/choose.h"
#include "prune/tokens.h"
#include "quant/mixture.h"

void
prune_plan_free(struct prune_plan *p)
{
	size_t i;

	for (i = 0; p->rows && i < p->out.tensor_count; i++) {
		free(p->rows[i].norms);
		free(p->rows[i].input);
	}
	for (i = 0; p->lists && i < p->list_count; i++)
		free(p->lists[i].at);
	free(p->lists);
	free(p->tokens.at);
	subject_free_files(&p->files);
	free(p->rows);
	free(p->groups);
	free(p->of_layer);
	model_free(&p->out);
	*p = (struct prune_plan){ 0 };
}

/* ---- what a tensor is ---- */

/* What the architecture knows of a tensor; rule is NULL if it knows nothing. */
static struct match
match_of(const struct prune_plan *p, size_t tensor)
{
	const struct subject *s = &p->in->subject;
	struct match m;

	if (s->arch && match_find(s->arch, s->form, tensor_name(p->out.tensors[tensor]), 0, &m))
		return m;
	return (struct match){ .rule = NULL };
}

/* The name in GGUF, or its own. */
static const char *
gguf_name(const struct prune_plan *p, size_t tensor, const struct match *m, char to[MATCH_NAME])
{
	if (p->in->subject.form != ARCH_GGUF && m->rule && m->rule->role != ROLES &&
	    match_template(m->rule, ARCH_GGUF, m->bias, to))
		return match_name(m->rule, ARCH_GGUF, m->bias, m->block, m->expert, to);
	return tensor_name(p->out.tensors[tensor]);
}

/* Whether a matrix of a model folder is transposed. */
static bool
is_turned(const struct prune_plan *p, const struct match *m)
{
	return p->in->subject.form == ARCH_FOLDER && m->rule && m->rule->change == CHANGE_TURN;
}

/* ---- which tensors ---- */

/* Whether a pattern matches: 1, 0, or -1. */
static int
targeted(const struct prune_plan *p, const char *name, struct err *e)
{
	int r = 0, any = 0;
	size_t i;

	for (i = 0; r >= 0 && i < p->how.target_count; i++) {
		r = pattern_match(&p->how.targets[i], name, e);
		any |= r > 0;
	}
	return r < 0 ? -1 : any;
}

static int
chosen(const struct prune_plan *p, size_t tensor, const char *gguf, struct err *e)
{
	const struct tensor *t = p->out.tensors[tensor];

	if (tensor_items(t) == 0 || tensor_ndim(t) < 2)
		return 0;
	if (p->how.target_count)
		return targeted(p, tensor_name(t), e);
	return !mixture_kept(t, gguf) &&
	       (p->in->layers == 0 || p->in->layer[tensor] != MERGE_APART);
}

/* Whether the values of a tensor can be computed, set to zero and written again. */
static int
check_tensor(const struct prune_plan *p, const struct tensor *t, const struct match *m,
             struct err *e)
{
	const struct dtype *type = tensor_type(t);
	bool rows = p->how.rule == PRUNE_GROUPS || p->how.activations || p->how.update ||
		(p->how.rule == PRUNE_SHARE && p->how.scope == SCOPE_ROW);

	if (!kernel_decodes(type) || !kernel_encodes(type) || type->head > 0) {
		err_set(e, ERR_FORMAT, tensor_name(t), "%s cannot be decoded and encoded again",
		        type->name);
		return err_hint(e, "apr-quant f16 gives tensors a type that can be pruned");
	}
	if (tensor_row(t) > PRUNE_ROW)
		return err_set(e, ERR_INVALID, tensor_name(t), "its rows have %" PRIu64 " values, more "
		               "than %" PRIu64, tensor_row(t), PRUNE_ROW);
	if (p->how.update && (tensor_ndim(t) != 2 || tensor_row(t) > PRUNE_UPDATE)) {
		err_set(e, ERR_INVALID, tensor_name(t), "is not one matrix of at most %" PRIu64 " columns: "
		        "sparsegpt cannot prune it", PRUNE_UPDATE);
		return err_hint(e, "--target REGEX chooses others; --by wanda takes matrices of experts");
	}
	if (!kernel_for(type)->encode && !p->how.imatrix) {
		err_set(e, ERR_INVALID, tensor_name(t), "%s is only encoded by importance", type->name);
		return err_hint(e, "--imatrix FILE gives it; apr-imatrix makes FILE from a text");
	}
	if (p->how.rule == PRUNE_GROUPS && tensor_row(t) % p->how.of)
		return err_set(e, ERR_INVALID, tensor_name(t), "its rows of %" PRIu64 " values are not "
		               "whole groups of %u", tensor_row(t), p->how.of);
	if (rows && is_turned(p, m)) {
		err_set(e, ERR_INVALID, tensor_name(t), "is transposed in this folder: its rows are "
		        "inputs, not outputs");
		return err_hint(e, "apr-adapt gguf gives the model the form in which rows are outputs");
	}
	return 0;
}

/* ---- activations ---- */

static uint64_t
matrices(const struct tensor *t)
{
	uint64_t n = 1;
	unsigned i;

	for (i = 0; i + 2 < tensor_ndim(t); i++)
		n *= tensor_dims(t)[i]; /* proved by the descriptor */
	return n;
}

int
prune_means(const struct prune_plan *p, const struct tensor *t, const char *gguf,
            uint64_t expert, const float **means, struct err *e)
{
	const struct imatrix_entry *x = imatrix_find(p->how.imatrix, tensor_name(t));
	uint64_t n = matrices(t) * tensor_row(t);

	*means = NULL;
	if (!x)
		x = imatrix_find(p->how.imatrix, gguf);
	if (!x)
		return 0;
	*means = x->values;
	if (x->n == n)
		return 0;
	if (expert != PRUNE_WHOLE && x->n % n == 0 && expert < x->n / n) {
		*means = x->values + expert * n;
		return 0;
	}
	return err_set(e, ERR_INVALID, tensor_name(t), "has %" PRIu64 " columns, and its entry in "
	               "the importance matrix %zu", n, x->n);
}

static int
weigh(struct prune_plan *p, size_t tensor, const char *gguf, const struct match *m,
      struct err *e)
{
	const struct tensor *t = p->out.tensors[tensor];
	struct prune_row *row = &p->rows[tensor];
	size_t n = (size_t)(matrices(t) * tensor_row(t)), i;
	const float *means;

	if (!p->how.imatrix)
		return 0;
	if (prune_means(p, t, gguf, m->rule && strchr(rule_name(m->rule), '*') ? m->expert
	                : PRUNE_WHOLE, &means, e) < 0)
		return -1;
	if (!means) {
		p->unmeasured++;
		if (kernel_for(tensor_type(t))->encode)
			return 0;
		return err_set(e, ERR_INVALID, tensor_name(t), "has no entry in the importance matrix, "
		               "and %s is only encoded by importance", tensor_type(t)->name);
	}
	row->importance = means;
	if (!p->how.activations)
		return 0;
	if (!(row->norms = mem_array(n, sizeof *row->norms)))
		return err_memory(e);
	for (i = 0; i < n; i++)
		row->norms[i] = sqrtf(means[i]);
	return 0;
}

/* ---- groups ---- */

/* Where the number of a tensor's group + 1 is kept, for groups of several tensors. */
static size_t *
kept_group(struct prune_plan *p, size_t tensor, size_t *all)
{
	uint64_t layer = p->in->layer[tensor];

	*all = p->group_count;
	if (p->how.scope == SCOPE_GLOBAL)
		return all;
	return p->how.scope == SCOPE_LAYER && layer != MERGE_APART ? &p->of_layer[layer] : NULL;
}

static int
put_group(struct prune_plan *p, size_t tensor, struct err *e)
{
	size_t all, *kept = kept_group(p, tensor, &all), group = p->group_count;
	struct prune_group *g;

	if (kept && *kept > 0)
		group = *kept - 1;
	if (group == p->group_count) {
		if (mem_grow(&p->groups, &p->group_cap, group + 1, sizeof *p->groups) < 0)
			return err_memory(e);
		p->groups[p->group_count++].first = tensor;
	}
	if (kept)
		*kept = group + 1;
	g = &p->groups[group];
	g->last = tensor;
	p->rows[tensor].group = group;
	return num_add(g->values, tensor_items(p->out.tensors[tensor]), &g->values) < 0
		? err_set(e, ERR_CORRUPT, p->in->name, "more values than 64 bits count") : 0;
}

static int
plan_tensor(struct prune_plan *p, size_t tensor, struct err *e)
{
	const struct tensor *t = p->out.tensors[tensor];
	struct match m = match_of(p, tensor);
	char text[MATCH_NAME];
	const char *gguf = gguf_name(p, tensor, &m, text);
	int r = chosen(p, tensor, gguf, e);

	if (r <= 0)
		return r;
	if (check_tensor(p, t, &m, e) < 0 || weigh(p, tensor, gguf, &m, e) < 0)
		return -1;
	if (p->how.update && !(p->rows[tensor].input = mem_text(gguf, strlen(gguf))))
		return err_memory(e);
	p->rows[tensor].pruned = true;
	p->rows[tensor].matrix_rows = tensor_dims(t)[tensor_ndim(t) - 2];
	p->pruned++;
	p->quantized += tensor_type(t)->quantized;
	if (num_add(p->values, tensor_items(t), &p->values) < 0)
		return err_set(e, ERR_CORRUPT, p->in->name, "more values than 64 bits count");
	return put_group(p, tensor, e);
}

/* ---- what cannot be meant ---- */

static int
check_imatrix(const struct prune_plan *p, struct err *e)
{
	const struct imatrix *x = p->how.imatrix;

	if (!x || x->n == 0 || p->unmeasured < p->pruned)
		return 0;
	err_set(e, ERR_USAGE, p->how.imatrix_path, "none of its %zu entries has the name of a tensor "
	        "that is pruned: it belongs to another model", x->n);
	return err_hint(e, "an entry is %.80s", x->entries[0].name);
}

static int
check_plan(const struct prune_plan *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->how.target_count; i++)
		if (p->how.targets[i].matches == 0)
			return err_set(e, ERR_USAGE, NULL, "--target %.80s: no matrix has such a name",
			               p->how.targets[i].text);
	if (p->pruned == 0) {
		err_set(e, ERR_INVALID, p->in->name, "no tensor is one that is pruned: a matrix of "
		        "weights");
		return err_hint(e, "--target REGEX names tensors; apr-header -l shows them");
	}
	return check_imatrix(p, e);
}

/* ---- the plan of the result ---- */

static int
put_recipe(struct prune_plan *p, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf text = { 0 }, wire = { 0 };
	int r = prune_record(&p->how, &text, e);

	buf_u64(&wire, text.n);
	buf_put(&wire, text.p, text.n);
	if (r == 0)
		r = !buf_ok(&wire) ? err_memory(e)
			: model_put_meta(&p->out, "apr.prune.recipe", string, wire.p, wire.n, e);
	buf_free(&text);
	buf_free(&wire);
	return r;
}

static int
put_records(struct prune_plan *p, struct err *e)
{
	size_t i;

	p->out.holes = 0;
	p->out.signatures = 0;
	p->out.prov_count = 0;
	for (i = 0; i < p->in->record_count; i++)
		if (model_add_prov(&p->out, p->in->records[i].n, e) < 0)
			return -1;
	return 0;
}

static int
plan_values(struct prune_plan *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->out.tensor_count; i++)
		if (plan_tensor(p, i, e) < 0)
			return -1;
	for (i = 0; i < p->group_count; i++)
		p->groups[i].gone = choose_count(p->how.share, p->groups[i].values);
	return check_plan(p, e);
}

/* Tokens first, which replaces all keys. Heads and neurons are chosen by the names of the input, and
 * so before layers. */
static int
plan_shape(struct prune_plan *p, struct err *e)
{
	if ((p->how.used && prune_tokens(p, e) < 0) ||
	    ((p->how.heads || p->how.neurons) && prune_shape(p, e) < 0) ||
	    (p->how.layers && p->how.layers->n && prune_depth(p, e) < 0))
		return -1;
	subject_resize(&p->files, &p->out);
	return 0;
}

int
prune_plan_make(struct prune_plan *p, const struct prune_how *how, struct merge_input *in,
                struct err *e)
{
	size_t i;

	*p = (struct prune_plan){ .how = *how, .in = in };
	if (model_copy(&p->out, merge_input_plan(in), e) < 0)
		return -1;
	if (how->scope == SCOPE_LAYER && in->layers > PRUNE_LAYERS)
		return err_set(e, ERR_INVALID, in->name, "has more layers than %" PRIu64, PRUNE_LAYERS);
	p->rows = mem_array(p->out.tensor_count, sizeof *p->rows);
	p->of_layer = mem_array(how->scope == SCOPE_LAYER ? (size_t)in->layers : 0,
	                        sizeof *p->of_layer);
	if (!p->rows || !p->of_layer)
		return err_memory(e);
	for (i = 0; i < p->out.tensor_count; i++)
		p->rows[i].from = i;
	if ((how->rule == PRUNE_SHAPE ? plan_shape(p, e) : plan_values(p, e)) < 0)
		return -1;
	if (put_records(p, e) < 0 || put_recipe(p, e) < 0)
		return -1;
	return model_check(&p->out, in->name, e);
}
