#include "cli/meta/known.h"

#include <string.h>

/* A name that ends in a dot, or in "_" or "." and a star, stands for all keys that begin like
 * it; one that begins with a star for all that end like it. Source: ggml's description of GGUF,
 * and the keys that its converter writes. */
struct known {
	const char *name;
	struct value_type type;
};
#define IS(leaf) { 0, leaf }
#define LIST(leaf) { 1, leaf }

static const struct known types[] = {
	{ "general.quantization_version", IS(VALUE_U32) },
	{ "general.file_type", IS(VALUE_U32) },
	{ "general.base_model.count", IS(VALUE_U32) },
	{ "general.dataset.count", IS(VALUE_U32) },
	{ "general.tags", LIST(VALUE_STRING) },
	{ "general.languages", LIST(VALUE_STRING) },
	{ "general.datasets", LIST(VALUE_STRING) },
	{ "general.", IS(VALUE_STRING) },
	{ "tokenizer.ggml.tokens", LIST(VALUE_STRING) },
	{ "tokenizer.ggml.merges", LIST(VALUE_STRING) },
	{ "tokenizer.ggml.scores", LIST(VALUE_F32) },
	{ "tokenizer.ggml.token_type", LIST(VALUE_I32) },
	{ "tokenizer.ggml.eog_token_ids", LIST(VALUE_I32) },
	{ "tokenizer.ggml.token_type_count", IS(VALUE_U32) },
	{ "*_token_id", IS(VALUE_U32) },
	{ "tokenizer.ggml.add_", IS(VALUE_BOOL) },
	{ "tokenizer.ggml.remove_extra_whitespaces", IS(VALUE_BOOL) },
	{ "tokenizer.ggml.escape_whitespaces", IS(VALUE_BOOL) },
	{ "*.context_length", IS(VALUE_U32) },
	{ "*.embedding_length", IS(VALUE_U32) },
	{ "*.block_count", IS(VALUE_U32) },
	{ "*.feed_forward_length", IS(VALUE_U32) },
	{ "*.head_count", IS(VALUE_U32) },
	{ "*.head_count_kv", IS(VALUE_U32) },
	{ "*.key_length", IS(VALUE_U32) },
	{ "*.value_length", IS(VALUE_U32) },
	{ "*.sliding_window", IS(VALUE_U32) },
	{ "*.expert_count", IS(VALUE_U32) },
	{ "*.expert_used_count", IS(VALUE_U32) },
	{ "*.vocab_size", IS(VALUE_U32) },
	{ "*.dimension_count", IS(VALUE_U32) },
	{ "*.original_context_length", IS(VALUE_U32) },
	{ "*.freq_base", IS(VALUE_F32) },
	{ "*.layer_norm_epsilon", IS(VALUE_F32) },
	{ "*.layer_norm_rms_epsilon", IS(VALUE_F32) },
	{ "*.rope.scaling.factor", IS(VALUE_F32) },
	{ "*.rope.scaling.type", IS(VALUE_STRING) },
	{ "*.logit_softcapping", IS(VALUE_F32) },
};

static bool
begins(const char *key, const char *with)
{
	return strncmp(key, with, strlen(with)) == 0;
}

static bool
ends(const char *key, const char *with)
{
	size_t n = strlen(key), m = strlen(with);

	return n > m && strcmp(key + n - m, with) == 0;
}

static bool
matches(const char *key, const char *name)
{
	char last = name[strlen(name) - 1];

	if (*name == '*')
		return ends(key, name + 1);
	return last == '.' || last == '_' ? begins(key, name) : strcmp(key, name) == 0;
}

bool
known_type(const char *key, struct value_type *t)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (matches(key, types[i].name)) {
			*t = types[i].type;
			return true;
		}
	return false;
}

int
known_check(const char *key, struct err *e)
{
	static const struct {
		const char *name, *hint;
	} rows[] = {
		{ "general.alignment", "apr-pack --align sets it" },
		{ "split.no", "apr-pack --shard-size writes shards" },
		{ "split.count", "apr-pack --shard-size writes shards" },
		{ "split.tensors.count", "apr-pack --shard-size writes shards" },
		{ "apr_stream", NULL }, { "apr_tensors", NULL }, { "apr.blob.", NULL },
		{ "apr.type.", NULL }, { "apr.licence", NULL }, { "apr.prov.", NULL },
		{ "apr.sign.", NULL }, { "apr.dtype.", NULL }, { "apr.shape.", NULL },
		{ "apr.scale.", NULL }, { "apr.zero.", NULL }, { "apr.json.", NULL },
		{ "apr.key.", NULL }, { "apr.order", NULL }, { "apr.source", NULL },
		{ "apr.metadata", NULL }, { "apr.blobs", NULL },
		{ "apr.reserve", "apr-pack --reserve leaves room" },
	};
	size_t i;

	if (!*key)
		return err_set(e, ERR_USAGE, NULL, "a key must not be empty");
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!matches(key, rows[i].name))
			continue;
		err_set(e, ERR_USAGE, key, "is the container's, not the model's");
		return rows[i].hint ? err_hint(e, "%s", rows[i].hint) : -1;
	}
	return 0;
}

bool
known_of_tensors(const char *key)
{
	return strcmp(key, "general.file_type") == 0 || begins(key, "quantize.") ||
	       strcmp(key, "general.quantization_version") == 0 ||
	       begins(key, "apr.quantization.") || strcmp(key, "general.architecture") == 0;
}

const char *
known_vocabulary(unsigned index)
{
	static const char *const names[] = { "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
		"tokenizer.ggml.token_type", NULL };

	return names[index];
}
