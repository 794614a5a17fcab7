/* apr2_wrap: an APR2 file with one tensor t, U8 [BYTES], whose stored bytes are
 * those of standard input: frames that other programs made.
 *
 *     apr2_wrap FLAGS BYTES <FRAME >FILE
 *
 * FLAGS: of its entry, 1 lz4, 2 zstd.
 */
#include "stream.h"

static void
put_input(struct gen *g)
{
	uint8_t piece[65536];
	size_t n;

	while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
		put(g, piece, n);
}

int
main(int argc, char **argv)
{
	static const char json[] = "{\"apr_version\":\"2.0.0\",\"model_type\":\"x\","
		"\"architecture\":{}}";
	struct gen stored = { 0 }, g = { 0 };
	uint64_t bytes;

	if (argc != 3)
		gen_die("FLAGS and BYTES are needed", argv[0]);
	bytes = strtoull(argv[2], NULL, 10);
	put_input(&stored);
	put_text(&g, "APR2");
	put_u32(&g, 2);
	put_u32(&g, 0x83);
	put_u32(&g, 32);
	put_u32(&g, sizeof json - 1);
	put_u32(&g, 32 + sizeof json - 1);
	put_u32(&g, 8 + 41);
	put_u32(&g, 192);
	put_text(&g, json);
	put_u64(&g, 1);
	put(&g, "\1\0t\7\1", 5);
	put_u64(&g, bytes);
	put_u64(&g, 0);
	put_u64(&g, stored.n);
	put_u64(&g, bytes);
	put_u32(&g, (uint32_t)strtoul(argv[1], NULL, 10));
	put_align(&g, 64);
	if (g.n != 192)
		gen_die("the data begins elsewhere", "apr2_wrap");
	put(&g, stored.p, stored.n);
	put_align(&g, 64);
	put_u32(&g, crc32_of(g.p, g.n));
	put_text(&g, "2RPA");
	put_u64(&g, g.n + 8);
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fclose(stdout) != 0)
		gen_die("cannot be written", "standard output");
	gen_free(&stored);
	gen_free(&g);
	return 0;
}
