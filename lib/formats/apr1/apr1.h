/* apr1: APR version 1 (magic APRN). All numbers are little-endian:
 *
 *     1. header, 32 bytes: "APRN", u8 major 1, u8 minor, u16 model type, u32 bytes of
 *        metadata, u32 bytes of payload as stored, u32 bytes of payload when
 *        decrypted and uncompressed, u8 compression, u8 flags, u8 mode of encryption
 *        (ENCRYPTED) or else a score of 0 to 100, 9 zeros
 *     2. metadata: one map in MessagePack
 *     3. payload: [chunk index] and the bytes that the model type's program wrote, or
 *        records of the apr tools, or a tensor index and aligned tensors
 *        (TRUENO_NATIVE); compressed, then encrypted
 *     4. SIGNED: Ed25519 signature (64) over everything before it, public key (32)
 *     5. LICENSED: the licence block, up to the checksum; or nothing, if the
 *        metadata has the licence
 *     6. u32 CRC-32 of every byte before it
 *
 * apr1(5) describes every field, and which reading of the specifications applies. Nothing
 * after the header is used before the checksum is checked, and nothing of the payload
 * before signature and tag are checked; so a file is read whole, into a spool, before the
 * plan is known.
 *
 * A file of another program becomes a model whose typed keys are its metadata, with the
 * model type as the key apr1.model_type and the layout of the payload as apr1.payload. A
 * file of the apr tools with more content has a map "custom" in the metadata, with these
 * members, which other programs keep or skip. They are not content: a reader turns each
 * back into the part that it carries.
 *
 *     apr_stream       JSON text: the plan without its tensors, as in apr2(5)
 *     apr_payload      text: "records", or as apr1.payload
 *     apr_tensors      JSON text: {"NAME":[dtype,[dims]],…}: types and shapes of
 *                      tensors that TRUENO_NATIVE stores as u8
 *     apr_licence_sha256  64 hexadecimal digits, of the licence block
 *     apr.blob.NAME    base64: a side file, or a long value
 *     apr.licence      base64: a licence that is not a licence block
 *     apr.prov.N       base64: head of a prov frame
 *     apr.sign.N       base64: head and body of a sign frame
 */
#ifndef FORMATS_APR1_H
#define FORMATS_APR1_H

#include "core/spool.h"
#include "formats/format.h"

#define APR1_HEADER 32
#define APR1_FOOTER 4
#define APR1_SIGNATURE 96
#define APR1_ALIGN 64               /* of tensors, TRUENO_NATIVE */
#define APR1_METADATA_MAX (32u << 20)
#define APR1_LICENCE_LEAST 75       /* minimum bytes of a licence block: no terms */
#define APR1_LICENCE_MAX (1u << 20) /* maximum bytes */

#define APR1_ENCRYPTED 0x01u
#define APR1_SIGNED 0x02u
#define APR1_STREAMING 0x04u
#define APR1_LICENSED 0x08u
#define APR1_TRUENO 0x10u
#define APR1_QUANTIZED 0x20u
#define APR1_CARD 0x40u             /* used only by existing software */
#define APR1_FLAGS 0x7fu

enum apr1_compression { APR1_RAW, APR1_ZSTD, APR1_ZSTD_MAX, APR1_LZ4 };
#define APR1_ZSTD_LEVEL 3
#define APR1_ZSTD_MAX_LEVEL 19

#define APR1_CUSTOM_TYPE 0xff       /* model type of all other models */

/* Keys of a model that was read from a file of another program. */
#define APR1_KEY "apr1."
#define APR1_TYPE_KEY "apr1.model_type"
#define APR1_PAYLOAD_KEY "apr1.payload"
#define APR1_OPAQUE "opaque"        /* unknown layout: one tensor of bytes, */
#define APR1_OPAQUE_NAME "payload"  /* with this name */
#define APR1_RECORDS "records"

/* Members of the map "custom". */
#define APR1_CUSTOM "custom"
#define APR1_STREAM "apr_stream"
#define APR1_PAYLOAD "apr_payload"
#define APR1_TENSORS "apr_tensors"
#define APR1_DIGEST "apr_licence_sha256"
#define APR1_BLOB "apr.blob."
#define APR1_LICENCE "apr.licence"
#define APR1_PROV "apr.prov."
#define APR1_SIGN "apr.sign."
#define APR1_NAMES "tensor_names"   /* beside custom: TRUENO_NATIVE */
#define APR1_WRITER "apr tools"      /* the writer's name, if the model has none */

/* In source, of a model that was read from such a file: an object. It has each of these
 * members whose value differs from the writer's default: type CUSTOM, zstd, no flag. */
