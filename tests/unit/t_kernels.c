/* kernels: byte for byte GGML's, and defined on every input. */
#include "kernels/kernel.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/level.h"
#include "rows.h"
#include "test.h"

#define ROWS "tests/golden/rows"
#define ITEMS (2 * COLUMNS) /* of an input, as committed */

static const char *const inputs[] = {
	"normal", "student", "uniform", "outlier", "zeros", "holes", "constant", "ramp",
	"positive", "negative", "tiny", "denormal", "large", "ties", "halfrange",
	"lognormal",
};

#define COUNT(A) (sizeof(A) / sizeof(A)[0])

/* What there must be: 'd' decodes, 'e' encodes, 'w' encodes by importance. scales:
 * where half-precision scales lie in a block, which decodes to zeros without. crc:
 * of what any bits encode to, as gcc and clang had it from -O0 to -O3. */
static const struct type {
	const char *name, *can;
	int scales[2];
	uint32_t crc;
} types[] = {
	{ "Q4_0", "dew", { 0, -1 }, 0x737916e3 },
	{ "Q4_1", "dew", { 0, 2 }, 0x0109761e },
	{ "Q5_0", "dew", { 0, -1 }, 0x5b70fa7d },
	{ "Q5_1", "dew", { 0, 2 }, 0xf662e7bc },
	{ "Q8_0", "de", { 0, -1 }, 0x25545509 },
	{ "Q8_1", "d", { 0, -1 }, 0 },
	{ "Q2_K", "dew", { 80, 82 }, 0x4d3f5b58 },
	{ "Q3_K", "dew", { 108, -1 }, 0x112315de },
	{ "Q4_K", "dew", { 0, 2 }, 0x9db6ddcb },
	{ "Q5_K", "dew", { 0, 2 }, 0x34ed5627 },
	{ "Q6_K", "dew", { 208, -1 }, 0x603aa6b3 },
	{ "Q8_K", "de", { 0, 2 }, 0xe42531a0 }, /* one scale of four bytes */
	{ "IQ4_NL", "dew", { 0, -1 }, 0x9ca4edb7 },
	{ "IQ4_XS", "dew", { 0, -1 }, 0xf9e809ed },
	{ "TQ1_0", "de", { 52, -1 }, 0x42055508 },
	{ "TQ2_0", "de", { 64, -1 }, 0x3743c62e },
	{ "MXFP4", "de", { -1, -1 }, 0x0c7737ee },
	{ "IQ1_S", "dw", { 0, -1 }, 0xfd065c4c },
	{ "IQ1_M", "dew", { -1, -1 }, 0xd4160891 },
	{ "IQ2_XXS", "dw", { 0, -1 }, 0xbd76097e },
	{ "IQ2_XS", "dw", { 0, -1 }, 0x4d939b51 },
	{ "IQ2_S", "dew", { 0, -1 }, 0x4a1051d4 },
	{ "IQ3_XXS", "dew", { 0, -1 }, 0x434d3719 },
	{ "IQ3_S", "dew", { 0, -1 }, 0xbb78d1d4 },
	{ "F8_E4M3", "de", { -1, -1 }, 0x13ef95ca },
	{ "F8_E5M2", "de", { -1, -1 }, 0x1ffae346 },
	{ "F32", "de", { -1, -1 }, 0x4f444fc8 },
	{ "F16", "de", { -1, -1 }, 0xae0aba83 },
	{ "BF16", "de", { -1, -1 }, 0xcab77f8d },
	{ "APR_Q4", "de", { 0, -1 }, 0x7f7781d9 }, /* of which tests/tools/quant-whole.bats knows more */
};

