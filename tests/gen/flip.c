/* flip: copy standard input with one bit flipped; N alone decides which.
 *
 *     flip N < FILE > FILE
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	static uint8_t bytes[1 << 24];
	uint64_t r;
	size_t n = fread(bytes, 1, sizeof bytes, stdin);
	int i;

	if (argc != 2 || n == 0 || n == sizeof bytes)
		return 2;
	/* Numbers that follow each other must lead far apart. */
	r = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
	for (i = 0; i < 3; i++) {
		r ^= r >> 29;
		r *= 0xbf58476d1ce4e5b9;
	}
	r %= n * 8;
	bytes[r / 8] ^= (uint8_t)(1 << r % 8);
	return fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0;
}
