/* apr2: the APR2 container, read from files and pipes, written strictly forward.
 * man/apr2.5 is the contract. All little-endian:
 *
 *     1. header, 32 bytes: "APR2", u16 major, u16 minor, u32 flags, and u32
 *        offset and size of the metadata, offset and size of the index, offset
 *        of the data
 *     2. metadata: one JSON object, and spaces where room is kept for a longer one
 *     3. index: u32 count, u32 reserved, then an entry for each tensor, in byte
 *        order of names: u16 length of name, name, u8 dtype, u8 axes, u64 dims[]
 *        (outermost first), u64 offset in the data, u64 stored size, u64
 *        size where compressed or sealed, u32 flags
 *     4. frames (stream/frame.h): SKEY?, blob* in the order of the plan, lice?
 *     5. zero padding to 64
 *     6. data: tensors in stream order, each from a multiple of the alignment, as
 *        they are, as one frame of a codec, or sealed
 *     7. zero padding to 64
 *     8. frames: sums, prov*, sign*; of a sealed model SEAL in place of blob, prov
 *        and sign
 *     9. footer, 16 bytes: u32 CRC-32 of every byte before it, "2RPA", u64 size
 *        of the file
 *
 * Source: the APR 2.0 draft and its unified companion text; apr2(5) says which
 * of them holds where they disagree.
 */
#ifndef FORMATS_APR2_H
#define FORMATS_APR2_H

#include "core/buf.h"
#include "core/spool.h"
#include "formats/format.h"
#include "formats/members.h"

#define APR2_HEADER 32
#define APR2_MAJOR 2
#define APR2_MINOR 0
#define APR2_INDEX_HEAD 8
#define APR2_ENTRY 32     /* bytes of an entry without name and dims */
#define APR2_BOUNDARY 64  /* where data, and what follows it, begins */
#define APR2_FOOTER 16
#define APR2_END "2RPA"
#define APR2_METADATA_MAX (256u << 20)

#define APR2_COMPRESSED 0x001u
#define APR2_ALIGNED_64 0x002u
#define APR2_ALIGNED_32 0x004u
#define APR2_SHARDED 0x008u
#define APR2_ENCRYPTED 0x010u
#define APR2_SIGNED 0x020u
#define APR2_QUANTIZED 0x040u
#define APR2_STREAMING 0x080u
#define APR2_SAFETENSORS_SRC 0x100u
#define APR2_GGUF_SRC 0x200u
#define APR2_FLAGS 0x3ffu /* all that have a meaning */

#define APR2_CODECS 0x3u /* of an entry's flags: how it is compressed */
#define APR2_SEALED 0x4u /* and that it is sealed */

/* The sums frame: a CRC-32 of each tensor's plain bytes, u32, in index order. */
#define APR2_SUMS "sums"
#define APR2_SUMS_HEAD "{\"checksum\":\"crc32\"}"

/* In source, of a model that was read from an APR2 file with tensors aligned
 * to 32 but has another first container: packing it again keeps the 32. */
#define APR2_ALIGNMENT_MEMBER "apr2_alignment"

struct apr2_header {
	uint16_t major, minor;
	uint32_t flags;
	uint32_t meta_at, meta_bytes, index_at, index_bytes, data_at;
};

/* The flag of an entry that a codec has compressed; the codec that these flags
 * are all of, or NULL. */
uint32_t apr2_codec_flag(const struct codec *c);
const struct codec *apr2_codec(uint32_t flags);

/* The name of one flag bit, or NULL. */
const char *apr2_flag(uint32_t bit);

/* True if the 16 bytes at p, where a frame or the footer begins, are the footer. */
bool apr2_is_footer(const uint8_t *p);

/* The text of a key's value in the metadata that in the stream is a blob. In the order of
 * the blobs.
 *
 * Reading: the bytes [at, at + n) of kept. Writing: text lacks them; n bytes belong before
 * text[at]. */
struct apr2_span {
	size_t blob;  /* index in the plan */
	uint64_t at, n;
};

#define APR2_DERIVED 5
struct apr2_meta {
	struct spool kept;   /* read: the JSON text, until the last span was sent */
	struct buf text;     /* written: the JSON text without the spans */
	struct apr2_span *spans;
	size_t span_count, span_cap;
	uint64_t bytes;      /* written: of the text and the spans */
	uint64_t reserve;    /* spaces at the end: room for longer metadata */
	bool foreign;        /* read: it has no apr_stream */
	const char *missing; /* read: a required member that it lacks, or NULL */
	json_t *empty;       /* read: the order of empty tensors, or NULL */
	json_t *types;       /* read: types by name, or NULL; the first type of them are used */
	size_t type;
	/* Read: the text of each member that follows from the plan (apr2_meta.h), empty where
	 * the file lacks it; and whether a key is the member of that name instead. */
	struct buf derived[APR2_DERIVED];
	bool taken[APR2_DERIVED];
};

