/* Tensors that GGUF has for the rotary positions of long contexts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tensors/tensors_parts.h"
#include "arch/rope.h"
#include "core/mem.h"

#define FACTORS 4096 /* maximum number */

static int
bad(const char *name, struct err *e)
{
	return err_set(e, ERR_CORRUPT, "config.json", "%s of its rope scaling has an invalid value",
	               name);
}

static int
real(const json_t *o, const char *name, double *v, struct err *e)
{
	const json_t *j = json_object_get(o, name);

	if (!json_is_number(j) || !isfinite(json_number_value(j)))
		return bad(name, e);
	*v = json_number_value(j);
	return 0;
}

static int
add(struct tensors *p, enum role role, float *values, uint64_t n, struct err *e)
{
	char name[64];
	struct tensors_row *row;

	snprintf(name, sizeof name, "%s.weight", role_name(role, ARCH_GGUF));
	row = tensors_add(p, tensor_new(name, strlen(name), dtype_by_name("F32"), 1, &n,
	                                TENSOR_OWN_SIZE, "config.json", e), e);
	if (!row) {
		free(values);
		return -1;
	}
	row->made = values;
	row->from = dtype_by_name("F32");
	row->rank = role;
	return 0;
}

/* The divisors of LLaMA 3. */
static int
add_llama3(struct tensors *p, const json_t *config, const json_t *scaling, struct err *e)
{
	uint64_t rot = sizes_get(&p->sizes, 'K');
	struct rope r = { .rot = rot, .base = 10000 };
	double factor, low, high, original;
	const json_t *base = json_object_get(scaling, "rope_theta");
	float *values;

	if (!base)
		base = json_object_get(config, "rope_theta");
	if (base && !json_is_null(base)) {
		r.base = json_number_value(base);
		if (!json_is_number(base) || !(r.base > 1) || !isfinite(r.base))
			return bad("rope_theta", e);
	}
	if (real(scaling, "factor", &factor, e) < 0 ||
	    real(scaling, "low_freq_factor", &low, e) < 0 ||
	    real(scaling, "high_freq_factor", &high, e) < 0 ||
	    real(scaling, "original_max_position_embeddings", &original, e) < 0)
		return -1;
	if (!(factor > 0) || !(high > low) || !(original > 0))
		return bad("factor", e);
	if (rot < 2 || rot / 2 > FACTORS)
		return err_set(e, ERR_CORRUPT, "config.json", "the width of a head is invalid");
	values = mem_array((size_t)rot / 2, sizeof *values);
	if (!values)
		return err_memory(e);
	rope_llama3(&r, factor, low, high, original, values);
	return add(p, ROLE_ROPE_FREQS, values, rot / 2, e);
}

static int
add_list(struct tensors *p, enum role role, const json_t *list, const char *name,
         struct err *e)
{
	size_t n = json_array_size(list), i;
	float *values;

	if (n == 0 || n > FACTORS || n * 2 > sizes_get(&p->sizes, 'K'))
		return bad(name, e);
	values = mem_array(n, sizeof *values);
	if (!values)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);

		values[i] = (float)json_number_value(v);
		if (!json_is_number(v) || !isfinite(values[i])) {
			free(values);
			return bad(name, e);
		}
	}
	return add(p, role, values, n, e);
}

int
tensors_add_rope(struct tensors *p, const struct subject *s, struct err *e)
{
	const json_t *scaling = json_object_get(s->config, "rope_scaling");
	const char *type;

	if (!json_is_object(scaling))
		scaling = json_object_get(s->config, "rope_parameters");
	if (json_member_text(scaling, "rope_type", &type) < 0 &&
	    json_member_text(scaling, "type", &type) < 0)
		return 0;
	if (strcmp(type, "llama3") == 0)
		return add_llama3(p, s->config, scaling, e);
	if (strcmp(type, "longrope") != 0 && strcmp(type, "su") != 0)
		return 0;
	if (add_list(p, ROLE_ROPE_LONG, json_object_get(scaling, "long_factor"), "long_factor",
	             e) < 0)
		return -1;
	return add_list(p, ROLE_ROPE_SHORT, json_object_get(scaling, "short_factor"),
	                "short_factor", e);
}
