#include "adapt/packed/packed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "adapt/packed/packed_kind.h"
#include "adapt/packed/packed_work.h"
#include "core/mem.h"
#include "kernels/kernel.h"

#define SCRATCH ((uint64_t)4 << 20) /* bytes of memory for some rows */

/* Sizes below are those of parts of proved tensors in memory, or were proved to follow from
 * them, so that they do not overflow. */

/* ---- weights with scales ---- */

/* Rows of one matrix (of possibly many), whose scales begin at number `at`. */
static int
scale_rows(const struct packed *p, const struct packed_reader *in, const struct packed_work *w,
           uint64_t at, uint64_t row, size_t rows, float *dst, struct err *e)
{
	uint64_t from = row / p->step[1], last = (row + rows - 1) / p->step[1];
	size_t n = (size_t)tensor_row(p->tensor), groups = (size_t)p->groups, i, r;
	size_t scales = (size_t)(last - from + 1) * groups;
	bool zeros = p->from[PACKED_ZERO];

	at += from * groups;
	if (packed_get_scales(p, in, at, w->scale, scales, e) < 0)
		return -1;
	if (zeros && packed_get(p, in, PACKED_ZERO, at, w->bytes, scales, e) < 0)
		return -1;
	for (i = 0; zeros && i < scales; i++)
		w->zero[i] = (int8_t)w->bytes[i];
	for (r = 0; r < rows; r++, dst += n) {
		size_t k = (size_t)((row + r) / p->step[1] - from) * groups;

		for (i = 0; i < n; i++) {
			float zero = zeros ? (float)w->zero[k + w->group[i]] : 0.0f;

			dst[i] = (zeros ? dst[i] - zero : dst[i]) * w->scale[k + w->group[i]];
		}
	}
	return 0;
}

static int
get_codes(const struct packed *p, const struct packed_reader *in, struct packed_work *w,
          uint64_t first, size_t rows, float *dst, struct err *e)
{
	const struct dtype *type = tensor_type(p->from[PACKED_WEIGHT]);
	size_t i, n = (size_t)tensor_row(p->tensor);

	if (packed_get(p, in, PACKED_WEIGHT, first * n, w->bytes, rows * n, e) < 0)
		return -1;
	if (kernel_decodes(type)) {
		kernel_decode(type, NULL, w->bytes, dst, rows * n);
		return 0;
	}
	for (i = 0; i < rows * n; i++)
		dst[i] = (float)(int8_t)w->bytes[i];
	return 0;
}

static int
rows_scaled(const struct packed *p, const struct packed_reader *in, uint64_t first,
            size_t rows, float *dst, struct err *e)
{
	const uint64_t *dims = tensor_dims(p->tensor);
	unsigned ndim = tensor_ndim(p->tensor);
	uint64_t tall = ndim > 1 ? dims[ndim - 2] : 1, scales; /* of one matrix: rows, scales */
	size_t n = (size_t)tensor_row(p->tensor), groups = (size_t)p->groups;
	size_t part, all = rows * (n > groups ? n : groups);
	struct packed_work w = { .bytes = mem_array(all, 1), .scale = mem_array(rows * groups, 4),
		.zero = mem_array(rows * groups, 4) };
	int r = -1;

	if (!w.bytes || !w.scale || !w.zero) {
		err_memory(e);
		goto end;
	}
	if (packed_get_groups(p, in, &w, e) < 0 || get_codes(p, in, &w, first, rows, dst, e) < 0)
		goto end;
	scales = (tall / p->step[1] + (tall % p->step[1] != 0)) * groups;
	for (; rows > 0; first += part, rows -= part, dst += part * n) {
		part = (size_t)(tall - first % tall);
		part = part < rows ? part : rows;
		if (scale_rows(p, in, &w, first / tall / p->step[0] * scales, first % tall, part, dst,
		               e) < 0)
			goto end;
	}
	r = 0;
end:
	packed_work_free(&w);
	return r;
}