/* CRC-32, bit by bit: these tests need no library, so that they run on a bare CPU. */
static uint32_t
crc32_add(uint32_t crc, const void *data, size_t n)
{
	static uint32_t table[256];
	const uint8_t *p = data;
	uint32_t i, k;

	for (i = 0; !table[255] && i < 256; i++)
		for (table[i] = i, k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	for (crc = ~crc; n; n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
	return ~crc;
}

/* A fixed sequence of 32 bits, and its beginning. */
static uint32_t chance_last;

static void
chance_begin(void)
{
	chance_last = 2463534242u;
}

static uint32_t
chance(void)
{
	chance_last ^= chance_last << 13;
	chance_last ^= chance_last >> 17;
	chance_last ^= chance_last << 5;
	return chance_last;
}

/* ---- golden rows ---- */

static uint32_t
decoded_crc_want(const char *input, const char *type)
{
	char name[32], of[16];
	unsigned crc = 0;
	FILE *f = fopen(ROWS "/decoded.crc32", "r");

	while (f && fscanf(f, "%15s %31s %x", of, name, &crc) == 3)
		if (!strcmp(name, input) && !strcmp(of, type))
			break;
	if (f)
		fclose(f);
	return crc;
}

static void
golden_encode(const char *type, const float *x, const float *importance)
{
	const char *suffix = importance ? ".weighted" : "";
	size_t bytes, each = bytes_of(type, ITEMS), i;
	uint8_t *want = file_read(&bytes, ROWS "/%s%s.bin", type, suffix);
	bool ok = want && bytes == COUNT(inputs) * each;

	for (i = 0; ok && i < COUNT(inputs); i++) {
		if (encodes_to(type, x + ITEMS * i, importance, ITEMS, want + each * i, each))
			continue;
		printf("# %s differs\n", inputs[i]);
		ok = false;
	}
	test_ok(ok, "%s: encodes%s to GGML's bytes", type,
	        importance ? " by importance" : "");
	free(want);
}

static void
golden_decode(const char *type, bool plain)
{
	size_t bytes, each = bytes_of(type, ITEMS), i;
	uint8_t *in = file_read(&bytes, ROWS "/%s%s.bin", type, plain ? "" : ".weighted"), *out;
	bool ok = in && bytes == COUNT(inputs) * each;

	for (i = 0; ok && i < COUNT(inputs); i++) {
		out = decoded_bytes(type, in + each * i, ITEMS);
		if (crc32_add(0, out, 4 * ITEMS) != decoded_crc_want(inputs[i], type)) {
			printf("# %s differs\n", inputs[i]);
			ok = false;
		}
		free(out);
	}
	test_ok(ok, "%s: decodes to GGML's bits", type);
	free(in);
}

static void
golden_rows(void)
{
	size_t n, columns, k;
	float *x = floats_read(ROWS, "inputs.f32", &n);
	float *importance = floats_read(ROWS, "importance.f32", &columns);

	if (!test_ok(x && importance && n == COUNT(inputs) * ITEMS && columns == COLUMNS,
	             "the golden rows are there"))
		return;
	for (k = 0; k < COUNT(types); k++) {
		if (!strcmp(types[k].name, "F32"))
			break;
		if (!strcmp(types[k].name, "Q8_1"))
			continue;
		if (strchr(types[k].can, 'e'))
			golden_encode(types[k].name, x, NULL);
		if (strchr(types[k].can, 'w'))
			golden_encode(types[k].name, x, importance);
		golden_decode(types[k].name, strchr(types[k].can, 'e') != NULL);
	}
	free(x);
	free(importance);
}

/* ---- the table ---- */

static void
table_is_whole(void)
{
	const struct kernel *k;
	size_t i, known = 0;
	bool ok = true;

	for (i = 0; i < COUNT(types); i++) {
		k = kernel_of(types[i].name);
		if (k && k->decode && !k->encode == !strchr(types[i].can, 'e') &&
		    !k->encode_weighted == !strchr(types[i].can, 'w') &&
		    k->holds > 0 && k->loses >= k->holds)
			continue;
		printf("# %s\n", types[i].name);
		ok = false;
	}
	test_ok(ok, "each type does what it should: decode, encode, encode by importance");
	for (i = 0; dtype_row((unsigned)i); i++)
		known += kernel_for(dtype_row((unsigned)i)) != NULL;
	test_ok(known == COUNT(types) && !kernel_of("I32") && !kernel_for(dtype_by_ggml(57)),
	        "other types are only carried");
}

/* ---- fidelity ---- */

/* The worst |decoded - x| over the largest |x| of a block, over all blocks. */
static float
worst_of_block(const char *type, const float *x, size_t n, size_t block)
{
	uint8_t *y = calloc(bytes_of(type, n), 1);
	float *z = calloc(n, sizeof *z);
	float most, off, worst = 0;
	size_t i, j;

	kernel_of(type)->encode(x, y, n);
	kernel_of(type)->decode(y, z, n);
	for (i = 0; i < n; i += block) {
		most = off = 0;
		for (j = i; j < i + block; j++) {
			most = fmaxf(most, fabsf(x[j]));
			off = fmaxf(off, fabsf(z[j] - x[j]));
		}
		if (most > 0)
			worst = fmaxf(worst, off / most);
	}
	free(y);
	free(z);
	return worst;
}

static void
round_trip(void)
{
	static const struct {
		const char *type;
		size_t block;
		float bound; /* in percent */
	} bounds[] = {
		{ "Q6_K", 16, 2 }, { "Q5_K", 32, 5 }, { "Q4_K", 32, 9 }, { "Q3_K", 16, 25 },
		{ "Q2_K", 16, 50 }, { "Q5_0", 32, 5 }, { "Q4_0", 32, 12 }, { "Q5_1", 32, 3.4f },
		{ "Q4_1", 32, 7 }, { "IQ4_NL", 32, 10 }, { "IQ4_XS", 32, 11 },
		{ "MXFP4", 32, 25 }, { "Q8_K", 256, 0.4f },
	};
	size_t i, n;
	float *x = floats_read(ROWS, "inputs.f32", &n);
	float worst;

	if (!x)
		return;
	worst = worst_of_block("Q8_0", x, ITEMS, 32);
	test_ok(worst < 0.01f, "FALSIFY-QUANT-002 Q8_0 keeps values to 1 %% of the block's "
	        "largest magnitude (%.2f %%)", 100 * (double)worst);
	for (i = 0; i < COUNT(bounds); i++) {
		worst = 100 * worst_of_block(bounds[i].type, x, ITEMS, bounds[i].block);
		test_ok(worst < bounds[i].bound, "%s keeps values to %g %% (%.2f %%)",
		        bounds[i].type, (double)bounds[i].bound, (double)worst);
	}
	free(x);
}

/* The squared error of n values, each column counted by its importance. */
static double
weighted_error(const char *type, const float *x, const float *importance, bool use, size_t n)
{
	uint8_t *y = calloc(bytes_of(type, n), 1);
	float *z = calloc(n, sizeof *z);
	double d, sum = 0;
	size_t i;

	for (i = 0; i < n; i += COLUMNS)
		if (use)
			kernel_of(type)->encode_weighted(x + i, importance,
			                                 y + bytes_of(type, i), COLUMNS);
		else
			kernel_of(type)->encode(x + i, y + bytes_of(type, i), COLUMNS);
	kernel_of(type)->decode(y, z, n);
	for (i = 0; i < n; i++) {
		d = (double)z[i] - (double)x[i];
		sum += (double)importance[i % COLUMNS] * d * d;
	}
	free(y);
	free(z);
	return sum;
}

static void
importance_helps(void)
{
	size_t columns, k, n;
	float *x = floats_read(ROWS, "inputs.f32", &n);
	float *importance = floats_read(ROWS, "importance.f32", &columns);
	double by, plain;

	for (k = 0; x && importance && k < COUNT(types); k++) {
		if (!strchr(types[k].can, 'w') || !strchr(types[k].can, 'e'))
			continue;
		by = weighted_error(types[k].name, x, importance, true, ITEMS);
		plain = weighted_error(types[k].name, x, importance, false, ITEMS);
		test_ok(by < plain, "%s: importance lowers the error that it weighs, to %.0f %%",
		        types[k].name, 100 * by / plain);
	}
	free(x);
	free(importance);
}

/* ---- decoders ---- */

static void
block_fill(uint8_t *block, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		block[i] = (uint8_t)(chance() >> 11);
}

static void
zero_scale(void)
{
	uint8_t block[292];
	float x[256];
	size_t i, j, k;
	bool ok;

	for (k = 0; k < COUNT(types); k++) {
		if (types[k].scales[0] < 0)
			continue;
		for (ok = true, i = 0; i < 100; i++) {
			block_fill(block, sizeof block);
			for (j = 0; j < 2; j++)
				if (types[k].scales[j] >= 0)
					le16_put(block + types[k].scales[j], 0);
			kernel_of(types[k].name)->decode(block, x,
			                                 dtype_by_name(types[k].name)->items);
			for (j = 0; j < dtype_by_name(types[k].name)->items; j++)
				ok &= x[j] == 0;
		}
		test_ok(ok, "FALSIFY-QUANT-004 %s: scale 0 decodes to zeros", types[k].name);
	}
}

/* Any bytes decode, to the same values each time, and to no more of them. */
static void
random_bytes(void)
{
	uint8_t in[4 * 292];
	float x[4 * 256 + 1], again[4 * 256 + 1];
	size_t i, k, n;
	bool ok;

	for (k = 0; k < COUNT(types); k++) {
		n = 4u * dtype_by_name(types[k].name)->items;
		for (ok = true, i = 0; i < 2000; i++) {
			block_fill(in, sizeof in);
			memset(x, 0x55, sizeof x);
			memset(again, 0xaa, sizeof again);
			kernel_of(types[k].name)->decode(in, x, n);
			kernel_of(types[k].name)->decode(in, again, n);
			ok &= !memcmp(x, again, 4 * n) && memcmp(x + n, again + n, 4);
		}
		test_ok(ok, "%s: 2000 runs of random bytes decode", types[k].name);
	}
}

static void
quiet_note(const char *text)
{
	(void)text;
}

/* The bits to which 500 runs of random bytes decode; all NaNs are equal. */
static uint32_t
decoded_bits(const char *type)
{
	const struct dtype *t = dtype_by_name(type);
	uint8_t in[4 * 292], out[4 * 4 * 256];
	float x[4 * 256];
	uint32_t crc = 0;
	size_t i, n = 4u * t->items;

	chance_begin();
	for (i = 0; i < 500; i++) {
		block_fill(in, sizeof in);
		kernel_of(type)->decode(in, x, n);
		for (size_t j = 0; j < n; j++)
			x[j] = isnan(x[j]) ? NAN : x[j];
		kernel_of("F32")->encode(x, out, n);
		crc = crc32_add(crc, out, 4 * n);
	}
	return crc;
}

/* Whatever the CPU computes with: not within a tolerance, but the same bits. */
static void
every_level(void)
{
	uint32_t plain[COUNT(types)];
	struct err e = ERR_INIT;
	const struct level *l;
	unsigned i;
	size_t k;

	for (i = 0; (l = level_row(i)); i++) {
		level_begin(l->name, quiet_note, &e);
		for (k = 0; k < COUNT(types); k++) {
			uint32_t bits = decoded_bits(types[k].name);

			plain[k] = i ? plain[k] : bits;
			test_ok(level_now() == l && bits == plain[k], "FALSIFY-QUANT-001 %s decodes "
			        "alike at every level: %s", types[k].name, l->name);
		}
	}
	level_begin("ref", quiet_note, &e);
	chance_begin();
}

/* The contract's q4_k_dequant, value by value: d × block_scale × quant - dmin ×
 * block_min. The products have 17 and 21 bits: only the difference rounds. */
static float
q4_k_value(const uint8_t *block, int v)
{
	int b = v / 32, scale, least;
	int quant = block[16 + v / 64 * 32 + v % 32] >> (v % 64 < 32 ? 0 : 4) & 15;
	float d = half_f16_f32(le16(block)), dmin = half_f16_f32(le16(block + 2));

	if (b < 4) {
		scale = block[4 + b] % 64;
		least = block[8 + b] % 64;
	} else {
		scale = block[8 + b] % 16 + block[b] / 64 * 16;
		least = block[8 + b] / 16 + block[4 + b] / 64 * 16;
	}
	return d * (float)(scale * quant) - dmin * (float)least;
}

static void
q4_k_equation(void)
{
	uint8_t block[144];
	float want, y[256];
	bool ok = true;
	int i, v;

	for (i = 0; i < 3000; i++) {
		block_fill(block, sizeof block);
		kernel_of("Q4_K")->decode(block, y, 256);
		for (v = 0; v < 256; v++) {
			want = q4_k_value(block, v);
			ok &= y[v] == want || (!isfinite(want) && !isfinite(y[v]));
		}
	}
	test_ok(ok, "q4_k_dequant d * block_scale * quant - dmin * block_min: 3000 blocks");
	test_ok(8 * 144 == 256 * 4.5, "Q4_K has 4.5 bits a weight");
}

/* Every scale with every code. A finite scale gives finite values, each the
 * product; another gives something, without a fault. */
static void
every_q8_0(void)
{
	uint8_t block[34];
	float y[32], d;
	unsigned scale, code;
	bool finite = true, right = true;

	for (scale = 0; scale < 65536; scale++) {
		d = half_f16_f32((uint16_t)scale);
		le16_put(block, (uint16_t)scale);
		for (code = 0; code < 256; code++) {
			block[2 + code % 32] = (uint8_t)code;
			if (code % 32 != 31)
				continue;
			kernel_of("Q8_0")->decode(block, y, 32);
			for (unsigned i = 0; i < 32 && isfinite(d); i++) {
				finite &= isfinite(y[i]) != 0;
				right &= y[i] == d * (float)(int8_t)(code - 31 + i);
			}
		}
	}
	test_ok(finite, "quant-kani-001 Q8_0: finite scale, finite values: 65536 × 256");
	test_ok(right, "quant-kani-002 Q8_0: each value is scale × code, -128 included");
}

static void
every_q4_0(void)
{
	uint8_t block[18];
	float y[32], d;
	unsigned scale, i;
	bool finite = true, right = true;

	for (i = 0; i < 16; i++)
		block[2 + i] = (uint8_t)(i | (15 - i) << 4);
	for (scale = 0; scale < 65536; scale++) {
		d = half_f16_f32((uint16_t)scale);
		le16_put(block, (uint16_t)scale);
		kernel_of("Q4_0")->decode(block, y, 32);
		for (i = 0; i < 16 && isfinite(d); i++) {
			finite &= isfinite(y[i]) && isfinite(y[i + 16]);
			right &= y[i] == d * ((float)i - 8) && y[i + 16] == d * (7 - (float)i);
		}
	}
	test_ok(finite, "quant-kani-001 Q4_0: finite scale, finite values: 65536 × 16");
	test_ok(right, "quant-kani-002 Q4_0: low nibble first, high nibble 16 later");
}

/* Blocks built to push codes over the edge: the largest magnitude with either
 * sign, over every exponent, next to its negation and its neighbours. */
static void
codes_are_bounded(void)
{
	float x[32] = { 0 }, z[32];
	uint8_t y8[34], y4[18];
	uint32_t u;
	unsigned i;
	bool edge = false, bounded = true;

	for (u = 1; u < 0x7f800000u; u += 9973) {
		memcpy(&x[0], &u, sizeof u);
		if (u & 1)
			x[0] = -x[0];
		x[1] = -x[0];
		x[2] = nextafterf(x[0], 0);
		x[3] = x[0] / 3;
		kernel_of("Q8_0")->encode(x, y8, 32);
		for (i = 0; i < 32; i++)
			edge |= y8[2 + i] == 0x80;
		kernel_of("Q4_0")->encode(x, y4, 32);
		kernel_of("Q4_0")->decode(y4, z, 32);
		if (fabsf(x[0]) > 0x1p-10f && fabsf(x[0]) < 500000.0f)
			bounded &= fabsf(z[0] - x[0]) <= 0.001f * fabsf(x[0]) &&
			           fabsf(z[1] - x[1]) <= 0.13f * fabsf(x[0]);
	}
	test_ok(!edge, "quant-kani-002 Q8_0 never writes -128");
	test_ok(bounded, "Q4_0: the extreme is exact to half precision, its negation near");
}

/* ---- odd inputs ---- */

static const float odd[] = {
	NAN, -NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN,
	-FLT_TRUE_MIN, 0.0f, -0.0f, 65504.0f, 1e12f, -3e19f, 1e-15f, 1.0f,
};

/* Encode 256 values in each way that the type can: plainly, by importance. Returns the
 * number of bytes. */
static size_t
encode_both(const struct kernel *k, const float *x, const float *importance, uint8_t *y)
{
	size_t each = bytes_of(k->dtype, 256), bytes = 0;

	if (k->encode) {
		k->encode(x, y, 256);
		bytes += each;
	}
	if (k->encode_weighted) {
		k->encode_weighted(x, importance, y + bytes, 256);
		bytes += each;
	}
	return bytes;
}

static bool
encodes(const struct kernel *k)
{
	return k->encode || k->encode_weighted;
}

/* Points of a grid take plain C, and an emulator, so long that fewer inputs have to do. */
static bool
is_slow(const struct kernel *k)
{
	return strncmp(k->dtype, "IQ", 2) == 0 && k->dtype[2] < '4';
}

static void
odd_inputs(void)
{
	float importance[256], x[256], z[256];
	uint8_t y[2][2 * 256 * 4 + 1];
	const struct kernel *k;
	size_t bytes, i, j, t;
	bool same, short_of;

	for (j = 0; j < 256; j++)
		importance[j] = j % 7 ? (float)j : 0;
	for (t = 0; t < COUNT(types); t++) {
		k = kernel_of(types[t].name);
		if (!encodes(k))
			continue;
		same = short_of = true;

		/* Runs of one odd value, of two in turn, and of all. */
		for (i = 0; i < COUNT(odd) * COUNT(odd); i += is_slow(k) ? 15 : 1) {
			for (j = 0; j < 256; j++)
				x[j] = odd[(j & 1 ? i : j > 128 ? j : i / COUNT(odd)) % COUNT(odd)];
			memset(y[0], 0x55, sizeof y[0]);
			memset(y[1], 0xaa, sizeof y[1]);
			bytes = encode_both(k, x, importance, y[0]);
			k->decode(y[0], z, 256);
			encode_both(k, x, importance, y[1]);
			same &= !memcmp(y[0], y[1], bytes);
			short_of &= y[0][bytes] == 0x55 && y[1][bytes] == 0xaa;
		}
		test_ok(same && short_of, "%s: NaN, infinities, extremes, subnormals: defined, "
		        "and the same twice", types[t].name);
	}
}

/* Any bits as values: NaN and infinities, all exponents, and blocks that have few
 * of them. */
static void
values_fill(float *x, size_t n, unsigned kind)
{
	unsigned exponent = kind / 3 % 100 + 100;
	uint32_t u;
	size_t i;

	for (i = 0; i < n; i++) {
		u = chance();
		if (kind % 3 == 1)
			u = (u & 0x83ffffff) | 0x3c000000;
		else if (kind % 3 == 2 && i % 50)
			u = (u & 0x807fffff) | exponent << 23;
		memcpy(x + i, &u, sizeof u);
	}
}

static void
any_bits(void)
{
	float importance[256], x[256];
	uint8_t y[2 * 256 * 4];
	const struct kernel *k;
	size_t i, t;
	uint32_t crc;

	for (t = 0; t < COUNT(types); t++) {
		k = kernel_of(types[t].name);
		if (!encodes(k))
			continue;
		chance_begin();
		for (crc = 0, i = 0; i < 900; i += is_slow(k) ? 25 : 1) {
			values_fill(x, 256, (unsigned)i);
			values_fill(importance, 256, 1);
			for (size_t j = 0; j < 256; j++)
				importance[j] = fabsf(importance[j]);
			crc = crc32_add(crc, y, encode_both(k, x, importance, y));
		}
		test_ok(crc == types[t].crc, "%s: any bits encode as ever (%08x)", k->dtype,
		        (unsigned)crc);
	}
}

static void
zeros(void)
{
	float importance[256], x[256], z[256];
	uint8_t y[2 * 256 * 4], none[2 * 256 * 4] = { 0 };
	const struct kernel *k;
	size_t i, last, sign, t;
	bool ok;

	for (i = 0; i < 256; i++)
		importance[i] = 1;
	for (t = 0; t < COUNT(types); t++) {
		k = kernel_of(types[t].name);
		if (!encodes(k))
			continue;
		for (ok = true, sign = 0; sign < 2; sign++) {
			for (i = 0; i < 256; i++)
				x[i] = sign ? -0.0f : 0.0f;
			last = encode_both(k, x, importance, y) - bytes_of(k->dtype, 256);
			k->decode(y, z, 256);
			for (i = 0; i < 256; i++)
				ok &= z[i] == 0;
			k->decode(y + last, z, 256);
			for (i = 0; i < 256; i++)
				ok &= z[i] == 0;
		}
		test_ok(ok, "%s: blocks of 0 and of -0 are zeros", types[t].name);
	}

	/* Some have but one way to say so; 0 / -8 is -0, and code 8 the zero of Q4_0. */
	kernel_of("Q8_0")->encode(x, y, 256);
	test_ok(!memcmp(y, none, bytes_of("Q8_0", 256)), "Q8_0: zeros are zero bytes");
	kernel_of("Q6_K")->encode(x, y, 256);
	test_ok(!memcmp(y, none, bytes_of("Q6_K", 256)), "Q6_K: zeros are zero bytes");
	kernel_of("Q8_K")->encode(x, y, 256);
	test_ok(!memcmp(y, none, bytes_of("Q8_K", 256)), "Q8_K: zeros are zero bytes, sums too");
	kernel_of("Q4_0")->encode(x, y, 256);
	test_ok(le16(y) == 0x8000 && y[2] == 0x88 && !memcmp(y + 2, y + 3, 15),
	        "Q4_0: zeros are code 8 with scale -0");
}

/* A NaN may cost its own value, not its neighbours'. */
static void
nan_stays_alone(void)
{
	float importance[256], x[256], z[4][256];
	uint8_t y[2][2 * 256 * 4];
	const struct kernel *k;
	size_t i, last, t;
	bool ok;

	for (i = 0; i < 256; i++)
		importance[i] = (float)(i % 5 + 1);
	for (t = 0; t < COUNT(types); t++) {
		k = kernel_of(types[t].name);
		if (!encodes(k))
			continue;
		for (i = 0; i < 256; i++)
			x[i] = (float)((i * 29) % 61) - 30;
		x[17] = 0;
		last = encode_both(k, x, importance, y[0]) - bytes_of(k->dtype, 256);
		x[17] = NAN;
		encode_both(k, x, importance, y[1]);
		for (i = 0; i < 4; i++)
			k->decode(y[i % 2] + i / 2 * last, z[i], 256);
		for (ok = true, i = 0; i < 256; i++)
			ok &= i == 17 || (z[0][i] == z[1][i] && z[2][i] == z[3][i]);
		test_ok(ok, "%s: a NaN does not change other values", types[t].name);
	}
}

/* Blocks are encoded several at a time; a row need not have a multiple of that.
 * Values are whole numbers, so that the mean square of a row is exact and the
 * same for a row and the row twice over. */
static void
rows_of_any_length(void)
{
	enum { MOST = 11 * 256 };
	float importance[2 * MOST], x[2 * MOST];
	uint8_t once[2 * MOST * 4], twice[2 * MOST * 4];
	const struct kernel *k;
	size_t bytes, i, items, most, n, t;
	bool ok, plain;

	for (t = 0; t < COUNT(types); t++) {
		k = kernel_of(types[t].name);
		items = dtype_by_name(types[t].name)->items;
		most = !encodes(k) ? 0 : is_slow(k) ? 3 : 11;
		for (ok = plain = true, n = items; n <= most * items; n += items) {
			bytes = bytes_of(k->dtype, n);
			for (i = 0; i < n; i++) {
				x[i] = x[i + n] = (float)(int)(chance() % 41) - 20;
				importance[i] = importance[i + n] = (float)(chance() % 64);
			}
			memset(once, 0, sizeof once);
			memset(twice, 0, sizeof twice);
			if (k->encode) {
				k->encode(x, once, n);
				k->encode(x, twice, 2 * n);
				plain &= !memcmp(once, twice, bytes) &&
				         !memcmp(once, twice + bytes, bytes) && !twice[2 * bytes];
			}
			if (!k->encode_weighted)
				continue;
			k->encode_weighted(x, importance, once, n);
			k->encode_weighted(x, importance, twice, 2 * n);
			ok &= !memcmp(once, twice, bytes) && !memcmp(once, twice + bytes, bytes) &&
			      !twice[2 * bytes];
		}
		if (most)
			test_ok(ok && plain, "%s: rows of 1 to %zu blocks, and twice those", k->dtype,
			        most);
	}
}

/* ---- one type each ---- */

/* The exponent is that of floorf(log2f(x)), whose rounding lifts numbers just
 * below a power of two. */
static void
mxfp4_exponents(void)
{
	uint8_t y[17];
	float x[32] = { 0 };
	bool ok = true;
	int k, step;

	for (k = -124; k <= 127; k++) {
		x[3] = ldexpf(1, k);
		for (step = 0; step < 200; step++, x[3] = nextafterf(x[3], 0)) {
			kernel_of("MXFP4")->encode(x, y, 32);
			ok &= y[0] == (int)floorf((float)log2((double)x[3])) - 2 + 127;
		}
	}
	test_ok(ok, "MXFP4: the exponent next to each power of two");
}

/* All codes against the formula; what lies between two, to the nearer one. */
static void
f8_codes(const char *type, int fraction, int bias, int last)
{
	const struct kernel *k = kernel_of(type);
	bool back = true, rounds = true, right = true;
	float a, b, half, x[3], y;
	uint8_t c, out[3];
	int i;

	for (i = 0; i <= last; i++) {
		c = (uint8_t)i;
		k->decode(&c, &a, 1);
		right &= a == (i >> fraction
			? ldexpf((float)(i % (1 << fraction) + (1 << fraction)),
			         (i >> fraction) - bias - fraction)
			: ldexpf((float)i, 1 - bias - fraction));
		c = (uint8_t)(i | 0x80);
		k->decode(&c, &y, 1);
		right &= y == -a && signbit(y);
		k->encode(&a, out, 1);
		k->encode(&y, out + 1, 1);
		back &= out[0] == i && out[1] == (i | 0x80);
		if (i == last)
			break;
		c = (uint8_t)(i + 1);
		k->decode(&c, &b, 1);
		half = (a + b) / 2;
		x[0] = nextafterf(half, 0);
		x[1] = half;
		x[2] = nextafterf(half, b);
		k->encode(x, out, 3);
		rounds &= out[0] == i && out[1] == i + (i & 1) && out[2] == i + 1;
	}
	test_ok(right, "%s: each number is sign, exponent, fraction", type);
	test_ok(back, "%s: each number encodes to its code", type);
	test_ok(rounds, "%s: half-way goes to the even code", type);
}

static void
f8_specials(void)
{
	static const float x[] = { 448, 464, 464.01f, INFINITY, -INFINITY, NAN, -0.0f, -1e9f };
	static const float x2[] = { 57344, 61439, 61440, INFINITY, -INFINITY, NAN, -0.0f, -1e9f };
	static const uint8_t e4m3[] = { 0x7e, 0x7e, 0x7f, 0x7f, 0xff, 0x7f, 0x80, 0xff };
	static const uint8_t e5m2[] = { 0x7b, 0x7b, 0x7c, 0x7c, 0xfc, 0x7f, 0x80, 0xfc };
	uint8_t y[8];
	float z[8];

	kernel_of("F8_E4M3")->encode(x, y, 8);
	test_ok(!memcmp(y, e4m3, 8), "F8_E4M3: beyond 464 there is only NaN");
	kernel_of("F8_E4M3")->decode(y, z, 8);
	test_ok(z[0] == 448 && isnan(z[2]) && isnan(z[4]) && signbit(z[4]), "F8_E4M3: and back");
	kernel_of("F8_E5M2")->encode(x2, y, 8);
	test_ok(!memcmp(y, e5m2, 8), "F8_E5M2: from 61440 on there is only infinity");
	kernel_of("F8_E5M2")->decode(y, z, 8);
	test_ok(z[0] == 57344 && isinf(z[2]) && z[4] == -INFINITY && isnan(z[5]),
	        "F8_E5M2: and back");
}

/* As in GGML, points and signs of a sub-block after one of zeros stand in the place of that,
 * high bits and scale in their own (DEVIATIONS.md). */
static void
iq3_s_zeros(void)
{
	enum { LOW = 2, HIGH = 66, SIGNS = 74, SCALES = 106 };
	const struct kernel *k = kernel_of("IQ3_S");
	uint8_t first[110], second[110];
	float x[2][256] = { { 0 }, { 0 } };
	int i;

	for (i = 0; i < 32; i++)
		x[0][i] = x[1][32 + i] = (float)((i * 29) % 61) - 30;
	k->encode(x[0], first, 256);
	k->encode(x[1], second, 256);
	test_ok(!memcmp(first + LOW, second + LOW, 64) && first[LOW] &&
	        !memcmp(first + SIGNS, second + SIGNS, 32) &&
	        first[HIGH] == second[HIGH + 1] && first[SCALES] << 4 == second[SCALES],
	        "IQ3_S: after zeros, points and signs stand where GGML writes them");
}

/* Scale × code, and the sum beside it that is not read. */
static void
q8_1_values(void)
{
	uint8_t block[36];
	float y[32];
	bool ok = true;
	int i;

	le16_put(block, 0x3800); /* 0.5 */
	le16_put(block + 2, 0x7e00);
	for (i = 0; i < 32; i++)
		block[4 + i] = (uint8_t)(7 * i - 100);
	kernel_of("Q8_1")->decode(block, y, 32);
	for (i = 0; i < 32; i++)
		ok &= y[i] == 0.5f * (float)(7 * i - 100);
	test_ok(ok, "Q8_1: scale × code");
}

static void
plain_types(void)
{
	static const float x[] = { 1.0f, -0.5f, 65504.0f, 0x1p-24f, -0.0f };
	static const uint8_t f16[] = { 0, 0x3c, 0, 0xb8, 0xff, 0x7b, 1, 0, 0, 0x80 };
	static const uint8_t bf16[] = { 0x80, 0x3f, 0, 0xbf, 0x80, 0x47, 0x80, 0x33, 0, 0x80 };
	static const uint8_t f32[] = { 0, 0, 0x80, 0x3f };
	uint8_t y[20];

	kernel_of("F16")->encode(x, y, 5);
	test_ok(!memcmp(y, f16, sizeof f16), "F16 is little-endian binary16");
	kernel_of("BF16")->encode(x, y, 5);
	test_ok(!memcmp(y, bf16, sizeof bf16), "BF16 is the upper half of binary32");
	kernel_of("F32")->encode(x, y, 5);
	test_ok(!memcmp(y, f32, sizeof f32), "F32 is little-endian binary32");
}

/* All patterns, and floats all over, among them all ties, through the kernel and one by
 * one through core/half.h. */
static void
halves(const char *type, float (*widen)(uint16_t), uint16_t (*narrow)(float))
{
	enum { RUN = 24 };
	const struct kernel *k = kernel_of(type);
	uint8_t narrowed[2 * RUN];
	float x[RUN], one;
	bool same = true;
	uint32_t u, bits;
	int i;

	for (u = 0; u < 0x10000; u += 16) {
		for (i = 0; i < 16; i++)
			le16_put(narrowed + 2 * i, (uint16_t)(u + (uint32_t)i));
		k->decode(narrowed, x, 16);
		for (i = 0; i < 16; i++) {
			one = widen((uint16_t)(u + (uint32_t)i));
			same &= !memcmp(&one, x + i, sizeof one);
		}
	}
	test_ok(same, "all 65536 patterns of %s", type);
	for (same = true, u = 0; u < 0x100000 - RUN; u += RUN) {
		for (i = 0; i < RUN; i++) {
			/* Sign, exponent, eleven bits of fraction, then what may tie. */
			bits = (u + (uint32_t)i) << 12 | (u % 5 == 0) | (u % 3 == 0) << 11;
			memcpy(x + i, &bits, sizeof bits);
		}
		k->encode(x, narrowed, RUN);
		for (i = 0; i < RUN; i++)
			same &= le16(narrowed + 2 * i) == narrow(x[i]);
	}
	test_ok(same, "floats of every exponent to %s, ties among them", type);
}

static void
f32_keeps_bits(void)
{
	const struct kernel *k = kernel_of("F32");
	uint8_t x[4], y[4];
	uint32_t u;
	float v;
	bool ok = true;

	for (u = 0; u < UINT32_MAX - 39019; u += 39019) {
		le32_put(x, u);
		k->decode(x, &v, 1);
		k->encode(&v, y, 1);
		ok &= !memcmp(x, y, 4);
	}
	test_ok(ok, "F32 keeps every bit, NaN payloads included");
}

/* All of it at one level of the CPU; brief: without what takes an emulator long and reaches
 * no code that the rest does not; any_bits goes over odd inputs too. */
static void
all_at(const struct level *level, bool brief)
{
	static char about[32];
	struct err e = ERR_INIT;

	snprintf(about, sizeof about, "%s: ", level->name);
	test_about = about;
	test_ok(level_begin(level->name, NULL, &e) == 0 && level_now() == level,
	        "the level does as plain C does");
	chance_begin();
	table_is_whole();
	golden_rows();
	round_trip();
	importance_helps();
	zero_scale();
	q4_k_equation();
	if (!brief) {
		random_bytes();
		every_q8_0();
		every_q4_0();
		codes_are_bounded();
		odd_inputs();
	}
	any_bits();
	zeros();
	nan_stays_alone();
	rows_of_any_length();
	mxfp4_exponents();
	f8_codes("F8_E4M3", 3, 7, 0x7e);
	f8_codes("F8_E5M2", 2, 15, 0x7b);
	f8_specials();
	q8_1_values();
	iq3_s_zeros();
	plain_types();
	f32_keeps_bits();
	halves("F16", half_f16_f32, half_f32_f16);
	halves("BF16", half_bf16_f32, half_f32_bf16);
}

/* t_kernels [LEVEL]: that alone, in brief. */
int
main(int argc, char **argv)
{
	unsigned i;

	every_level();
	for (i = 0; level_row(i); i++)
		if (argc < 2 || !strcmp(argv[1], level_row(i)->name))
			all_at(level_row(i), argc > 1);
	return test_done();
}
