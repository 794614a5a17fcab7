#include "formats/apr2/apr2.h"

#include <string.h>

#include "core/le.h"

const char *
apr2_flag(uint32_t bit)
{
	static const char *const names[] = { "COMPRESSED", "ALIGNED_64", "ALIGNED_32",
		"SHARDED", "ENCRYPTED", "SIGNED", "QUANTIZED", "STREAMING",
		"SAFETENSORS_SRC", "GGUF_SRC" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (bit == 1u << i)
			return names[i];
	return NULL;
}

const struct codec *
apr2_codec(uint32_t flags)
{
	unsigned i;

	for (i = 0; codec_row(i); i++)
		if (flags == 1u << i)
			return codec_row(i);
	return NULL;
}

uint32_t
apr2_codec_flag(const struct codec *c)
{
	unsigned i;

	for (i = 0; codec_row(i) != c; i++)
		;
	return 1u << i;
}

uint32_t
apr2_sparse_flags(struct sparse_form f)
{
	return APR2_SPARSE | (uint32_t)f.kind << 8 | (uint32_t)f.block << 16;
}

struct sparse_form
apr2_sparse(uint32_t flags)
{
	return (struct sparse_form){ (uint8_t)(flags >> 8), (uint16_t)(flags >> 16) };
}

bool
apr2_is_footer(const uint8_t *p)
{
	return memcmp(p + 4, APR2_END, 4) == 0;
}

/* apr64.c comes first and claims files with the same magic but a header of 64 bytes. */
static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 4 && memcmp(head, "APR2", 4) == 0;
}

/* True if the metadata of this file is long; if it is one of several, another file may have
 * long metadata. */
static bool
spools(const uint8_t *head, size_t n)
{
	return n < 20 || le32(head + 8) & APR2_SHARDED || le32(head + 16) > SPOOL_MEMORY;
}

static const struct format_reads reads = {
	.open = apr2_open,
	.open_path = apr2_open_path,
	.describe = apr2_describe,
	.tensor_offset = apr2_tensor_offset,
	.outline = apr2_outline,
	.tensor_stored = apr2_tensor_stored,
	.spools = spools,
};

static const struct format_writes writes = {
	.create = apr2_create,
	.create_shards = ONLY_TOOLS(apr2_create_shards),
	.compresses = true,
	.sparse = true,
	.reserves = true,
	.sealed = true,
};

const struct format format_apr2 = {
	.name = "apr2",
	.title = "APR2",
	.suffix = "apr",
	.by_suffix = true,
	.probe = probe,
	.reads = &reads,
	.writes = ONLY_WRITES(&writes),
	.amend = ONLY_TOOLS(apr2_amend),
};
