#include "adapt/packed/packed_kind.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"

#define FILE_NAME "config.json"
#define MEMBER "quantization_config"
#define MOST ((uint64_t)1 << 31) /* values of a group or block */

/* ---- members ---- */

static int
odd(struct err *e, const char *member, const char *fact)
{
	return err_set(e, ERR_CORRUPT, FILE_NAME, MEMBER ": %s %s", member, fact);
}

/* A number from lo to hi. Without the member, *v stays. */
static int
number(const json_t *o, const char *name, uint64_t lo, uint64_t hi, uint64_t *v,
       struct err *e)
{
	const json_t *m = json_object_get(o, name);
	json_int_t n = json_integer_value(m);

	if (!m || json_is_null(m))
		return 0;
	if (!json_is_integer(m) || n < 0 || (uint64_t)n < lo || (uint64_t)n > hi)
		return err_set(e, ERR_CORRUPT, FILE_NAME, MEMBER ": %s is not a number from %" PRIu64
		               " to %" PRIu64, name, lo, hi);
	*v = (uint64_t)n;
	return 0;
}

/* The size of a group; -1 stands for whole rows, which is 0 here. */
static int
group_size(const json_t *o, struct packed_config *c, struct err *e)
{
	const json_t *m = json_object_get(o, "group_size");

	if (json_is_integer(m) && json_integer_value(m) == -1)
		return 0;
	return number(o, "group_size", 1, MOST, &c->group, e);
}

/* The text of a member, or `without`; NULL with e filled if it is not a text. */
static const char *
word(const json_t *o, const char *name, const char *without, struct err *e)
{
	const json_t *m = json_object_get(o, name);

	if (m && !json_is_null(m)) {
		if (json_is_string(m))
			return json_string_value(m);
		odd(e, name, "is not a text");
		return NULL;
	}
	if (!without)
		odd(e, name, "is missing");
	return without;
}

/* Blocks of rows and columns: [128, 128] or "128x128". */
static int
block_size(const json_t *o, const char *name, struct packed_config *c, struct err *e)
{
	const json_t *m = json_object_get(o, name);
	const char *p = json_string_value(m);
	uint64_t v[2] = { 0 };
	int i;

	if (!m || json_is_null(m))
		return 0;
	for (i = 0; i < 2 && json_is_array(m) && json_array_size(m) == 2; i++)
		if (json_is_integer(json_array_get(m, (size_t)i)) &&
		    json_integer_value(json_array_get(m, (size_t)i)) > 0)
			v[i] = (uint64_t)json_integer_value(json_array_get(m, (size_t)i));
	if (p && (text_digits(&p, &v[0]) < 0 || *p++ != 'x' || text_digits(&p, &v[1]) < 0 || *p))
		v[0] = 0;
	if (v[0] == 0 || v[0] > MOST || v[1] == 0 || v[1] > MOST)
		return odd(e, name, "is not two sizes of a block");
	memcpy(c->block, v, sizeof v);
	return 0;
}

static int
refused(struct err *e, const char *how)
{
	err_set(e, ERR_FORMAT, FILE_NAME, "the weights are quantized by %s, which cannot be decoded",
	        how);
	return err_hint(e, "load the model with the transformers library, call dequantize() and "
	                "save_pretrained(), and convert that folder");
}

/* ---- methods ---- */

static int
read_fp8(const json_t *o, struct packed_config *c, struct err *e)
{
	return block_size(o, "weight_block_size", c, e);
}

static int
read_modelopt(const json_t *o, struct packed_config *c, struct err *e)
{
	const char *algorithm = word(o, "quant_algo", "FP8", e);

	(void)c;
	if (!algorithm)
		return -1;
	return strcmp(algorithm, "FP8") == 0 ? 0 : refused(e, algorithm);
}

static int
read_gptq(const json_t *o, struct packed_config *c, struct err *e)
{
	const char *format = word(o, "checkpoint_format", "gptq", e);
	const char *unit = word(o, "pack_dtype", "int32", e);
	uint64_t bits = 0;

	if (!format || !unit || number(o, "bits", 2, 8, &bits, e) < 0 ||
	    group_size(o, c, e) < 0)
		return -1;
	if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
		return odd(e, "bits", bits ? "is not 2, 3, 4 or 8" : "is missing");
	if (strcmp(format, "gptq") != 0 && strcmp(format, "gptq_v2") != 0)
		return refused(e, format);
	if (strcmp(unit, "int32") != 0)
		return odd(e, "pack_dtype", "is not int32");
	c->bits = (unsigned)bits;
	c->zero = strcmp(format, "gptq") == 0;
	c->needs_zero = true;
	return 0;
}

