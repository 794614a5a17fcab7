#include "quant/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "quant/clip.h"
#include "quant/record.h"

/* Tensors that would stay unquantized are too much if they are over 1/100 of the model,
 * unless they are small in bytes. */
#define FLOAT_SHARE 100
#define FLOAT_BYTES (16u << 20)

/* The number under "ARCHITECTURE.KEY", or the first item if it is a list (some models
 * have one for each block), or 0. */
static uint64_t
number_of(const struct model *m, const char *architecture, const char *key)
{
	static const size_t array_head = 12;
	char full[160];
	const struct meta *k;
	struct value_type item;
	uint64_t v;

	snprintf(full, sizeof full, "%s.%s", architecture, key);
	k = model_find(m, full);
	if (!k || !k->wire)
		return 0;
	if (value_u64(k->type, k->wire, k->wire_bytes, &v) == 0)
		return v;
	item = (struct value_type){ 0, k->type.leaf };
	if (k->type.depth == 1 &&
	    k->wire_bytes >= array_head + value_leaf_bytes(item.leaf) &&
	    value_u64(item, k->wire + array_head, value_leaf_bytes(item.leaf), &v) == 0)
		return v;
	return 0;
}

static void
facts_of(const struct model *m, const struct mixture_model *known,
         struct mixture_model *facts, char *architecture, size_t size)
{
	const struct meta *k = model_find(m, "general.architecture");
	const char *text = NULL;
	size_t n = 0;

	if (k && k->wire)
		text = value_string(k->type, k->wire, k->wire_bytes, &n);
	snprintf(architecture, size, "%.*s", text ? (int)(n < 100 ? n : 100) : 0,
	         text ? text : "");
	*facts = (struct mixture_model){ .architecture = architecture };
	facts->blocks = number_of(m, architecture, "block_count");
	facts->heads = number_of(m, architecture, "attention.head_count");
	facts->heads_kv = number_of(m, architecture, "attention.head_count_kv");
	facts->experts = number_of(m, architecture, "expert_count");
	if (!facts->heads_kv)
		facts->heads_kv = facts->heads;
	if (known && facts->blocks == 0)
		*facts = *known;
	facts->names = known ? known->names : NULL;
}

/* The caller's own fallback in place of llama-quantize's. */
static void
fall_back(struct recipe *r, const struct recipe_options *o, const struct tensor *t,
          struct mixture_choice *c)
{
	switch (o->fallback) {
	case RECIPE_ERROR:
		err_set(&r->objection, ERR_INVALID, tensor_name(t),
		        "%s needs rows of %u, got %" PRIu64,
		        c->wanted->name, c->wanted->items, tensor_row(t));
		err_hint(&r->objection, "--fallback warn takes %s instead", c->type->name);
		break;
	case RECIPE_TYPE:
		if (!dtype_fills(o->fallback_type, tensor_row(t)))
			err_set(&r->objection, ERR_INVALID, tensor_name(t),
			        "the fallback %s needs rows of %u, got %" PRIu64,
			        o->fallback_type->name, o->fallback_type->items, tensor_row(t));
		else
			c->type = o->fallback_type;
		break;
	case RECIPE_DEFAULT:
	case RECIPE_WARN:
		break;
	}
}

/* A float of 16 bits or more: it holds the values of blocks as nearly as it can. */
static bool
is_plain_float(const struct dtype *t)
{
	return strcmp(t->name, "F32") == 0 || strcmp(t->name, "F16") == 0 ||
	       strcmp(t->name, "BF16") == 0;
}

/* Encoding what is quantized already adds a second error; decoding adds none. */
static void
check_again(struct recipe *r, const struct recipe_options *o, const struct tensor *t,
            const struct dtype *to)
{
	const struct dtype *from = tensor_type(t);

	if (!from->quantized)
		return;
	r->again++;
	if (o->allow_requantize || is_plain_float(to))
		return;
	err_set(&r->objection, ERR_INVALID, tensor_name(t),
	        "is quantized already (%s): what was lost stays lost", from->name);
	err_hint(&r->objection, "--allow-requantize does it all the same");
}

/* True if the type's encoder does without importance. */
static bool
encodes_plainly(const struct dtype *t)
{
	return t->head || kernel_for(t)->encode;
}

