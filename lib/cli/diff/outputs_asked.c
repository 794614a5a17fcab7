#include "cli/diff/outputs_asked.h"

#include <stdlib.h>
#include <string.h>

#include "cli/prompt.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/thread.h"
#include "generate/computes.h"
#include "infer/watch.h"
#include "quality/outputs.h"
#include "report/outputs_text.h"

#define SAME 1e-6 /* mean divergence of models that say the same */

/* Texts of several kinds, written for this purpose: prose, dialogue, a list, numbers, code, and
 * other scripts. */
static const char *const builtin[] = {
	"The harbour was quiet when the last boat came in. Two men tied it to the wall, said good "
	"night, and went up the hill without looking back at the water.",
	"\"Have you counted them?\" asked the clerk. \"Twice,\" she said, \"and twice there were "
	"nineteen. Count them yourself if you do not trust me.\"",
	"A recipe for bread: mix 500 g of flour with 10 g of salt, add 350 ml of warm water and 3 g "
	"of yeast, knead for ten minutes, and let the dough rest overnight.",
	"The sum of the first hundred numbers is 5050, because the first and the last make 101, and "
	"so do the second and the one before the last, fifty times in all.",
	"int max(const int *v, int n)\n{\n\tint i, m = v[0];\n\n\tfor (i = 1; i < n; i++)\n\t\tif "
	"(v[i] > m)\n\t\t\tm = v[i];\n\treturn m;\n}\n",
	"Der Zug nach Norden f\303\244hrt um sieben Uhr ab. Les enfants jouent dans la cour, et le "
	"vent porte leurs voix. El mercado abre temprano.",
	"Question: which planet is closest to the sun?\nAnswer: Mercury.\nQuestion: how many legs "
	"does a spider have?\nAnswer: eight.\nQuestion: what do bees make?\nAnswer:",
	"Once upon a time there was a small fox who lived at the edge of a wood. Every morning she "
	"went to the river to see her own face in the water.",
};

/* ---- the command line ---- */

static int
limit(const char *name, const char *text, double most, double *to, struct err *e)
{
	if (!text || text_decimal(text, 0, most, to) == 0)
		return 0;
	return tool_misused(e, "--%s is a number from 0 to %g, not %.40s", name, most, text);
}

int
outputs_asked_check(const struct outputs_asked *o, const struct diff_asked *a, struct err *e)
{
	if (!o->file && (o->layers || o->count || o->kl || o->top1))
		return tool_misused(e, "--layers, --count, --max-kl and --min-top1 need --run");
	if (o->file && (a->only.n || a->except.n || a->tolerance || a->drift || a->delta || a->l2 ||
	                a->cosine || a->diff.metadata || a->diff.tensors))
		return tool_misused(e, "--run compares what models say, not their tensors");
	return 0;
}

int
outputs_asked_read(struct outputs_asked *o, const char *const path[2], struct err *e)
{
	const struct prompt_from from = { .file = o->file };
	struct tokens none = { 0 };
	struct buf text = { 0 };
	size_t i;
	int r = 0;

	o->max_kl = SAME;
	o->min_top1 = o->kl ? 0 : 1;
	if (o->top1 && !o->kl)
		o->max_kl = 1e9;
	o->jobs = o->jobs ? o->jobs : thread_count();
	o->count = o->count ? o->count : OUTPUTS_COUNT;
	if (limit("max-kl", o->kl, 1e9, &o->max_kl, e) < 0 ||
	    limit("min-top1", o->top1, 1, &o->min_top1, e) < 0)
		return -1;
	for (i = 0; i < 2; i++)
		if (strcmp(path[i], "-") == 0 && strcmp(o->file, "-") == 0)
			return tool_misused(e, "the prompts and a model cannot both be standard input");
	for (i = 0; r == 0 && strcmp(o->file, OUTPUTS_BUILTIN) == 0 &&
	     i < sizeof builtin / sizeof *builtin; i++)
		r = prompts_add(&o->prompts, builtin[i], strlen(builtin[i]), i + 1, e);
	if (o->prompts.n > 0 || r < 0)
		return r;
	r = prompt_take(&from, path[0], &text, &none, e);
	if (r == 0)
		r = prompts_parse(&o->prompts, text.p, text.n, o->file, e);
	buf_free(&text);
	return r;
}

void
outputs_asked_free(struct outputs_asked *o)
{
	prompts_free(&o->prompts);
}

/* ---- the models ---- */

struct outputs_of {
	const struct outputs_asked *o;
	const struct weights *weights[2];
	struct tokenizer *tokenizer; /* of A; NULL: prompts must be token ids */
	struct tokens *ids;          /* of each prompt */
	size_t longest;
	struct computes model[2];
	struct divergence all;
	struct layer_drift *drift;
	struct buf text;
};

