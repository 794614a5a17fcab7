/* frames: a line for each frame of the stream on standard input:
 *
 *     KIND <tab> BYTES OF BODY <tab> HEAD
 *
 * It knows only the shape of frames.
 */
#include "gen.h"

static int
take(void *p, size_t n)
{
	return fread(p, 1, n, stdin) == n;
}

static uint64_t
number(const uint8_t *p, unsigned width)
{
	return width ? number(p + 1, width - 1) << 8 | *p : 0;
}

int
main(void)
{
	uint8_t prefix[16], crc[4], piece[4096];
	uint64_t body, left;
	size_t head;
	char *text;

	while (take(prefix, sizeof prefix)) {
		head = (size_t)number(prefix + 4, 4);
		body = number(prefix + 8, 8);
		text = malloc(head + 1);
		if (!text || !take(text, head) || !take(crc, sizeof crc))
			gen_die("the stream is cut short", "head");
		text[head] = '\0';
		printf("%.4s\t%llu\t%s\n", (char *)prefix, (unsigned long long)body, text);
		free(text);
		for (left = body; left > 0; left -= left < sizeof piece ? left : sizeof piece)
			if (!take(piece, left < sizeof piece ? (size_t)left : sizeof piece))
				gen_die("the stream is cut short", "body");
		if (!take(crc, sizeof crc))
			gen_die("the stream is cut short", "end");
	}
	return 0;
}
