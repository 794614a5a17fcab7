#include <stdio.h>
#include <string.h>

#include "arch/guess.h"
#include "check/lint_parts.h"
#include "core/text.h"

/* Ends of names that other frameworks write. */
static const struct {
	const char *end, *usual;
} ends[] = {
	{ ".w", ".weight" }, { ".b", ".bias" }, { ".gamma", ".weight" }, { ".beta", ".bias" },
	{ ".kernel", ".weight" }, { ".weights", ".weight" }, { ".biases", ".bias" },
	{ "/kernel", ".weight" }, { "/bias", ".bias" },
};

/* Writes the name with its usual end, or returns false. */
static bool
usual_end(const char *name, char *to, size_t size)
{
	size_t n = strlen(name), i, k;

	for (i = 0; i < sizeof ends / sizeof *ends; i++) {
		k = strlen(ends[i].end);
		if (n > k && n < size - 8 && strcmp(name + n - k, ends[i].end) == 0) {
			snprintf(to, size, "%.*s%s", (int)(n - k), name, ends[i].usual);
			return true;
		}
	}
	return false;
}

/* A fix by apr-rename, if the names are simple enough to be a pattern. */
static void
fix_name(const struct lint *l, const char *old, const char *new)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-/.";
	struct buf rule = { 0 };
	const char *s;

	if (old[strspn(old, plain)] || new[strspn(new, plain)] || strlen(old) > 200)
		return;
	buf_text(&rule, "apr-rename '^");
	for (s = old; *s; s++)
		buf_printf(&rule, *s == '.' ? "\\%c" : "%c", *s);
	buf_printf(&rule, "$=%s'", new);
	if (buf_string(&rule))
		lint_fix_pipe(l, (const char *)rule.p, NULL);
	buf_free(&rule);
}

/* Whether the architecture has a rule for this name in the form that the model has. */
static bool
is_known(const struct lint *l, const struct arch *arch, const char *name)
{
	const struct subject *x = &l->s->subject;
	struct match m;

	return match_find(arch, x->apr ? ARCH_APR : x->form, name, 0, &m);
}

/* Factors of rotary positions, which GGUF has in models of any architecture. */
static bool
is_rope(const struct lint *l, const char *name)
{
	static const char *const names[] = { "rope_freqs.weight", "rope_factors_long.weight",
		"rope_factors_short.weight" };
	size_t i;

	for (i = 0; l->s->subject.form == ARCH_GGUF && i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* A part of a packed weight of a model folder, whose weight has a known name. */
static bool
is_packed(const struct lint *l, const struct arch *arch, const char *name)
{
	static const char *const parts[] = { ".weight_packed", ".weight_scale", ".weight_shape",
		".weight_zero_point", ".weight_g_idx", ".weight_scale_inv", ".input_scale", ".qweight",
		".qzeros", ".scales", ".g_idx", "_blocks", "_scales", ".weight.absmax",
		".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map" };
	char whole[1024];
	size_t n = strlen(name), i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		size_t k = strlen(parts[i]);

		if (n <= k || n + 8 >= sizeof whole || strcmp(name + n - k, parts[i]) != 0)
			continue;
		snprintf(whole, sizeof whole, "%.*s%s", (int)(n - k), name, ".weight");
		if (is_known(l, arch, whole))
			return true;
		whole[n - k] = '\0';
		if (is_known(l, arch, whole))
			return true;
	}
	return strstr(name, ".weight.quant_state.") != NULL;
}

/* The usual name of a tensor, if a part of the name alone shows it. */
static bool
suggestion(const struct lint *l, const struct arch *arch, const char *name, char *to, size_t size)
{
	if (usual_end(name, to, size) && (!arch || is_known(l, arch, to)))
		return true;
	if (!arch || strlen(name) + 8 >= size)
		return false;
	snprintf(to, size, "%s.weight", name);
	return is_known(l, arch, to);
}

/* The row of the architecture that fits the tensors best, or NULL. */
static const struct arch *
arch_of(const struct lint *l)
{
	const struct subject *x = &l->s->subject;

	return x->arch && x->form == ARCH_GGUF ? arch_refine(x->arch, l->s->source->plan) : x->arch;
}

const char *
lint_name(const struct lint *l, const struct rule *r)
{
	const struct arch *arch = arch_of(l);
	char usual[1024];
	size_t i;

	for (i = 0; i < l->s->count; i++) {
		const struct survey_tensor *t = &l->s->tensors[i];
		const char *name = tensor_name(t->t);

		if (t->known || is_rope(l, name) ||
		    (arch && (arch_is_apart(t->name, l->s->subject.form) || is_known(l, arch, name) ||
		              is_packed(l, arch, name))))
			continue;
		if (suggestion(l, arch, name, usual, sizeof usual)) {
			findings_add(l->to, r, name, "should be %s, the usual name", usual);
			fix_name(l, name, usual);
		} else if (arch) {
			findings_add(l->to, r, name, "is not a name of the architecture %s",
			             arch->name ? arch->name : arch->folder);
		}
	}
	return arch ? NULL : "the architecture is not known: only the ends of names are judged";
}

/* The form of names that readers of the container expect; false: any. */
static bool
expected(const struct lint *l, enum arch_form *form)
{
	*form = lint_is(l, "gguf") ? ARCH_GGUF : lint_is_apr(l) ? ARCH_APR : ARCH_FOLDER;
	return *form != ARCH_FOLDER || lint_is(l, "safetensors") || lint_is(l, "pytorch");
}

const char *
lint_form(const struct lint *l, const struct rule *r)
{
	static const char *const names[] = { [ARCH_GGUF] = "GGUF", [ARCH_FOLDER] = "model folders",
		[ARCH_APR] = ".apr files" };
	static const char *const words[] = { [ARCH_GGUF] = "gguf", [ARCH_FOLDER] = "hf",
		[ARCH_APR] = "apr" };
	const struct arch *arch = l->s->subject.arch;
	struct model *plan = l->s->source->plan;
	enum arch_form form, is;
	char command[32];

	if (!arch || plan->tensor_count == 0)
		return "the architecture is not known";
	if (!expected(l, &form))
		return "any names can stand in this container";
	is = arch_form_of(arch, plan);
	if (is == form)
		return NULL;
	/* The names of .apr files are found by both kinds of software; others only by these
	 * tools. */
	findings_add_at(l->to, r, form == ARCH_GGUF ? FINDING_WARN : r->level, NULL,
	                "tensors have the names of %s, not of %s", names[is], names[form]);
	snprintf(command, sizeof command, "apr-adapt %s", words[form]);
	lint_fix_pipe(l, command, NULL);
	return NULL;
}