static int
encode(struct outputs_of *p, struct err *e)
{
	const struct tokenizer_options how = { .note = tool_note };
	const struct prompts *from = &p->o->prompts;
	bool needed = false;
	size_t i;

	for (i = 0; i < from->n; i++)
		needed |= from->item[i].text != NULL;
	p->tokenizer = tokenizer_of(p->weights[0], &how, e);
	if (!p->tokenizer && (needed || e->code != ERR_FORMAT))
		return -1;
	*e = (struct err)ERR_INIT;
	p->ids = mem_array(from->n, sizeof *p->ids);
	if (!p->ids)
		return err_memory(e);
	for (i = 0; i < from->n; i++) {
		const struct prompt_line *l = &from->item[i];
		const struct buf text = { .p = (uint8_t *)l->text, .n = l->text ? strlen(l->text) : 0 };
		size_t k;

		if (l->text && prompt_encode(p->tokenizer, &text, &p->ids[i], e) < 0)
			return -1;
		for (k = 0; !l->text && k < l->ids.n; k++)
			if (tokens_add(&p->ids[i], l->ids.id[k], e) < 0)
				return -1;
		p->longest = p->ids[i].n > p->longest ? p->ids[i].n : p->longest;
	}
	return 0;
}

static int
open_models(struct outputs_of *p, struct err *e)
{
	const struct infer_options how = { .context = p->longest + p->o->count,
		.threads = (unsigned)p->o->jobs };
	size_t i;

	for (i = 0; i < 2; i++)
		if (computes_open(&p->model[i], p->weights[i], &how, tool_note, e) < 0)
			return -1;
	p->drift = p->o->layers ? mem_array(infer_blocks(p->model[0].infer), sizeof *p->drift) : NULL;
	return p->drift || !p->o->layers ? 0 : err_memory(e);
}

static void
close_models(struct outputs_of *p)
{
	size_t i;

	for (i = 0; i < 2; i++)
		computes_close(&p->model[i]);
	for (i = 0; p->ids && i < p->o->prompts.n; i++)
		tokens_free(&p->ids[i]);
	free(p->ids);
	free(p->drift);
	tokenizer_free(p->tokenizer);
	divergence_free(&p->all);
	buf_free(&p->text);
}

/* ---- comparing ---- */

static int
compare_prompts(struct outputs_of *p, struct err *e)
{
	const struct outputs_asked *o = p->o;
	struct sequence *a = p->model[0].sequence, *b = p->model[1].sequence;
	struct output one;
	size_t i;

	if (!o->json)
		outputs_put_head(&p->text);
	for (i = 0; i < o->prompts.n; i++) {
		const struct tokens *ids = &p->ids[i];

		if (outputs_compare(a, b, ids->id, ids->n, o->count, &p->all, &one, e) < 0 ||
		    (o->layers && outputs_layers(a, b, ids->id, ids->n, p->drift, e) < 0))
			return -1;
		if (o->json)
			outputs_put_json(&p->text, &o->prompts.item[i], &one);
		else
			outputs_put(&p->text, &o->prompts.item[i], &one, p->tokenizer);
		if (!o->quiet && tool_print(&p->text, e) < 0)
			return -1;
		buf_clear(&p->text);
	}
	return 0;
}

static int
conclude(struct outputs_of *p, struct err *e)
{
	const struct outputs_asked *o = p->o;
	struct divergence_figures f;
	bool differs;

	divergence_figures(&p->all, &f);
	differs = f.kl.value > o->max_kl || f.same_top.value < (f.count ? o->min_top1 : 0);
	if (o->json)
		outputs_put_total_json(&p->text, &f, differs);
	else
		outputs_put_total(&p->text, &f);
	if (o->layers && o->json)
		outputs_put_layers_json(&p->text, p->drift, infer_blocks(p->model[0].infer));
	else if (o->layers)
		outputs_put_layers(&p->text, p->drift, infer_blocks(p->model[0].infer));
	if (!o->quiet && tool_print(&p->text, e) < 0)
		return -1;
	if (differs && o->quiet)
		*e = (struct err){ .code = ERR_CHILD, .status = 1 }; /* without a message */
	else if (differs && (o->kl || o->top1))
		err_set(e, ERR_NO, p->weights[1]->name, "a limit does not hold: KL %.6f, top-1 agreement "
		        "%.2f%%", f.kl.value, 100 * f.same_top.value);
	else if (differs)
		err_set(e, ERR_NO, p->weights[1]->name, "does not say the same as %s",
		        p->weights[0]->name);
	return differs ? -1 : 0;
}

int
outputs_asked_run(const struct outputs_asked *o, const struct weights *a, const struct weights *b,
                  struct err *e)
{
	struct outputs_of p = { .o = o, .weights = { a, b } };
	int r = encode(&p, e) < 0 || open_models(&p, e) < 0 || compare_prompts(&p, e) < 0 ||
	        conclude(&p, e) < 0 ? -1 : 0;

	close_models(&p);
	return r;
}
