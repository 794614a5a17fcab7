/* sstable: sorted tables of LevelDB, as TensorFlow writes them: keys and values in blocks.
 *
 *     data blocks, a metaindex block, an index block
 *     footer of 48 bytes: handles of the metaindex and of the index, zeros, and the last 8 bytes:
 *                         57 fb 80 8b 24 75 47 db
 *
 * A handle is two varints: offset and bytes of a block. Behind these bytes are a byte that says
 * how they are compressed (0: not, 1: Snappy), and a masked CRC-32C of both.
 *
 *     block   entries, u32 offsets of restarts, u32 number of restarts
 *     entry   varints: bytes shared with the key before, bytes of the rest of the key, bytes of the
 *             value; then the rest of the key and the value. A restart shares nothing.
 *
 * An entry of the index block has the handle of a data block as value. Its key is not less than the
 * last key of that block, and less than the first key of the next one.
 *
 * Keys and offsets of blocks only rise. So each byte is read once, and no handle can lead back.
 * Source: the documents table_format.md and index.md of LevelDB.
 */
#ifndef WIRE_SSTABLE_H
#define WIRE_SSTABLE_H

#include "core/buf.h"
#include "core/err.h"

#define SSTABLE_FOOTER 48
#define SSTABLE_KEY 65536 /* maximum bytes of a key */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define SSTABLE_BLOCK (64u << 20) /* maximum bytes of a compressed block's content */
#else
#define SSTABLE_BLOCK (1u << 16)
#endif

struct sstable_block {
	const uint8_t *p;        /* the content: in the table, or in `content` */
	uint64_t at;             /* offset in the table, for messages */
	size_t entries, size;    /* bytes of the entries; bytes of all */
	size_t next;             /* offset of the next entry */
	size_t restart;          /* number of the next restart */
	struct buf content, key; /* key: of the current entry */
	const uint8_t *value;
	size_t value_bytes;
};

struct sstable {
	const uint8_t *p;
	uint64_t n;              /* up to the footer */
	const char *name;
	struct err *err;
	struct sstable_block index, data;
	uint64_t low, end;       /* the next data block lies between these offsets */
	struct buf last;         /* the key before, or that of the index */
	bool begun, opened;      /* there was a key; a data block is open */
};

/* Opens the table of n bytes at p, which must outlive t. name: the file, for messages. 0, or -1
 * with e filled; sstable_free in both cases. */
int sstable_open(struct sstable *t, const uint8_t *p, uint64_t n, const char *name,
                 struct err *e);
void sstable_free(struct sstable *t);

/* The next entry: t->data.key, value and value_bytes, valid until the next call. 1, 0 at the end,
 * or -1. */
int sstable_next(struct sstable *t);

#endif
