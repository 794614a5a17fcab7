/* rope_scaling from the tensors that GGUF has in its place, and the files of pooling. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/keys/keys.h"
#include "adapt/keys/keys_list.h"
#include "arch/rope.h"
#include "core/mem.h"

#define PAIRS 65536

/* ---- longrope ---- */

static int
add_list(json_t *scaling, const char *name, const float *values, size_t n, struct err *e)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		if (!isfinite(values[i]) || json_array_append_new(list,
		    json_real(keys_shortest(values[i]))) < 0)
			break;
	if (i == n && json_object_set_new(scaling, name, list) == 0)
		return 0;
	if (i < n)
		json_decref(list);
	return err_set(e, ERR_CORRUPT, name, "holds an invalid factor");
}

/* ---- llama3 ---- */

static bool
close_to(float a, float b)
{
	return fabsf(a - b) <= 1e-4f * fabsf(b);
}

/* All published models have these parameters; only the factor differs. It is the largest
 * divisor. */
static int
add_llama3(const json_t *config, json_t *scaling, const float *values, size_t n,
           struct err *e)
{
	const double low = 1, high = 4, original = 8192;
	struct rope r = { .rot = n * 2, .base = 10000 };
	float *expected = mem_array(n, sizeof *expected);
	const json_t *theta = json_object_get(config, "rope_theta");
	double factor = 0;
	size_t i;

	if (!expected)
		return err_memory(e);
	if (json_is_number(theta))
		r.base = json_number_value(theta);
	for (i = 0; i < n; i++)
		factor = (double)values[i] > factor ? (double)values[i] : factor;
	factor = keys_shortest((float)factor);
	if (factor > 0 && isfinite(factor) && r.base > 1)
		rope_llama3(&r, factor, low, high, original, expected);
	for (i = 0; i < n && close_to(values[i], expected[i]); i++)
		;
	free(expected);
	if (i < n)
		return err_set(e, ERR_FORMAT, "rope_freqs.weight",
		               "holds no factors that a rope_scaling of type llama3 gives");
	json_object_set_new(scaling, "factor", json_real(factor));
	json_object_set_new(scaling, "low_freq_factor", json_real(low));
	json_object_set_new(scaling, "high_freq_factor", json_real(high));
	return json_object_set_new(scaling, "original_max_position_embeddings",
	                           json_integer((json_int_t)original)) < 0 ? err_memory(e) : 0;
}

int
keys_factors(json_t *config, const char *tensor, const float *values, size_t n,
             struct err *e)
{
	json_t *scaling = json_object_get(config, "rope_scaling");

	if (!json_is_object(scaling))
		return 0;
	if (n == 0 || n > PAIRS)
		return err_set(e, ERR_CORRUPT, tensor, "has an invalid number of factors");
	if (strcmp(tensor, "rope_factors_long.weight") == 0)
		return add_list(scaling, "long_factor", values, n, e);
	if (strcmp(tensor, "rope_factors_short.weight") == 0)
		return add_list(scaling, "short_factor", values, n, e);
	if (strcmp(tensor, "rope_freqs.weight") == 0)
		return add_llama3(config, scaling, values, n, e);
	return 0;
}

/* ---- pooling ---- */

int
keys_files(const struct subject *s, struct subject_files *out, struct err *e)
{
	char key[256];
	uint64_t type;
	json_t *o;

	snprintf(key, sizeof key, "%s.pooling_type", s->arch ? s->arch->name : "");
	if (model_u64(s->plan, key, &type) < 0 || type < 1 || type > 3)
		return 0;
	o = json_pack("[{s:i,s:s,s:s,s:s},{s:i,s:s,s:s,s:s}]",
	              "idx", 0, "name", "0", "path", "",
	              "type", "sentence_transformers.models.Transformer",
	              "idx", 1, "name", "1", "path", "1_Pooling",
	              "type", "sentence_transformers.models.Pooling");
	if (subject_add_json(out, "modules.json", o, e) < 0)
		return -1;
	snprintf(key, sizeof key, "%s.embedding_length", s->arch->name);
	o = json_pack("{s:b,s:b,s:b,s:b,s:b}", "pooling_mode_cls_token", type == 2,
	              "pooling_mode_mean_tokens", type == 1, "pooling_mode_max_tokens", 0,
	              "pooling_mode_mean_sqrt_len_tokens", 0, "pooling_mode_lasttoken", type == 3);
	if (model_u64(s->plan, key, &type) == 0 && type <= INT32_MAX)
		json_object_set_new(o, "word_embedding_dimension", json_integer((json_int_t)type));
	return subject_add_json(out, "1_Pooling/config.json", o, e);
}
