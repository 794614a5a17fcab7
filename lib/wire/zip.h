/* zip: the directory of a zip archive, proved before anything in it is used.
 *
 *     local header    "PK\3\4", 26 bytes, name, extra field
 *     the member      stored, or deflated (RFC 1951)
 *     descriptor      only with flag 8: ["PK\7\8"] CRC-32, both sizes in 4 or 8 bytes
 *     …
 *     directory       for each member "PK\1\2", 42 bytes, name, extra field, comment
 *     zip64 end       "PK\6\6", 52 bytes; its locator "PK\6\7", 16 bytes: only if needed
 *     end             "PK\5\6", 18 bytes, comment
 *
 * Each member is described twice, and programs differ in which description they believe.
 * Therefore an archive is refused if the two differ in name, method, flags, sizes or CRC, if two
 * members have the same name, if members overlap each other or the directory, if the end could
 * stand at two places, or if a member is encrypted or lies in another file. Gaps are allowed:
 * writers align members.
 *
 * This is not libzip, because libzip reads the directory alone: it gives neither the offsets of
 * members, by which tensors are mapped, nor these proofs.
 *
 * Source: PKWARE's APPNOTE.TXT, version 6.3.
 */
#ifndef WIRE_ZIP_H
#define WIRE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/map.h"

#define ZIP_ENTRIES (1u << 18)      /* maximum number of members */
#define ZIP_DIRECTORY (32u << 20)   /* maximum bytes of the directory */
#define ZIP_NAME 4096               /* maximum bytes of a name */
#define ZIP_RATIO 1032              /* deflate: maximum bytes out of one byte */

struct zip_entry {
	const char *name;    /* not terminated; UTF-8 without NUL; inside the archive */
	size_t name_bytes;
	uint64_t offset;     /* of the first byte after its local header */
	uint64_t stored;     /* bytes in the archive */
	uint64_t bytes;      /* bytes of the content; equal to stored unless deflated */
	uint64_t head;       /* offset of the local header */
	uint32_t crc;
	bool deflated;
};

struct zip {
	const uint8_t *p;    /* the archive; not owned */
	uint64_t n;
	struct map *map;     /* the map of p, whose pages are returned; may be NULL; not owned */
	const char *where;   /* its name, for messages; not owned */
	struct zip_entry *entries; /* by name, in byte order */
	size_t count;
	bool is_64;          /* the end is a zip64 end */
};

/* Read and prove the directory of the n bytes at p, which outlive z. map, of the file that p is
 * in, may be NULL: all members are looked at, and the pages around them returned. 0, or -1 with e filled:
 * ERR_CORRUPT, or ERR_FORMAT for what is well-formed but not read (encryption, other methods,
 * several files). The caller frees z in either case. */
int zip_open(struct zip *z, const uint8_t *p, uint64_t n, struct map *map, const char *where,
             struct err *e);
void zip_free(struct zip *z);

/* The member with this name, or NULL. */
const struct zip_entry *zip_find(const struct zip *z, const char *name, size_t name_bytes);

/* Check that a member has at most `most` bytes, and the CRC-32 (ERR_CHECKSUM) of one that is
 * stored. zip_get also appends the content of any member to b. 0 or -1. */
int zip_check(const struct zip *z, const struct zip_entry *x, uint64_t most, struct err *e);
int zip_get(const struct zip *z, const struct zip_entry *x, uint64_t most, struct buf *b,
            struct err *e);

/* Check the CRC-32 that the caller has computed over a member's content: 0, or -1
 * (ERR_CHECKSUM). */
int zip_prove(const struct zip *z, const struct zip_entry *x, uint32_t crc, struct err *e);

/* The content of a deflated member in pieces. zip_inflate sets *p and *n to the next piece, valid
 * until the next call; *n is 0 at the end, which proves size and CRC-32. 0 or -1. */
struct zip_inflate;
struct zip_inflate *zip_inflate_open(const struct zip *z, const struct zip_entry *x,
                                     struct err *e);
int zip_inflate(struct zip_inflate *f, const uint8_t **p, size_t *n, struct err *e);
void zip_inflate_close(struct zip_inflate *f);

#endif