/* What a change of type needs beyond a plan. */
static void
check_change(struct recipe *r, const struct recipe_options *o, const struct tensor *t,
             const struct mixture_choice *c)
{
	const struct dtype *from = tensor_type(t);

	if (!kernel_decodes(from))
		err_set(&r->objection, ERR_FORMAT, tensor_name(t), "%s cannot be decoded here: "
		        "UnsupportedQuantization",
		        from->name);
	if (!kernel_encodes(c->type)) {
		err_set(&r->missing, ERR_USAGE, tensor_name(t),
		        "there is no encoder for %s here", c->type->name);
	} else if ((c->needs_importance || !encodes_plainly(c->type)) &&
	           !r->rows[r->count - 1].importance) {
		err_set(&r->missing, ERR_USAGE, tensor_name(t),
		        "%s without importance weights is noise", c->type->name);
		err_hint(&r->missing, o->imatrix ? "the importance matrix has none for this tensor; "
		         "--tensor-type gives it another type" :
		         "--imatrix FILE gives them; llama-imatrix makes FILE from a text");
	}
	check_again(r, o, t, c->type);
}

/* The entry of tensor number i: by its own name, or by that in GGUF. */
static struct imatrix_entry *
entry_of(const struct recipe_options *o, const struct tensor *t, size_t i)
{
	struct imatrix_entry *x = imatrix_find(o->imatrix, tensor_name(t));

	return x || !o->model ? x : imatrix_find(o->imatrix, o->model->names[i].gguf);
}

/* The place in an entry of n columns where those of a tensor begin: 0, or that of its expert in
 * an entry for all. -1: the entry does not fit. */
static int
place_in(const struct imatrix_entry *x, const struct mixture_name *name, uint64_t n,
         uint64_t *at)
{
	*at = 0;
	if (n == x->n)
		return 0;
	if (!name || !name->of_expert || n == 0 || x->n % n || name->expert >= x->n / n)
		return -1;
	*at = name->expert * n; /* below x->n */
	return 0;
}

/* The importance of the columns of tensor number r->count - 1. An entry that does not fit is an
 * error, except for the embedding, whose columns are looked up and not multiplied. */
static void
weigh(struct recipe *r, const struct recipe_options *o, const struct tensor *t,
      struct recipe_row *row)
{
	const struct mixture_name *name = o->model ? &o->model->names[r->count - 1] : NULL;
	const struct kernel *k = kernel_for(row->to);
	uint64_t matrices = 1, n = 0, at;
	struct imatrix_entry *x;
	unsigned i;

	if (!k || !row->from->items || tensor_row(t) % row->from->items ||
	    !(k->encode_weighted || (o->calibration && clip_encodes(row->to))))
		return;
	r->weighable++;
	x = o->imatrix ? entry_of(o, t, r->count - 1) : NULL;
	if (!x)
		return;
	for (i = 0; i + 2 < tensor_ndim(t); i++)
		matrices *= tensor_dims(t)[i]; /* proved by the descriptor */
	if (num_mul(matrices, tensor_row(t), &n) < 0 || place_in(x, name, n, &at) < 0) {
		if (strcmp(name ? name->gguf : tensor_name(t), "token_embd.weight") != 0)
			err_set(&r->objection, ERR_INVALID, tensor_name(t), "has %" PRIu64
			        " columns, its importance %zu", n, x->n);
		return;
	}
	x->used = true;
	row->importance = x->values + at;
	r->weighed++;
}

/* The choice of a hook, after the rules. */
static int
ask(const struct recipe_options *o, const struct tensor *t, struct mixture_choice *c,
    struct err *e)
{
	const struct dtype *type = c->wanted;

	if (!o->ask || c->kept)
		return 0;
	if (o->ask(o->ask_ctx, t, &type, e) < 0)
		return -1;
	if (type == c->wanted)
		return 0;
	*c = (struct mixture_choice){ .type = mixture_fallback(type, tensor_row(t)),
		.wanted = type, .rule = "--hook", .named = c->named };
	if (type == tensor_type(t))
		c->type = type;
	return 0;
}

static int
make_row(struct recipe *r, const struct recipe_options *o, const struct tensor *t,
         struct mixture_choice *c, struct err *e)
{
	struct recipe_row *row = &r->rows[r->count++];
	struct tensor *after;

	if (c->type != c->wanted)
		fall_back(r, o, t, c);
	*row = (struct recipe_row){ .from = tensor_type(t), .to = c->type,
		.wanted = c->wanted, .rule = c->rule, .bytes = tensor_bytes(t),
		.encoder = true };
	r->bytes_in += tensor_bytes(t);
	if (c->type != c->wanted) {
		r->fallbacks++;
		r->fallback_bytes += c->type->quantized ? 0 : tensor_bytes(t);
	}
	r->open += !c->kept;
	r->named += !c->kept && c->named;
	if (row->to != row->from) {
		row->encoder = kernel_encodes(row->to);
		weigh(r, o, t, row);
		check_change(r, o, t, c);
		after = tensor_retype(t, row->to, e);
		if (!after)
			return -1;
		row->bytes = tensor_bytes(after);
		tensor_free(after);
		r->changed++;
	}
	r->bytes_out += row->bytes;
	return 0;
}

