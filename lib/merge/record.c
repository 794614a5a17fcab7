/* The recipe of a result as JSON, with the keys of mergekit. */
#include <string.h>

#include "merge/plan.h"

/* Values of a rule: one number or a list. */
static json_t *
rule_value(const struct merge_rule *rule)
{
	json_t *list;
	size_t i;

	if (rule->n == 1)
		return json_real(rule->v[0]);
	list = json_array();
	for (i = 0; i < rule->n; i++)
		json_array_append_new(list, json_real(rule->v[i]));
	return list;
}

static json_t *
setting_json(const struct merge_setting *s)
{
	json_t *list;
	size_t i;

	if (s->n == 1 && !s->rules[0].filter)
		return rule_value(&s->rules[0]);
	list = json_array();
	for (i = 0; i < s->n; i++) {
		json_t *o = json_object();

		if (s->rules[i].filter)
			json_object_set_new(o, "filter", json_string(s->rules[i].filter));
		json_object_set_new(o, "value", rule_value(&s->rules[i]));
		json_array_append_new(list, o);
	}
	return list;
}

static void
put_settings(json_t *to, const struct merge_settings *s)
{
	json_t *o = json_object();
	unsigned i;

	for (i = 0; i < MERGE_PARAMS; i++)
		if (s->of[i].n > 0)
			json_object_set_new(o, merge_param_row(i)->name, setting_json(&s->of[i]));
	if (json_object_size(o) > 0)
		json_object_set(to, "parameters", o);
	json_decref(o);
}

static json_t *
name_json(const struct merge_plan *p, size_t model)
{
	const struct merge_input *in = &p->inputs[model];
	json_t *name = in->label ? json_string(in->label) : NULL;

	return name ? name : json_string("<stdin>");
}

static json_t *
part_json(const struct merge_plan *p, const struct merge_part *part)
{
	json_t *o = json_object();

	json_object_set_new(o, "model", name_json(p, part->model));
	if (p->recipe->layered)
		json_object_set_new(o, "layer_range", json_pack("[I,I]", (json_int_t)part->from,
		                                                (json_int_t)part->to));
	put_settings(o, &part->own);
	return o;
}

static json_t *
parts_json(const struct merge_plan *p, const struct merge_slice *s)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < s->n; i++)
		json_array_append_new(list, part_json(p, &s->parts[i]));
	if (s->has_base && p->recipe->layered)
		json_array_append_new(list, part_json(p, &s->base));
	return list;
}

static json_t *
slices_json(const struct merge_plan *p)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < p->recipe->slice_count; i++) {
		const struct merge_slice *s = &p->recipe->slices[i];
		json_t *o = json_object();

		json_object_set_new(o, "sources", parts_json(p, s));
		if (s->has_base)
			json_object_set_new(o, "base_model", name_json(p, s->base.model));
		put_settings(o, &s->all);
		json_array_append_new(list, o);
	}
	return list;
}

/* Where the rows of a token come from. */
static json_t *
token_json(const struct merge_plan *p, const struct merge_token *t)
{
	json_t *o = json_object(), *source = json_object();

	if (t->source == MERGE_TOKEN_ZERO)
		json_object_set_new(source, "kind", json_string("zero"));
	if (t->source == MERGE_TOKEN_MODEL) {
		json_object_set_new(source, "kind", json_string("model_token"));
		json_object_set_new(source, "model", name_json(p, t->model));
		if (t->id == MERGE_TOKEN_BY_TEXT)
			json_object_set_new(source, "token", json_string(t->from ? t->from : t->text));
		else
			json_object_set_new(source, "token_id", json_integer((json_int_t)t->id));
	}
	if (json_object_size(source) > 0)
		json_object_set(o, "source", source);
	json_decref(source);
	if (t->force)
		json_object_set_new(o, "force", json_true());
	return o;
}

static void
put_tokens(const struct merge_plan *p, json_t *to)
{
	const struct merge_recipe *r = p->recipe;
	json_t *source, *all, *tokens;
	size_t i;

	if (!p->words.tokens)
		return;
	source = r->tokens == MERGE_TOKENS_OF ? name_json(p, r->tokens_model)
		: json_string(r->tokens == MERGE_TOKENS_BASE ? "base" : "union");
	if (r->token_count == 0) {
		json_object_set_new(to, "tokenizer_source", source);
		return;
	}
	all = json_object();
	tokens = json_object();
	for (i = 0; i < r->token_count; i++)
		json_object_set_new(tokens, r->token[i].text, token_json(p, &r->token[i]));
	json_object_set_new(all, "source", source);
	json_object_set_new(all, "tokens", tokens);
	json_object_set_new(to, "tokenizer", all);
}

int
merge_record(const struct merge_plan *p, struct buf *to, struct err *e)
{
	const struct merge_recipe *r = p->recipe;
	const struct merge_slice *s = &r->slices[0];
	size_t base = s->has_base ? s->base.model : r->base;
	json_t *o = json_object();
	int status;

	json_object_set_new(o, "merge_method", json_string(r->method->name));
	if (base != MERGE_NONE && !r->layered)
		json_object_set_new(o, "base_model", name_json(p, base));
	if (r->layered)
		json_object_set_new(o, "slices", slices_json(p));
	else
		json_object_set_new(o, "models", parts_json(p, s));
	put_settings(o, &r->all);
	put_tokens(p, o);
	if (r->method->keep == KEEP_RANDOM || r->method->keep == KEEP_RANKED)
		json_object_set_new(o, "seed", json_integer((json_int_t)p->o.seed));
	if (p->o.compat)
		json_object_set_new(o, "compat", json_true());
	status = o ? json_write(o, to) : -1;
	json_decref(o);
	return status < 0 ? err_memory(e) : 0;
}
