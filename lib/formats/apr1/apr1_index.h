/* apr1_index: shared by the readers of payloads of the apr tools: apr1_records.c (records,
 * and the index of chunks), apr1_aligned.c (TRUENO_NATIVE).
 */
#ifndef FORMATS_APR1_INDEX_H
#define FORMATS_APR1_INDEX_H

#include "formats/apr1/apr1_reader.h"

/* A cursor over bytes. Reading past their end sets bad. */
struct apr1_in {
	const uint8_t *p;
	uint64_t n, at;
	bool bad;
};
const uint8_t *apr1_take(struct apr1_in *x, uint64_t n);
uint64_t apr1_take_number(struct apr1_in *x, unsigned width);

/* Name, type and shape of a tensor. id is that of its quantized type, or 0. */
struct apr1_head {
	const char *name;
	uint64_t name_bytes;
	uint8_t id;
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
};
int apr1_take_head(struct apr1_source *s, struct apr1_in *x, struct apr1_head *h);

/* Make a tensor that has this many bytes in the payload; NULL with the error set. */
struct tensor *apr1_make_tensor(struct apr1_source *s, const struct apr1_head *h,
                                uint64_t bytes);

/* Bytes of the payload that hold the number of chunks and the offset of the first. */
#define APR1_CHUNK_PLACE 12

/* An entry of the index of chunks: a place in the file, and the tensor there. */
struct apr1_chunk {
	uint64_t offset, stored, plain;
	uint32_t crc;
	struct apr1_head head;
};
int apr1_take_chunk(struct apr1_source *s, struct apr1_in *x, struct apr1_chunk *c);

/* Largest entry of a tensor index. Bytes. */
#define APR1_ALIGNED_MOST (8 + 1 + 1 + 2 * 4 * TENSOR_DIMS + 1 + 1 + 8 + 8)

/* Fail: a list continues past the end of the payload. Returns -1. */
int apr1_cut(struct apr1_source *s);

/* The offset in the file of a byte of the payload, as if the payload were neither compressed
 * nor encrypted. */
static inline uint64_t
apr1_offset_of(const struct apr1_source *s, uint64_t at)
{
	return (uint64_t)APR1_HEADER + s->header.meta_bytes + at;
}

#endif
