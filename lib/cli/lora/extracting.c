#include "cli/lora/extracting.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/match.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "core/thread.h"
#include "lora/extract.h"
#include "merge/agree.h"

#define RANK 256 /* the limit for a share of the squares */

struct job {
	struct extracting *x;
	struct lora_pair *pairs;
	size_t *tuned;            /* the tensor of the other model for each of the base */
	uint8_t *raw;             /* encoded values, and those of the base */
	float *base;
	size_t raw_cap, base_cap;
	size_t parts, left;       /* tensors that differ */
	double total, lost;       /* squares of all differences */

	/* A read under way. */
	size_t pair, row, count;
	bool only_tuned;
	uint64_t from;
	float *to;
	atomic_int fault[2];      /* errno + 1, of the base and of the tuned model */
};

/* ---- which tensors ---- */

static const char *const tables[] = { "token_embd.weight", "embed_tokens.weight", "wte.weight" };

static bool
is_table(const struct match *m, const char *name)
{
	size_t i, n = strlen(name);

	if (m->rule)
		return m->rule->role == ROLE_EMBED;
	for (i = 0; i < sizeof tables / sizeof *tables; i++)
		if (n >= strlen(tables[i]) && strcmp(name + n - strlen(tables[i]), tables[i]) == 0)
			return true;
	return false;
}

/* Matrices that are not multiplied with activations. */
static bool
is_other(const struct match *m)
{
	static const enum role others[] = { ROLE_POSITIONS, ROLE_TOKEN_TYPES, ROLE_ROPE_FREQS,
		ROLE_ROPE_LONG, ROLE_ROPE_SHORT, ROLE_SSM_CONV, ROLE_SSM_A, ROLE_SSM_D, ROLE_ENC_BIAS,
		ROLE_DEC_BIAS };
	size_t i;

	for (i = 0; m->rule && i < sizeof others / sizeof *others; i++)
		if (m->rule->role == others[i])
			return true;
	return false;
}

static struct lora_pair
pair_of(const struct extracting *x, const struct tensor *t)
{
	const struct subject *s = &x->base.subject;
	const char *name = tensor_name(t);
	size_t n = strlen(name);
	struct match m;
	struct lora_pair p = { .t = t, .kind = x->all && merge_is_number(tensor_type(t))
		? LORA_WHOLE : LORA_LEFT };

	if (!s->arch || !match_find(s->arch, s->form, name, 0, &m))
		m.rule = NULL;
	if (tensor_ndim(t) != 2 || n <= strlen(".weight") || is_other(&m) ||
	    strcmp(name + n - strlen(".weight"), ".weight") != 0)
		return p;
	if (is_table(&m, name)) {
		p.kind = x->all ? LORA_TABLE : LORA_LEFT;
		return p;
	}
	p.kind = LORA_MATRIX;
	p.turned = m.rule && m.rule->change == CHANGE_TURN && s->form != ARCH_GGUF;
	return p;
}

/* Tensors of integers are not compared. */
static int
add_pair(struct job *j, size_t *n, size_t tensor, struct err *e)
{
	const struct merge_input *a = &j->x->base, *b = &j->x->tuned;
	const struct tensor *t = merge_input_plan(a)->tensors[tensor], *other;
	size_t at = merge_input_find(b, tensor_name(t));

	if (at == SIZE_MAX)
		return merge_missing(b, tensor_name(t), a, e);
	other = merge_input_plan(b)->tensors[at];
	if (merge_check_shape(a, t, b, other, e) < 0)
		return -1;
	if (!merge_is_number(tensor_type(t)) || !merge_is_number(tensor_type(other)))
		return 0;
	j->pairs[*n] = pair_of(j->x, t);
	j->tuned[*n * 2] = tensor;
	j->tuned[*n * 2 + 1] = at;
	(*n)++;
	return 0;
}

static int
find_pairs(struct job *j, size_t *n, struct err *e)
{
	size_t i, count = merge_input_plan(&j->x->base)->tensor_count;

	*n = 0;
	j->pairs = mem_array(count, sizeof *j->pairs);
	j->tuned = mem_array(count, 2 * sizeof *j->tuned);
	if (!j->pairs || !j->tuned)
		return err_memory(e);
	if (merge_check_architecture(&j->x->base, &j->x->tuned, e) < 0 ||
	    merge_check_others(&j->x->base, &j->x->tuned, e) < 0)
		return -1;
	for (i = 0; i < count; i++)
		if (add_pair(j, n, i, e) < 0)
			return -1;
	return 0;
}

