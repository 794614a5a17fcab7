/* fuzz_recipe: recipes of apr-merge. The input is the text of a recipe.
 *
 *     1. It is read, or refused in bounded time and memory with a message that a terminal can show.
 *     2. What was read has a method, at least one slice, models that exist, layers in order, and
 *        numbers within the limits of their parameters; rules of tokens name models that exist.
 *     3. Every parameter has a value for any tensor and any layer, or none, and the value is within
 *        the limits too: gradients stay between their numbers.
 *
 * The mutator writes whole recipes and whole members.
 */
#include "dice.h"
#include "mutate.h"

#include <math.h>

#include "merge/recipe.h"

static void
check_setting(const struct merge_setting *s, enum merge_param p)
{
	size_t i, k;

	for (i = 0; i < s->n; i++) {
		must(s->rules[i].n > 0);
		for (k = 0; k < s->rules[i].n; k++)
			must(isfinite(s->rules[i].v[k]) && merge_in_limits(p, s->rules[i].v[k]));
	}
}

static void
check_settings(const struct merge_settings *s)
{
	unsigned p;

	for (p = 0; p < MERGE_PARAMS; p++)
		check_setting(&s->of[p], (enum merge_param)p);
}

static void
check_values(const struct merge_recipe *r, const struct merge_slice *s, const struct merge_part *part)
{
	static const char *const names[] = { "blk.3.ffn_up.weight", "", "output_norm.weight" };
	static const double places[] = { 0, 0.3, 1 };
	size_t i, k;
	unsigned p;
	double v;

	for (p = 0; p < MERGE_PARAMS; p++)
		for (i = 0; i < 3; i++)
			for (k = 0; k < 3; k++)
				if (merge_recipe_value(r, s, part, (enum merge_param)p, names[i],
				                       k ? "model.layers.3.mlp.up_proj.weight" : NULL,
				                       places[k], &v))
					must(merge_in_limits((enum merge_param)p, v));
}

static void
check_part(const struct merge_recipe *r, const struct merge_slice *s, const struct merge_part *part)
{
	must(part->model < r->model_count);
	must(!r->layered || (part->from <= part->to && part->to <= UINT32_MAX));
	check_settings(&part->own);
	check_values(r, s, part);
}

