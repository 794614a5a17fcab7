#include "merge/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "kernels/kernel.h"
#include "merge/agree.h"
#include "merge/layer.h"
#include "merge/tokenizer_out.h"

static struct merge_input *
reference(const struct merge_plan *p)
{
	return &p->inputs[p->reference];
}

size_t
merge_plan_reference(const struct merge_recipe *r)
{
	const struct merge_slice *s = &r->slices[0];

	return s->has_base ? s->base.model : r->base != MERGE_NONE ? r->base : s->parts[0].model;
}

void
merge_plan_free(struct merge_plan *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		tensor_free(p->rows[i].t);
		free(p->rows[i].vectors);
	}
	free(p->rows);
	free(p->layers);
	model_free(&p->out);
	subject_free_files(&p->files);
	vocabulary_free(&p->words);
	*p = (struct merge_plan){ 0 };
}

/* ---- models that disagree ---- */

static int
check_models(struct merge_plan *p, struct err *e)
{
	const struct merge_input *a = reference(p);
	bool by_text = p->recipe->tokens != MERGE_TOKENS_SAME;
	size_t i;

	for (i = 0; i < p->recipe->model_count; i++) {
		const struct merge_input *b = &p->inputs[i];

		if (b == a || !merge_recipe_uses(p->recipe, i))
			continue;
		if (merge_check_architecture(a, b, e) < 0)
			return -1;
		if (!p->o.any_tokens && !by_text && merge_input_same_tokens(a, b, e) < 0)
			return err_hint(e, "--tokens union or base merges the rows of tokens by their "
			                "texts, --any-tokens by their numbers");
	}
	return !by_text ? 0 : vocabulary_make(&p->words, p->recipe, p->inputs, p->reference, e);
}

static size_t
count_layer(const struct merge_input *in, uint64_t layer)
{
	size_t i, n = 0;

	for (i = 0; i < merge_input_plan(in)->tensor_count; i++)
		n += in->layer[i] == layer;
	return n;
}

static int
check_layers(const struct merge_plan *p, const struct merge_part *part, struct err *e)
{
	const struct merge_input *in = &p->inputs[part->model];

	if (part->to <= in->layers)
		return 0;
	return err_set(e, ERR_INVALID, in->name, "has %llu layers, and layer_range ends at %llu",
	               (unsigned long long)in->layers, (unsigned long long)part->to);
}

/* ---- rows ---- */

static const struct merge_part *
part_of(const struct merge_slice *s, size_t vector)
{
	return vector < s->n ? &s->parts[vector] : &s->base;
}

/* The part whose tensors have the names and types of the result. */
static const struct merge_part *
leader(const struct merge_slice *s)
{
	return s->has_base ? &s->base : &s->parts[0];
}

/* The tensor of a part that corresponds to one of the leader, this far in its layers. */
static int
find_vector(const struct merge_plan *p, const struct merge_part *lead, size_t tensor,
            const struct merge_part *part, uint64_t ahead, bool table, struct merge_vector *to,
            struct err *e)
{
	const struct merge_input *a = &p->inputs[lead->model], *b = &p->inputs[part->model];
	const struct tensor *t = merge_input_plan(a)->tensors[tensor];
	bool moves = p->recipe->layered && a->layer[tensor] != MERGE_APART;
	char *name = moves ? merge_layer_name(tensor_name(t), part->from + ahead, e) : NULL;
	int r = 0;

	if (moves && !name)
		return -1;
	to->input = part->model;
	to->tensor = merge_input_find(b, name ? name : tensor_name(t));
	if (to->tensor == SIZE_MAX)
		r = merge_missing(b, name ? name : tensor_name(t), a, e);
	free(name);
	if (r < 0)
		return -1;
	return (table ? merge_check_rows : merge_check_shape)
		(a, t, b, merge_input_plan(b)->tensors[to->tensor], e);
}

/* The type of values that are computed. */
static const struct dtype *
storable(const struct dtype *own)
{
	return own->quantized || own->head > 0 || !kernel_encodes(own) || own->items != 1
		? dtype_by_name("F16") : own;
}

/* The type of the result; NULL if the tensor passes unchanged. */
static const struct dtype *
type_of(const struct merge_plan *p, const struct merge_input *in, const struct tensor *t,
        double scale)
{
	const struct dtype *own = tensor_type(t), *to = p->o.type;

	if (!merge_is_number(own))
		return NULL;
	if (to && in->subject.form == ARCH_GGUF && tensor_ndim(t) < 2)
		to = NULL;
	if (p->recipe->method->weigh == WEIGH_SCALE && scale == 1 && (!to || to == own))
		return NULL;
	return to ? to : storable(own);
}