static int
read_awq(const json_t *o, struct packed_config *c, struct err *e)
{
	/* Versions of kernels that read the same bytes. */
	static const char *const versions[] = { "gemm", "GEMM", "exllama", "ipex" };
	const char *version = word(o, "version", "gemm", e);
	uint64_t bits = 0;
	size_t i;

	if (!version || number(o, "bits", 1, 8, &bits, e) < 0 || group_size(o, c, e) < 0)
		return -1;
	if (bits != 4)
		return odd(e, "bits", bits ? "is not 4" : "is missing");
	for (i = 0; i < sizeof versions / sizeof *versions; i++)
		if (strcmp(version, versions[i]) == 0) {
			c->bits = 4;
			c->needs_zero = true;
			return 0;
		}
	return odd(e, "version", "is not gemm, whose order of values is the only one known");
}

static int
read_nothing(const json_t *o, struct packed_config *c, struct err *e)
{
	(void)o;
	(void)c;
	(void)e;
	return 0;
}

/* ---- compressed-tensors ---- */

/* What config_groups says of weights. */
struct group {
	const char *format, *type, *strategy;
	struct packed_config c;
};

static int
read_strategy(const json_t *weights, struct group *g, struct err *e)
{
	bool group, block;

	if (!*g->strategy) /* null: as the library derives it */
		g->strategy = json_integer_value(json_object_get(weights, "group_size")) > 0 ?
		              "group" : "channel";
	group = strcmp(g->strategy, "group") == 0;
	block = strcmp(g->strategy, "block") == 0;

	if (!group && !block && strcmp(g->strategy, "channel") != 0 &&
	    strcmp(g->strategy, "tensor") != 0)
		return odd(e, "strategy", "is not tensor, channel, group or block");
	if (group_size(weights, &g->c, e) < 0 || block_size(weights, "block_structure", &g->c, e) < 0)
		return -1;
	if (group != (g->c.group > 0))
		return odd(e, "group_size", "contradicts the strategy");
	if (block != (g->c.block[0] > 0))
		return odd(e, "block_structure", "contradicts the strategy");
	return 0;
}

static int
read_group(const json_t *o, const json_t *weights, struct group *g, struct err *e)
{
	const json_t *symmetric = json_object_get(weights, "symmetric");
	uint64_t bits = 0;

	*g = (struct group){ 0 };
	g->format = word(o, "format", "", e);
	g->type = word(weights, "type", "int", e);
	g->strategy = word(weights, "strategy", "", e);
	if (!g->format || !g->type || !g->strategy ||
	    number(weights, "num_bits", 1, 64, &bits, e) < 0 ||
	    read_strategy(weights, g, e) < 0)
		return -1;
	if (symmetric && !json_is_null(symmetric) && !json_is_boolean(symmetric))
		return odd(e, "symmetric", "is not true or false");
	g->c.bits = (unsigned)bits;
	g->c.integers = strcmp(g->type, "int") == 0;
	g->c.needs_zero = json_is_false(symmetric);
	return 0;
}

static bool
same_group(const struct group *a, const struct group *b)
{
	return strcmp(a->format, b->format) == 0 && strcmp(a->type, b->type) == 0 &&
	       a->c.bits == b->c.bits && a->c.group == b->c.group &&
	       a->c.block[0] == b->c.block[0] && a->c.block[1] == b->c.block[1] &&
	       a->c.needs_zero == b->c.needs_zero;
}

/* All groups that quantize weights must do it in one way. 1, 0 if none does, or -1. */
static int
read_groups(const json_t *o, struct group *g, struct err *e)
{
	json_t *groups = json_object_get(o, "config_groups"), *one;
	struct group next;
	const char *key;
	int found = 0;

	if (!json_is_object(groups))
		return odd(e, "config_groups", groups ? "is not an object" : "is missing");
	json_object_foreach(groups, key, one) {
		const json_t *weights = json_object_get(one, "weights");

		if (!json_is_object(one) || (weights && !json_is_object(weights) &&
		                             !json_is_null(weights)))
			return odd(e, "config_groups", "has a group that is not an object");
		if (!weights || json_is_null(weights))
			continue;
		if (read_group(one, weights, &next, e) < 0)
			return -1;
		if (found++ && !same_group(g, &next))
			return odd(e, "config_groups", "has weights of several kinds");
		*g = next;
	}
	return found > 0;
}

