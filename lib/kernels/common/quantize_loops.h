/* quantize_loops: rows of activations by their blocks, for any vector unit. The file that
 * includes this has small_block, extreme, large_part and i16_block, and defines the name of
 * the list (QUANTIZERS).
 */
static void
q8_0_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	struct quantized q = quantized_at(row, n, SMALL);
	float *scale = (float *)q.scale + at / SMALL;
	int32_t *sums = (int32_t *)q.sums + at / SMALL;
	size_t i;

	for (i = 0; i < count; i += SMALL)
		*scale++ = half_f16_f32(half_f32_f16(small_block(x + i, row + at + i, sums++)));
}

static void
q8_1_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	struct quantized q = quantized_at(row, n, SMALL);
	float *scale = (float *)q.scale + at / SMALL, d;
	float *sums = (float *)q.sums + at / SMALL;
	size_t i;
	int sum;

	for (i = 0; i < count; i += SMALL) {
		d = small_block(x + i, row + at + i, &sum);
		*scale++ = half_f16_f32(half_f32_f16(d));
		*sums++ = half_f16_f32(half_f32_f16((float)sum * d));
	}
}

static void
q8_k_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	struct quantized q = quantized_at(row, n, LARGE);
	float *scale = (float *)q.scale + at / LARGE, inverse, most;
	int16_t *sums = (int16_t *)q.sums + at / SUB;
	size_t i, k;

	for (i = 0; i < count; i += LARGE) {
		most = extreme(x + i);
		inverse = most != 0 ? -127.0f / most : 0;
		if (isinf(inverse)) { /* most is too small to invert */
			activation_q8_k.quantize(x + i, row, n, at + i, LARGE);
			scale++;
			sums += LARGE / SUB;
			continue;
		}
		*scale++ = most != 0 ? 1 / inverse : 0;
		for (k = i; k < i + LARGE; k += SMALL, sums += 2)
			large_part(x + k, inverse, row + at + k, sums);
	}
}

static void
i16_quantize(const float *x, uint8_t *row, size_t n, size_t at, size_t count)
{
	struct i16_row q = i16_row_at(row, n);
	int16_t *code = (int16_t *)q.code + at;
	float *scale = (float *)q.scale + at / SMALL;
	float rest[SMALL] = { 0 };
	size_t i;

	memcpy(row + at * sizeof *x, x, count * sizeof *x);
	for (i = 0; i + SMALL <= count; i += SMALL)
		i16_block(x + i, code + i, scale++);
	if (i < count) {
		memcpy(rest, x + i, (count - i) * sizeof *x);
		i16_block(rest, code + i, scale);
	}
}

const struct quantizer QUANTIZERS[] = {
	{ &activation_i16, i16_quantize },
	{ &activation_q8_0, q8_0_quantize }, { &activation_q8_1, q8_1_quantize },
	{ &activation_q8_k, q8_k_quantize }, { NULL, NULL }
};
