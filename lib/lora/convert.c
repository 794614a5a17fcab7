#include "lora/convert.h"

#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "lora/delta.h"
#include "lora/written.h"

/* A part in the other form. */
struct turned {
	char name[MATCH_NAME];  /* of the weight */
	struct lora_hit hit;    /* order of its rows */
	float factor;           /* of B */
};

struct convert {
	const struct lora *l;
	enum arch_form to;
	const struct arch *arch;
	const struct sizes *sizes;
	struct turned *parts;
	struct lora_written written;
	struct err *e;
};

static int
refuse(const struct convert *c, const char *name, const char *fact)
{
	return err_set(c->e, ERR_INVALID, c->l->w->name, "%s: %s", name, fact);
}

/* ---- names and orders ---- */

static int
turn_part(struct convert *c, const struct lora_part *p, struct turned *to)
{
	struct match m;
	uint64_t all;

	if (!match_find(c->arch, c->l->form, p->name, 0, &m) ||
	    !match_name(m.rule, c->to, false, m.block, m.expert, to->name) || !*to->name)
		return refuse(c, p->name, "has no name in the other form");
	if (p->magnitude != SIZE_MAX && c->to == ARCH_GGUF)
		return refuse(c, p->name, "GGUF has no magnitudes (DoRA); apr-lora apply knows them");
	if (rule_shape(m.rule) && shape_stacks(rule_shape(m.rule)))
		return refuse(c, p->name, "GGUF stacks the experts; apr-lora apply works on the "
		              "folder");
	to->hit = (struct lora_hit){ .lora = c->l, .part = p };
	if (m.rule->change == CHANGE_NONE || m.rule->change == CHANGE_TURN)
		return 0;
	if (m.rule->change != CHANGE_PAIRS_Q && m.rule->change != CHANGE_PAIRS_K)
		return refuse(c, p->name, "its values lie in another order in the other form");
	to->hit.heads = sizes_get(c->sizes, m.rule->change == CHANGE_PAIRS_Q ? 'H' : 'G');
	to->hit.to_pairs = c->to == ARCH_GGUF;
	if (to->hit.heads == 0 || num_mul(to->hit.heads, 2, &all) < 0 || p->outputs % all != 0)
		return refuse(c, p->name, "its rows do not divide by the number of heads");
	return 0;
}

static int
turn_all(struct convert *c, size_t *scaled)
{
	const struct lora *l = c->l;
	size_t i;

	c->parts = mem_array(l->part_count, sizeof *c->parts);
	if (!c->parts)
		return err_memory(c->e);
	if (l->part_count)
		c->written.alpha = (double)l->parts[0].scale * (double)l->parts[0].rank;
	for (i = 0; i < l->part_count; i++) {
		const struct lora_part *p = &l->parts[i];
		float common = (float)(c->written.alpha / (double)p->rank);

		if (turn_part(c, p, &c->parts[i]) < 0)
			return -1;
		/* Without a common scale, B would take infinity: the sum of the adapter is 0. */
		c->parts[i].factor = common == p->scale ? 1 : common != 0 ? p->scale / common : 0;
		*scaled += c->parts[i].factor != 1;
	}
	return 0;
}

/* ---- the plan ---- */

static bool
is_table(const struct turned *t)
{
	return t->hit.part->embedding;
}

/* A norm keeps its values; anything else that replaces a tensor has no place in GGUF. */
static int
plan_whole(struct convert *c, const struct lora_whole *whole)
{
	const struct tensor *t = c->l->w->plan->tensors[whole->tensor];
	char name[MATCH_NAME];
	struct match m;

	if (!match_find(c->arch, c->l->form, whole->name, 0, &m) ||
	    m.rule->change != CHANGE_NONE || tensor_ndim(t) != 1 ||
	    !strstr(match_name(m.rule, ARCH_GGUF, m.bias, m.block, m.expert, name),
	            "_norm.weight"))
		return refuse(c, whole->name, "replaces a tensor of the model, which the other form "
		              "cannot state; apr-lora apply does it");
	match_name(m.rule, c->to, m.bias, m.block, m.expert, name);
	return lora_written_whole(&c->written, name, tensor_ndim(t), tensor_dims(t), c->e);
}