const struct packed_kind packed_scaled[] = {
	{ "_scale_inv", PACKED_SCALE, { { "", PACKED_WEIGHT, false } }, "", "F32", PACKED_HERE,
	  0, 1, packed_prove_scaled, rows_scaled },
	{ ".weight_scale", PACKED_SCALE,
	  { { ".weight", PACKED_WEIGHT, false }, { ".weight_zero_point", PACKED_ZERO, true } },
	  ".weight", "F32", PACKED_HERE, 0, 1, packed_prove_scaled, rows_scaled },
	{ ".qscale_weight", PACKED_SCALE, { { ".weight", PACKED_WEIGHT, false } }, ".weight",
	  "F32", PACKED_HERE, 0, 1, packed_prove_scaled, rows_scaled },
	{ 0 }
};

/* ---- ternary: two bits a weight; a byte holds one of each quarter of the rows ---- */

static int
rows_ternary(const struct packed *p, const struct packed_reader *in, uint64_t first,
             size_t rows, float *dst, struct err *e)
{
	uint64_t quarter = tensor_dims(p->tensor)[0] / 4;
	size_t n = (size_t)tensor_row(p->tensor), r, i;
	uint8_t *bytes = mem_array(n, 1);
	float scale;
	int status = bytes ? packed_get_scales(p, in, 0, &scale, 1, e) : err_memory(e);

	for (r = 0; r < rows && status == 0; r++, dst += n) {
		unsigned shift = 2 * (unsigned)((first + r) / quarter);

		status = packed_get(p, in, PACKED_WEIGHT, (first + r) % quarter * n, bytes, n, e);
		for (i = 0; i < n && status == 0; i++) {
			unsigned code = bytes[i] >> shift & 3u;

			if (code == 3)
				status = err_set(e, ERR_CORRUPT, tensor_name(p->tensor), "row %" PRIu64
				                 " has a value that is not -1, 0 or 1", first + r);
			dst[i] = ((float)code - 1.0f) / scale;
		}
	}
	free(bytes);
	return status;
}

const struct packed_kind packed_ternary[] = {
	{ ".weight_scale", PACKED_SCALE, { { ".weight", PACKED_WEIGHT, false } }, ".weight",
	  "F32", PACKED_HERE, 0, 1, packed_prove_ternary, rows_ternary },
	{ 0 }
};

/* ---- MXFP4: blocks of 32 values, two in a byte one after another, scales beside them ---- */

/* A block of GGML: the scale, then bytes whose low halves are the first 16 values. */
static void
block_repack(uint8_t scale, const uint8_t *pairs, uint8_t *dst)
{
	int i;

	dst[0] = scale;
	for (i = 0; i < 8; i++) {
		dst[1 + 2 * i] = (uint8_t)((pairs[i] & 15) | pairs[i + 8] << 4);
		dst[2 + 2 * i] = (uint8_t)(pairs[i] >> 4 | (pairs[i + 8] & 0xf0));
	}
}

/* The way back, without the scale. */
void
packed_pairs(const uint8_t *blocks, size_t n, uint8_t *dst)
{
	int i;

	for (; n > 0; n--, blocks += 16, dst += 16)
		for (i = 0; i < 8; i++) {
			uint8_t a = blocks[2 * i], b = blocks[2 * i + 1];

			dst[i] = (uint8_t)((a & 15) | b << 4);
			dst[i + 8] = (uint8_t)(a >> 4 | (b & 0xf0));
		}
}

