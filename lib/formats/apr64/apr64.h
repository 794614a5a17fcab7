/* apr64: APR version 2 as existing software writes it, with a header of 64 bytes. All its
 * generations are read; the form that is written is accepted by both current readers. All
 * numbers are little-endian:
 *
 *     1. header, 64 bytes: "APR\0" ("APR2" in the first weeks), u8 major, u8
 *        minor, u16 flags, u32 count of tensors, u64 offset and u32 size of the
 *        metadata, u64 offset of the index, u64 offset of the data, u32 CRC-32 of
 *        the other 60 bytes, 20 zeros
 *     2. metadata, from byte 64: one JSON object; zero padding to 64
 *     3. index: an entry for each tensor, in byte order of names: u16 length of
 *        name, name, u8 dtype, u8 axes, u64 dims[] (outermost first), u64 offset
 *        in the data, u64 size; zero padding to 64
 *     4. data: tensors in any order, each padded with zeros to 64, the last too
 *     5. footer: u32 CRC-32 of every byte before it; a reader also accepts the footer
 *        of apr2, and a file without a footer
 *
 * A dtype code does not always mean the same type: apr64_type decides by size.
 *
 * The apr tools use members of their own in the metadata for parts of a model that it has
 * no place for. Upstream's readers keep or skip them. They are not content: a reader turns
 * each back into the part that it carries.
 *
 *     apr_stream      the plan without its tensors, as in apr2(5): typed list,
 *                     source, side files. A row [key,"json"] has its value in the
 *                     member with this name
 *     apr_tensors     {"NAME":[dtype,[dims]],…}: types and shapes of tensors stored
 *                     as U8
 *     apr.blob.NAME   base64: a side file, or a long value
 *     apr.licence     base64: the licence block
 *     apr.prov.N      base64: head of a prov frame
 *     apr.sign.N      base64: head and body of a sign frame
 *
 * Beside apr_stream are the members that upstream's programs look for. They follow from
 * the typed list (apr64_meta.c). A reader does not use them, but checks that they agree
 * with the list (apr64_check.c), because no signature covers them.
 */
#ifndef FORMATS_APR64_H
#define FORMATS_APR64_H

#include "core/spool.h"
#include "formats/format.h"
#include "formats/members.h"

#define APR64_HEADER 64
#define APR64_MAJOR 2
#define APR64_ALIGN 64     /* of every part, and of tensors */
#define APR64_ENTRY 20     /* bytes of an entry without name and dims */
#define APR64_NAME 256     /* bytes of a tensor's name: upstream cuts longer ones */
#define APR64_FOOTER 4
#define APR64_METADATA_MAX (256u << 20) /* as upstream's readers of headers allow */

#define APR64_LZ4 0x0001u
#define APR64_ZSTD 0x0002u
#define APR64_ENCRYPTED 0x0004u
#define APR64_SHARDED 0x0010u
#define APR64_QUANTIZED 0x0020u
#define APR64_VOCAB 0x0200u
#define APR64_ROW_MAJOR 0x0400u
#define APR64_COLUMN_MAJOR 0x0800u
#define APR64_FLAGS 0x0fffu /* all that have a meaning */
#define APR64_TELL 0x03e0u  /* those that only inform, and are kept */

#define APR64_OWN "apr_stream"
#define APR64_TENSORS "apr_tensors"
#define APR64_BLOB "apr.blob."
#define APR64_LICENCE "apr.licence"
#define APR64_PROV "apr.prov."
#define APR64_SIGN "apr.sign."

/* In source, of a model that was read from such a file: its flags, unless they are ROW_MAJOR
 * alone; and {"NAME":[code,[dims]],…} of the tensors whose rows do not fill blocks, which
 * travel as bytes. */
#define APR64_FLAGS_MEMBER "flags"
#define APR64_BLOCKS_MEMBER "apr64_blocks"

/* The name of one flag bit, or NULL. */
const char *apr64_flag(uint32_t bit);

/* True for a member that the apr tools use. */
bool apr64_is_ours(const char *name);

/* True for a member that follows from the plan (apr64_meta.c). */
bool apr64_is_derived(const char *name);

/* realizar accepts several names for some members, and ignores all metadata of a file that has
 * two names of the same member. Returns a number that all names of a member share, or -1.
 * *canonical is the main name of the member, or the name itself. */
#define APR64_ALIASES 8
int apr64_alias(const char *name, const char **canonical);

/* Find the type of an entry with this code, shape and size. Returns
 *  0: *type is the type;
 *  1: *type is the type, but rows do not fill whole blocks: each row is padded to whole
 *     blocks, or blocks run over the rows;
 * -1: the size matches no type of the code;
 * -2: the code has no type.
 * old: the file is from realizar's first converter, whose code 8 is Q4_K. */
int apr64_type(uint8_t code, unsigned ndim, const uint64_t *dims, uint64_t bytes,
               bool old, const struct dtype **type);

/* The code that is written for a type, or DTYPE_NONE. Types that both of upstream's readers
 * know have a code, and integers, which one of them knows. */
int apr64_code(const struct dtype *type);

/* A tensor whose type has no code: the file has its bytes as U8. */
bool apr64_is_foreign(const struct tensor *t);

/* The rules for the metadata's text: those of serde_json, which upstream's programs use. */
extern const struct members_rules apr64_rules;

/* ---- the two halves of format_apr64 ---- */

struct source *apr64_open(struct reader *r, const struct format_options *options,
                          void (*note)(const char *), struct err *e);
void apr64_outline(struct reader *r, struct outline *o);
json_t *apr64_describe(struct source *s, struct err *e);
uint64_t apr64_tensor_offset(const struct source *s, size_t i);
struct sink *apr64_create(struct out *o, const struct format_options *options,
                          struct err *e);

#endif
