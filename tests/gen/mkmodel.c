/* mkmodel: a GGUF file from a description, so that a test can say in a few lines
 * which odd model it needs.
 *
 *     mkmodel < DESCRIPTION > FILE
 *
 *     version N                         of GGUF: 1, 2 or 3 (the default)
 *     key NAME TYPE VALUE ...           u8 … f64, bool, string (the rest of the
 *                                       line), array:TYPE (a word an item;
 *                                       *N: N items 0, 1, 2, …; V*N: N times V)
 *     tensor NAME TYPE SHAPE CONTENT    TYPE by name, or its number and the bytes
 *                                       of a tensor (77:40); SHAPE outermost
 *                                       first: 4x32, or - for a scalar
 *
 * CONTENT: noise (numbers that look like weights; of block types, bytes of which
 * every scale is small), ramp (bytes that count up), values V ... (in turn; 0x7c00
 * is a bit pattern), hole (bytes that are never written: a sparse file).
 * In names and strings \xNN is a byte, \s a space, \e nothing. Lines with # in front pass.
 */
#include <ctype.h>
#include <inttypes.h>
#include <unistd.h>

#include "gguf.h"

enum { LINES = 50000, WORDS = 64, AXES = 8 };

static const struct type {
	const char *name;
	uint32_t number;
	uint64_t items, bytes; /* of a block */
} types[] = {
	{ "F32", 0, 1, 4 }, { "F16", 1, 1, 2 }, { "Q4_0", 2, 32, 18 }, { "Q8_0", 8, 32, 34 },
	{ "Q6_K", 14, 256, 210 }, { "I8", 24, 1, 1 }, { "I32", 26, 1, 4 }, { "I64", 27, 1, 8 },
	{ "F64", 28, 1, 8 }, { "BF16", 30, 1, 2 },
};

static const char *const key_types[] = {
	"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64",
	"f64",
};

struct tensor {
	char *name, *content;
	struct type type;
	uint64_t ne[AXES]; /* innermost first */
	uint32_t axes;
	uint64_t items, bytes, offset;
};

static struct tensor tensors[LINES];
static size_t tensor_count;
static uint64_t key_count, align = 32, data_bytes;

