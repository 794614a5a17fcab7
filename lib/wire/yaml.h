/* yaml: YAML 1.1 by libyaml, which only yaml.c includes, as JSON values.
 *
 * Scalars are text, also those that look like numbers, dates or truth values: `version: 2.10`
 * is "2.10" and `- no` is "no". A plain scalar that is empty, ~, null, Null or NULL is null.
 * Tags have no effect. An alias is the same value again. Tabs are read as two spaces.
 *
 * The text may be hostile. Its bytes, depth and values are limited, and a value counts once more
 * for each alias that repeats it, so that writing the result takes bounded time too. A key that is
 * not text or occurs twice in a mapping, an alias of an unknown or unfinished anchor, and a second
 * document are errors.
 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#define YAML_BYTES ((size_t)2 << 20) /* of a text; more is ERR_MEMORY, like the next two */
#define YAML_DEPTH 64
#define YAML_WEIGHT 500000 /* a value counts 1, and 1 more for each 32 bytes of text */
#define YAML_ANCHORS 256

/* Returns the value of a text as a new reference (null if it has no document), or NULL with e
 * filled: ERR_CORRUPT with a line number. what: the object of errors; line: the number of the
 * text's first line. */
json_t *yaml_parse(const char *text, size_t n, const char *what, size_t line, struct err *e);

/* The lines of the keys of mappings, for messages about a text that was parsed. Pointers are valid
 * as long as its value. All zero at the beginning. */
struct yaml_lines {
	struct yaml_line {
		const json_t *object;
		const char *key;
		size_t line;
	} *of;
	size_t n, cap;
};
json_t *yaml_parse_lines(const char *text, size_t n, const char *what, size_t line,
                         struct yaml_lines *lines, struct err *e);
void yaml_lines_free(struct yaml_lines *lines);

/* The line of a key, or 0. */
size_t yaml_line_of(const struct yaml_lines *lines, const json_t *object, const char *key);

/* Appends an object as a block mapping that yaml_parse reads back as the same value. Values
 * are text, null, and arrays and objects of these; numbers and truth values become text. Text
 * is quoted if any YAML reader might take it for something else. Nothing is appended for an
 * empty object. 0 or -1 (E008). */
int yaml_write(const json_t *object, struct buf *to, struct err *e);

/* The front matter of a Markdown text: what stands between a first line "---" and the next.
 * False if there is none. *body is where the text after it begins. */
bool yaml_front(const char *text, size_t n, const char **front, size_t *front_bytes,
                const char **body);

/* The same, parsed: an object as a new reference (empty if there is no front matter or it is
 * not a mapping), or NULL with e filled. */
json_t *yaml_front_parse(const char *text, size_t n, const char *what, struct err *e);

#endif
