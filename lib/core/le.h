/* le: little-endian integers and IEEE 754 floats in byte arrays, on any machine and at any
 * alignment. */
#ifndef CORE_LE_H
#define CORE_LE_H

#include <stdint.h>
#include <string.h>

static inline uint16_t
le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t
le32(const uint8_t *p)
{
	return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

static inline uint64_t
le64(const uint8_t *p)
{
	return (uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32;
}

static inline void
le16_put(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void
le32_put(uint8_t *p, uint32_t v)
{
	le16_put(p, (uint16_t)v);
	le16_put(p + 2, (uint16_t)(v >> 16));
}

static inline void
le64_put(uint8_t *p, uint64_t v)
{
	le32_put(p, (uint32_t)v);
	le32_put(p + 4, (uint32_t)(v >> 32));
}

static inline float
le_f32(const uint8_t *p)
{
	const uint32_t bits = le32(p);
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static inline double
le_f64(const uint8_t *p)
{
	const uint64_t bits = le64(p);
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static inline void
le_f32_put(uint8_t *p, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	le32_put(p, bits);
}

static inline void
le_f64_put(uint8_t *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	le64_put(p, bits);
}

#endif
