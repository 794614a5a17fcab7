/* tar: the members of a tar archive, proved before anything in it is used.
 *
 *     each member   a header of 512 bytes; the content; bytes up to a multiple of 512
 *     end           two blocks of zeros, and zeros behind them
 *
 * A header has, each number in octal digits, or with its highest bit set in big-endian binary:
 *
 *     at 0    100 bytes  name
 *       124    12        bytes of the content
 *       148     8        sum of the header's bytes, with spaces in place of this field
 *       156     1        type: 0 or NUL a file, 5 a folder, 1 and 2 links, x more fields for the
 *                        next member, g for all that follow
 *       257     6        "ustar": then 155 bytes at 345 precede the name and a slash
 *
 * More fields (pax) are lines "LENGTH KEY=VALUE\n". Those for a path and a size are followed, others
 * are not.
 *
 * Programs differ in what they make of an archive that contradicts itself. Therefore it is refused
 * if a sum is wrong, a name leaves its folder, two members have the same name, a field comes twice,
 * or a member is a link, a device, sparse, or of another type.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header".
 */
#ifndef WIRE_TAR_H
#define WIRE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/reader.h"

#define TAR_BLOCK 512
#define TAR_ENTRIES 4096     /* maximum number of members */
#define TAR_FIELDS (1u << 16) /* maximum bytes of more fields for a member */
#define TAR_REST (1u << 20)  /* maximum bytes behind the end */

/* A file in the archive. */
struct tar_entry {
	size_t name;         /* its offset in names, where it ends with NUL: without "./" in front */
	uint64_t offset;     /* of the content */
	uint64_t bytes;
};

struct tar {
	const uint8_t *p;    /* the archive; not owned */
	uint64_t n;
	const char *where;   /* its name, for messages; not owned */
	struct tar_entry *entries; /* in the order of the archive; folders are left out */
	size_t count, cap;
	struct buf names;
};

/* True if n bytes begin with a header whose sum is right. */
bool tar_begins(const uint8_t *p, uint64_t n);

/* Read and prove the n bytes at p, which outlive t. 0, or -1 with e filled: ERR_CORRUPT, or
 * ERR_FORMAT for what is well-formed but not read. The caller frees t in either case. */
int tar_open(struct tar *t, const uint8_t *p, uint64_t n, const char *where, struct err *e);
void tar_free(struct tar *t);

/* The name of a member; the member with a name, or NULL. */
const char *tar_name(const struct tar *t, const struct tar_entry *x);
const struct tar_entry *tar_find(const struct tar *t, const char *name);

/* For reports of an archive that may be broken: nothing is proved. Calls part for each member, whose
 * name has n bytes, and for what is behind the last one, without a name. r stands at the beginning.
 * Returns NULL, or what is wrong at the place of r. */
const char *tar_walk(struct reader *r,
                     void (*part)(void *ctx, uint64_t offset, uint64_t bytes, const char *what,
                                  const uint8_t *name, size_t n), void *ctx);

#endif
