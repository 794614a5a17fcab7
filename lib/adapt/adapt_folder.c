/* A GGUF model as a model folder: tensors, config.json and the other files. */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapt_parts.h"
#include "adapt/keys/general.h"
#include "adapt/keys/keys.h"
#include "adapt/tensors/origin_read.h"
#include "adapt/keys/shared_keys.h"
#include "adapt/tokens/tokens.h"
#include "core/le.h"
#include "core/mem.h"

#define FACTORS 4096 /* maximum number of values that config.json gets from a tensor */

/* ---- config.json ---- */

static const char *
torch_type(const struct tensors *t)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		const char *type = tensor_type(t->rows[i].t)->name;

		if (tensor_ndim(t->rows[i].t) < 2)
			continue;
		if (strcmp(type, "BF16") == 0)
			return "bfloat16";
		if (strcmp(type, "F16") == 0)
			return "float16";
	}
	return "float32";
}

static size_t
find_tensor(const struct model *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0)
			return i;
	return SIZE_MAX;
}

/* Give the values of a tensor to config.json. */
static int
put_factors(struct adapt *a, json_t *config, const char *name, struct err *e)
{
	size_t i = find_tensor(a->s.plan, name), k, n;
	uint8_t *bytes;
	float *x;
	int r = -1;

	if (i == SIZE_MAX)
		return 0;
	n = (size_t)tensor_items(a->s.plan->tensors[i]);
	if (strcmp(tensor_type(a->s.plan->tensors[i])->name, "F32") != 0 || n > FACTORS)
		return err_set(e, ERR_CORRUPT, name, "is not a list of at most %d F32 values", FACTORS);
	if (adapt_take(a, i + 1, e) < 0)
		return -1;
	bytes = mem_array(n, 4);
	x = mem_array(n, sizeof *x);
	if (!bytes || !x)
		err_memory(e);
	else
		r = store_read(&a->store, i, 0, bytes, n * 4, e);
	for (k = 0; r == 0 && k < n; k++) {
		uint32_t bits = le32(bytes + 4 * k);

		memcpy(&x[k], &bits, sizeof bits);
	}
	if (r == 0)
		r = keys_factors(config, name, x, n, e);
	free(bytes);
	free(x);
	return r;
}

/* Whether a config gives the keys that the model has now. */
static bool
still_holds(const struct adapt *a, json_t *config)
{
	struct subject s = a->s;
	struct model keys;
	struct err ignored = ERR_INIT;
	bool same;
	size_t i;

	s.config = config;
	s.form = ARCH_FOLDER;
	s.note = NULL;
	if (model_init(&keys, &ignored) < 0)
		return false;
	same = keys_put(&s, 0, &keys, &ignored) == 0;
	for (i = 0; same && i < keys.meta_count; i++) {
		const struct meta *k = &keys.meta[i];
		struct value_type type;
		size_t n;
		const uint8_t *now = weights_value(&a->s.w, k->key, &type, &n);

		same = strcmp(k->key, "general.file_type") == 0 ||
		       (now && type.leaf == k->type.leaf && type.depth == k->type.depth &&
		        n == k->wire_bytes && memcmp(now, k->wire, n) == 0);
	}
	model_free(&keys);
	return same;
}

/* A folder that has blocks of MXFP4 says so, and no other folder says that it is packed. */
static int
put_packing(const struct adapt *a, json_t *config, struct err *e)
{
	static const char *const plain[] = { "model.layers.*.self_attn", "model.layers.*.mlp.router",
		"model.embed_tokens", "lm_head" };
	json_t *list;
	size_t i;

	if (!a->t.has_blocks) {
		json_object_del(config, "quantization_config");
		return 0;
	}
	if (json_object_get(config, "quantization_config"))
		return 0;
	list = json_array();
	for (i = 0; i < sizeof plain / sizeof *plain; i++)
		if (json_array_append_new(list, json_string(plain[i])) < 0)
			err_memory(e);
	if (json_object_set_new(config, "quantization_config",
	                        json_pack("{s:s,s:o}", "quant_method", "mxfp4",
	                                  "modules_to_not_convert", list)) < 0)
		return err_memory(e);
	return e->code == ERR_NONE ? 0 : -1;
}

