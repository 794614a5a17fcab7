/* apr64_rules FILE: check the rules that both programs reading such files enforce, and no
 * others. Prints the header's flags, a line for each
 * tensor (name, code, dims), and the members that are neither lists nor objects; of lists
 * the number of items. Exits 1 with a line on stderr if a rule is broken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "stream.h"

static uint8_t *file;
static size_t size;

#define rule(cond) \
	((cond) ? (void)0 : (fprintf(stderr, "broken: %s\n", #cond), exit(1)))

static uint64_t
number(size_t at, unsigned width)
{
	uint64_t v = 0;

	rule(at <= size && width <= size - at);
	while (width-- > 0)
		v = v << 8 | file[at + width];
	return v;
}

static int
all_zero(uint64_t from, uint64_t to)
{
	rule(from <= to && to <= size);
	for (; from < to; from++)
		if (file[from])
			return 0;
	return 1;
}

static void
slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f)
		gen_die("cannot be read", path);
	do {
		file = realloc(file, size + (1 << 20));
		if (!file)
			gen_die("out of memory", path);
		n = fread(file + size, 1, 1 << 20, f);
		size += n;
	} while (n > 0);
	fclose(f);
}

static void
check_header(void)
{
	uint8_t p[60];

	rule(size >= 64);
	memcpy(p, file, 40);
	memcpy(p + 40, file + 44, 20);
	rule(memcmp(file, "APR\0", 4) == 0);
	rule(number(4, 1) == 2 && number(5, 1) == 0);
	rule(number(40, 4) == crc32_of(p, sizeof p));
	rule(all_zero(44, 64));
	rule(!(number(6, 2) & 0x0001)); /* LZ4 */
	rule(!(number(6, 2) & 0x0002)); /* ZSTD */
	rule(!(number(6, 2) & 0x0004)); /* ENCRYPTED */
	rule(number(6, 2) & 0x0400);    /* ROW_MAJOR */
	rule(!(number(6, 2) & 0x0800)); /* COLUMN_MAJOR */
	rule(number(12, 8) == 64);
	rule(number(24, 8) % 64 == 0 && number(32, 8) % 64 == 0);
	rule(all_zero(64 + number(20, 4), number(24, 8)));
	rule(number(size - 4, 4) == crc32_of(file, size - 4));
	printf("flags 0x%04x\n", (unsigned)number(6, 2));
}

/* One spelling of each. */
static void
check_names(json_t *o)
{
	static const char *const same[][4] = {
		{ "hidden_size", "hidden_dim", "d_model", "n_embd" },
		{ "num_layers", "n_layers", "num_hidden_layers", "n_layer" },
		{ "num_heads", "n_heads", "num_attention_heads", "n_head" },
		{ "num_kv_heads", "n_kv_heads", "num_key_value_heads" },
		{ "vocab_size", "n_vocab" },
		{ "intermediate_size", "ffn_dim", "intermediate_dim", "n_inner" },
		{ "max_position_embeddings", "max_seq_len", "context_length", "n_ctx" },
		{ "rms_norm_eps", "layer_norm_eps", "norm_eps" },
	};
	size_t i, k;

	for (i = 0; i < sizeof same / sizeof *same; i++) {
		unsigned found = 0;

		for (k = 0; k < 4 && same[i][k]; k++)
			found += json_object_get(o, same[i][k]) != NULL;
		rule(found <= 1);
	}
}

static void
check_metadata(void)
{
	static const char *const whole[] = { "hidden_size", "num_layers", "num_heads",
		"num_kv_heads", "vocab_size", "intermediate_size", "max_position_embeddings",
		"rope_type", "head_dim", "num_experts", "num_experts_per_tok",
		"moe_intermediate_size", "total_size", "param_count" };
	static const char *const text[] = { "model_type", "name", "architecture", "license",
		"version", "original_format", "chat_template" };
	json_error_t e;
	json_t *o = json_loadb((char *)file + 64, number(20, 4),
	                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e), *v;
	const char *name;
	size_t i;

	rule(json_is_object(o));
	check_names(o);
	for (i = 0; i < sizeof whole / sizeof *whole; i++) {
		v = json_object_get(o, whole[i]);
		rule(!v || json_is_null(v) || json_is_integer(v));
	}
	for (i = 0; i < sizeof text / sizeof *text; i++) {
		v = json_object_get(o, text[i]);
		rule(!v || json_is_null(v) || json_is_string(v));
	}
	rule(json_is_string(json_object_get(o, "model_type")));
	rule(json_is_integer(json_object_get(o, "total_size")));
	rule(json_is_integer(json_object_get(o, "param_count")));
	json_object_foreach(o, name, v) {
		char *s = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

		if (json_is_array(v))
			printf("%s: %zu items\n", name, json_array_size(v));
		else if (!json_is_object(v) && strncmp(name, "apr.", 4) != 0)
			printf("%s: %s\n", name, s);
		free(s);
	}
	json_decref(o);
}

static void
check_index(void)
{
	uint64_t count = number(8, 4), at = number(24, 8), data = number(32, 8), i, d, end = data;
	char before[257] = "", name[257];

	for (i = 0; i < count; i++) {
		uint64_t length = number(at, 2), code, ndim, offset, bytes;

		rule(length > 0 && length <= 256);
		rule(at + 2 + length <= data);
		memcpy(name, file + at + 2, length);
		name[length] = '\0';
		rule(strlen(name) == length);
		rule(strcmp(before, name) < 0);
		memcpy(before, name, sizeof before);
		at += 2 + length;
		code = number(at, 1);
		ndim = number(at + 1, 1);
		rule(code <= 1 || (code >= 3 && code <= 7) || code == 12 || code == 14 ||
		     code == 30 || code == 128 || code == 129);
		rule(ndim <= 8);
		printf("%s %u", name, (unsigned)code);
		for (at += 2, d = 0; d < ndim; d++, at += 8)
			printf(" %llu", (unsigned long long)number(at, 8));
		printf("\n");
		offset = number(at, 8);
		bytes = number(at + 8, 8);
		at += 16;
		rule(offset % 64 == 0);
		rule(offset <= size && bytes <= size && data + offset + bytes <= size - 4);
		rule(all_zero(data + offset + bytes, (data + offset + bytes + 63) / 64 * 64));
		if (data + offset + bytes > end)
			end = data + offset + bytes;
	}
	rule(data - at < 64 && all_zero(at, data));
	rule((end + 63) / 64 * 64 == size - 4);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		gen_die("one operand, the file, is needed", argv[0]);
	slurp(argv[1]);
	check_header();
	check_index();
	check_metadata();
	free(file);
	return 0;
}