/* Put a tensor in the place of the row's. NULL: e is filled. */
static int
put_tensor(struct merge_row *row, struct tensor *t)
{
	if (!t)
		return -1;
	tensor_free(row->t);
	row->t = t;
	return 0;
}

/* A table gets a row for each token of the result. */
static int
resize(const struct merge_plan *p, struct merge_row *row, const struct dtype *type, struct err *e)
{
	const struct tensor *t = row->t;
	uint64_t dims[TENSOR_DIMS];

	memcpy(dims, tensor_dims(t), tensor_ndim(t) * sizeof *dims);
	dims[0] = p->words.tokens;
	return put_tensor(row, tensor_new(tensor_name(t), strlen(tensor_name(t)), type, tensor_ndim(t),
	                                  dims, TENSOR_OWN_SIZE, p->inputs[p->reference].name, e));
}

/* Whether rules replace rows that the models have. */
static bool
forces(const struct merge_plan *p)
{
	size_t i;

	for (i = 0; i < p->words.rule_count && !p->words.rules[i].asked->force; i++)
		;
	return i < p->words.rule_count;
}

static int
make_tensor(const struct merge_plan *p, struct merge_row *row, const struct merge_part *lead,
            size_t tensor, uint64_t layer, struct err *e)
{
	const struct merge_input *in = &p->inputs[lead->model];
	const struct tensor *t = merge_input_plan(in)->tensors[tensor];
	double values[5 * MERGE_MODELS], scale = 1;
	struct blend_task task;
	const struct dtype *type;
	char *name;
	int r;

	if (!(row->t = tensor_copy(t)))
		return err_memory(e);
	if (layer != MERGE_APART) {
		if (!(name = merge_layer_name(tensor_name(t), layer, e)))
			return -1;
		r = put_tensor(row, tensor_rename(t, name, e));
		free(name);
		if (r < 0)
			return -1;
	}
	if (merge_row_task(p, row, values, &task, e) < 0)
		return -1;
	if (p->recipe->method->weigh == WEIGH_SCALE)
		scale = task.model[PARAM_SCALE][0];
	type = type_of(p, in, t, scale);
	if (!type && row->table && (p->words.replaced || forces(p)))
		type = storable(tensor_type(t));
	row->copied = !type;
	if (row->table && p->words.replaced)
		return resize(p, row, type, e);
	if (!type || type == tensor_type(row->t))
		return 0;
	return put_tensor(row, tensor_retype(row->t, type, e));
}

/* All vectors of a row can be computed, unless it is copied. */
static int
check_types(const struct merge_plan *p, const struct merge_row *row, size_t n, struct err *e)
{
	size_t i;

	for (i = 0; !row->copied && i < n; i++) {
		const struct merge_input *in = &p->inputs[row->vectors[i].input];
		const struct tensor *t = merge_input_plan(in)->tensors[row->vectors[i].tensor];

		if (!merge_is_number(tensor_type(t)))
			return err_set(e, ERR_FORMAT, in->name, "its tensor %s has the type %s, which "
			               "cannot be computed", tensor_name(t), tensor_type(t)->name);
	}
	return 0;
}

/* The models that rules of tokens name are among those of the row, and have the rows. */
static int
check_rules(const struct merge_plan *p, const struct merge_row *row, size_t n, struct err *e)
{
	size_t i, k;

	for (i = 0; i < p->words.rule_count; i++) {
		const struct vocabulary_rule *rule = &p->words.rules[i];
		size_t model = rule->asked->model;
		const char *fault = "the table of tokens is not made from this model";

		if (rule->asked->source != MERGE_TOKEN_MODEL)
			continue;
		for (k = 0; k < n && row->vectors[k].input != model; k++)
			;
		if (k < n) {
			const struct model *m = merge_input_plan(&p->inputs[model]);

			if (rule->row < tensor_dims(m->tensors[row->vectors[k].tensor])[0])
				continue;
			fault = "its table has no row for the token";
		}
		return err_set(e, ERR_INVALID, p->inputs[model].name, "line %zu of the recipe: %s",
		               rule->asked->line, fault);
	}
	return 0;
}

