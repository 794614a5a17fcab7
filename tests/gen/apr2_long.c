/* apr2_long: an APR2 file without tensors, whose metadata has about BYTES bytes.
 *
 *     apr2_long KIND BYTES >FILE
 *
 * KIND: string, one long string; numbers, lists of 20000 numbers; zeros, one list of zeros;
 * names, one object with many short names; twice, the same, with the first name again at
 * the end; keys, many short members of the metadata itself.
 */
#include <stdarg.h>

#include "stream.h"

__attribute__((format(printf, 2, 3))) static void
put_format(struct gen *g, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	put_text(g, text);
}

static void
set_u32(struct gen *g, size_t at, size_t v)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		g->p[at + i] = (uint8_t)(v >> 8 * i);
}

static void
numbers(struct gen *g, size_t bytes)
{
	unsigned i, n = 1;

	put_text(g, "[[0");
	for (i = 1; g->n < bytes; i++) {
		if (++n > 20000) {
			put_text(g, "],[0");
			n = 1;
		}
		put_format(g, ",%u.%u", i * 7919u % 100000, i % 10);
	}
	put_text(g, "]]");
}

static void
zeros(struct gen *g, size_t bytes)
{
	put_text(g, "[0");
	while (g->n < bytes)
		put_text(g, ",0");
	put_text(g, "]");
}

static void
string(struct gen *g, size_t bytes)
{
	put_text(g, "\"");
	while (g->n < bytes)
		put_text(g, "abcdefghij");
	put_text(g, "\"");
}

/* More members after one. */
static void
names(struct gen *g, size_t bytes)
{
	unsigned i;

	for (i = 0; g->n < bytes; i++)
		put_format(g, ",\"k%u\":0", i);
}

static void
value(struct gen *g, const char *kind, size_t bytes)
{
	put_text(g, ",\"long\":");
	if (strcmp(kind, "numbers") == 0) {
		numbers(g, bytes);
	} else if (strcmp(kind, "zeros") == 0) {
		zeros(g, bytes);
	} else if (strcmp(kind, "string") == 0) {
		string(g, bytes);
	} else if (strcmp(kind, "names") == 0 || strcmp(kind, "twice") == 0) {
		put_text(g, "{\"x\":0");
		names(g, bytes);
		put_text(g, strcmp(kind, "twice") == 0 ? ",\"k0\":0}" : "}");
	} else {
		put_text(g, "0");
		names(g, bytes);
	}
}

int
main(int argc, char **argv)
{
	struct gen g = { 0 };
	size_t meta;

	if (argc != 3)
		gen_die("KIND and BYTES are needed", argv[0]);
	put_text(&g, "APR2");
	put_u32(&g, 2);
	put_u32(&g, 0x82); /* aligned to 64, streaming */
	put_u32(&g, 32);
	put_fill(&g, 0, 16);
	put_text(&g, "{\"apr_version\":\"2.0.0\",\"model_type\":\"x\",\"architecture\":{}");
	value(&g, argv[1], strtoull(argv[2], NULL, 10));
	put_text(&g, "}");
	meta = g.n - 32;
	put_u64(&g, 0);
	put_align(&g, 64);
	set_u32(&g, 16, meta);
	set_u32(&g, 20, 32 + meta);
	set_u32(&g, 24, 8);
	set_u32(&g, 28, g.n);
	put_u32(&g, crc32_of(g.p, g.n));
	put_text(&g, "2RPA");
	put_u64(&g, g.n + 8);
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fclose(stdout) != 0)
		gen_die("cannot be written", "standard output");
	gen_free(&g);
	return 0;
}