static int
make_plan(struct convert *c)
{
	struct lora_shape *shapes = mem_array(c->l->part_count, sizeof *shapes);
	size_t i;
	int r;

	if (!shapes)
		return err_memory(c->e);
	for (i = 0; i < c->l->part_count; i++) {
		const struct lora_part *p = &c->l->parts[i];

		shapes[i] = (struct lora_shape){ c->parts[i].name, p->rank, p->inputs, p->outputs,
			is_table(&c->parts[i]) };
	}
	r = lora_written_begin(&c->written, shapes, c->l->part_count, c->e);
	free(shapes);
	for (i = 0; r == 0 && i < c->l->whole_count; i++)
		r = plan_whole(c, &c->l->wholes[i]);
	return r;
}

/* ---- the values ---- */

static int
send(struct convert *c, struct sink *sink, const struct item *item, const void *p, size_t n)
{
	return sink_put(sink, item, c->e) < 0 || sink_write(sink, p, n, c->e) < 0 ? -1
	       : sink_put_end(sink, c->e);
}

static int
send_values(struct convert *c, struct sink *sink, size_t *index, const float *v)
{
	const struct tensor *t = c->written.plan.tensors[*index];
	const struct item item = { .kind = ITEM_TENSOR, .index = *index, .bytes = tensor_bytes(t) };
	uint8_t *bytes = mem_array((size_t)item.bytes, 1);
	int r;

	if (!bytes)
		return err_memory(c->e);
	(*index)++;
	kernel_for(tensor_type(t))->encode(v, bytes, (size_t)tensor_items(t));
	r = send(c, sink, &item, bytes, (size_t)item.bytes);
	free(bytes);
	return r;
}

static int
send_part(struct convert *c, struct sink *sink, size_t *index, const struct turned *t)
{
	struct lora_hit h = t->hit;
	struct lora_delta d = { 0 };
	size_t i, n;
	int r;

	/* A table in GGUF has A turned: as a weight of inputs × outputs has it. */
	h.turned = is_table(t) && c->to == ARCH_GGUF;
	r = lora_delta_make(&d, &h, c->e);
	n = (size_t)(h.part->outputs * h.part->rank);
	for (i = 0; r == 0 && i < n && t->factor != 1; i++)
		(h.turned ? d.right : d.left)[i] *= t->factor;
	if (r == 0 && h.turned)
		r = lora_delta_turn(&d.right, d.rank, d.columns, c->e);
	if (r == 0)
		r = send_values(c, sink, index, h.turned ? d.left : d.right);
	if (r == 0)
		r = send_values(c, sink, index, h.turned ? d.right : d.left);
	lora_delta_free(&d);
	return r;
}

static int
send_whole(struct convert *c, struct sink *sink, size_t *index, const struct lora_whole *whole)
{
	const struct tensor *t = c->l->w->plan->tensors[whole->tensor];
	size_t n = (size_t)tensor_items(t);
	const uint8_t *p = c->l->w->tensors[whole->tensor];
	float *v;
	int r;

	if (!kernel_decodes(tensor_type(t)))
		return refuse(c, whole->name, "cannot be decoded");
	v = mem_array(n, sizeof *v);
	if (!v)
		return err_memory(c->e);
	kernel_decode(tensor_type(t), p, p + tensor_type(t)->head, v, n);
	r = send_values(c, sink, index, v);
	free(v);
	return r;
}

static int
send_all(struct convert *c, struct sink *sink)
{
	size_t i, index = 0;

	if (lora_written_head(&c->written, sink, c->e) < 0)
		return -1;
	for (i = 0; i < c->l->part_count; i++)
		if (send_part(c, sink, &index, &c->parts[i]) < 0)
			return -1;
	for (i = 0; i < c->l->whole_count; i++)
		if (send_whole(c, sink, &index, &c->l->wholes[i]) < 0)
			return -1;
	return sink_end(sink, c->e);
}

int
lora_convert(const struct lora *l, enum arch_form to, const struct arch *arch,
             const struct sizes *sizes, struct sink *sink, size_t *scaled, struct err *e)
{
	struct convert c = { .l = l, .to = to, .arch = arch, .sizes = sizes, .e = e,
		.written = { .form = to, .arch = arch->name, .turned = arch->flags & ARCH_CONV1D,
			.from = l->w->name } };
	int r = -1;

	*scaled = 0;
	if (turn_all(&c, scaled) == 0 && make_plan(&c) == 0)
		r = send_all(&c, sink);
	free(c.parts);
	lora_written_free(&c.written);
	return r;
}