/* Add a tensor of the leader of a slice, this far in its layers. layer: that of the result. */
static int
add_row(struct merge_plan *p, const struct merge_slice *s, size_t tensor, uint64_t layer,
        uint64_t ahead, double position, struct err *e)
{
	const struct merge_part *lead = leader(s);
	size_t n = s->n + (s->has_base ? 1 : 0), i;
	struct merge_row *row;

	if (mem_grow(&p->rows, &p->cap, p->count + 1, sizeof *p->rows) < 0)
		return err_memory(e);
	row = &p->rows[p->count++];
	*row = (struct merge_row){ .slice = s, .position = position };
	row->vectors = mem_array(n, sizeof *row->vectors);
	if (!row->vectors)
		return err_memory(e);
	row->table = p->words.tokens > 0 && vocabulary_is_table(&p->inputs[lead->model], tensor);
	if (row->table && !p->words.replaced && lead->model != p->reference)
		return err_set(e, ERR_INVALID, p->inputs[lead->model].name, "its tokens differ, and "
		               "the result would take its rows of tokens");
	for (i = 0; i < n; i++)
		if (find_vector(p, lead, tensor, part_of(s, i), ahead, row->table, &row->vectors[i],
		                e) < 0)
			return -1;
	if (row->table && check_rules(p, row, n, e) < 0)
		return -1;
	if (make_tensor(p, row, lead, tensor, layer, e) < 0)
		return -1;
	if (row->copied) /* integers are those of the leader */
		row->vectors[0] = (struct merge_vector){ lead->model, tensor };
	return check_types(p, row, n, e);
}

/* ---- whole models ---- */

static double
position_of(uint64_t layer, uint64_t layers)
{
	if (layer == MERGE_APART)
		return 0;
	return layers > 1 ? (double)layer / (double)(layers - 1) : 1;
}

static int
plan_models(struct merge_plan *p, struct err *e)
{
	const struct merge_slice *s = &p->recipe->slices[0];
	const struct merge_input *in = &p->inputs[leader(s)->model];
	size_t i;

	for (i = 0; i < s->n; i++)
		if (merge_check_others(in, &p->inputs[s->parts[i].model], e) < 0)
			return -1;
	for (i = 0; i < merge_input_plan(in)->tensor_count; i++)
		if (add_row(p, s, i, MERGE_APART, 0, position_of(in->layer[i], in->layers), e) < 0)
			return -1;
	return 0;
}

/* ---- slices ---- */

/* The tensors outside of layers: those before them, or those behind them. */
static int
plan_apart(struct merge_plan *p, const struct merge_slice *s, bool before, struct err *e)
{
	const struct merge_input *in = &p->inputs[leader(s)->model];
	size_t i;

	for (i = 0; i < merge_input_plan(in)->tensor_count; i++)
		if (in->layer[i] == MERGE_APART && merge_input_is_before(in, i) == before &&
		    add_row(p, s, i, MERGE_APART, 0, 0, e) < 0)
			return -1;
	return 0;
}

static int
check_counts(const struct merge_plan *p, const struct merge_slice *s, uint64_t ahead,
             struct err *e)
{
	const struct merge_part *lead = leader(s);
	const struct merge_input *a = &p->inputs[lead->model];
	size_t n = count_layer(a, lead->from + ahead), i;

	for (i = 0; i < s->n; i++) {
		const struct merge_input *b = &p->inputs[s->parts[i].model];
		uint64_t layer = s->parts[i].from + ahead;

		if (count_layer(b, layer) != n)
			return err_set(e, ERR_INVALID, b->name, "its layer %llu has %zu tensors, and layer "
			               "%llu of %s has %zu", (unsigned long long)layer,
			               count_layer(b, layer), (unsigned long long)(lead->from + ahead),
			               a->name, n);
	}
	return 0;
}

static int
plan_layer(struct merge_plan *p, const struct merge_slice *s, uint64_t ahead, double position,
           struct err *e)
{
	const struct merge_part *lead = leader(s);
	const struct merge_input *in = &p->inputs[lead->model];
	size_t i;

	if (check_counts(p, s, ahead, e) < 0)
		return -1;
	if (mem_grow(&p->layers, &p->layer_cap, p->layer_count + 1, sizeof *p->layers) < 0)
		return err_memory(e);
	for (i = 0; i < merge_input_plan(in)->tensor_count; i++)
		if (in->layer[i] == lead->from + ahead &&
		    add_row(p, s, i, p->layer_count, ahead, position, e) < 0)
			return -1;
	p->layers[p->layer_count++] = lead->from + ahead;
	return 0;
}

