/* apr1_flip: change one byte of an APR version 1 file and compute its checksum again, so
 * that only a signature or encryption can notice.
 *
 *     apr1_flip N < FILE > FILE     byte N, of which one bit; N from the end if negative
 *     apr1_flip block < FILE > FILE a licence block is added behind all else
 */
#include "stream.h"

int
main(int argc, char **argv)
{
	static uint8_t p[1 << 24];
	size_t n = fread(p, 1, sizeof p, stdin);
	long at;
	uint32_t crc;
	int i;

	if (argc != 2 || n < 36)
		gen_die("a number, and a file on standard input, are needed", argv[0]);
	if (strcmp(argv[1], "block") == 0) {
		memset(p + n - 4, 1, 79);
		memset(p + n + 75 - 4 - 4, 0, 4); /* bytes of terms */
		n += 75;
	} else {
		at = strtol(argv[1], NULL, 10);
		if (at < 0)
			at += (long)n;
		p[at] ^= (uint8_t)(1 << at % 8);
	}
	crc = crc32_of(p, n - 4);
	for (i = 0; i < 4; i++)
		p[n - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
	return fwrite(p, 1, n, stdout) != n || fflush(stdout) != 0;
}
