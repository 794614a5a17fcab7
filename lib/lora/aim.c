#include "lora/aim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"

/* A search for the tensors of one adapter. */
struct search {
	struct lora_aim *aim;
	const struct lora *l;
	const struct lora_base *base;
	size_t *by_name;    /* of the model */
	struct err *e;
};

/* The tensor of the model that has this name in the form of the adapter, and the rule for it if the
 * architecture has one. SIZE_MAX with e filled. */
static size_t
look_up(const struct search *s, const char *name, struct match *m)
{
	const struct arch *a = s->base->arch;
	char other[MATCH_NAME];
	bool known = a && match_find(a, s->l->form, name, 0, m);
	size_t i = s->l->form == s->base->form || !known ? model_find_tensor(s->base->plan, s->by_name, name) : SIZE_MAX;

	if (!known)
		m->rule = NULL;
	if (i == SIZE_MAX && known)
		i = model_find_tensor(s->base->plan, s->by_name, match_name(m->rule, s->base->form, m->bias,
		                      m->block, m->expert, other));
	if (i == SIZE_MAX) {
		err_set(s->e, ERR_INVALID, s->l->w->name, "UnknownTensor: the model has no tensor "
		        "for %s", name);
		err_hint(s->e, "the adapter may be for another model");
	}
	return i;
}

static int
refuse(const struct search *s, size_t i, const char *fact)
{
	err_set(s->e, ERR_INVALID, tensor_name(s->base->plan->tensors[i]), "%s", fact);
	return err_hint(s->e, "apr-lora apply works on a model in the form of the adapter; "
	                "apr-adapt comes behind it");
}

static int
misshapen(const struct search *s, size_t i, uint64_t outputs, uint64_t inputs)
{
	const struct tensor *t = s->base->plan->tensors[i];
	char shape[TENSOR_SHAPE_TEXT];

	err_set(s->e, ERR_INVALID, tensor_name(t), "has shape %s, and the adapter changes a weight of "
	        "%" PRIu64 " outputs and %" PRIu64 " inputs", tensor_shape_text(t, shape), outputs,
	        inputs);
	return err_hint(s->e, "the adapter may be for another model");
}

/* Whether the model stores the weight as inputs × outputs. */
static int
find_turned(const struct search *s, struct lora_hit *h, const struct match *m)
{
	const struct tensor *t = s->base->plan->tensors[h->tensor];
	const struct lora_part *p = h->part;
	const uint64_t *d = tensor_dims(t);
	bool turned = p->embedding;

	if (!turned && s->base->form != ARCH_GGUF)
		turned = m->rule ? m->rule->change == CHANGE_TURN : s->l->turned;
	if (tensor_ndim(t) != 2 || d[turned] != p->outputs || d[!turned] != p->inputs)
		return misshapen(s, h->tensor, p->outputs, p->inputs);
	h->turned = turned;
	return 0;
}

/* Rows of queries and keys: GGUF interleaves the halves of a head. */
static int
find_order(const struct search *s, struct lora_hit *h, const struct match *m)
{
	enum arch_change change = m->rule ? m->rule->change : CHANGE_NONE;
	uint64_t all;

	if (s->l->form == s->base->form || change == CHANGE_NONE || change == CHANGE_TURN)
		return 0;
	if (change != CHANGE_PAIRS_Q && change != CHANGE_PAIRS_K)
		return refuse(s, h->tensor, "its values lie in another order than those of the "
		              "adapter");
	h->heads = sizes_get(s->base->sizes, change == CHANGE_PAIRS_Q ? 'H' : 'G');
	h->to_pairs = s->base->form == ARCH_GGUF;
	if (h->heads == 0 || num_mul(h->heads, 2, &all) < 0 || h->part->outputs % all != 0)
		return refuse(s, h->tensor, "its rows do not divide by the number of heads");
	return 0;
}

static int
check_whole(const struct search *s, const struct lora_hit *h, const struct match *m)
{
	const struct tensor *t = s->base->plan->tensors[h->tensor];
	const struct tensor *from = s->l->w->plan->tensors[h->whole->tensor];
	char shape[TENSOR_SHAPE_TEXT];

	if (s->l->form != s->base->form && m->rule && m->rule->change != CHANGE_NONE)
		return refuse(s, h->tensor, "its values differ between the forms of the adapter and "
		              "the model");
	if (tensor_ndim(t) == tensor_ndim(from) &&
	    memcmp(tensor_dims(t), tensor_dims(from), tensor_ndim(t) * sizeof *tensor_dims(t)) == 0)
		return 0;
	return err_set(s->e, ERR_INVALID, tensor_name(t), "the tensor of the adapter that replaces "
	               "it has shape %s", tensor_shape_text(from, shape));
}

/* Append a hit to those of its tensor. */
static int
add(const struct search *s, const struct lora_hit *h)
{
	struct lora_aim *aim = s->aim;
	size_t *end = &aim->first[h->tensor];

	if (mem_grow(&aim->hits, &aim->cap, aim->count + 1, sizeof *aim->hits) < 0)
		return err_memory(s->e);
	aim->tensors += *end == SIZE_MAX;
	while (*end != SIZE_MAX)
		end = &aim->hits[*end].next;
	*end = aim->count;
	aim->hits[aim->count] = *h;
	aim->hits[aim->count++].next = SIZE_MAX;
	return 0;
}

static int
add_all(const struct search *s)
{
	struct match m;
	size_t i;

	for (i = 0; i < s->l->whole_count; i++) {
		struct lora_hit h = { .lora = s->l, .whole = &s->l->wholes[i] };

		h.tensor = look_up(s, h.whole->name, &m);
		if (h.tensor == SIZE_MAX || check_whole(s, &h, &m) < 0 || add(s, &h) < 0)
			return -1;
	}
	for (i = 0; i < s->l->part_count; i++) {
		struct lora_hit h = { .lora = s->l, .part = &s->l->parts[i] };

		h.tensor = look_up(s, h.part->name, &m);
		if (h.tensor == SIZE_MAX || find_turned(s, &h, &m) < 0 ||
		    find_order(s, &h, &m) < 0 || add(s, &h) < 0)
			return -1;
	}
	return 0;
}

static int
check_arch(const struct search *s)
{
	const char *own = s->base->arch ? s->base->arch->name : NULL;

	if (!s->l->arch || !own || strcmp(s->l->arch, own) == 0)
		return 0;
	return err_set(s->e, ERR_INVALID, s->l->w->name, "ArchitectureMismatch: the adapter is for "
	               "%s, the model is %s", s->l->arch, own);
}

int
lora_aim_add(struct lora_aim *aim, const struct lora *l, const struct lora_base *base,
             struct err *e)
{
	struct search s = { aim, l, base, model_tensors_by_name(base->plan, e), e };
	size_t i;
	int r = -1;

	if (s.by_name && !aim->first) {
		aim->first = mem_array(base->plan->tensor_count, sizeof *aim->first);
		for (i = 0; aim->first && i < base->plan->tensor_count; i++)
			aim->first[i] = SIZE_MAX;
	}
	if (s.by_name && !aim->first)
		err_memory(e);
	else if (s.by_name && check_arch(&s) == 0)
		r = add_all(&s);
	free(s.by_name);
	return r;
}

void
lora_aim_free(struct lora_aim *aim)
{
	free(aim->hits);
	free(aim->first);
	*aim = (struct lora_aim){ 0 };
}
