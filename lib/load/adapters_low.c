/* Adapters beside a model that computes. */
#include "arch/guess.h"
#include "arch/subject.h"
#include "load/adapters.h"
#include "lora/low.h"

/* Hyper-parameters of the model, for the order of its rows. */
static int
read_sizes(struct sizes *sizes, const struct weights *w, const struct lora_base *base,
           struct err *e)
{
	const uint8_t *p;
	json_t *config;
	size_t n;
	int r;

	if (base->form == ARCH_GGUF)
		return sizes_keys(sizes, w, base->arch->name, e);
	p = weights_file(w, "config.json", &n);
	if (!p)
		return 0;
	config = json_parse_wide(p, n, ERR_CORRUPT, "config.json", e);
	if (!config)
		return -1;
	subject_flatten(config);
	r = sizes_config(sizes, config, e);
	json_decref(config);
	return r;
}

int
adapters_low(const struct adapters *a, const struct weights *model, struct low_rank **low,
             size_t *n, struct err *e)
{
	struct sizes sizes = { .of = { 0 } };
	struct lora_base base = { .plan = model->plan, .sizes = &sizes };
	struct lora_aim aim = { .count = 0 };
	size_t i;
	int r;

	*low = NULL;
	*n = 0;
	base.arch = arch_find(NULL, model->plan, model->name, e);
	if (!base.arch)
		return -1;
	base.form = arch_form_of(base.arch, model->plan);
	r = read_sizes(&sizes, model, &base, e);
	for (i = 0; r == 0 && i < a->n; i++)
		r = lora_aim_add(&aim, &a->loras[i], &base, e);
	if (r == 0)
		r = low_make(low, n, &aim, model->plan->tensor_count, e);
	lora_aim_free(&aim);
	return r;
}
