/* apr2: the APR2 container, read from files and pipes, written strictly forward.
 * apr2(5) is the contract. All numbers are little-endian:
 *
 *     1. header, 32 bytes: "APR2", u16 major, u16 minor, u32 flags, and u32
 *        offset and size of the metadata, offset and size of the index, offset
 *        of the data
 *     2. metadata: one JSON object, and spaces if room is left for a longer one
 *     3. index: u32 count, u32 reserved (any number: apr2_amend), then an entry for each tensor, in byte
 *        order of names: u16 length of name, name, u8 dtype, u8 axes, u64 dims[]
 *        (outermost first), u64 offset in the data, u64 stored size, u64
 *        size if compressed or sealed, u32 flags
 *     4. frames (stream/frame.h): SKEY?, blob* in the order of the plan, lice?
 *     5. zero padding to 64
 *     6. data: tensors in stream order, each at a multiple of the alignment: plain,
 *        as one frame of a codec, or sealed
 *     7. zero padding to 64
 *     8. frames: sums, prov*, sign*; a sealed model has SEAL in place of blob, prov
 *        and sign
 *     9. footer, 16 bytes: u32 CRC-32 of every byte before it, "2RPA", u64 size
 *        of the file
 *
 * Source: the APR 2.0 draft and its unified companion text; apr2(5) states which of
 * them applies if they disagree.
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
#define APR2_BOUNDARY 64  /* data, and the part after it, begin at a multiple of this */
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

#define APR2_CODECS 0x3u /* in an entry's flags: the codec */
#define APR2_SEALED 0x4u /* in an entry's flags: sealed */
/* In an entry's flags: sparse (wire/sparse.h). Then bits 8 to 15 are the kind of the form, and
 * bits 16 to 31 the values of its blocks. */
#define APR2_SPARSE 0x8u

/* The sums frame: a CRC-32 of each tensor's plain bytes, u32, in index order. */
#define APR2_SUMS "sums"
#define APR2_SUMS_HEAD "{\"checksum\":\"crc32\"}"

/* In source, of a model from another container that was read from an APR2 file with tensors
 * aligned to 32: packing it again keeps the alignment. */
#define APR2_ALIGNMENT_MEMBER "apr2_alignment"

struct apr2_header {
	uint16_t major, minor;
	uint32_t flags;
	uint32_t meta_at, meta_bytes, index_at, index_bytes, data_at;
};

/* The flag of an entry that this codec has compressed. The codec of exactly these flags, or
 * NULL. */
uint32_t apr2_codec_flag(const struct codec *c);
const struct codec *apr2_codec(uint32_t flags);
uint32_t apr2_sparse_flags(struct sparse_form f);
struct sparse_form apr2_sparse(uint32_t flags);

/* The name of one flag bit, or NULL. */
const char *apr2_flag(uint32_t bit);

/* True if the 16 bytes at p, where a frame or the footer begins, are the footer. */
bool apr2_is_footer(const uint8_t *p);

/* The text of a value that is in the metadata here and in a blob in the stream. Spans have the
 * order of the blobs.
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
	bool foreign;        /* read: there is no apr_stream */
	const char *missing; /* read: a required member that is missing, or NULL */
	json_t *empty;       /* read: the order of empty tensors, or NULL */
	json_t *types;       /* read: names of types, or NULL; type of them have been used */
	size_t type;
	/* Read: the text of each member that follows from the plan (apr2_meta.h), empty if the
	 * file lacks it; taken: a key of the model is the member with this name instead. */
	struct buf derived[APR2_DERIVED];
	bool taken[APR2_DERIVED];
};

/* The code of a type in an index entry, or DTYPE_NONE; the type of a code, or NULL. */
#define APR2_TYPE_NAMED 51 /* the code of all types of plugins */
int apr2_type_code(const struct dtype *t);
const struct dtype *apr2_type(uint8_t code);

/* Types of plugins, which have no code of their own. apr2_types_needed: true if the file needs
 * a list of their names. apr2_types_list: the list, or NULL if out of memory.
 * apr2_types_next: the next type of a list that was read, or NULL if its name is not valid or
 * the list has ended. */
