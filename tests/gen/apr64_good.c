/* apr64_good: APR files with the header of 64 bytes, as one program or another
 * wrote them at some time. MANIFEST: name, what is said of it (or "-"), its
 * tensors: name, type, shape of each, separated by semicolons (or "-"), and whether
 * our writer makes the same of it or something changed.
 */
#include "apr64.h"

#define DIMS 3
#define ENTRIES 12

/* The golden model whose parameters upstream publishes with its tests. */
static const float weights[] = { 1, 2, .5f, -.5f, 4, -2, .25f, 8 };

/* Null members of its writer until it learned to leave them out. */
static const char *const nulls[][2] = {
	{ "name", "description" }, { "description", "author" }, { "version", "source" },
	{ "source", "original_format" }, { "param_count", "quantization" },
	{ "quantization", "sharding" }, { "sharding", "chat_template" },
	{ "chat_template", "chat_format" }, { "chat_format", "special_tokens" },
	{ "special_tokens", "architecture" }, { "architecture", "hf_architecture" },
	{ "hf_architecture", "hf_model_type" }, { "hf_model_type", "hidden_size" },
	{ "hidden_size", "num_layers" }, { "num_layers", "num_heads" },
	{ "num_heads", "num_kv_heads" }, { "num_kv_heads", "vocab_size" },
	{ "vocab_size", "intermediate_size" },
	{ "intermediate_size", "max_position_embeddings" },
	{ "max_position_embeddings", "rope_theta" }, { "rope_theta", "rope_type" },
	{ "rope_type", "rms_norm_eps" }, { "rms_norm_eps", "head_dim" },
	{ "head_dim", "num_experts" }, { "num_experts", "num_experts_per_tok" },
	{ "num_experts_per_tok", "moe_intermediate_size" },
};

static void
put_nulls(struct gen *g, const char *after, int all)
{
	size_t i;

	for (i = 0; all && i < sizeof nulls / sizeof *nulls; i++)
		if (strcmp(nulls[i][0], after) == 0) {
			put_text(g, ",\"");
			put_text(g, nulls[i][1]);
			put_text(g, "\":null");
			after = nulls[i][1];
		}
}

static void
golden_text(struct gen *g, int all)
{
	put_text(g, "{\"model_type\":\"linear_regression\",\"name\":\"golden-v2\"");
	put_nulls(g, "name", all);
	put_text(g, ",\"license\":null,\"data_source\":null,\"data_license\":null,"
	         "\"version\":\"0.0.0-golden\"");
	put_nulls(g, "version", all);
	put_text(g, ",\"created_at\":\"1700000000\",\"total_size\":0,\"param_count\":8");
	put_nulls(g, "param_count", all);
	put_text(g, "}");
}

static void
golden(struct folder *folder, const char *name, int all)
{
	static const uint64_t one[] = { 1 }, eight[] = { 8 };
	struct apr64 m = { .flags = 0x400 };
	const float bias = .125f;

	golden_text(&m.text, all);
	apr64_entry(&m, "bias", 0, 1, one, 0, 4);
	apr64_entry(&m, "weights", 0, 1, eight, 64, 32);
	put(&m.data, &bias, 4);
	put_align(&m.data, 64);
	put(&m.data, weights, sizeof weights);
	apr64_assemble(&m);
	apr64_header_crc(&m);
	apr64_footer(&m);
	folder_file(folder, name, &m.file);
	fprintf(folder->manifest, "%s\t-\tbias F32 1;weights F32 8\tsame\n", name);
	apr64_free(&m);
}

/* An entry, and what is to be made of it. */
struct row {
	const char *name;
	uint8_t code;
	unsigned ndim;
	uint64_t dims[DIMS], bytes;
	const char *is;
	int last;     /* the index lists it first, its data come last */
};

