/* json_items: the items of a JSON array or object, one after the other, from its text.
 *
 * A tree of JSON values takes many times the memory of its text. This finds only where the
 * items begin and end, so an array of a million strings is read in constant memory. Only the
 * punctuation between items is checked: the caller checks each item when it reads it
 * (json_parse_any).
 */
#ifndef CORE_JSON_ITEMS_H
#define CORE_JSON_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

struct json_items {
	const char *p, *end;
	char close; /* the bracket or brace at the end */
	bool any;   /* an item has come */
};

/* A part of the text. */
struct json_part {
	const char *p;
	size_t n;
};

/* Returns the text without the white space around it. */
struct json_part json_trim(const char *text, size_t n);

/* Begins at n bytes that are an array ('[') or an object ('{'), without white space around
 * them. False if they begin with something else. */
bool json_items_begin(struct json_items *w, char open, const char *text, size_t n);

/* Finds the next item. *name: in an object, the JSON string before the colon. Returns 1; 0 at
 * the end; or -1 if the text is malformed. */
int json_items_next(struct json_items *w, struct json_part *name, struct json_part *item);

#endif
