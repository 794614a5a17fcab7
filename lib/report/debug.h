/* debug: the bytes of a file for people: a map of its parts, bytes beside their meaning,
 * printable strings. Names from files are escaped.
 */
#ifndef REPORT_DEBUG_H
#define REPORT_DEBUG_H

#include "core/buf.h"
#include "core/json.h"
#include "core/reader.h"
#include "model/outline.h"

#define DEBUG_LINE 16 /* bytes of a line */

/* Appends the parts of a file of this size by offset, with what lies between and behind them,
 * and tensors that exceed the file or overlap. debug_map_json: the same as an array, a new
 * reference. */
void debug_map(struct buf *b, const struct outline *o, uint64_t file_bytes);
json_t *debug_map_json(const struct outline *o, uint64_t file_bytes);

/* Appends the files of a model in several files; nothing if n is 0. */
void debug_files(struct buf *b, const struct outline_file *list, size_t n);
json_t *debug_files_json(const struct outline_file *list, size_t n);

/* Sentences about tensors that cannot be right, at most DEBUG_FAULTS. */
#define DEBUG_FAULTS 8
void debug_faults(struct buf *b, const struct outline *o, uint64_t file_bytes);

/* Appends n bytes, which lie at an offset of the file: offset, hexadecimal, characters. The line
 * of the byte at mark begins with ">"; UINT64_MAX: none does. */
void debug_hex(struct buf *b, const uint8_t *p, size_t n, uint64_t offset, uint64_t mark);

/* Appends the n bytes of a tensor that begin at byte `at` of its blocks, which is the start of a
 * block: a line for each part of a block with its bytes and what they mean, then values. head:
 * that of the tensor, if its type has one. offset: of p in the file. */
void debug_blocks(struct buf *b, const struct dtype *t, const uint8_t *head, const uint8_t *p,
                  size_t n, uint64_t at, uint64_t offset);

/* Appends what the first bytes of a file are, if no format knows them: "text", "JSON",
 * "zeros". NULL if nothing can be said. */
const char *debug_kind(const uint8_t *head, size_t n);

/* ---- strings ---- */

/* Printable runs of ASCII of at least DEBUG_STRING bytes, as strings(1) finds them. */
#define DEBUG_STRING 4
#define DEBUG_STRING_SHOWN 160 /* bytes of a string that are shown */
struct debug_strings {
	uint64_t left;    /* strings that may still be printed */
	uint64_t run, at; /* bytes and offset of the current run */
	char text[DEBUG_STRING_SHOWN + 1];
};

/* Takes the n bytes at an offset of the file; pieces follow each other. */
void debug_strings_add(struct debug_strings *s, struct buf *b, const uint8_t *p, size_t n,
                       uint64_t offset);
void debug_strings_end(struct debug_strings *s, struct buf *b);

/* ---- drama ---- */

/* Appends a play in three acts: header, metadata, verdict (version 2, section 4.3). facts: those
 * of apr-header, or NULL if the model cannot be read, for the reason in v. */
void debug_drama(struct buf *b, const char *name, const uint8_t *head, size_t n,
                 const char *format, json_t *facts, const struct err *v);

#endif
