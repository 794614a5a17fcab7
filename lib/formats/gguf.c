#include "formats/gguf.h"

#include <string.h>

static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 4 && memcmp(head, "GGUF", 4) == 0;
}

const struct format format_gguf = {
	.name = "gguf",
	.title = "GGUF",
	.probe = probe,
	.open = gguf_open,
	.create = gguf_create,
	.describe = gguf_describe,
	.tensor_offset = gguf_tensor_offset,
	.reserves = true,
};
