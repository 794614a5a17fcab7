/* sha1: the checksum that ONNX models state of their files. It finds damage, not attacks: digests
 * that must withstand these are in lib/crypto, which readers of formats do not link.
 *
 * Source: FIPS 180-4.
 */
#ifndef WIRE_SHA1_H
#define WIRE_SHA1_H

#include <stddef.h>
#include <stdint.h>

struct sha1_sum {
	uint32_t h[5];
	uint64_t bytes;
	uint8_t block[64]; /* its first bytes % 64 bytes wait for the others */
};

void sha1_sum_begin(struct sha1_sum *s);
void sha1_sum_add(struct sha1_sum *s, const void *p, size_t n);

/* Writes the sum as 40 lower-case hexadecimal digits. */
void sha1_sum_end(struct sha1_sum *s, char text[41]);

#endif