static int
plan_slice(struct merge_plan *p, const struct merge_slice *s, struct err *e)
{
	const struct merge_part *lead = leader(s);
	uint64_t n = lead->to - lead->from, i;

	for (i = 0; i < s->n; i++)
		if (check_layers(p, &s->parts[i], e) < 0)
			return -1;
	if (check_layers(p, lead, e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (plan_layer(p, s, i, position_of(i, n), e) < 0)
			return -1;
	return 0;
}

static int
plan_slices(struct merge_plan *p, struct err *e)
{
	const struct merge_recipe *r = p->recipe;
	size_t i;

	if (plan_apart(p, &r->slices[0], true, e) < 0)
		return -1;
	for (i = 0; i < r->slice_count; i++)
		if (plan_slice(p, &r->slices[i], e) < 0)
			return -1;
	return plan_apart(p, &r->slices[r->slice_count - 1], false, e);
}

/* ---- the plan of the result ---- */

static int
put_tensors(struct merge_plan *p, struct err *e)
{
	struct model *m = &p->out;
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		tensor_free(m->tensors[i]);
	m->tensor_count = 0;
	for (i = 0; i < p->count; i++) {
		struct tensor *t = tensor_copy(p->rows[i].t);

		if (!t)
			return err_memory(e);
		if (model_add_tensor(m, t, e) < 0)
			return -1;
	}
	return 0;
}

static int
put_records(struct merge_plan *p, struct err *e)
{
	size_t i, k;

	p->out.signatures = 0;
	p->out.prov_count = 0;
	for (i = 0; i < p->recipe->model_count; i++)
		for (k = 0; k < p->inputs[i].record_count; k++)
			if (model_add_prov(&p->out, p->inputs[i].records[k].n, e) < 0)
				return -1;
	return 0;
}

/* general.file_type, as llama.cpp numbers it, follows the type of most values. */
static int
put_file_type(struct merge_plan *p, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	static const struct { const char *type; uint32_t number; } types[] = {
		{ "F32", 0 }, { "F16", 1 }, { "BF16", 32 }
	};
	uint64_t values[3] = { 0 }, of = 0;
	size_t i, k, most = 0;
	uint8_t wire[4];

	if (!model_find(&p->out, "general.file_type"))
		return 0;
	for (i = 0; i < p->count; i++)
		for (k = 0; k < 3; k++)
			if (strcmp(tensor_type(p->rows[i].t)->name, types[k].type) == 0) {
				values[k] += tensor_items(p->rows[i].t);
				of += tensor_items(p->rows[i].t);
			}
	for (k = 0; k < 3; k++)
		most = values[k] > values[most] ? k : most;
	if (of < model_parameters(&p->out))
		return 0; /* layers pass in quantized types */
	le32_put(wire, types[most].number);
	return model_set_meta(&p->out, "general.file_type", u32, wire, sizeof wire, e);
}

static void
drop_quantization(struct merge_plan *p)
{
	static const char *const keys[] = { "general.quantization_version", "quantize.imatrix.file",
		"quantize.imatrix.dataset", "quantize.imatrix.entries_count",
		"quantize.imatrix.chunks_count" };
	size_t i;

	for (i = 0; i < p->count; i++)
		if (tensor_type(p->rows[i].t)->quantized)
			return;
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		model_unset_meta(&p->out, keys[i]);
	for (i = p->out.meta_count; i > 0; i--)
		if (strncmp(p->out.meta[i - 1].key, "apr.quantization.", 17) == 0)
			model_unset_meta(&p->out, p->out.meta[i - 1].key);
}

static int
put_recipe(struct merge_plan *p, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf text = { 0 }, wire = { 0 };
	int r = merge_record(p, &text, e);

	buf_u64(&wire, text.n);
	buf_put(&wire, text.p, text.n);
	if (r == 0)
		r = !buf_ok(&wire) ? err_memory(e)
			: text.n >= VALUE_INLINE_BYTES ? 0
			: model_put_meta(&p->out, "apr.merge.recipe", string, wire.p, wire.n, e);
	buf_free(&text);
	buf_free(&wire);
	return r;
}

static int
make_model(struct merge_plan *p, struct err *e)
{
	struct merge_input *in = reference(p);

	if (model_copy(&p->out, merge_input_plan(in), e) < 0)
		return -1;
	p->out.holes = 0;
	if (p->words.replaced && tokenizer_apply(&p->words, in, &p->out, &p->files, e) < 0)
		return -1;
	if (put_tensors(p, e) < 0 || put_records(p, e) < 0 || put_file_type(p, e) < 0)
		return -1;
	drop_quantization(p);
	if (p->recipe->layered &&
	    merge_layers_apply(in, p->layers, p->layer_count, &p->out, &p->files, e) < 0)
		return -1;
	subject_resize(&p->files, &p->out);
	return put_recipe(p, e);
}

int
merge_plan_make(struct merge_plan *p, const struct merge_recipe *r,
                const struct merge_options *o, struct merge_input *inputs, struct err *e)
{
	*p = (struct merge_plan){ .recipe = r, .o = *o, .inputs = inputs,
		.reference = merge_plan_reference(r) };
	if (check_models(p, e) < 0 || (r->layered ? plan_slices(p, e) : plan_models(p, e)) < 0)
		return -1;
	return make_model(p, e);
}
