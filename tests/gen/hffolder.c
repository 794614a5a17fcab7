/* hffolder: the tensors of a GGUF model under the names, and in the order of rows, that
 * model folders have.
 *
 *     hffolder IN.safetensors OUT.safetensors < RULES
 *
 * A rule is a line FROM TO [OPERATION [N]]; "#" in both names is the number of a block.
 * Tensors are F32. The operation is one of
 *
 *     split        a tensor of all experts becomes one of each, whose number is "*"
 *     minus1       values are less by 1
 *     halves N     in heads of N rows, the even rows come before the odd ones
 *     mix N        queries, keys and values of heads of N rows: from all queries first
 *                  to each head's three one after another
 *     turn         rows and columns change places
 *
 * A tensor without a rule is a fault.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 4096, RULES = 64, NAME = 200 };

static struct tensor {
	char name[NAME];
	unsigned long shape[4], axes, from, to; /* of data, in bytes */
} tensors[TENSORS];

static struct rule {
	char from[NAME], to[NAME], operation[16];
	unsigned long n;
} rules[RULES];

static char out_header[1 << 20];
static size_t header_bytes;
static float *out_data;
static size_t out_items;

_Noreturn static void
die(const char *what, const char *name)
{
	fprintf(stderr, "hffolder: %s: %s\n", name, what);
	exit(1);
}

static void
put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	header_bytes += (size_t)vsnprintf(out_header + header_bytes,
	                                  sizeof out_header - header_bytes, fmt, ap);
	va_end(ap);
}

/* Does name fit the pattern? *block is what stands for "#". */
static int
fits(const char *pattern, const char *name, unsigned long *block)
{
	for (; *pattern; pattern++)
		if (*pattern == '#') {
			char *end;

			*block = strtoul(name, &end, 10);
			if (end == name)
				return 0;
			name = end;
		} else if (*pattern != *name++) {
			return 0;
		}
	return *name == 0;
}

static void
put_name(const char *pattern, unsigned long block, unsigned long expert)
{
	put("%s\"", header_bytes > 1 ? "," : "");
	for (; *pattern; pattern++)
		if (*pattern == '#' || *pattern == '*')
			put("%lu", *pattern == '#' ? block : expert);
		else
			put("%c", *pattern);
	put("\":{\"dtype\":\"F32\",\"shape\":[");
}

/* rows × columns values; source row of row r. */
static unsigned long
row_from(const struct rule *r, unsigned long row, unsigned long rows)
{
	unsigned long n = r->n, heads, head, in, third;

	if (strcmp(r->operation, "halves") == 0) {
		in = row % n;
		return row - in + (in < n / 2 ? 2 * in : 2 * (in - n / 2) + 1);
	}
	if (strcmp(r->operation, "mix") == 0) {
		heads = rows / n / 3;
		head = row / (3 * n);
		third = row / n % 3;
		return (third * heads + head) * n + row % n;
	}
	return row;
}

static void
write_tensor(const struct tensor *t, const struct rule *r, unsigned long block,
             const float *data)
{
	unsigned long rows = t->shape[0], columns = 1, i, k, x, parts = 1, first = 0;
	int split = strcmp(r->operation, "split") == 0;
	int turned = strcmp(r->operation, "turn") == 0;

	for (i = 1; i < t->axes; i++)
		columns *= t->shape[i];
	if (split) {
		parts = rows;
		first = 1;
	}
	for (x = 0; x < parts; x++) {
		size_t begin = out_items;

		put_name(r->to, block, x);
		for (i = first; i < t->axes; i++)
			put("%s%lu", i > first ? "," : "", t->shape[turned ? t->axes - 1 - i : i]);
		if (turned) {
			for (k = 0; k < columns; k++)
				for (i = 0; i < rows; i++)
					out_data[out_items++] = data[i * columns + k];
		} else {
			for (i = 0; i < (split ? 1 : rows); i++)
				for (k = 0; k < columns; k++)
					out_data[out_items++] =
						data[(split ? x : row_from(r, i, rows)) * columns + k] -
						(strcmp(r->operation, "minus1") == 0 ? 1 : 0);
		}
		put("],\"data_offsets\":[%zu,%zu]}", begin * 4, out_items * 4);
	}
}

/* The header as apr-pack writes it: no blanks, members in this order. */
static size_t
read_header(char *p)
{
	size_t n = 0;
	char *at;

	for (at = strstr(p, "\"dtype\":\"F32\""); at; at = strstr(at + 1, "\"dtype\":\"F32\"")) {
		struct tensor *t = &tensors[n++];
		char *name = at - 4, *q;

		while (*name != '"')
			name--;
		snprintf(t->name, sizeof t->name, "%.*s", (int)(at - 4 - name), name + 1);
		q = strstr(at, "\"shape\":[") + 9;
		for (t->axes = 0; *q != ']' && t->axes < 4; q += *q == ',')
			t->shape[t->axes++] = strtoul(q, &q, 10);
		q = strstr(q, "\"data_offsets\":[") + 16;
		t->from = strtoul(q, &q, 10);
		t->to = strtoul(q + 1, &q, 10);
		if (n == TENSORS)
			die("too many tensors", t->name);
	}
	return n;
}

int
main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out;
	uint8_t head[8];
	uint64_t bytes = 0;
	size_t i, k, n, rule_count = 0;
	char line[512], *text;
	float *data;

	if (!in || fread(head, 1, 8, in) != 8)
		die("cannot be read", argc > 1 ? argv[1] : "usage");
	for (i = 8; i-- > 0;)
		bytes = bytes << 8 | head[i];
	text = calloc(1, bytes + 1);
	if (!text || fread(text, 1, bytes, in) != bytes)
		die("has no header", argv[1]);
	n = read_header(text);
	data = malloc(64u << 20);
	out_data = malloc(64u << 20);
	if (!data || !out_data)
		die("memory", argv[0]);
	if (fread(data, 4, 16u << 20, in) == 0)
		die("has no data", argv[1]);
	while (rule_count < RULES && fgets(line, sizeof line, stdin)) {
		struct rule *r = &rules[rule_count];

		rule_count += sscanf(line, "%199s %199s %15s %lu", r->from, r->to, r->operation,
		                     &r->n) >= 2;
	}
	put("{");
	for (i = 0; i < n; i++) {
		unsigned long block = 0;

		for (k = 0; k < rule_count && !fits(rules[k].from, tensors[i].name, &block); k++)
			;
		if (k == rule_count)
			die("has no rule", tensors[i].name);
		write_tensor(&tensors[i], &rules[k], block, data + tensors[i].from / 4);
	}
	put("}");
	while (header_bytes % 8)
		put(" ");
	out = fopen(argv[2], "wb");
	for (i = 0; i < 8; i++)
		head[i] = (uint8_t)(header_bytes >> 8 * i);
	if (!out || fwrite(head, 1, 8, out) != 8 ||
	    fwrite(out_header, 1, header_bytes, out) != header_bytes ||
	    fwrite(out_data, 4, out_items, out) != out_items || fclose(out) != 0)
		die("cannot be written", argv[2]);
	fclose(in);
	free(text);
	free(data);
	free(out_data);
	return 0;
}