/* \xNN, \s and \e in place. Returns the length: there may be a NUL inside. */
static size_t
unescape(char *s)
{
	char *from = s, *to = s;
	unsigned byte;

	while (*from) {
		if (from[0] == '\\' && from[1] == 's') {
			*to++ = ' ';
			from += 2;
		} else if (from[0] == '\\' && from[1] == 'e') {
			from += 2;
		} else if (from[0] == '\\' && sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - s);
}

static char *
next_word(char **line)
{
	char *word;

	*line += strspn(*line, " ");
	word = *line;
	*line += strcspn(*line, " ");
	if (**line)
		*(*line)++ = '\0';
	return word;
}

static uint32_t
key_type(const char *name)
{
	uint32_t i;

	for (i = 0; i < sizeof key_types / sizeof *key_types; i++)
		if (strcmp(key_types[i], name) == 0)
			return i;
	gen_die("no such type of a key", name);
}

static void
put_scalar(struct gen *g, uint32_t type, const char *text)
{
	float f;
	double d;

	switch (type) {
	case U8: case I8: case BOOL:
		put_u8(g, (uint8_t)strtoll(text, NULL, 0));
		break;
	case U16: case I16:
		put_number(g, (uint64_t)strtoll(text, NULL, 0), 2);
		break;
	case U32: case I32:
		put_u32(g, (uint32_t)strtoll(text, NULL, 0));
		break;
	case I64:
		put_u64(g, (uint64_t)strtoll(text, NULL, 0));
		break;
	case U64:
		put_u64(g, strtoull(text, NULL, 0));
		break;
	case F32:
		f = strtof(text, NULL);
		put(g, &f, sizeof f); /* little-endian machines only */
		break;
	case F64:
		d = strtod(text, NULL);
		put(g, &d, sizeof d);
		break;
	default:
		gen_die("no such type of an item", text);
	}
}

static void
put_item(struct gen *g, uint32_t type, char *text)
{
	if (type == STRING)
		put_string_n(g, text, unescape(text));
	else
		put_scalar(g, type, text);
}

static void
put_array(struct gen *g, uint32_t type, char *rest)
{
	struct gen items = { 0 };
	uint64_t n = 0, many = 0;
	char text[32], *word, *times;

	for (word = next_word(&rest); *word; word = next_word(&rest)) {
		times = type == STRING ? NULL : strchr(word, '*');
		if (*word != '*') {
			many = times ? strtoull(times + 1, NULL, 10) : 1;
			for (n += many; many > 0; many--)
				put_item(&items, type, word);
			continue;
		}
		for (many = strtoull(word + 1, NULL, 10); n < many; n++) {
			snprintf(text, sizeof text, "%" PRIu64, n);
			put_item(&items, type, text);
		}
	}
	put_array_head(g, type, n);
	put(g, items.p, items.n);
	gen_free(&items);
}

static void
add_key(struct gen *g, char *rest)
{
	char *name = next_word(&rest), *type = next_word(&rest);

	key_count++;
	put_string_n(g, name, unescape(name));
	if (strncmp(type, "array:", 6) == 0) {
		put_u32(g, ARRAY);
		put_array(g, key_type(type + 6), rest);
		return;
	}
	put_u32(g, key_type(type));
	if (strcmp(name, "general.alignment") == 0)
		align = strtoull(rest, NULL, 10);
	put_item(g, key_type(type), rest);
}

static struct type
tensor_type(char *text)
{
	char *colon = strchr(text, ':');
	size_t i;

	if (colon)
		return (struct type){ text, (uint32_t)strtoul(text, NULL, 10), 0,
			              strtoull(colon + 1, NULL, 10) };
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, text) == 0)
			return types[i];
	gen_die("no such type of a tensor", text);
}

static void
add_tensor(char *rest)
{
	struct tensor *t = &tensors[tensor_count++];
	char *shape;

	if (tensor_count == LINES)
		gen_die("too many tensors", rest);
	t->name = next_word(&rest);
	t->type = tensor_type(next_word(&rest));
	shape = next_word(&rest);
	t->content = rest;
	t->items = 1;
	while (isdigit((unsigned char)*shape)) {
		if (t->axes == AXES)
			gen_die("too many dimensions", t->name);
		memmove(t->ne + 1, t->ne, t->axes * sizeof *t->ne);
		t->ne[0] = strtoull(shape, &shape, 10);
		t->items *= t->ne[0];
		t->axes++;
		shape += *shape == 'x';
	}
	if (t->type.items > 1 && t->ne[0] % t->type.items)
		gen_die("its rows do not fill the blocks of its type", t->name);
	t->bytes = t->type.items ? t->items / t->type.items * t->type.bytes : t->type.bytes;
	t->offset = data_bytes;
	data_bytes += (t->bytes + align - 1) / align * align;
}

static void
put_index(struct gen *g)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < tensor_count; i++) {
		const struct tensor *t = &tensors[i];

		put_string_n(g, t->name, unescape(t->name));
		put_u32(g, t->axes);
		for (k = 0; k < t->axes; k++)
			put_size(g, t->ne[k]);
		put_u32(g, t->type.number);
		put_u64(g, t->offset);
	}
}

static uint64_t state = 0x2545f4914f6cdd1d;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The bits of a number around 2^-6, as F32; F16 and BF16 have it exactly. */
static uint32_t
weight(void)
{
	uint64_t r = next();

	return (uint32_t)((r & 1) << 31 | (119 + (r >> 1 & 3)) << 23 | (r >> 8 & 0x7f) << 16);
}

