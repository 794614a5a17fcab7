/* oddity: what a reader accepts in a container although a good writer does not write it.
 *
 * Readers only record it; whether it matters is for those who judge a model (lib/check).
 */
#ifndef MODEL_ODDITY_H
#define MODEL_ODDITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oddity_kind {
	ODD_PADDING,    /* padding bytes that are not zero; bytes: their number */
	ODD_GAP,        /* bytes between two parts that belong to none */
	ODD_TRAILING,   /* bytes after the end of the model */
	ODD_SIZE,       /* a size that the container states for the whole file is not its size */
	ODD_ORDER,      /* an index that is not sorted as the format asks */
	ODD_ALIGNMENT,  /* tensor data at an offset that is not a multiple of the format's
	                 * alignment; bytes: the power of two that divides the offset */
	ODD_FLAGS,      /* flag bits without a meaning; offset: that of the field; bytes: the bits */
	ODD_RESERVED,   /* reserved bytes that are not zero */
	ODD_TWICE,      /* the same bytes are used by two objects */
	ODD_CHECKSUM,   /* a checksum that the format may have is missing */
	ODD_KINDS
};

/* One kind at one object. */
struct oddity {
	enum oddity_kind kind;
	char *object;     /* name of a tensor, or of a part of the container; owned */
	uint64_t offset;  /* of the first byte, in the file */
	uint64_t bytes;   /* see the kinds */
};

/* A list; all zero is empty. Beyond ODDITIES_KEPT of a kind only the count grows. Memory that
 * runs out loses entries, never counts. */
#define ODDITIES_KEPT 16
struct oddities {
	struct oddity *of;
	size_t count, cap;
	size_t found[ODD_KINDS];
	bool sorted;      /* the format has an index whose order was compared */
	uint64_t aligned; /* the largest power of two, at most 4096, that divides the offsets
	                   * of all tensors with bytes; 0: not looked at */
};

void oddities_add(struct oddities *o, enum oddity_kind kind, const char *object,
                  uint64_t offset, uint64_t bytes);

/* The tensor of this name has bytes at this offset: lowers aligned, and records
 * ODD_ALIGNMENT if the offset is not a multiple of wanted (a power of two; 0: none). */
void oddities_place(struct oddities *o, const char *object, uint64_t offset, uint64_t wanted);

/* The n bytes at p, at this offset of the file, are padding: records one oddity if some are
 * not zero. */
void oddities_padding(struct oddities *o, const char *object, uint64_t offset,
                      const uint8_t *p, size_t n);

void oddities_free(struct oddities *o);

#endif
