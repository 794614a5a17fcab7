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

bool
gguf_is_scaled(const struct tensor *t)
{
	return strcmp(tensor_type(t)->name, GGUF_SCALED) == 0 && tensor_bytes(t) > 0 &&
	       tensor_ndim(t) <= GGUF_AXES;
}

bool
gguf_scale_is_finite(const uint8_t *head)
{
	return (head[2] & 0x80) == 0 || (head[3] & 0x7f) != 0x7f;
}

uint64_t
gguf_stored_bytes(const struct tensor *t)
{
	return tensor_bytes(t) - (gguf_is_scaled(t) ? GGUF_SCALED_HEAD : 0);
}

static const struct format_reads reads = {
	.skips = true,
	.open = gguf_open,
	.open_path = gguf_open_path,
	.describe = gguf_describe,
	.tensor_offset = gguf_tensor_offset,
	.outline = gguf_outline,
};

static const struct format_writes writes = {
	.create = gguf_create,
	.create_shards = ONLY_TOOLS(gguf_create_shards),
	.reserves = true,
};

const struct format format_gguf = {
	.name = "gguf",
	.title = "GGUF",
	.suffix = "gguf",
	.by_suffix = true,
	.probe = probe,
	.reads = &reads,
	.writes = ONLY_WRITES(&writes),
	.amend = ONLY_TOOLS(gguf_amend),
};
