#include "load/adapters.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/sandbox.h"
#include "formats/format.h"

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
