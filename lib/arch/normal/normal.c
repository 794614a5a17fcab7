#include "arch/normal/normal.h"

#include <string.h>

#include "arch/normal/rows.h"

#define GROUPS 4

/* Groups of rows by names of GGUF, or of folders if GGUF has none. */
static const struct {
	const char *arch;
	const struct normal *rows[GROUPS];
} table[] = {
	{ "llama", { normal_llama } },
	{ "smollm3", { normal_llama } },
	{ "granite", { normal_llama } },
	{ "phi3", { normal_llama } },
	{ "deepseek2", { normal_llama } },
	{ "gpt-oss", { normal_llama } },
	{ "qwen2", { normal_qwen, normal_llama } },
	{ "qwen3", { normal_qwen, normal_llama } },
	{ "qwen2moe", { normal_qwen, normal_llama } },
	{ "qwen3moe", { normal_qwen, normal_llama } },
	{ "olmo2", { normal_olmo, normal_llama } },
	{ "gemma2", { normal_gemma, normal_llama } },
	{ "gemma3", { normal_gemma, normal_llama } },
	{ "gpt2", { normal_layer_norm, normal_gpt2, normal_llama } },
	{ "gptneox", { normal_layer_norm, normal_llama } },
	{ "phi2", { normal_layer_norm, normal_llama } },
	{ "stablelm", { normal_layer_norm, normal_llama } },
	{ "starcoder2", { normal_layer_norm, normal_llama } },
	{ "falcon", { normal_layer_norm, normal_llama } },
	{ "command-r", { normal_layer_norm, normal_llama } },
	{ "nemotron", { normal_one_less, normal_layer_norm, normal_llama } },
	{ "bert", { normal_bert, normal_llama } },
	{ "t5", { normal_t5 } },
	{ "mamba", { normal_mamba, normal_llama } },
	{ "whisper", { normal_whisper } },
};

/* The rows of an architecture, in order of preference: groups ended by NULL, and each group
 * ended by a row without source. */
static const struct normal *const *
rows_of(const struct arch *a)
{
	static const struct normal *const none[] = { NULL };
	size_t i;

	for (i = 0; a && i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].arch, a->name ? a->name : a->folder) == 0)
			return table[i].rows;
	return none;
}

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static bool
row_is(const struct normal *n, enum arch_form form, const struct match *m)
{
	const char *name = rule_name(m->rule);

	if (n->bias != m->bias || (n->form == IN_GGUF && form != ARCH_GGUF) ||
	    (n->form == IN_FOLDERS && form == ARCH_GGUF))
		return false;
	return n->name ? m->rule->role == ROLES && name && ends_with(name, n->name)
	               : n->role == m->rule->role;
}

const struct normal *
normal_find(const struct arch *a, enum arch_form form, const struct match *m, enum normal_of of)
{
	const struct normal *const *group = rows_of(a), *n;

	for (; *group; group++)
		for (n = *group; n->source; n++)
			if (n->of == of && row_is(n, form, m))
				return n;
	return NULL;
}

bool
normal_is_norm(const struct arch_rule *r)
{
	const char *gguf = r->role < ROLES ? role_name(r->role, ARCH_GGUF) : NULL;
	const char *name = gguf ? gguf : rule_name(r);

	return name && strstr(name, "norm");
}