static json_t *
make_config(struct adapt *a, const json_t *origin, struct err *e)
{
	static const char *const lists[] = { "rope_freqs.weight", "rope_factors_long.weight",
		"rope_factors_short.weight" };
	json_t *old = json_object_get(origin, "config"), *config;
	size_t embed = find_tensor(a->s.plan, "token_embd.weight"), i;
	uint64_t rows = embed == SIZE_MAX ? 0 : tensor_dims(a->s.plan->tensors[embed])[0];
	const struct arch *arch = a->s.arch;

	if (json_is_object(old) && still_holds(a, old))
		return json_deep_copy(old);
	config = keys_config(&a->s, torch_type(&a->t), rows,
	                     find_tensor(a->s.plan, "output.weight") == SIZE_MAX, e);
	for (i = 0; config && i < sizeof lists / sizeof *lists; i++)
		if (put_factors(a, config, lists[i], e) < 0) {
			json_decref(config);
			return NULL;
		}
	(void)arch;
	return config;
}

/* ---- the whole ---- */

static int
make_files(struct adapt *a, const json_t *origin, struct err *e)
{
	struct subject_files files = { 0 };
	json_t *config = make_config(a, origin, e);
	int r = config && put_packing(a, config, e) == 0 ? 0 : -1;
	size_t i;

	if (r == 0)
		r = subject_add_json(&files, "config.json", config, e);
	else
		json_decref(config);
	if (r == 0 && (general_files(&a->s, &files, e) < 0 ||
	               tokens_files(&a->s, json_object_get(origin, "tokenizer"), &files, e) < 0 ||
	               keys_files(&a->s, &files, e) < 0 || adapt_apr_files(&a->s, &files, e) < 0))
		r = -1;
	for (i = 0; r == 0 && i < files.count; i++) {
		struct buf *b = &files.file[i].bytes;

		r = adapt_add_blob(a, files.file[i].name, "file", b->p, b->n, b->p, e);
		*b = (struct buf){ 0 };
	}
	subject_free_files(&files);
	return r;
}

/* Keys of the safetensors files: those of the record, or the one that the transformers library
 * asks for. */
static int
put_metadata(struct adapt *a, const json_t *origin, struct err *e)
{
	json_t *own = json_object_get(origin, "metadata"), *v, *made = NULL;
	const char *key;
	int r = 0;

	if (!json_is_object(own))
		own = made = json_pack("{s:s}", "format", "pt");
	json_object_foreach(own, key, v)
		if (r == 0 && json_is_string(v))
			r = adapt_put_text(&a->plan, key, json_string_value(v), json_string_length(v), e);
	json_decref(made);
	return r;
}

static int
to_folder(struct adapt *a, const json_t *origin, struct err *e)
{
	const struct tensors_options o = { .relaxed = a->o.relaxed, .anywhere = a->o.places,
		.blocks = a->o.form == ARCH_FOLDER };

	if (tensors_to_folder(&a->t, &a->s, origin, &o, e) < 0)
		return -1;
	a->store.t = &a->t;
	if (put_metadata(a, origin, e) < 0 ||
	    (a->o.form == ARCH_APR && (adapt_apr_keys(&a->s, &a->plan, e) < 0 ||
	                               adapt_rename_to_apr(a, e) < 0)) ||
	    adapt_long_values(a, e) < 0 || make_files(a, origin, e) < 0)
		return -1;
	store_uses(&a->store, &a->t);
	return adapt_add_tensors(a, e) < 0 ? -1 : adapt_keep_files(a, e);
}

int
adapt_to_folder(struct adapt *a, struct err *e)
{
	json_t *origin;
	int r = -1;

	if (a->s.form != ARCH_GGUF)
		return err_set(e, ERR_FORMAT, a->s.w.name, "has no keys of GGUF");
	a->s.arch = keys_arch(&a->s);
	if (!a->s.arch)
		return err_set(e, ERR_FORMAT, a->s.w.name, "its architecture has no model folder");
	origin = origin_read(&a->s, e);
	if (e->code == ERR_NONE)
		r = to_folder(a, origin, e);
	json_decref(origin);
	return r;
}
