#include "formats/apr64/apr64.h"

#include <string.h>

#include "core/le.h"
#include "core/num.h"

const struct members_rules apr64_rules = { .depth = 128, .members = 1u << 20 };

const char *
apr64_flag(uint32_t bit)
{
	static const char *const names[] = { "LZ4", "ZSTD", "ENCRYPTED", "SIGNED", "SHARDED",
		"QUANTIZED", "FILTERBANK", "MODEL_CARD", "STREAMING", "VOCAB", "ROW_MAJOR",
		"COLUMN_MAJOR" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (bit == 1u << i)
			return names[i];
	return NULL;
}

bool
apr64_is_ours(const char *name)
{
	static const char *const prefixes[] = { APR64_BLOB, APR64_PROV, APR64_SIGN };
	size_t i;

	for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return strcmp(name, APR64_OWN) == 0 || strcmp(name, APR64_TENSORS) == 0 ||
	       strcmp(name, APR64_LICENCE) == 0;
}

int
apr64_alias(const char *name, const char **canonical)
{
	static const char *const names[APR64_ALIASES][4] = {
		{ "hidden_size", "hidden_dim", "d_model", "n_embd" },
		{ "num_layers", "n_layers", "num_hidden_layers", "n_layer" },
		{ "num_heads", "n_heads", "num_attention_heads", "n_head" },
		{ "num_kv_heads", "n_kv_heads", "num_key_value_heads" },
		{ "vocab_size", "n_vocab" },
		{ "intermediate_size", "ffn_dim", "intermediate_dim", "n_inner" },
		{ "max_position_embeddings", "max_seq_len", "context_length", "n_ctx" },
		{ "rms_norm_eps", "layer_norm_eps", "norm_eps" },
	};
	int i, k;

	*canonical = name;
	for (i = 0; i < APR64_ALIASES; i++)
		for (k = 0; k < 4 && names[i][k]; k++)
			if (strcmp(name, names[i][k]) == 0) {
				*canonical = names[i][0];
				return i;
			}
	return -1;
}

/* ---- types ---- */

/* The types that a code has in the files of different programs. The size of a tensor decides
 * among them whenever rows fill whole blocks, except for Q4_K under code 8; otherwise, the
 * first row applies. Sources: the tables of aprender before and after its renumbering,
 * realizar's (GGML's numbers), and those of its first converter. */
static const struct {
	uint8_t code;
	const char *types[3];
} codes[] = {
	{ 0, { "F32" } },
	{ 1, { "F16" } },
	{ 2, { "BF16", "Q4_0" } },
	{ 3, { "F64", "Q4_1" } },
	{ 4, { "I32" } },
	{ 5, { "I64" } },
	{ 6, { "I8", "Q5_0" } },
	{ 7, { "U8", "Q5_1" } },
	{ 8, { "Q8_0", "APR_Q4", "Q4_K" } },
	{ 9, { "APR_Q8", "Q6_K" } },
	{ 10, { "Q2_K", "Q8_0" } },
	{ 11, { "Q3_K" } },
	{ 12, { "Q4_K", "Q5_K" } },
	{ 13, { "Q5_K" } },
	{ 14, { "Q6_K" } },
	{ 16, { "IQ2_XXS" } },
	{ 17, { "IQ2_XS" } },
	{ 30, { "BF16" } },
	{ 128, { "APR_Q4" } },
	{ 129, { "APR_Q8" } },
};
#define CODES (sizeof codes / sizeof *codes)

static bool
takes(const struct dtype *t, uint64_t blocks, uint64_t bytes)
{
	uint64_t n;

	return num_mul(blocks, t->bytes, &n) == 0 && num_add(n, t->head, &n) == 0 &&
	       n == bytes;
}

static uint64_t
blocks_of(const struct dtype *t, uint64_t items)
{
	return items / t->items + (items % t->items != 0);
}

/* 0 if a tensor of this type and shape takes this many bytes, 1 if it would with blocks that
 * run over rows or with padded rows, else -1. The tensor has rows × row values. */
static int
fits(const struct dtype *t, uint64_t rows, uint64_t row, uint64_t bytes)
{
	uint64_t items, padded;

	if (num_mul(rows, row, &items) < 0)
		return -1;
	if (items == 0 && bytes == 0)
		return 0;
	if (takes(t, blocks_of(t, items), bytes))
		return t->whole || row % t->items == 0 ? 0 : 1;
	if (!t->whole && num_mul(rows, blocks_of(t, row), &padded) == 0 &&
	    takes(t, padded, bytes))
		return 1;
	return -1;
}

int
apr64_type(uint8_t code, unsigned ndim, const uint64_t *dims, uint64_t bytes, bool old,
           const struct dtype **type)
{
	uint64_t rows = 1, row = ndim ? dims[ndim - 1] : 1;
	unsigned i, k, how;
	size_t at;

	for (at = 0; at < CODES && codes[at].code != code; at++)
		;
	if (at == CODES)
		return -2;
	for (i = 0; i + 1 < ndim; i++)
		if (num_mul(rows, dims[i], &rows) < 0)
			return -1;
	for (how = 0; how < 2; how++)
		for (k = 0; k < 3; k++) {
			const char *name = codes[at].types[old ? 2 - k : k];

			*type = name ? dtype_by_name(name) : NULL;
			if (*type && fits(*type, rows, row, bytes) == (int)how)
				return (int)how;
		}
	return -1;
}

int
apr64_code(const struct dtype *type)
{
	static const struct {
		uint8_t code;
		const char *name;
	} written[] = {
		{ 0, "F32" }, { 1, "F16" }, { 30, "BF16" }, { 12, "Q4_K" }, { 14, "Q6_K" },
		{ 128, "APR_Q4" }, { 129, "APR_Q8" },
		/* aprender's codes; realizar lacks these types and ignores tensors that it
		 * does not use. */
		{ 3, "F64" }, { 4, "I32" }, { 5, "I64" }, { 6, "I8" }, { 7, "U8" },
	};
	size_t i;

	for (i = 0; i < sizeof written / sizeof *written; i++)
		if (strcmp(type->name, written[i].name) == 0)
			return written[i].code;
	return DTYPE_NONE;
}

bool
apr64_is_foreign(const struct tensor *t)
{
	return apr64_code(tensor_type(t)) == DTYPE_NONE;
}

/* ---- the format ---- */

/* Accepts every file that begins with "APR\0", so that the refusal can name its real format.
 * In a header of 32 bytes, the same bytes are never metadata at 64 of size 0. */
static bool
probe(const uint8_t *head, size_t n)
{
	if (n >= 4 && memcmp(head, "APR\0", 4) == 0)
		return true;
	return n >= 20 && memcmp(head, "APR2\2", 5) == 0 && le64(head + 12) == APR64_HEADER;
}

/* The text of the metadata goes into a spool. */
static bool
spools(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

static const struct format_reads reads = {
	.open = apr64_open,
	.describe = apr64_describe,
	.tensor_offset = apr64_tensor_offset,
	.outline = apr64_outline,
	.spools = spools,
};

static const struct format_writes writes = {
	.create = apr64_create,
};

const struct format format_apr64 = {
	.name = "apr2-64",
	.title = "APR2 with a header of 64 bytes",
	.suffix = "apr",
	.probe = probe,
	.reads = &reads,
	.writes = ONLY_WRITES(&writes),
};
