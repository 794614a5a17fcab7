#include "stage/roles.h"

#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"

/* The outer and inner dimension of a matrix as GGUF has it. */
struct shape {
	uint64_t rows, columns;
};

static struct shape
shape_of(const struct tensor *t, const struct arch_rule *r)
{
	const uint64_t *dims = tensor_dims(t);
	unsigned n = tensor_ndim(t);

	if (n < 2)
		return (struct shape){ 0, 0 };
	if (r->change == CHANGE_TURN)
		return (struct shape){ dims[n - 1], dims[n - 2] };
	return (struct shape){ dims[n - 2], dims[n - 1] };
}

/* What shapes say of attention in the first block that has it: the values of all heads. */
struct attention {
	uint64_t q, k, qkv, o;
	uint64_t extra; /* the first block from 1 on with a tensor that no rule knows; 0: none */
};

/* The number after ".layers." in a name without a rule. Models have blocks behind the others
 * that predict later tokens; GGUF does not count them. */
static void
see_extra(struct attention *a, const char *name)
{
	const char *layers = strstr(name, ".layers.");
	uint64_t block = layers ? strtoull(layers + 8, NULL, 10) : 0;

	if (block > 0 && (a->extra == 0 || block < a->extra))
		a->extra = block;
}

static void
see(struct roles *r, struct attention *a, const struct tensor *t, const struct match *m)
{
	struct shape s = shape_of(t, m->rule);

	if (strchr(rule_name(m->rule), '#') && m->block >= r->model.blocks)
		r->model.blocks = m->block + 1; /* of at most nine digits */
	if (m->bias || s.rows == 0)
		return;
	switch (m->rule->role) {
	case ROLE_Q:
		a->q = a->q ? a->q : s.rows;
		break;
	case ROLE_K:
		a->k = a->k ? a->k : s.rows;
		break;
	case ROLE_QKV:
		a->qkv = a->qkv ? a->qkv : s.rows;
		break;
	case ROLE_O:
		a->o = a->o ? a->o : s.columns;
		break;
	case ROLE_ROUTER:
		r->model.experts = r->model.experts ? r->model.experts : s.rows;
		break;
	default:
		break;
	}
}

/* Only the ratio of heads matters to rules: values of all queries to values of all keys. */
static void
conclude(struct roles *r, const struct attention *a)
{
	r->model.heads = a->q ? a->q : a->o;
	r->model.heads_kv = a->k;
	if (!a->k && a->qkv > a->o)
		r->model.heads_kv = (a->qkv - a->o) / 2;
	if (r->model.heads_kv == 0)
		r->model.heads_kv = r->model.heads;
	if (a->extra > 1 && a->extra < r->model.blocks)
		r->model.blocks = a->extra;
}

/* The name in GGUF of a tensor that a rule knows. */
static int
name_it(struct mixture_name *name, const struct tensor *t, const struct match *m,
        struct err *e)
{
	char gguf[MATCH_NAME];
	bool known = m->rule && m->rule->role != ROLES &&
		match_template(m->rule, ARCH_GGUF, m->bias, gguf);

	if (known)
		match_name(m->rule, ARCH_GGUF, m->bias, m->block, m->expert, gguf);
	if (known) {
		name->of_expert = strchr(rule_name(m->rule), '*') != NULL;
		name->stacked = name->of_expert || m->rule->change == CHANGE_K_B ||
			m->rule->change == CHANGE_V_B;
		name->expert = m->expert;
	}
	name->gguf = strdup(known ? gguf : tensor_name(t));
	return name->gguf ? 0 : err_memory(e);
}

int
roles_find(struct roles *r, const struct model *m, bool *found, struct err *e)
{
	struct attention a = { 0 };
	struct err none = ERR_INIT;
	const struct arch *arch = arch_find(NULL, m, "", &none);
	enum arch_form form = arch ? arch_form_of(arch, m) : ARCH_GGUF;
	struct match match;
	size_t i;

	*r = (struct roles){ .model = { .architecture = "" } };
	*found = form != ARCH_GGUF;
	if (!*found)
		return 0;
	r->names = mem_array(m->tensor_count, sizeof *r->names);
	if (!r->names)
		return err_memory(e);
	r->count = m->tensor_count;
	r->model.names = r->names;
	r->model.architecture = arch->name;
	for (i = 0; i < r->count; i++) {
		if (match_find(arch, form, tensor_name(m->tensors[i]), 0, &match)) {
			see(r, &a, m->tensors[i], &match);
		} else {
			match = (struct match){ 0 };
			see_extra(&a, tensor_name(m->tensors[i]));
		}
		if (name_it(&r->names[i], m->tensors[i], &match, e) < 0)
			return -1;
	}
	conclude(r, &a);
	return 0;
}

void
roles_free(struct roles *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		free(r->names[i].gguf);
	free(r->names);
	*r = (struct roles){ 0 };
}