static const struct file {
	const char *name, *says;
	const char *kept;
	const char *magic;
	unsigned flags;
	int no_header_crc, tight;
	enum { CRC, NONE, LONG } footer;
	const char *text;
	struct row rows[ENTRIES];
} files[] = {
	{ "apr64_first_weeks", "-", "changed", "APR2", 0, 0, 0, CRC, "{\"model_type\":\"x\"}",
	  { { "a", 0, 2, { 2, 3 }, 24, "a F32 2x3", 0 } } },
	{ "apr64_no_tensors", "-", "same", NULL, 0x400, 0, 0, CRC, "{}", { { 0 } } },
	{ "apr64_scalar_and_empty", "-", "changed", NULL, 0x400, 0, 0, CRC, " { } ",
	  { { "a", 0, 0, { 0 }, 4, "a F32 scalar", 0 },
	    { "b", 0, 2, { 0, 7 }, 0, "b F32 0x7", 0 } } },

	/* dtype codes. Plain rows: nothing but size decides. */
	{ "apr64_codes_february", "-", "changed", NULL, 0x400, 0, 0, CRC, "{}",
	  { { "a", 2, 1, { 32 }, 64, "a BF16 32", 0 }, { "b", 3, 1, { 5 }, 40, "b F64 5", 0 },
	    { "c", 4, 1, { 5 }, 20, "c I32 5", 0 }, { "d", 5, 1, { 5 }, 40, "d I64 5", 0 },
	    { "e", 6, 1, { 64 }, 64, "e I8 64", 0 }, { "f", 7, 1, { 64 }, 64, "f U8 64", 0 },
	    { "g", 8, 2, { 2, 128 }, 144, "g APR_Q4 2x128", 0 },
	    { "h", 9, 2, { 2, 128 }, 260, "h APR_Q8 2x128", 0 },
	    { "i", 12, 2, { 2, 256 }, 288, "i Q4_K 2x256", 0 },
	    { "j", 14, 2, { 2, 256 }, 420, "j Q6_K 2x256", 0 },
	    { "k", 1, 2, { 3, 3 }, 18, "k F16 3x3", 0 } } },
	{ "apr64_codes_today", "-", "same", NULL, 0x400, 0, 0, CRC, "{}",
	  { { "a", 30, 1, { 5 }, 10, "a BF16 5", 0 },
	    { "b", 128, 2, { 3, 11 }, 36, "b APR_Q4 3x11", 0 },
	    { "c", 129, 2, { 3, 11 }, 37, "c APR_Q8 3x11", 0 } } },
	{ "apr64_codes_ggml", "-", "changed", NULL, 0x400, 0, 0, CRC, "{}",
	  { { "a", 2, 2, { 2, 64 }, 72, "a Q4_0 2x64", 0 },
	    { "b", 3, 1, { 64 }, 40, "b Q4_1 64", 0 }, { "c", 6, 1, { 64 }, 44, "c Q5_0 64", 0 },
	    { "d", 7, 1, { 64 }, 48, "d Q5_1 64", 0 }, { "e", 8, 1, { 64 }, 68, "e Q8_0 64", 0 },
	    { "f", 10, 1, { 256 }, 84, "f Q2_K 256", 0 },
	    { "g", 11, 1, { 256 }, 110, "g Q3_K 256", 0 },
	    { "h", 13, 1, { 256 }, 176, "h Q5_K 256", 0 },
	    { "i", 16, 1, { 256 }, 66, "i IQ2_XXS 256", 0 },
	    { "j", 17, 1, { 256 }, 74, "j IQ2_XS 256", 0 },
	    { "k", 9, 1, { 256 }, 210, "k Q6_K 256", 0 },
	    { "l", 12, 1, { 256 }, 176, "l Q5_K 256", 0 } } },
	/* GGUF's names and order of dimensions, other codes, no checksum at the end. */
	{ "apr64_realizar_converter", "2 shapes in GGUF's order", "changed", NULL, 0x20, 0, 0, NONE,
	  "{\"architecture\":\"llama\"}",
	  { { "blk.0.attn_q.weight", 8, 2, { 256, 2 }, 288, "blk.0.attn_q.weight Q4_K 2x256", 0 },
	    { "blk.0.attn_v.weight", 10, 2, { 64, 3 }, 204, "blk.0.attn_v.weight Q8_0 3x64", 0 },
	    { "output_norm.weight", 0, 1, { 5 }, 20, "output_norm.weight F32 5", 0 } } },
	{ "apr64_realizar_bytes", "no checksum", "changed", NULL, 0, 1, 1, NONE, "{}",
	  { { "token_embd.weight", 0, 2, { 2, 3 }, 24, "token_embd.weight F32 2x3", 0 },
	    { "blk.0.x", 0, 1, { 1 }, 4, "blk.0.x F32 1", 0 } } },

	/* Rows that do not fill blocks: padded each, or all together. */
	{ "apr64_rows_padded", "2 tensors whose rows do not fill blocks", "same", NULL, 0x400, 0, 0, CRC,
	  "{}", { { "a", 12, 2, { 2, 300 }, 576, "a U8 576", 0 },
	    { "b", 14, 2, { 2, 300 }, 630, "b U8 630", 0 },
	    { "c", 14, 2, { 1, 512 }, 420, "c Q6_K 1x512", 0 } } },

	/* Where things lie. */
	{ "apr64_data_in_other_order", "-", "same", NULL, 0x400, 0, 0, CRC, "{}",
	  { { "a", 0, 1, { 3 }, 12, NULL, 1 }, { "b", 0, 1, { 5 }, 20, "b F32 5;a F32 3", 0 } } },
	{ "apr64_footer_long", "-", "changed", NULL, 0x400, 0, 0, LONG, "{}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_footer_unpadded", "-", "changed", NULL, 0x400, 0, 1, CRC, "{}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },

	/* Flags that say what is not so. */
	{ "apr64_marked_lz4", "is marked as compressed, but is not", "changed", NULL, 0x401, 0, 0, CRC, "{}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_marked_shard", "one of several shards", "changed", NULL, 0x410, 0, 0, CRC, "{}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_unknown_flag", "the flags 0x1000 have no known meaning", "changed", NULL, 0x1400, 0, 0, CRC,
	  "{}", { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_flags_kept", "-", "same", NULL, 0x7c0, 0, 0, CRC, "{}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_two_names", "has both hidden_size and n_embd", "changed", NULL, 0x400, 0, 0, CRC,
	  "{\"hidden_size\":null,\"n_embd\":4}", { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
	{ "apr64_keys_of_all_kinds", "-", "changed", NULL, 0x400, 0, 0, CRC,
	  "{ \"a\" : [ 1, 2.50 ],\n\"b\":{\"\":1e400,\"x\":[]},\"c\":\"\\u0000\\ud83d\\ude00\","
	  "\"d\":-0,\"e\":18446744073709551615,\"f\":true,\"g\":false,\"h\":null,"
	  "\"\xc3\xa9\\n\":\"\xf0\x9f\x98\x80\",\"apr.blob.x\":7,\"config\":{\"a\":{}}}",
	  { { "a", 0, 1, { 3 }, 12, "a F32 3", 0 } } },
};

static void
put_data(struct apr64 *m, const struct row *rows, int last)
{
	size_t i;

	for (i = 0; i < ENTRIES && rows[i].name; i++) {
		if (rows[i].last != last)
			continue;
		if (!m->tight && m->data.n)
			put_align(&m->data, 64);
		put_ramp(&m->data, rows[i].bytes);
	}
}

static void
put_rows(struct apr64 *m, const struct row *rows)
{
	uint64_t offset = 0, last = 0;
	size_t i;

	/* Where the one behind all others goes. */
	for (i = 0; i < ENTRIES && rows[i].name; i++)
		if (!rows[i].last)
			last += m->tight ? rows[i].bytes : (rows[i].bytes + 63) / 64 * 64;
	for (i = 0; i < ENTRIES && rows[i].name; i++) {
		const struct row *r = &rows[i];

		apr64_entry(m, r->name, r->code, r->ndim, r->dims, r->last ? last : offset,
		            r->bytes);
		if (!r->last)
			offset += m->tight ? r->bytes : (r->bytes + 63) / 64 * 64;
	}
	put_data(m, rows, 0);
	put_data(m, rows, 1);
}

static void
one(struct folder *folder, const struct file *f)
{
	struct apr64 m = { .magic = f->magic, .flags = f->flags,
		.no_header_crc = f->no_header_crc, .tight = f->tight };
	const char *between = "";
	size_t i;

	put_text(&m.text, f->text);
	put_rows(&m, f->rows);
	apr64_assemble(&m);
	apr64_header_crc(&m);
	if (f->footer != NONE)
		apr64_footer(&m);
	if (f->footer == LONG) {
		put_text(&m.file, "2RPA");
		put_u64(&m.file, m.file.n + 8);
	}
	folder_file(folder, f->name, &m.file);
	fprintf(folder->manifest, "%s\t%s\t", f->name, f->says);
	for (i = 0; i < ENTRIES && f->rows[i].name; i++)
		if (f->rows[i].is) {
			fprintf(folder->manifest, "%s%s", between, f->rows[i].is);
			between = ";";
		}
	fprintf(folder->manifest, "%s\t%s\n", *between ? "" : "-", f->kept);
	apr64_free(&m);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	size_t i;

	folder_open(&folder, argc, argv);
	golden(&folder, "golden_v2", 1);
	golden(&folder, "golden_v2_current", 0);
	for (i = 0; i < sizeof files / sizeof *files; i++)
		one(&folder, &files[i]);
	return folder_close(&folder);
}
