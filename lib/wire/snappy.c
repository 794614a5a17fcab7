#include "wire/snappy.h"

#include <string.h>

#define RATIO 22 /* bytes of the result for one of the input, at most */

/* The stated size, and the bytes that it takes; 0 if it is damaged. */
static size_t
read_size(const uint8_t *p, size_t n, uint64_t *bytes)
{
	size_t i;

	*bytes = 0;
	for (i = 0; i < n && i < 5; i++) {
		*bytes |= (uint64_t)(p[i] & 0x7f) << 7 * i;
		if (p[i] < 0x80)
			return *bytes <= UINT32_MAX ? i + 1 : 0;
	}
	return 0;
}

int
snappy_bytes(const uint8_t *p, size_t n, uint64_t *bytes)
{
	const size_t head = read_size(p, n, bytes);

	return head && *bytes <= (uint64_t)(n - head) * RATIO ? 0 : -1;
}

/* A little-endian number of 1 to 4 bytes. */
static uint64_t
number(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | p[bytes];
	return v;
}

/* The first byte of a part: *more bytes of numbers follow it. */
static uint64_t
part_bytes(uint8_t first, unsigned *more)
{
	const unsigned high = first >> 2;

	switch (first & 3) {
	case 0:
		*more = high >= 60 ? high - 59 : 0;
		return high + 1; /* unless it follows */
	case 1:
		*more = 1;
		return 4 + (high & 7);
	default:
		*more = (first & 3) == 2 ? 2 : 4;
		return high + 1;
	}
}

int
snappy_decode(const uint8_t *p, size_t n, uint8_t *to, uint64_t bytes)
{
	uint64_t stated, length, distance, done = 0, i;
	size_t at = read_size(p, n, &stated);
	unsigned more;
	uint8_t first;

	if (!at || stated != bytes)
		return -1;
	while (at < n) {
		first = p[at++];
		length = part_bytes(first, &more);
		if (more > n - at)
			return -1;
		distance = number(p + at, more);
		at += more;
		if ((first & 3) == 0) {
			length = more ? distance + 1 : length;
			if (length > n - at || length > bytes - done)
				return -1;
			memcpy(to + done, p + at, (size_t)length);
			at += (size_t)length;
			done += length;
			continue;
		}
		distance |= (first & 3) == 1 ? (uint64_t)(first >> 5) << 8 : 0;
		if (distance == 0 || distance > done || length > bytes - done)
			return -1;
		for (i = 0; i < length; i++, done++)
			to[done] = to[done - distance];
	}
	return done == bytes ? 0 : -1;
}
