#include "load/adapters.h"

#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/subject.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "formats/format.h"
#include "lora/low.h"

/* The folder of PEFT that a file stands for, in a new string; NULL: the file stands for itself. */
static char *
folder_of(const char *path)
{
	static const char *const files[] = { "adapter_config.json", "adapter_model.safetensors",
		"adapter_model.bin" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < sizeof files / sizeof *files; i++)
		if (strcmp(name, files[i]) == 0)
			return slash ? mem_text(path, (size_t)(slash - path) + 1) : mem_text(".", 1);
	return format_folder_of(path);
}

int
adapters_declare(struct adapters *a, struct lora_name *names, size_t n, struct err *e)
{
	size_t i;

	*a = (struct adapters){ .names = names, .n = names ? n : 0 };
	if (!names)
		return -1;
	a->loads = mem_array(n, sizeof *a->loads);
	a->loras = mem_array(n, sizeof *a->loras);
	if (!a->loads || !a->loras)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		char *folder = folder_of(names[i].path);

		if (folder) {
			free(names[i].path);
			names[i].path = folder;
		}
		sandbox_read(names[i].path);
		if (format_may_spool(names[i].path))
			sandbox_spool();
	}
	return 0;
}

int
adapters_open(struct adapters *a, void (*note)(const char *), struct err *e)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (load_open(&a->loads[i], a->names[i].path, note, e) < 0 ||
		    lora_read(&a->loras[i], &a->loads[i].weights, a->names[i].scale, e) < 0)
			return -1;
	return 0;
}

int
adapters_check(const struct adapters *a, struct err *e)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (load_check(&a->loads[i], e) < 0)
			return -1;
	return 0;
}

void
adapters_close(struct adapters *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (a->loras)
			lora_free(&a->loras[i]);
		if (a->loads)
			load_close(&a->loads[i]);
	}
	lora_names_free(a->names, a->n);
	free(a->loads);
	free(a->loras);
	*a = (struct adapters){ 0 };
}

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
