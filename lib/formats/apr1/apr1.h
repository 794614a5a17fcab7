/* apr1: APR version 1 (magic APRN). All little-endian:
 *
 *     1. header, 32 bytes: "APRN", u8 major 1, u8 minor, u16 model type, u32 bytes of
 *        metadata, u32 bytes of payload as it is stored, u32 bytes of payload when it
 *        is open and uncompressed, u8 compression, u8 flags, u8 how it is sealed
 *        (ENCRYPTED) or else a score of 0 to 100, 9 zeros
 *     2. metadata: one map in MessagePack
 *     3. payload: [chunk index] and what the model type's program wrote, or records
 *        of ours, or a tensor index and aligned tensors (TRUENO_NATIVE); compressed,
 *        then sealed
 *     4. SIGNED: Ed25519 signature (64) over all before it, public key (32)
 *     5. LICENSED: the licence block, up to the checksum; or nothing, where the
 *        metadata has the licence
 *     6. u32 CRC-32 of every byte before it
 *
 * man/apr1.5 has every field, and which reading of the texts holds. Nothing behind the
 * header is used before the checksum holds, nothing of the payload before signature and
 * tag do; so a file is read whole, into a spool, before the plan is known.
 *
 * Files of others have their metadata as typed keys, the model type as the key
 * apr1.model_type, and what wrote the payload as apr1.payload. Files of ours that have
 * more to say have a map "custom" in the metadata, with these members, which other
 * programs keep or skip. They are no content: reading turns them back.
 *
 *     apr_stream       JSON text: the plan without its tensors, as in apr2(5)
 *     apr_payload      text: "records", or as apr1.payload
 *     apr_tensors      JSON text: {"NAME":[dtype,[dims]],…}: what tensors are that
 *                      TRUENO_NATIVE has as u8
 *     apr_licence_sha256  64 hexadecimal digits, of the licence block
 *     apr.blob.NAME    base64: a side file, or a long value
 *     apr.licence      base64: a licence that is no block
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
#define APR1_LICENCE_LEAST 75       /* bytes of a licence block without terms */
#define APR1_LICENCE_MAX (1u << 20) /* and with them */

#define APR1_ENCRYPTED 0x01u
#define APR1_SIGNED 0x02u
#define APR1_STREAMING 0x04u
#define APR1_LICENSED 0x08u
#define APR1_TRUENO 0x10u
#define APR1_QUANTIZED 0x20u
#define APR1_CARD 0x40u             /* of existing software only */
#define APR1_FLAGS 0x7fu

enum apr1_compression { APR1_RAW, APR1_ZSTD, APR1_ZSTD_MAX, APR1_LZ4 };
#define APR1_ZSTD_LEVEL 3
#define APR1_ZSTD_MAX_LEVEL 19

#define APR1_CUSTOM_TYPE 0xff       /* model type: what has no other */

/* Keys of a model that was read from a file of others. */
#define APR1_KEY "apr1."
#define APR1_TYPE_KEY "apr1.model_type"
#define APR1_PAYLOAD_KEY "apr1.payload"
#define APR1_OPAQUE "opaque"        /* nobody knows: one tensor of bytes, */
#define APR1_OPAQUE_NAME "payload"  /* of this name */
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
#define APR1_WRITER "apr tools"      /* what wrote it, if the model does not say */

/* In source, of a model that was read from such a file: an object with these members,
 * where our writer would not choose the same: type CUSTOM, zstd, no flag. */
#define APR1_FROM "apr1"
#define APR1_FROM_MINOR "minor"
#define APR1_FROM_TYPE "model_type"       /* its number */
#define APR1_FROM_FLAGS "flags"           /* but those of sealing and signing */
#define APR1_FROM_SCORE "score"
#define APR1_FROM_COMPRESSION "compression"
#define APR1_FROM_HINTS "backend_hints"   /* {"NAME":number,…} */
#define APR1_FROM_METADATA "metadata"     /* base64, as it lay there */

struct apr1_header {
	uint8_t major, minor, compression, flags, mode;
	uint16_t type;
	uint32_t meta_bytes, payload_bytes, plain_bytes;
	bool reserved; /* something is not zero there */
};