static int
blocks_some(const struct packed *p, const struct packed_reader *in, uint64_t first,
            size_t rows, uint8_t *dst, struct err *e)
{
	size_t n = (size_t)p->groups, of = (size_t)p->kind->of, i, r;
	size_t source = ((rows - 1) * of + 1) * n; /* blocks, from the first row's to the last's */
	uint64_t from = (first * of + p->kind->pick) * n;
	uint8_t *pairs = mem_array(source, 16), *scales = mem_array(source, 1);
	int status = -1;

	if (!pairs || !scales)
		err_memory(e);
	else if (packed_get(p, in, PACKED_WEIGHT, from * 16, pairs, source * 16, e) == 0 &&
	         packed_get(p, in, PACKED_SCALE, from, scales, source, e) == 0)
		status = 0;
	for (r = 0; r < rows && status == 0; r++)
		for (i = r * of * n; i < (r * of + 1) * n; i++, dst += 17)
			block_repack(scales[i], pairs + i * 16, dst);
	free(pairs);
	free(scales);
	return status;
}

static int
rows_mxfp4(const struct packed *p, const struct packed_reader *in, uint64_t first,
           size_t rows, float *dst, struct err *e)
{
	size_t n = (size_t)tensor_row(p->tensor) * rows;
	uint8_t *blocks = mem_array(n / 32, 17);
	int r = blocks ? blocks_some(p, in, first, rows, blocks, e) : err_memory(e);

	if (r == 0)
		kernel_decode(tensor_type(p->tensor), NULL, blocks, dst, n);
	free(blocks);
	return r;
}

#define MXFP4(ANCHOR, SCALES, RESULT, PICK, OF) \
	{ ANCHOR "_blocks", PACKED_WEIGHT, { { SCALES "_scales", PACKED_SCALE, false } }, \
	  RESULT ".weight", "MXFP4", PACKED_FIRST, PICK, OF, packed_prove_mxfp4, rows_mxfp4 }

const struct packed_kind packed_mxfp4[] = {
	MXFP4(".down_proj", ".down_proj", ".down_proj", 0, 1),
	MXFP4(".gate_up_proj", ".gate_up_proj", ".gate_proj", 0, 2),
	MXFP4(".gate_up_proj", ".gate_up_proj", ".up_proj", 1, 2),
	{ 0 }
};

/* ---- any ---- */

/* Proves that the rows exist. Returns how many of them to compute at a time, or 0 with e
 * filled. */
static size_t
some_rows(const struct packed *p, uint64_t first, uint64_t rows, struct err *e)
{
	uint64_t n = tensor_row(p->tensor), all = n ? tensor_items(p->tensor) / n : 0;
	uint64_t most = SCRATCH / (p->scratch ? p->scratch : 1);

	if (n != 0 && (first > all || rows > all - first)) {
		err_set(e, ERR_CORRUPT, tensor_name(p->tensor), "has only %" PRIu64 " rows", all);
		return 0;
	}
	return most ? (size_t)most : 1;
}

int
packed_rows(const struct packed *p, const struct packed_reader *in, uint64_t first,
            uint64_t rows, float *dst, struct err *e)
{
	size_t most = some_rows(p, first, rows, e), n;

	if (most == 0)
		return -1;
	for (; rows > 0 && tensor_row(p->tensor) > 0; first += n, rows -= n) {
		n = rows < most ? (size_t)rows : most;
		if (p->kind->rows(p, in, first, n, dst, e) < 0)
			return -1;
		dst += n * tensor_row(p->tensor);
	}
	return 0;
}

int
packed_blocks(const struct packed *p, const struct packed_reader *in, uint64_t first,
              uint64_t rows, uint8_t *dst, struct err *e)
{
	size_t most = some_rows(p, first, rows, e), n;

	if (most == 0)
		return -1;
	if (tensor_type(p->tensor)->items == 1)
		return err_set(e, ERR_FORMAT, tensor_name(p->tensor), "is not in blocks");
	for (; rows > 0 && tensor_row(p->tensor) > 0; first += n, rows -= n) {
		n = rows < most ? (size_t)rows : most;
		if (blocks_some(p, in, first, n, dst, e) < 0)
			return -1;
		dst += n * (size_t)p->groups * 17;
	}
	return 0;
}
