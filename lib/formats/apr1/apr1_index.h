/* apr1_index: what the readers of our own payloads share: apr1_records.c (records, and
 * the index of chunks), apr1_aligned.c (TRUENO_NATIVE).
 */
#ifndef FORMATS_APR1_INDEX_H
#define FORMATS_APR1_INDEX_H

#include "formats/apr1/apr1_reader.h"

/* Bytes that are being used up: what is not there sets bad. */
struct apr1_in {
	const uint8_t *p;
	uint64_t n, at;
	bool bad;
};
const uint8_t *apr1_take(struct apr1_in *x, uint64_t n);
uint64_t apr1_take_number(struct apr1_in *x, unsigned width);

/* What a tensor is: its id is that of its quantized type, or 0. */
struct apr1_head {
	const char *name;
	uint64_t name_bytes;
	uint8_t id;
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
};
int apr1_take_head(struct apr1_source *s, struct apr1_in *x, struct apr1_head *h);

/* A tensor that has so many bytes there; NULL with the fault set. */
struct tensor *apr1_make_tensor(struct apr1_source *s, const struct apr1_head *h,
                                uint64_t bytes);

/* An entry of the index of chunks: a place in the file, and what lies there. */
struct apr1_chunk {
	uint64_t offset, stored, plain;
	uint32_t crc;
	struct apr1_head head;
};
int apr1_take_chunk(struct apr1_source *s, struct apr1_in *x, struct apr1_chunk *c);

/* The fault of a list that goes on beyond the payload. */
int apr1_cut(struct apr1_source *s);

/* A byte of the payload, as if it lay open in the file. */
static inline uint64_t
apr1_offset_of(const struct apr1_source *s, uint64_t at)
{
	return (uint64_t)APR1_HEADER + s->header.meta_bytes + at;
}

#endif