/* Model types: "LINEAR_REGRESSION" and so on; NULL where there is none of that number;
 * -1 where none has the name, in any case, with or without underscores. */
const char *apr1_type_name(uint16_t type);
int apr1_type_number(const char *name);
/* Refuse one that is not there: ERR_USAGE, with those that are as the hint. Returns -1. */
int apr1_type_unknown(const char *name, struct err *e);

/* The options that only this format has. */
enum apr1_option { APR1_EXPECT, APR1_LAYOUT, APR1_TYPE, APR1_NATIVE, APR1_HINT, APR1_CHUNKED,
	APR1_OPTIONS };
extern const struct format_option apr1_options[APR1_OPTIONS + 1];

/* Number of a backend hint by name, in any case and with or without "-"; -1: unknown. */
int apr1_backend_number(const char *name);

/* Of one flag bit, of a compression, of a backend hint; or NULL. */
const char *apr1_flag(uint32_t bit);
const char *apr1_compression(uint8_t id);
const char *apr1_backend(uint8_t hint);

/* Entries of the metadata that a file of our own has beside custom, for other programs:
 * all follow from the plan. The text of entry i, or NULL where it is not there. */
#define APR1_ENTRIES 4
extern const char *const apr1_entries[APR1_ENTRIES];
const char *apr1_entry_text(const struct model *m, size_t i, size_t *n);

/* Is it a member of custom that is ours? */
bool apr1_is_ours(const char *name, size_t n);

/* Is it a licence block, to its last byte? */
bool apr1_is_licence(const uint8_t *p, uint64_t n);

/* ---- metadata as MessagePack: what it holds (apr1_map.c) ---- */

/* A key and its value, where they lie. */
struct apr1_entry {
	const char *key;
	size_t key_bytes;
	const uint8_t *raw; /* the value as it lies there */
	size_t raw_bytes;
};

struct apr1_map {
	struct apr1_entry *list;
	size_t count, cap;
};

/* The entries of the map that all n bytes are, or (named) of the array of values that
 * existing software writes in its short form, in the order of its fields. All of it is
 * proved. what: for faults. 0, or -1 with E001. */
int apr1_map_read(struct apr1_map *m, const uint8_t *p, size_t n, bool named,
                  const char *what, struct err *e);

/* The items of the array that a value is, as entries without a key. */
int apr1_list_read(struct apr1_map *m, const struct apr1_entry *x, const char *what,
                   struct err *e);
void apr1_map_free(struct apr1_map *m);
const struct apr1_entry *apr1_map_find(const struct apr1_map *m, const char *key);

/* The text of a value that is one; or NULL. */
const char *apr1_text(const struct apr1_entry *x, size_t *n);

/* ---- ... its values, and back (apr1_pack.c, which alone knows the library) ---- */

/* A value as what a plan has: text, numbers, truth, bytes (array:u8), else json. 0, or
 * -1 with E001 where JSON cannot say it. */
int apr1_value(const struct apr1_entry *x, struct value_type *type, struct buf *wire,
               const char *what, struct err *e);

/* And back, appended to b: 0, -1 (memory), or 1: MessagePack has it in no form that
 * apr1_value gives back. */
int apr1_put_value(struct buf *b, struct value_type type, const uint8_t *wire, size_t n);
void apr1_put_map(struct buf *b, size_t entries);
void apr1_put_array(struct buf *b, size_t items);
void apr1_put_text(struct buf *b, const char *s, size_t n);

/* ---- what programs wrote (apr1_layout.c, apr1_unwrap.c, apr1_wrap.c) ---- */

struct apr1_layout; /* apr1_layout.h */

/* ---- the two halves of format_apr1 ---- */

struct source *apr1_open(struct reader *r, const struct format_options *options,
                         void (*note)(const char *), struct err *e);
json_t *apr1_describe(struct source *s, struct err *e);
uint64_t apr1_tensor_offset(const struct source *s, size_t i);
const struct codec *apr1_tensor_stored(const struct source *s, size_t i, uint64_t *bytes);
struct sink *apr1_create(struct out *o, const struct format_options *options,
                         struct err *e);

#endif
