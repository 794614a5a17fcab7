#include "arch/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arch/match.h"
#include "core/num.h"
#include "core/text.h"

static void
add_up(uint64_t *sum, uint64_t n)
{
	if (num_add(*sum, n, sum) < 0)
		*sum = UINT64_MAX;
}

/* ---- packed weights ---- */

/* Endings of names in folders that are quantized, and how many values an item has: MXFP4 has
 * two in a byte, GPTQ, AWQ and compressed-tensors eight of 4 bits in a word. */
static const struct { const char *ending; uint64_t values; } packs[] = {
	{ "_blocks", 2 }, { ".qweight", 8 }, { ".weight_packed", 8 }, { "_scales", 0 },
	{ ".scales", 0 }, { ".qzeros", 0 }, { ".g_idx", 0 }, { ".weight_shape", 0 },
	{ ".weight_scale", 0 }, { ".weight_scale_inv", 0 }, { ".weight_zero_point", 0 },
	{ ".weight_g_idx", 0 }, { ".weight_global_scale", 0 }, { ".input_scale", 0 },
	{ ".k_scale", 0 }, { ".v_scale", 0 },
};

static uint64_t
values_of(const struct tensor *t)
{
	const char *name = tensor_name(t);
	size_t i, n = strlen(name), k;
	uint64_t values = tensor_items(t);

	for (i = 0; i < sizeof packs / sizeof *packs; i++) {
		k = strlen(packs[i].ending);
		if (n > k && strcmp(name + n - k, packs[i].ending) == 0)
			return num_mul(values, packs[i].values, &values) < 0 ? UINT64_MAX : values;
	}
	return values;
}

/* ---- experts ---- */

/* The experts that a tensor holds: *stacked of all, or expert number *index; false: none. */
static bool
find_expert(const struct tensor *t, uint64_t *stacked, uint64_t *index)
{
	const char *name = tensor_name(t), *p = strstr(name, "experts.");
	unsigned axes = tensor_ndim(t);

	*stacked = *index = 0;
	if (p && strncmp(p > name + 7 ? p - 7 : name, "shared_", 7) == 0)
		return false;
	if (p) {
		p += strlen("experts.");
		if (text_digits(&p, index) == 0)
			return *index < UINT32_MAX;
		*stacked = axes >= 3 ? tensor_dims(t)[0] : 0;
	} else if (strstr(name, "_exps.") && axes >= 3) {
		*stacked = tensor_dims(t)[0];
	}
	return *stacked != 0;
}

/* ---- what GGUF does not have ---- */

/* The number of a block, from the first number between dots; or 0. */
static uint64_t
block_of(const char *name)
{
	uint64_t n;

	for (; (name = strchr(name, '.')); ) {
		name++;
		if (*name >= '0' && *name <= '9')
			return text_digits(&name, &n) == 0 ? n : 0;
	}
	return 0;
}

/* untied: config.json says that the head is not the embeddings. */
static bool
is_left_out(const struct arch *a, const struct tensor *t, uint64_t blocks, bool untied)
{
	const char *name = tensor_name(t);
	struct match m;

	if (arch_is_apart(name, ARCH_FOLDER) || (blocks && block_of(name) >= blocks))
		return true;
	return a && match_find(a, ARCH_FOLDER, name, 0, &m) &&
	       (m.rule->flags & RULE_UNUSED || (m.rule->flags & RULE_IF_TIED && !untied));
}

void
arch_count(const struct arch *a, const struct model *m, struct arch_sizes *s)
{
	uint64_t blocks = 0, most = 0, single = 0, stacked, index, n;
	bool untied = json_is_false(json_object_get(model_config(m), "tie_word_embeddings"));
	size_t i;

	*s = (struct arch_sizes){ .all = 0 };
	json_member_u64(model_config(m), "num_hidden_layers", &blocks);
	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (is_left_out(a, t, blocks, untied))
			continue;
		n = values_of(t);
		add_up(&s->all, n);
		if (!find_expert(t, &stacked, &index)) {
			add_up(&s->shared, n);
		} else if (stacked) {
			add_up(&s->expert, n / stacked);
			s->experts = stacked > s->experts ? stacked : s->experts;
		} else {
			add_up(&single, n);
			most = index + 1 > most ? index + 1 : most;
		}
	}
	if (most) {
		s->experts = most > s->experts ? most : s->experts;
		add_up(&s->expert, single / most);
	}
}

/* A number of parameters with at least two digits: "0.50K", "1.2B", "124M". */
static void
put_count(char *to, size_t size, const char *before, uint64_t n)
{
	static const struct { double above, scale; char unit; } units[] = {
		{ 1e12, 1e-12, 'T' }, { 1e9, 1e-9, 'B' }, { 1e6, 1e-6, 'M' }, { -1, 1e-3, 'K' } };
	size_t i = 0;
	double v, whole;

	while ((double)n <= units[i].above)
		i++;
	v = (double)n * units[i].scale;
	whole = rint(v);
	snprintf(to, size, "%s%.*f%c", before, whole >= 10 ? 0 : whole >= 1 ? 1 : 2, v,
	         units[i].unit);
}

char *
arch_size_text(char to[ARCH_SIZE], const struct arch_sizes *s)
{
	uint64_t n = s->all;
	char before[32] = "";

	if (s->experts) {
		snprintf(before, sizeof before, "%" PRIu64 "x", s->experts);
		if (num_add(s->shared, s->expert, &n) < 0)
			n = UINT64_MAX;
	}
	put_count(to, ARCH_SIZE, before, n);
	return to;
}