/* The kinds of weights of one format. */
static const struct packed_kind *
compressed(const json_t *o, struct packed_config *c, struct err *e)
{
	const char *format = word(o, "format", NULL, e);
	struct group g = { 0 };
	bool number_of_8;
	int r;

	if (!format || strcmp(format, "dense") == 0 || (r = read_groups(o, &g, e)) <= 0)
		return NULL;
	format = *g.format ? g.format : format;
	number_of_8 = g.c.bits == 8 && (g.c.integers || strcmp(g.type, "float") == 0);
	*c = g.c;
	if (strcmp(format, "pack-quantized") == 0 && g.c.integers && g.c.bits >= 2 &&
	    g.c.bits <= 8 && g.c.block[0] == 0) {
		c->zero = (uint64_t)1 << (c->bits - 1);
		return packed_words;
	}
	if ((strcmp(format, "float-quantized") == 0 && number_of_8 && !g.c.integers) ||
	    (strcmp(format, "int-quantized") == 0 && number_of_8 && g.c.integers) ||
	    (strcmp(format, "naive-quantized") == 0 && number_of_8)) {
		if (c->group > 0) {
			c->block[0] = 1;
			c->block[1] = c->group;
		}
		return packed_scaled;
	}
	err_set(e, ERR_FORMAT, FILE_NAME, "the weights are %s of %u bits (%s), which cannot be "
	        "decoded", format, g.c.bits, g.type);
	return NULL;
}

static const struct packed_kind *
find_compressed(const json_t *o, struct packed_config *c, struct err *e)
{
	const json_t *sparsity = json_object_get(o, "sparsity_config");
	const char *sparse = "dense";

	if (json_is_object(sparsity) && !(sparse = word(sparsity, "format", "dense", e)))
		return NULL;
	if (strcmp(sparse, "dense") != 0) {
		refused(e, sparse);
		return NULL;
	}
	return compressed(o, c, e);
}

/* ---- the list ---- */

static const struct {
	const char *name;
	int (*read)(const json_t *o, struct packed_config *c, struct err *e);
	const struct packed_kind *kinds; /* NULL: read is too, and find_compressed chooses */
} methods[] = {
	{ "fp8", read_fp8, packed_scaled },
	{ "fbgemm_fp8", read_nothing, packed_scaled },
	{ "modelopt", read_modelopt, packed_scaled },
	{ "gptq", read_gptq, packed_gptq },
	{ "awq", read_awq, packed_awq },
	{ "bitnet", read_nothing, packed_ternary },
	{ "mxfp4", read_nothing, packed_mxfp4 },
	{ "compressed-tensors", NULL, NULL },
};

static const struct packed_kind *
find_method(const char *name, const json_t *o, struct packed_config *c, struct err *e)
{
	size_t i;

	for (i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(name, methods[i].name) == 0) {
			if (!methods[i].read)
				return find_compressed(o, c, e);
			return methods[i].read(o, c, e) < 0 ? NULL : methods[i].kinds;
		}
	refused(e, name);
	return NULL;
}

/* hf_quant_config.json, which modelopt writes beside a config.json that says nothing. */
static const struct packed_kind *
find_beside(const struct subject *s, struct packed_config *c, struct err *e)
{
	json_t *root = subject_json(s, "hf_quant_config.json", e);
	const json_t *o = json_object_get(root, "quantization");
	const struct packed_kind *kinds = NULL;

	if (o && !json_is_object(o))
		err_set(e, ERR_CORRUPT, "hf_quant_config.json", "quantization is not an object");
	else if (json_is_string(json_object_get(o, "quant_algo")))
		kinds = find_method("modelopt", o, c, e);
	json_decref(root);
	return kinds;
}

const struct packed_kind *
packed_method(const struct subject *s, struct packed_config *c, struct err *e)
{
	const json_t *o = json_object_get(s->config, MEMBER);
	const char *name;

	*c = (struct packed_config){ 0 };
	if (!o || json_is_null(o))
		o = json_object_get(json_object_get(s->config, "text_config"), MEMBER);
	if (!o || json_is_null(o))
		o = json_object_get(s->config, "compression_config");
	if (!o || json_is_null(o))
		return find_beside(s, c, e);
	if (!json_is_object(o)) {
		err_set(e, ERR_CORRUPT, FILE_NAME, MEMBER " is not an object");
		return NULL;
	}
	if (json_object_size(o) == 0)
		return NULL;
	if (json_is_true(json_object_get(o, "load_in_8bit")) ||
	    json_is_true(json_object_get(o, "load_in_4bit"))) {
		refused(e, "bitsandbytes");
		return NULL;
	}
	name = word(o, "quant_method", NULL, e);
	return name ? find_method(name, o, c, e) : NULL;
}
