/* The mapping `tokenizer` of a recipe: see recipe.h. */
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "merge/recipe_parts.h"

/* ---- the source of a token ---- */

static int
read_kind(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	const char *kind = json_string_value(v);

	if (kind && strcmp(kind, "zero") == 0)
		t->source = MERGE_TOKEN_ZERO;
	else if (kind && strcmp(kind, "model_token") == 0)
		t->source = MERGE_TOKEN_MODEL;
	else
		return recipe_wrong(y, object, "kind", "is neither zero nor model_token");
	return 0;
}

/* A model that is merged: only these have rows. */
static int
read_model(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	const char *key = json_object_get(object, "model") == v ? "model" : "source";
	size_t known = y->r->model_count;

	t->model = recipe_model_of(y, object, key, v);
	if (t->model == MERGE_NONE)
		return -1;
	return t->model < known ? 0 : recipe_wrong(y, object, key, "is not one of the models that are merged");
}

static int
read_token(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	const char *text = json_string_value(v);

	if (!text)
		return recipe_wrong(y, object, "token", "is not a text");
	t->from = mem_text(text, strlen(text));
	return t->from ? 0 : err_memory(y->e);
}

static int
read_id(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	const char *text = json_string_value(v);

	if (!text || text_u64(text, 0, UINT32_MAX - 1, &t->id) < 0)
		return recipe_wrong(y, object, "token_id", "is not the id of a token");
	return 0;
}

static const struct recipe_key source_keys[] = {
	{ "kind", read_kind, NULL },
	{ "model", read_model, NULL },
	{ "token", read_token, NULL },
	{ "token_id", read_id, NULL },
	{ NULL, NULL, NULL }
};

static int
read_source(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	bool token, id, model;

	if (json_is_string(v)) {
		t->source = MERGE_TOKEN_MODEL;
		return read_model(y, object, v, t);
	}
	if (!json_is_object(v))
		return recipe_wrong(y, object, "source", "is neither a model nor a mapping");
	token = recipe_has(v, "token");
	id = recipe_has(v, "token_id");
	model = recipe_has(v, "model");
	if (recipe_read_keys(y, v, source_keys, t) < 0)
		return -1;
	if (t->source == MERGE_TOKEN_USUAL)
		return recipe_wrong(y, object, "source", "has no kind");
	if (t->source == MERGE_TOKEN_MODEL ? !model || token == id : model || token || id)
		return recipe_wrong(y, object, "source", "needs for model_token a model and one of token and "
		                    "token_id, and for zero nothing else");
	return 0;
}

/* ---- tokens ---- */

static int
read_force(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_token *t = to;
	const char *text = json_string_value(v);
	double yes;

	if (!text || !merge_number(text, &yes) || (yes != 0 && yes != 1))
		return recipe_wrong(y, object, "force", "is not true or false");
	t->force = yes == 1;
	return 0;
}

static const struct recipe_key token_keys[] = {
	{ "source", read_source, NULL },
	{ "force", read_force, NULL },
	{ NULL, NULL, NULL }
};

static int
add_token(struct yaml_recipe *y, const json_t *object, const char *text, const json_t *v)
{
	struct merge_recipe *r = y->r;
	struct merge_token *t;

	if (!json_is_object(v))
		return recipe_wrong(y, object, text, "is not a mapping with source or force");
	if (r->token_count == MERGE_TOKEN_RULES)
		return recipe_wrong(y, object, text, "is one token too many: a recipe has rules for 1024");
	if (mem_grow(&r->token, &r->token_cap, r->token_count + 1, sizeof *r->token) < 0)
		return err_memory(y->e);
	t = &r->token[r->token_count++];
	*t = (struct merge_token){ .text = mem_text(text, strlen(text)), .id = MERGE_TOKEN_BY_TEXT,
		.line = yaml_line_of(&y->lines, object, text) };
	return t->text ? recipe_read_keys(y, v, token_keys, t) : err_memory(y->e);
}

static int
read_tokens(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	const char *text;
	json_t *member;

	(void)to;
	if (!json_is_object(v))
		return recipe_wrong(y, object, "tokens", "is not a mapping of tokens");
	json_object_foreach((json_t *)(uintptr_t)v, text, member)
		if (add_token(y, v, text, member) < 0)
			return -1;
	return 0;
}

/* ---- the tokenizer ---- */

static int
read_tokenizer_source(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;
	const char *name = json_string_value(v);

	if (name && (strcmp(name, "base") == 0 || strcmp(name, "union") == 0))
		return merge_recipe_tokens(r, name, y->e);
	r->tokens = MERGE_TOKENS_OF;
	r->tokens_model = recipe_model_of(y, object, "source", v);
	return r->tokens_model == MERGE_NONE ? -1 : 0;
}

static const struct recipe_key tokenizer_keys[] = {
	{ "tokens", read_tokens, NULL }, /* the first: their models are those that are merged */
	{ "source", read_tokenizer_source, NULL },
	{ "pad_to_multiple_of", NULL, "is not supported" },
	{ NULL, NULL, NULL }
};

int
recipe_read_tokenizer(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;

	if (!json_is_object(v))
		return recipe_wrong(y, object, "tokenizer", "is not a mapping");
	r->tokens = MERGE_TOKENS_UNION; /* without a source */
	return recipe_read_keys(y, v, tokenizer_keys, r);
}
