#include "lora/convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "lora/delta.h"

#define PREFIX "base_model.model."

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
	double alpha;           /* of all parts */
	uint64_t rank;          /* of most, in PEFT's words "r": of the first */
	struct model plan;
	struct buf config;      /* adapter_config.json */
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
	if (l->part_count) {
		c->rank = l->parts[0].rank;
		c->alpha = (double)l->parts[0].scale * (double)c->rank;
	}
	for (i = 0; i < l->part_count; i++) {
		const struct lora_part *p = &l->parts[i];
		float common = (float)(c->alpha / (double)p->rank);

		if (turn_part(c, p, &c->parts[i]) < 0)
			return -1;
		/* Without a common scale, B would take infinity: the sum of the adapter is 0. */
		c->parts[i].factor = common == p->scale ? 1 : common != 0 ? p->scale / common : 0;
		*scaled += c->parts[i].factor != 1;
	}
	return 0;
}

/* ---- the plan ---- */

static int
add_tensor(struct convert *c, const char *before, const char *name, size_t n, const char *ending,
           unsigned ndim, const uint64_t *dims)
{
	struct buf b = { 0 };
	struct tensor *t = NULL;

	buf_text(&b, before);
	buf_put(&b, name, n);
	buf_text(&b, ending);
	if (!buf_ok(&b))
		err_memory(c->e);
	else
		t = tensor_new((char *)b.p, b.n, dtype_by_name("F32"), ndim, dims,
		               TENSOR_OWN_SIZE, c->l->w->name, c->e);
	buf_free(&b);
	return t ? model_add_tensor(&c->plan, t, c->e) : -1;
}

static bool
is_table(const struct turned *t)
{
	return t->hit.part->embedding;
}

static int
plan_part(struct convert *c, const struct turned *t)
{
	const struct lora_part *p = t->hit.part;
	const uint64_t a[2] = { p->rank, p->inputs }, a_turned[2] = { p->inputs, p->rank };
	const uint64_t b[2] = { p->outputs, p->rank };
	size_t n = strlen(t->name), module = n - strlen(".weight");

	if (c->to == ARCH_GGUF)
		return add_tensor(c, "", t->name, n, ".lora_a", 2, is_table(t) ? a_turned : a) < 0
			? -1 : add_tensor(c, "", t->name, n, ".lora_b", 2, b);
	if (is_table(t))
		return add_tensor(c, PREFIX, t->name, module, ".lora_embedding_A", 2, a) < 0 ? -1
		       : add_tensor(c, PREFIX, t->name, module, ".lora_embedding_B", 2, b);
	return add_tensor(c, PREFIX, t->name, module, ".lora_A.weight", 2, a) < 0 ? -1
	       : add_tensor(c, PREFIX, t->name, module, ".lora_B.weight", 2, b);
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
	return add_tensor(c, c->to == ARCH_GGUF ? "" : PREFIX, name, strlen(name), "",
	                  tensor_ndim(t), tensor_dims(t));
}

static int
add_text(struct convert *c, const char *key, const char *text)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = buf_ok(&b) ? model_set_meta(&c->plan, key, string, b.p, b.n, c->e) : err_memory(c->e);
	buf_free(&b);
	return r;
}

static int
plan_keys(struct convert *c)
{
	static const struct value_type f32 = { 0, VALUE_F32 };
	struct buf b = { 0 };
	float alpha = (float)c->alpha;
	uint32_t bits;
	int r;

	memcpy(&bits, &alpha, sizeof bits);
	buf_u32(&b, bits);
	r = buf_ok(&b) ? 0 : err_memory(c->e);
	if (r == 0 && add_text(c, "general.architecture", c->arch->name) == 0 &&
	    add_text(c, "general.type", "adapter") == 0 && add_text(c, "adapter.type", "lora") == 0)
		r = model_set_meta(&c->plan, "adapter.lora.alpha", f32, b.p, b.n, c->e);
	else
		r = -1;
	buf_free(&b);
	return r;
}

/* Members that PEFT needs. Modules have their whole names, so no other one gets a part. */
static int
plan_config(struct convert *c)
{
	json_t *o = json_object(), *modules = json_array(), *ranks = json_object();
	char module[MATCH_NAME];
	size_t i;
	int r;

	for (i = 0; i < c->l->part_count; i++) {
		const struct lora_part *p = &c->l->parts[i];

		snprintf(module, sizeof module, "%.*s",
		         (int)(strlen(c->parts[i].name) - strlen(".weight")), c->parts[i].name);
		json_array_append_new(modules, json_string(module));
		if (p->rank != c->rank)
			json_object_set_new(ranks, module, json_integer((json_int_t)p->rank));
	}
	json_object_set_new(o, "peft_type", json_string("LORA"));
	json_object_set_new(o, "base_model_name_or_path", json_null());
	json_object_set_new(o, "bias", json_string("none"));
	json_object_set_new(o, "fan_in_fan_out", json_boolean(c->arch->flags & ARCH_CONV1D));
	json_object_set_new(o, "inference_mode", json_true());
	json_object_set_new(o, "lora_alpha", json_real(c->alpha));
	json_object_set_new(o, "lora_dropout", json_real(0));
	json_object_set_new(o, "r", json_integer((json_int_t)c->rank));
	json_object_set_new(o, "rank_pattern", ranks);
	json_object_set_new(o, "target_modules", modules);
	json_object_set_new(o, "task_type", json_string("CAUSAL_LM"));
	r = json_pretty(o, &c->config);
	json_decref(o);
	buf_text(&c->config, "\n");
	if (r < 0 || !buf_ok(&c->config))
		return err_memory(c->e);
	if (model_source_set(&c->plan, "format", json_string("safetensors"), c->e) < 0 ||
	    model_source_set(&c->plan, "file", json_string("adapter_model.safetensors"),
	                     c->e) < 0)
		return -1;
	return model_add_blob(&c->plan, "adapter_config.json", "file", c->config.n, c->e);
}

static int
make_plan(struct convert *c)
{
	size_t i;

	if (model_init(&c->plan, c->e) < 0 ||
	    (c->to == ARCH_GGUF ? plan_keys(c) : plan_config(c)) < 0)
		return -1;
	for (i = 0; i < c->l->part_count; i++)
		if (plan_part(c, &c->parts[i]) < 0)
			return -1;
	for (i = 0; i < c->l->whole_count; i++)
		if (plan_whole(c, &c->l->wholes[i]) < 0)
			return -1;
	return model_check(&c->plan, c->l->w->name, c->e);
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
	const struct tensor *t = c->plan.tensors[*index];
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
	const struct item config = { .kind = ITEM_BLOB, .bytes = c->config.n };
	size_t i, index = 0;

	if (sink_begin(sink, &c->plan, c->e) < 0 ||
	    (c->config.n && send(c, sink, &config, c->config.p, c->config.n) < 0))
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
	struct convert c = { .l = l, .to = to, .arch = arch, .sizes = sizes, .e = e };
	int r = -1;

	*scaled = 0;
	if (turn_all(&c, scaled) == 0 && make_plan(&c) == 0)
		r = send_all(&c, sink);
	free(c.parts);
	model_free(&c.plan);
	buf_free(&c.config);
	return r;
}