/* An importance matrix of other tensors would change nothing, yet be recorded. */
static int
check_imatrix(const struct model *m, const struct recipe_options *o, struct err *e)
{
	struct imatrix *x = o->imatrix;
	size_t i;

	if (!x || m->tensor_count == 0)
		return 0;
	for (i = 0; i < m->tensor_count; i++)
		if (entry_of(o, m->tensors[i], i))
			return 0;
	err_set(e, ERR_USAGE, o->imatrix_path, "none of its %zu entries has the name of a tensor "
	        "of the model", x->n);
	return err_hint(e, "an entry is %.80s, a tensor %.80s", x->entries[x->n - 1].name,
	                tensor_name(m->tensors[0]));
}

/* Facts of the whole recipe, once it has all rows. */
static void
judge(struct recipe *r, const struct recipe_options *o)
{
	if (o->fallback == RECIPE_DEFAULT && r->fallback_bytes > FLOAT_BYTES &&
	    r->fallback_bytes > r->bytes_in / FLOAT_SHARE) {
		err_set(&r->objection, ERR_INVALID, NULL, "%.1f %% of the bytes cannot become %s,"
		        " their rows do not fill its blocks",
		        100 * (double)r->fallback_bytes / (double)r->bytes_in,
		        o->mixture->name);
		err_hint(&r->objection, "--fallback warn accepts that, --dry-run shows which");
	}
	if (r->count && r->open == 0) {
		err_set(&r->objection, ERR_INVALID, NULL, "no tensor is one that %s changes",
		        o->mixture->name);
		err_hint(&r->objection, "--dry-run says why each stays unchanged");
	}
	if (o->calibration && r->changed && r->weighable == 0) {
		err_set(&r->objection, ERR_USAGE, NULL, "%s has no ranges that --calibration could "
		        "choose", o->mixture->name);
		err_hint(&r->objection, "types of blocks, such as q8_0 and q4_k_m, have");
	}
}

int
recipe_make(struct recipe *r, const struct model *m, const struct recipe_options *o,
            struct err *e)
{
	struct mixture_choice *choices = mem_array(m->tensor_count, sizeof *choices);
	struct mixture_model facts;
	char architecture[104];
	int status;
	size_t i;

	*r = (struct recipe){ 0 };
	r->rows = mem_array(m->tensor_count, sizeof *r->rows);
	if (!r->rows || !choices) {
		free(choices);
		return err_memory(e);
	}
	facts_of(m, o->model, &facts, architecture, sizeof architecture);
	facts.importance = o->imatrix != NULL;
	status = mixture_choose(o->mixture, &o->how, &facts, m->tensors, m->tensor_count,
	                        choices, e);
	if (status == 0 && o->how.overrides)
		status = override_all_used(o->how.overrides, e);
	if (status == 0)
		status = check_imatrix(m, o, e);
	for (i = 0; status == 0 && i < m->tensor_count; i++) {
		status = ask(o, m->tensors[i], &choices[i], e);
		if (status == 0)
			status = make_row(r, o, m->tensors[i], &choices[i], e);
	}
	free(choices);
	if (status == 0)
		judge(r, o);
	return status;
}

int
recipe_apply(const struct recipe *r, const struct recipe_options *o, struct model *m,
             struct err *e)
{
	size_t i;

	if (o->prune && prune_apply(o->prune, m, e) < 0)
		return -1;
	for (i = 0; i < r->count; i++) {
		struct tensor *t;

		if (r->rows[i].to == r->rows[i].from)
			continue;
		t = tensor_retype(m->tensors[i], r->rows[i].to, e);
		if (!t)
			return -1;
		tensor_free(m->tensors[i]);
		m->tensors[i] = t;
	}
	return record_apply(r, o, m, e);
}

int
recipe_allowed(const struct recipe *r, bool plan_only, struct err *e)
{
	if (r->objection.code != ERR_NONE)
		*e = r->objection;
	else if (r->missing.code != ERR_NONE && !plan_only)
		*e = r->missing;
	return e->code == ERR_NONE ? 0 : -1;
}

void
recipe_free(struct recipe *r)
{
	free(r->rows);
	*r = (struct recipe){ 0 };
}
