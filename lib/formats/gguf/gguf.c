#include "formats/gguf/gguf.h"

#include <string.h>

static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 4 && memcmp(head, "GGUF", 4) == 0;
}

bool
gguf_is_split_key(const char *key)
{
	return strcmp(key, GGUF_SPLIT_NO) == 0 || strcmp(key, GGUF_SPLIT_COUNT) == 0 ||
	       strcmp(key, GGUF_SPLIT_TENSORS) == 0;
}

bool
gguf_is_json(const struct meta *k)
{
	return k->type.leaf == VALUE_JSON;
}

bool
gguf_is_foreign(const struct tensor *t)
{
	return tensor_type(t)->ggml == DTYPE_NONE;
}

static const struct format_reads reads = {
	.open = gguf_open,
	.open_path = gguf_open_path,
	.describe = gguf_describe,
	.tensor_offset = gguf_tensor_offset,
};

static const struct format_writes writes = {
	.create = gguf_create,
	.create_shards = gguf_create_shards,
	.reserves = true,
};

const struct format format_gguf = {
	.name = "gguf",
	.title = "GGUF",
	.suffix = "gguf",
	.by_suffix = true,
	.probe = probe,
	.reads = &reads,
	.writes = &writes,
};
