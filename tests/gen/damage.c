/* damage: makes a copy of a file with one range of its bytes changed, as a bug in a converter would
 * change a tensor.
 *
 * 	damage FROM TO OFFSET BYTES zero|swap|double
 *
 * zero: all bytes become 0; swap: the first two quarters change places, as heads that are permuted
 * wrongly do; double: BF16 values become twice as large.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void
fail(const char *what)
{
	fprintf(stderr, "damage: %s\n", what);
	exit(1);
}

static void
change(uint8_t *p, size_t n, const char *how)
{
	size_t i;
	uint8_t b;

	if (strcmp(how, "zero") == 0)
		memset(p, 0, n);
	else if (strcmp(how, "swap") == 0)
		for (i = 0; i < n / 4; i++) {
			b = p[i];
			p[i] = p[i + n / 4];
			p[i + n / 4] = b;
		}
	else if (strcmp(how, "double") == 0)
		for (i = 0; i + 1 < n; i += 2) {
			/* The exponent is in bits 7 to 14; zeros stay. */
			uint16_t v = (uint16_t)(p[i] | p[i + 1] << 8);

			v = (uint16_t)(v & 0x7f80 ? v + 0x80 : v);
			p[i] = (uint8_t)v;
			p[i + 1] = (uint8_t)(v >> 8);
		}
	else
		fail("zero, swap or double");
}

int
main(int argc, char **argv)
{
	uint8_t *bytes;
	size_t at, n, size;
	FILE *f;

	if (argc != 6)
		fail("FROM TO OFFSET BYTES zero|swap|double");
	at = strtoul(argv[3], NULL, 10);
	n = strtoul(argv[4], NULL, 10);
	if (!(f = fopen(argv[1], "rb")) || fseek(f, 0, SEEK_END) || (size = (size_t)ftell(f)) == 0 ||
	    fseek(f, 0, SEEK_SET) || !(bytes = malloc(size)) || fread(bytes, 1, size, f) != size)
		fail("FROM cannot be read");
	fclose(f);
	if (at > size || n > size - at)
		fail("the range is outside the file");
	change(bytes + at, n, argv[5]);
	if (!(f = fopen(argv[2], "wb")) || fwrite(bytes, 1, size, f) != size || fclose(f))
		fail("TO cannot be written");
	free(bytes);
	return 0;
}