/* ---- values ---- */

static void
read_row(void *ctx, size_t i)
{
	struct job *j = ctx;
	size_t at = i * j->row, n = num_min(j->count - at, j->row), k;
	float *to = j->to + at, *base = j->base + at;
	uint8_t *raw = j->raw + at * sizeof(double);

	if (merge_input_values(&j->x->tuned, j->tuned[j->pair * 2 + 1], j->from + at, to, n, raw) < 0) {
		atomic_store(&j->fault[1], errno + 1);
		return;
	}
	if (!j->only_tuned && merge_input_values(&j->x->base, j->tuned[j->pair * 2], j->from + at, base,
	                                         n, raw) < 0) {
		atomic_store(&j->fault[0], errno + 1);
		return;
	}
	for (k = 0; !j->only_tuned && k < n; k++)
		to[k] -= base[k];
}

static int
read_values(void *ctx, size_t pair, bool tuned, uint64_t from, size_t n, float *to, struct err *e)
{
	struct job *j = ctx;
	const struct lora_pair *p = &j->pairs[pair];
	size_t i;

	if (mem_grow(&j->raw, &j->raw_cap, n, sizeof(double)) < 0 ||
	    mem_grow(&j->base, &j->base_cap, n, sizeof *j->base) < 0)
		return err_memory(e);
	j->pair = pair;
	j->only_tuned = tuned;
	j->from = from;
	j->to = to;
	j->count = n;
	j->row = p->kind == LORA_MATRIX || p->kind == LORA_TABLE ? (size_t)tensor_row(p->t) : n;
	thread_for(j->x->jobs, (n + j->row - 1) / j->row, read_row, j);
	for (i = 0; i < 2; i++)
		if (atomic_load(&j->fault[i])) {
			errno = atomic_load(&j->fault[i]) - 1;
			return range_fail(i ? j->x->tuned.name : j->x->base.name, e);
		}
	return 0;
}

/* ---- what is found ---- */

static double
error_of(double lost, double total)
{
	return total == 0 ? 0 : sqrt(lost / total); /* NaN stays NaN */
}

static void
met(void *ctx, const struct lora_met *m)
{
	struct job *j = ctx;
	const char *name = tensor_name(m->pair->t);

	j->total += m->total;
	j->lost += m->left;
	j->parts += m->rank > 0;
	j->left += m->pair->kind == LORA_LEFT;
	if (!j->x->verbose)
		return;
	if (m->rank > 0)
		tool_notef("%s: rank %zu, error %.3g", name, m->rank, error_of(m->left, m->total));
	else
		tool_notef("%s: %s", name, m->pair->kind == LORA_LEFT ? "left out" : "taken whole");
}

/* The form of the adapter. Without a known architecture, the format of the file decides. */
static enum arch_form
form_of_names(const struct extracting *x)
{
	const struct subject *s = &x->base.subject;

	if (s->apr)
		return ARCH_APR;
	return s->form == ARCH_GGUF || model_source_is(merge_input_plan(&x->base), "gguf")
		? ARCH_GGUF : ARCH_FOLDER;
}

int
extracting_run(struct extracting *x, struct sink *sink, struct err *e)
{
	struct job j = { .x = x };
	const struct subject *s = &x->base.subject;
	char said[ARCH_NAME];
	struct lora_extract how = { .form = form_of_names(x), .name = x->tuned.name, .rank = x->rank ? (size_t)x->rank : RANK,
		.energy = x->energy, .jobs = x->jobs, .read = read_values, .met = met, .ctx = &j };
	int r = -1;

	how.arch = s->arch ? s->arch->name
		: arch_said_text(merge_input_plan(&x->base), said) ? said : NULL;
	how.turned = s->arch && (s->arch->flags & ARCH_CONV1D);
	if (how.form == ARCH_APR)
		err_set(e, ERR_FORMAT, x->base.name, "has the names of an .apr file, which adapters do "
		        "not have: apr-adapt gives it others");
	else if (find_pairs(&j, &how.n, e) == 0) {
		how.pairs = j.pairs;
		r = lora_extract(&how, sink, e);
	}
	if (r == 0 && j.left)
		tool_notef("%zu tensors that differ are not weights of layers and are left out (--all "
		           "takes them)", j.left);
	if (r == 0)
		tool_notef("%zu weights, error %.3g of the difference", j.parts,
		           error_of(j.lost, j.total));
	free(j.pairs);
	free(j.tuned);
	free(j.raw);
	free(j.base);
	return r;
}
