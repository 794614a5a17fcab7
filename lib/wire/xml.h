/* xml: a document of XML by expat, which only xml.c includes, as a tree of elements.
 *
 * Elements, attributes and text alone are kept; comments and processing instructions are skipped.
 * Text counts if no element stands before it in its parent, and if it is not white space alone.
 *
 * The document may be hostile. Nothing outside of it is read. A document type may name a DTD, which is
 * not read either, but must not declare anything: no entity except the five of XML, and no
 * attribute by default, so that text never becomes longer than the document. Depth, names, and the
 * memory of tree and parser are limited.
 *
 * Source: Extensible Markup Language (XML) 1.0, fifth edition.
 */
#ifndef WIRE_XML_H
#define WIRE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define XML_DEPTH 1000 /* elements inside each other */
#define XML_NAMES 2048 /* different names of elements and attributes */
#define XML_PARSER ((size_t)64 << 20) /* bytes that the parser may have at once: a tag, a comment */
#define XML_TREE ((uint64_t)4 << 30)  /* bytes of the tree */

#define XML_NONE 0u /* no element: the first one has number 1 */

struct xml_node {
	uint32_t name;         /* number of the name */
	uint32_t attr, attrs;  /* the first attribute, and how many */
	uint32_t text;         /* place, 0: none */
	uint32_t child, next;  /* numbers of elements */
	uint32_t line;
};

struct xml_attr {
	uint32_t name, value;
};

struct xml {
	struct xml_node *nodes; /* nodes[1] is the root */
	size_t count, cap;
	struct xml_attr *attrs;
	size_t attr_count, attr_cap;
	struct buf text;        /* texts, each with a NUL */
	uint32_t *names;        /* places of names */
	size_t name_count;
	uint32_t *slots;        /* of a hash table of names */
};

/* Reads a document. 0, or -1 with e filled: ERR_CORRUPT with the number of a line, or ERR_MEMORY. xml_free in
 * any case; x was all zero. where: the file. */
int xml_read(struct xml *x, const void *p, size_t n, const char *where, struct err *e);
void xml_free(struct xml *x);

/* The name of an element; whether it is this one. */
const char *xml_name(const struct xml *x, uint32_t node);
bool xml_is(const struct xml *x, uint32_t node, const char *name);

/* The value of an attribute, NULL without one; text of an element, "" without. */
const char *xml_attr(const struct xml *x, uint32_t node, const char *name);
const char *xml_text(const struct xml *x, uint32_t node);

/* The first child, or the next element after `node` in the same parent, with this name (NULL: any); XML_NONE
 * if there is none. */
uint32_t xml_child(const struct xml *x, uint32_t node, const char *name);
uint32_t xml_next(const struct xml *x, uint32_t node, const char *name);

#endif