static void
check(const struct merge_recipe *r)
{
	size_t i, k;

	must(r->method && r->slice_count > 0 && r->model_count > 0);
	must(r->model_count <= MERGE_MODELS && (r->base == MERGE_NONE || r->base < r->model_count));
	must(r->layered || r->slice_count == 1);
	check_settings(&r->all);
	must(r->tokens != MERGE_TOKENS_OF || r->tokens_model < r->model_count);
	must(r->token_count <= MERGE_TOKEN_RULES);
	for (i = 0; i < r->token_count; i++) {
		const struct merge_token *t = &r->token[i];

		must(t->text && t->line > 0);
		must(t->source != MERGE_TOKEN_MODEL || t->model < r->model_count);
		must(t->id == MERGE_TOKEN_BY_TEXT || t->id < UINT32_MAX);
	}
	for (i = 0; i < r->slice_count; i++) {
		const struct merge_slice *s = &r->slices[i];

		must(s->n >= 1 || s->has_base);
		check_settings(&s->all);
		for (k = 0; k < s->n; k++)
			check_part(r, s, &s->parts[k]);
		if (s->has_base)
			check_part(r, s, &s->base);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct merge_recipe r;
	struct err e = ERR_INIT;

	if (merge_recipe_read(&r, (const char *)data, size, "in", &e) == 0) {
		must_say(e.code == ERR_NONE, &e);
		check(&r);
	} else {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_FORMAT || e.code == ERR_USAGE ||
		         e.code == ERR_MEMORY, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
		fuzz_printable(e.hint);
	}
	merge_recipe_free(&r);
	return 0;
}

/* ---- mutator ---- */

static const char *const methods[] = { "linear", "average", "weighted", "slerp", "nuslerp",
	"multislerp", "karcher", "task_arithmetic", "ties", "dare_linear", "dare_ties", "della",
	"della_linear", "breadcrumbs", "breadcrumbs_ties", "model_stock", "sce", "passthrough",
	"tiess", "", "[ties]" };
static const char *const keys[] = { "weight", "density", "gamma", "epsilon", "scale", "lambda", "t",
	"normalize", "rescale", "select_topk", "nuslerp_flatten", "nuslerp_row_wise", "filter_wise",
	"max_iter", "tol", "int8_mask", "wieght" };
static const char *const values[] = { "0.5", "1", "0", "-1", "true", "1e9", ".nan", "[0, 0.5, 1]",
	"[]", "[0.1, [0.2]]", "[{filter: mlp, value: 0.3}, {value: 1}]",
	"[{filter: q_proj, value: [0, 1]}, {filter: '', value: 2}]", "{a: 1}", "~", "0x10", "1.0.0" };
static const char *const models[] = { "a.gguf", "b", "org/name", "../x", "/etc/passwd", "a.gguf",
	"c+adapter", "''", "\"\\x1b[2J\"", "{model: {path: a}}" };
static const char *const lines[] = { "dtype: bfloat16\n", "out_dtype: float16\n", "dtype: int8\n",
	"base_model: a.gguf\n", "base_model: z\n", "tokenizer_source: union\n",
	"tokenizer_source: base\n", "tokenizer_source: b\n", "tokenizer_source: a.gguf\n", "name: n\n", "chat_template: auto\n", "modules: {}\n",
	"&x [*x]\n", "models: *x\n", "models: []\n", "slices: []\n", "merge_method: ties\n", "---\n" };

static void
write_parameters(struct buf *b, struct dice *d, const char *before)
{
	unsigned n = roll(d, 4);

	if (n == 0)
		return;
	buf_printf(b, "%sparameters:\n", before);
	while (n-- > 0)
		buf_printf(b, "%s  %s: %s\n", before, ONE_OF(d, keys), ONE_OF(d, values));
}

static void
write_models(struct buf *b, struct dice *d)
{
	unsigned n = 1 + roll(d, 4);

	buf_text(b, "models:\n");
	while (n-- > 0) {
		buf_printf(b, "  - model: %s\n", ONE_OF(d, models));
		write_parameters(b, d, "    ");
	}
}

static void
write_slices(struct buf *b, struct dice *d)
{
	unsigned n = 1 + roll(d, 3), k;

	buf_text(b, "slices:\n");
	while (n-- > 0) {
		buf_text(b, "  - sources:\n");
		for (k = 1 + roll(d, 3); k > 0; k--) {
			buf_printf(b, "      - model: %s\n        layer_range: [%u, %u]\n",
			           ONE_OF(d, models), roll(d, 8), roll(d, 12));
			write_parameters(b, d, "        ");
		}
		if (roll(d, 3) == 0)
			buf_printf(b, "    base_model: %s\n", ONE_OF(d, models));
		write_parameters(b, d, "    ");
	}
}

static const char *const tokens[] = { "a", "'<|im_start|>'", "\"\\e\"", "''", "~", "12", "[x]", "a" };
static const char *const token_sources[] = { "{source: a.gguf}", "{source: b, force: true}",
	"{source: {kind: zero}}", "{source: {kind: zero, model: b}}", "{force: maybe}", "{force: yes}",
	"{source: {kind: model_token, model: a.gguf, token: x}}",
	"{source: {kind: model_token, model: b, token_id: 7}}",
	"{source: {kind: model_token, model: b, token_id: 4294967295}}",
	"{source: {kind: model_token, model: b, token: q, token_id: 1}}", "{source: {kind: [a]}}",
	"{source: nobody}", "{sauce: a}", "{}", "a", "~", "{source: {model: a.gguf}}" };

static void
write_tokenizer(struct buf *b, struct dice *d)
{
	static const char *const sources[] = { "  source: union\n", "  source: base\n", "  source: b\n",
		"  source: [a]\n", "  pad_to_multiple_of: 8\n", "  tokens: a\n", "" };
	unsigned n = roll(d, 5);

	buf_printf(b, "tokenizer:\n%s", ONE_OF(d, sources));
	if (n > 0)
		buf_text(b, "  tokens:\n");
	while (n-- > 0)
		buf_printf(b, "    %s: %s\n", ONE_OF(d, tokens), ONE_OF(d, token_sources));
}

static void
write_recipe(struct buf *b, struct dice *d)
{
	buf_printf(b, "merge_method: %s\n", ONE_OF(d, methods));
	if (roll(d, 3))
		write_models(b, d);
	else
		write_slices(b, d);
	if (roll(d, 2))
		buf_printf(b, "base_model: %s\n", ONE_OF(d, models));
	write_parameters(b, d, "");
	if (roll(d, 3) == 0)
		write_tokenizer(b, d);
	if (roll(d, 3) == 0)
		buf_text(b, ONE_OF(d, lines));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	unsigned line = roll(&d, 12);
	struct buf b = { 0 };
	size_t at = 0;

	if (roll(&d, 3) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (roll(&d, 3) == 0) {
		write_recipe(&b, &d);
		return mutate_done(&b, data, size, max);
	}
	while (at < size && line > 0)
		line -= data[at++] == '\n';
	buf_put(&b, data, at);
	if (roll(&d, 2))
		buf_text(&b, ONE_OF(&d, lines));
	else
		write_parameters(&b, &d, roll(&d, 2) ? "    " : "");
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
