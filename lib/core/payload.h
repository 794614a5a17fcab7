/* payload: files that lie in an executable, behind the program.
 *
 * 1. The program, unchanged: an ELF file.
 * 2. The files, each at the next multiple of PAYLOAD_ALIGN, with zeros before it. The first one is
 *    the model.
 * 3. The table, directly behind the last file. Numbers are little-endian.
 *       u32 files, u32 words, u64 bytes of the program
 *       for each file: u64 offset, u64 bytes, SHA-256, u16 length of the name, the name
 *       for each word: u32 length, the word. Words are arguments for the program.
 * 4. The trailer, the last PAYLOAD_TRAILER bytes of the executable: u64 offset of the table, u32 its
 *    length, u32 its CRC-32, u32 version (1), u32 zero, "APREMBED".
 *
 * Every offset follows from the sizes, so the same parts give the same bytes, and an executable
 * with other offsets is refused.
 */
#ifndef CORE_PAYLOAD_H
#define CORE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define PAYLOAD_ALIGN 65536u /* the largest page of a Linux system */
#define PAYLOAD_TRAILER 32
#define PAYLOAD_FILES 32
#define PAYLOAD_WORDS 256
#define PAYLOAD_NAME 255      /* bytes of a name, at least 1 */
#define PAYLOAD_TABLE (1u << 20) /* bytes of a table, at most */

struct payload_file {
	const char *name; /* UTF-8, without "/" and control characters; not "." or ".." */
	uint64_t at, bytes;
	uint8_t digest[32]; /* SHA-256 */
};

struct payload {
	uint64_t program;   /* its bytes */
	struct payload_file files[PAYLOAD_FILES];
	size_t count;       /* 0: there is no payload */
	const char **words;
	size_t word_count;
	char *text;         /* all names and words */
};

/* Whether a name may be that of a file. */
bool payload_name_ok(const char *name, size_t n);

/* Where the next file begins if this is the end of the last one. 0, or -1 if it is too far. */
int payload_next(uint64_t end, uint64_t *at);

/* Reads the table of the executable fd. *p has no files if there is none, or if fd is another kind
 * of file. 0, or -1 with E002 (ERR_CORRUPT), also if its end is missing. Call payload_free in either
 * case. */
int payload_read(struct payload *p, int fd, const char *name, struct err *e);

/* The same from n bytes of table and trailer, the last of an executable of `size` bytes. */
int payload_parse(struct payload *p, const uint8_t *bytes, size_t n, uint64_t size, const char *name,
                  struct err *e);

/* Appends table and trailer; text is not used. 0, or -1 with ERR_USAGE if the table is too long. */
int payload_put(struct buf *b, const struct payload *p, struct err *e);

/* The file of this name, or NULL. */
const struct payload_file *payload_find(const struct payload *p, const char *name);

void payload_free(struct payload *p);

#endif