/* A number of a plain type, from the bits of an F32 that it has exactly. */
static void
put_float(struct gen *g, const struct tensor *t, uint32_t bits)
{
	uint32_t exponent = bits >> 23 & 0xff;

	if (strcmp(t->type.name, "F32") == 0)
		put_u32(g, bits);
	else if (strcmp(t->type.name, "BF16") == 0)
		put_number(g, bits >> 16, 2);
	else if (strcmp(t->type.name, "F16") == 0)
		put_number(g, (bits >> 16 & 0x8000) |
		           (exponent ? (exponent - 112) << 10 | (bits >> 13 & 0x3ff) : 0), 2);
	else
		gen_die("has a type without such content", t->name);
}

static void
put_noise(struct gen *g, const struct tensor *t)
{
	uint64_t i, k;

	if (t->type.items == 1) {
		for (i = 0; i < t->items; i++)
			put_float(g, t, weight());
		return;
	}
	for (i = 0; i < t->bytes; i += t->type.bytes)
		for (k = 0; k < t->type.bytes; k++)
			/* A half whose upper byte is 0x20 is about 2^-7, wherever in the
			 * block the scale lies. */
			put_u8(g, k == 1 || k == 209 ? 0x20 : (uint8_t)(next() >> 20));
}

static void
put_values(struct gen *g, const struct tensor *t, char *rest)
{
	char *word[WORDS], *end;
	uint64_t i;
	size_t n = 0;
	float f;

	for (word[0] = next_word(&rest); *word[n] && n + 1 < WORDS;)
		word[++n] = next_word(&rest);
	for (i = 0; i < t->items; i++) {
		char *text = word[i % n];

		if (strncmp(text, "0x", 2) == 0) {
			put_number(g, strtoull(text, &end, 16), (unsigned)t->type.bytes);
		} else {
			uint32_t bits;

			f = strtof(text, &end);
			memcpy(&bits, &f, sizeof bits);
			put_float(g, t, bits);
		}
		if (*end)
			gen_die("is not a number", text);
	}
}

static void
put_content(struct gen *g, const struct tensor *t)
{
	char *rest = t->content, *kind = next_word(&rest);

	if (t->bytes == 0)
		return;
	if (strcmp(kind, "noise") == 0)
		put_noise(g, t);
	else if (strcmp(kind, "ramp") == 0)
		put_ramp(g, t->bytes);
	else if (strcmp(kind, "values") == 0)
		put_values(g, t, rest);
	else
		gen_die("no such content", kind);
}

static void
read_lines(struct gen *keys)
{
	static char *lines[LINES];
	char *verb, *rest;
	size_t n = 0, cap, i;

	for (; n < LINES; n++) {
		ssize_t got = getline(&lines[n], (cap = 0, &cap), stdin);

		if (got < 0)
			break;
		lines[n][strcspn(lines[n], "\n")] = '\0';
	}
	for (i = 0; i < n; i++) {
		rest = lines[i];
		verb = next_word(&rest);
		if (strcmp(verb, "version") == 0)
			gguf_version = (uint32_t)strtoul(rest, NULL, 10);
		else if (strcmp(verb, "key") == 0)
			add_key(keys, rest);
		else if (strcmp(verb, "tensor") == 0)
			add_tensor(rest);
		else if (*verb && *verb != '#')
			gen_die("no such line", verb);
	}
}

int
main(void)
{
	struct gen keys = { 0 }, g = { 0 };
	size_t i, start;

	read_lines(&keys);
	put_header(&g, tensor_count, key_count);
	put(&g, keys.p, keys.n);
	put_index(&g);
	put_align(&g, align);
	start = g.n;
	for (i = 0; i < tensor_count; i++) {
		if (strncmp(tensors[i].content, "hole", 4) == 0)
			break;
		put_content(&g, &tensors[i]);
		put_align(&g, align);
	}
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fflush(stdout) != 0)
		gen_die("cannot be written", "standard output");
	if (i < tensor_count && ftruncate(STDOUT_FILENO, (off_t)(start + data_bytes)) < 0)
		gen_die("cannot be made sparse", "standard output");
	return 0;
}
