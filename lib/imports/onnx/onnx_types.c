/* The types of ONNX's tensors. */
#include "core/half.h"
#include "core/num.h"
#include "imports/onnx/onnx.h"

/* Two's complement of 4 and 2 bits, as I8. */
static uint16_t
signed_4(unsigned code)
{
	return (uint8_t)(code & 8 ? code | 0xf0 : code);
}

static uint16_t
signed_2(unsigned code)
{
	return (uint8_t)(code & 2 ? code | 0xfc : code);
}

static uint16_t
same(unsigned code)
{
	return (uint16_t)code;
}

/* A float of 1 sign bit, some exponent bits and `mantissa` bits, as F16, exactly. */
static uint16_t
small_float(unsigned code, unsigned bits, unsigned mantissa, int bias)
{
	const unsigned m = code & ((1u << mantissa) - 1);
	const unsigned e = code >> mantissa & ((1u << (bits - 1 - mantissa)) - 1);
	float v = (float)m + (e ? (float)(1u << mantissa) : 0);
	int shift = (int)(e ? e : 1) - bias - (int)mantissa;

	for (; shift > 0; shift--)
		v *= 2;
	for (; shift < 0; shift++)
		v /= 2;
	return half_f32_f16(code >> (bits - 1) & 1 ? -v : v);
}

/* The types FNUZ have one NaN, in place of the negative zero, and no infinities. */
static uint16_t
e4m3fnuz(unsigned code)
{
	return code == 0x80 ? 0x7e00 : small_float(code, 8, 3, 8);
}

static uint16_t
e5m2fnuz(unsigned code)
{
	return code == 0x80 ? 0x7e00 : small_float(code, 8, 2, 16);
}

static uint16_t
e2m1(unsigned code)
{
	return small_float(code, 4, 1, 1);
}

#define I32 TENSOR_INT32S, 1
#define ANY INT64_MIN, INT64_MAX

static const struct onnx_type types[] = {
	{ 1, "FLOAT", "F32", 32, TENSOR_FLOATS, 1, ANY, NULL },
	{ 2, "UINT8", "U8", 8, I32, 0, UINT8_MAX, NULL },
	{ 3, "INT8", "I8", 8, I32, INT8_MIN, INT8_MAX, NULL },
	{ 4, "UINT16", "U16", 16, I32, 0, UINT16_MAX, NULL },
	{ 5, "INT16", "I16", 16, I32, INT16_MIN, INT16_MAX, NULL },
	{ 6, "INT32", "I32", 32, I32, INT32_MIN, INT32_MAX, NULL },
	{ 7, "INT64", "I64", 64, TENSOR_INT64S, 1, ANY, NULL },
	{ 8, "STRING", NULL, 0, TENSOR_STRINGS, 1, ANY, NULL },
	{ 9, "BOOL", "BOOL", 8, I32, 0, 1, NULL },
	{ 10, "FLOAT16", "F16", 16, I32, 0, UINT16_MAX, NULL },
	{ 11, "DOUBLE", "F64", 64, TENSOR_DOUBLES, 1, ANY, NULL },
	{ 12, "UINT32", "U32", 32, TENSOR_UINT64S, 1, 0, UINT32_MAX, NULL },
	{ 13, "UINT64", "U64", 64, TENSOR_UINT64S, 1, ANY, NULL },
	{ 14, "COMPLEX64", "C64", 64, TENSOR_FLOATS, 2, ANY, NULL },
	{ 15, "COMPLEX128", NULL, 128, TENSOR_DOUBLES, 2, ANY, NULL },
	{ 16, "BFLOAT16", "BF16", 16, I32, 0, UINT16_MAX, NULL },
	{ 17, "FLOAT8E4M3FN", "F8_E4M3", 8, I32, 0, UINT8_MAX, NULL },
	{ 18, "FLOAT8E4M3FNUZ", "F16", 8, I32, 0, UINT8_MAX, e4m3fnuz },
	{ 19, "FLOAT8E5M2", "F8_E5M2", 8, I32, 0, UINT8_MAX, NULL },
	{ 20, "FLOAT8E5M2FNUZ", "F16", 8, I32, 0, UINT8_MAX, e5m2fnuz },
	{ 21, "UINT4", "U8", 4, I32, 0, UINT8_MAX, same },
	{ 22, "INT4", "I8", 4, I32, INT8_MIN, UINT8_MAX, signed_4 },
	{ 23, "FLOAT4E2M1", "F16", 4, I32, 0, UINT8_MAX, e2m1 },
	{ 24, "FLOAT8E8M0", "F8_E8M0", 8, I32, 0, UINT8_MAX, NULL },
	{ 25, "UINT2", "U8", 2, I32, 0, UINT8_MAX, same },
	{ 26, "INT2", "I8", 2, I32, INT8_MIN, UINT8_MAX, signed_2 },
};

const struct onnx_type *
onnx_type_of(uint64_t number)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

int
onnx_code_bytes(const struct onnx_type *t, uint64_t values, uint64_t *bytes)
{
	uint64_t bits;

	if (t->bits >= 8)
		return num_mul(values, t->bits / 8, bytes);
	if (num_mul(values, t->bits, &bits) < 0)
		return -1;
	*bytes = bits / 8 + (bits % 8 != 0);
	return 0;
}