bool apr2_types_needed(const struct model *m);
json_t *apr2_types_list(const struct model *m, const size_t *by_name);
const struct dtype *apr2_types_next(struct apr2_meta *meta);

/* Make the metadata of a plan. whole: the plan of the model, from which members are derived;
 * m may be one file of it. by_name: model_tensors_by_name. align: of the tensors in the file.
 * 0, or -1 with e filled. */
int apr2_meta_write(struct apr2_meta *meta, const struct model *m,
                    const struct model *whole, const size_t *by_name, unsigned align,
                    struct err *e);

/* The rules for the metadata's text: those of json_parse, and at most 2^21 members. */
extern const struct members_rules apr2_rules;

/* Fill the uninitialized m, except for its tensors, from meta->kept. The source of a foreign
 * file is left empty. where: the file, for messages; base: the offset of the metadata in it.
 * 0, or -1 with ERR_CORRUPT; m is then empty.
 *
 * Memory is bounded: members_scan takes the amount stated in formats/members.h, the plan
 * holds its keys, and only apr_stream becomes a tree of JSON values. */
int apr2_meta_read(struct apr2_meta *meta, struct model *m, const char *where,
                   uint64_t base, struct err *e);

/* Check that the members that follow from the plan agree with it: other programs read them,
 * and no signature covers them. m: the whole model, with its tensors. Checks nothing in a file
 * of another program, in which they are keys. 0, or -1 with ERR_CORRUPT. */
int apr2_meta_check(const struct apr2_meta *meta, const struct model *m, const char *where,
                    struct err *e);

void apr2_meta_free(struct apr2_meta *meta);

/* The two halves of format_apr2. */
struct source *apr2_open(struct reader *r, const struct format_options *options,
                         void (*note)(const char *), struct err *e);
void apr2_outline(struct reader *r, struct outline *o);
json_t *apr2_describe(struct source *s, struct err *e);
uint64_t apr2_tensor_offset(const struct source *s, size_t i);
const struct codec *apr2_tensor_stored(const struct source *s, size_t i, uint64_t *bytes);
struct sink *apr2_create(struct out *o, const struct format_options *options,
                         struct err *e);

/* As amend of format.h, for a file without signatures: these, and records, lie after the data.
 * The reserved field of the index gets the number that keeps the CRC of the file. */
int apr2_amend(struct source *s, struct source *edited, const char *operation, struct out *o,
               struct err *e);

/* ---- shards ---- */

/* Open one file of several, or one that may be: the flag SHARDED is allowed. Signatures and
 * derived members belong to the whole model: the caller passes it to apr2_set_whole before the
 * first item is sent. apr2_set_whole returns -1 if the derived members contradict it. */
struct source *apr2_open_shard(struct reader *r, const struct format_options *options,
                               void (*note)(const char *), struct err *e);
int apr2_set_whole(struct source *s, const struct model *whole, struct err *e);
bool apr2_is_sharded(const struct source *s);
/* The CRC-32 in the footer, the CRC-32 of the whole file, which follows from it, and the size
 * of the file. False if the file does not end with a footer. */
bool apr2_file_crc(struct source *s, uint32_t *crc, uint32_t *all, uint64_t *bytes);

/* As open_path of format.h: a manifest, a shard, or a folder with one manifest. */
struct source *apr2_open_path(const char *path, const struct format_options *options,
                              void (*note)(const char *), const struct format **which,
                              struct err *e);
extern const struct format format_apr2_shards;

/* Create one file of several, of the plan whole. apr2_settle: all items of the file have come,
 * and only end may follow. apr2_settled: the values for the manifest: the CRC-32 in the
 * footer, and the size of the file. apr2_rename: set the name that end gives to the file. */
struct sink *apr2_create_shard(struct out *o, const struct format_options *options,
                               const struct model *whole, struct err *e);
int apr2_settle(struct sink *s, struct err *e);
void apr2_settled(const struct sink *s, uint32_t *crc, uint64_t *bytes);
void apr2_rename(struct sink *s, const char *path);

/* As create_shards of format.h. */
struct sink *apr2_create_shards(const struct out_options *where,
                                const struct format_options *options, struct err *e);

#endif
