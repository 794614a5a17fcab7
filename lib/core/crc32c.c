#include "core/crc32c.h"

#include <pthread.h>

#include "core/le.h"

#define POLYNOMIAL 0x82f63b78u

/* steps[k][b]: the CRC of the byte b followed by k zeros. */
static uint32_t steps[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
fill(void)
{
	uint32_t crc;
	unsigned b, k;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		steps[0][b] = crc;
	}
	for (k = 1; k < 8; k++)
		for (b = 0; b < 256; b++)
			steps[k][b] = steps[k - 1][b] >> 8 ^ steps[0][steps[k - 1][b] & 0xff];
}

uint32_t
crc32c_add(uint32_t crc, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t low, high;

	pthread_once(&once, fill);
	crc = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		low = crc ^ le32(p);
		high = le32(p + 4);
		crc = steps[7][low & 0xff] ^ steps[6][low >> 8 & 0xff] ^ steps[5][low >> 16 & 0xff] ^
		      steps[4][low >> 24] ^ steps[3][high & 0xff] ^ steps[2][high >> 8 & 0xff] ^
		      steps[1][high >> 16 & 0xff] ^ steps[0][high >> 24];
	}
	for (; n > 0; n--)
		crc = crc >> 8 ^ steps[0][(crc ^ *p++) & 0xff];
	return ~crc;
}