#define APR1_FROM "apr1"
#define APR1_FROM_MINOR "minor"
#define APR1_FROM_TYPE "model_type"       /* its number */
#define APR1_FROM_FLAGS "flags"           /* without ENCRYPTED and SIGNED */
#define APR1_FROM_SCORE "score"
#define APR1_FROM_COMPRESSION "compression"
#define APR1_FROM_HINTS "backend_hints"   /* {"NAME":number,…} */
#define APR1_FROM_METADATA "metadata"     /* base64 of the file's metadata */

struct apr1_header {
	uint8_t major, minor, compression, flags, mode;
	uint16_t type;
	uint32_t meta_bytes, payload_bytes, plain_bytes;
	bool reserved; /* a reserved byte is not zero */
};

/* The name of a model type ("LINEAR_REGRESSION"), or NULL if no type has the number. The
 * number of a name, in any case, with or without underscores, or -1. */
const char *apr1_type_name(uint16_t type);
int apr1_type_number(const char *name);
/* Refuse an unknown name: ERR_USAGE, with the known names as the hint. Returns -1. */
int apr1_type_unknown(const char *name, struct err *e);

/* The options of this format. */
enum apr1_option { APR1_EXPECT, APR1_LAYOUT, APR1_TYPE, APR1_NATIVE, APR1_HINT, APR1_CHUNKED,
	APR1_OPTIONS };
extern const struct format_option apr1_options[APR1_OPTIONS + 1];

/* The number of a backend hint by name, in any case and with or without "-"; -1: unknown. */
int apr1_backend_number(const char *name);

/* The name of one flag bit, of a compression, of a backend hint; or NULL. */
const char *apr1_flag(uint32_t bit);
const char *apr1_compression(uint8_t id);
const char *apr1_backend(uint8_t hint);

/* Entries of the metadata beside custom, for other programs: the apr tools write them from
 * the plan. apr1_entry_text returns the text of entry i, or NULL if the plan has none. */
#define APR1_ENTRIES 4
extern const char *const apr1_entries[APR1_ENTRIES];
const char *apr1_entry_text(const struct model *m, size_t i, size_t *n);

/* True for a member of custom that the apr tools use. */
bool apr1_is_ours(const char *name, size_t n);

/* True if the n bytes are exactly one licence block. */
bool apr1_is_licence(const uint8_t *p, uint64_t n);

/* ---- metadata as MessagePack: its entries (apr1_map.c) ---- */

/* A key and its value; both point into the metadata. */
struct apr1_entry {
	const char *key;
	size_t key_bytes;
	const uint8_t *raw; /* the value in MessagePack */
	size_t raw_bytes;
};

struct apr1_map {
	struct apr1_entry *list;
	size_t count, cap;
};

/* Read the entries of a map that has exactly n bytes. With named, also accept the short form
 * of existing software: an array of the values, in the order of its fields. All bytes are
 * checked. what: for messages. 0, or -1 with E001. */
int apr1_map_read(struct apr1_map *m, const uint8_t *p, size_t n, bool named,
                  const char *what, struct err *e);

/* Read the items of an array value, as entries without a key. */
int apr1_list_read(struct apr1_map *m, const struct apr1_entry *x, const char *what,
                   struct err *e);
void apr1_map_free(struct apr1_map *m);
const struct apr1_entry *apr1_map_find(const struct apr1_map *m, const char *key);

/* The text of a string value, or NULL. */
const char *apr1_text(const struct apr1_entry *x, size_t *n);

/* ---- converting values (apr1_pack.c, the only file that uses the msgpack library) ---- */

/* Convert a value to one of a plan: string, number, bool, bytes (array:u8), else json. 0, or
 * -1 with E001 if JSON cannot hold it. */
int apr1_value(const struct apr1_entry *x, struct value_type *type, struct buf *wire,
               const char *what, struct err *e);

/* Convert a value of a plan and append it to b. 0, -1 if out of memory, or 1 if no form in
 * MessagePack is read back as the same value by apr1_value. */
int apr1_put_value(struct buf *b, struct value_type type, const uint8_t *wire, size_t n);
void apr1_put_map(struct buf *b, size_t entries);
void apr1_put_array(struct buf *b, size_t items);
void apr1_put_text(struct buf *b, const char *s, size_t n);

/* ---- payloads of other programs (apr1_layout.c, apr1_unwrap.c, apr1_wrap.c) ---- */

struct apr1_layout; /* apr1_layout.h */

/* ---- the two halves of format_apr1 ---- */

struct source *apr1_open(struct reader *r, const struct format_options *options,
                         void (*note)(const char *), struct err *e);
void apr1_outline(struct reader *r, struct outline *o);
json_t *apr1_describe(struct source *s, struct err *e);
uint64_t apr1_tensor_offset(const struct source *s, size_t i);
const struct codec *apr1_tensor_stored(const struct source *s, size_t i, uint64_t *bytes);
struct sink *apr1_create(struct out *o, const struct format_options *options,
                         struct err *e);

#endif