/* The code that an index entry has for a type, or DTYPE_NONE; the type of a code, or NULL. */
#define APR2_TYPE_NAMED 51 /* of all types of plugins */
int apr2_type_code(const struct dtype *t);
const struct dtype *apr2_type(uint8_t code);

/* Types of plugins, which have no code of their own. True if the file needs a list of
 * their names; the list (NULL: out of memory); the next type of a list that was read, or
 * NULL if the list names no such type. */
bool apr2_types_needed(const struct model *m);
json_t *apr2_types_list(const struct model *m, const size_t *by_name);
const struct dtype *apr2_types_next(struct apr2_meta *meta);

/* Make the metadata of a plan. whole: that of which the plan is one file; what is
 * derived is derived from it. by_name: model_tensors_by_name. align: of the tensors
 * in the file. 0, or -1 with e filled. */
int apr2_meta_write(struct apr2_meta *meta, const struct model *m,
                    const struct model *whole, const size_t *by_name, unsigned align,
                    struct err *e);

/* Of the metadata's text: the rules of json_parse, and at most 2^21 members. */
extern const struct members_rules apr2_rules;

/* Fill the uninitialized m, all but tensors, from meta->kept; the source of a
 * foreign file is left empty. where: the file, for faults; base: the offset in it of the
 * metadata. On failure m is left empty. ERR_CORRUPT.
 *
 * Memory is bounded: members_scan takes what formats/members.h says, the plan's keys take
 * theirs, and only apr_stream becomes a tree of JSON values. */
int apr2_meta_read(struct apr2_meta *meta, struct model *m, const char *where,
                   uint64_t base, struct err *e);

/* The members that follow from the plan must say what they follow from: other programs
 * read them, and no signature covers them. m: the whole model, tensors included. Nothing
 * is checked in a file of others, where they are keys. 0, or -1 and ERR_CORRUPT. */
int apr2_meta_check(const struct apr2_meta *meta, const struct model *m, const char *where,
                    struct err *e);

/* 1 if JSON text can stand for itself as a member's value: what a reader cuts
 * out of the object again is exactly these bytes. 0 if not, -1 (memory). */
int apr2_is_json(const uint8_t *text, size_t n, struct err *e);

void apr2_meta_free(struct apr2_meta *meta);

/* The two halves of format_apr2. */
struct source *apr2_open(struct reader *r, const struct format_options *options,
                         void (*note)(const char *), struct err *e);
json_t *apr2_describe(struct source *s, struct err *e);
uint64_t apr2_tensor_offset(const struct source *s, size_t i);
const struct codec *apr2_tensor_stored(const struct source *s, size_t i, uint64_t *bytes);
struct sink *apr2_create(struct out *o, const struct format_options *options,
                         struct err *e);

/* ---- shards ---- */

/* One file of several, or one that may be: flag SHARDED is fine. Signatures and derived
 * members are about the whole model, which must be told before the first item is sent
 * (-1: the derived members contradict it). */
struct source *apr2_open_shard(struct reader *r, const struct format_options *options,
                               void (*note)(const char *), struct err *e);
int apr2_set_whole(struct source *s, const struct model *whole, struct err *e);
bool apr2_is_sharded(const struct source *s);
/* The CRC-32 in its footer, that of the whole file, which follows from it, and how long
 * it is. False if no footer lies at its end. */
bool apr2_file_crc(struct source *s, uint32_t *crc, uint32_t *all, uint64_t *bytes);

/* As open_path of format.h: a manifest, a shard, or a folder with one manifest. */
struct source *apr2_open_path(const char *path, const struct format_options *options,
                              void (*note)(const char *), const struct format **which,
                              struct err *e);
extern const struct format format_apr2_shards;

/* One file of several, of the plan whole. settle: all has come; only end may follow,
 * and what the manifest says is known: CRC-32 in the footer, size of the file. rename: the name
 * that end gives it. */
struct sink *apr2_create_shard(struct out *o, const struct format_options *options,
                               const struct model *whole, struct err *e);
int apr2_settle(struct sink *s, struct err *e);
void apr2_settled(const struct sink *s, uint32_t *crc, uint64_t *bytes);
void apr2_rename(struct sink *s, const char *path);

/* As create_shards of format.h. */
struct sink *apr2_create_shards(const struct out_options *where,
                                const struct format_options *options, struct err *e);

#endif
