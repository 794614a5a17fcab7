#include "wire/xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define PIECE ((size_t)1 << 20) /* bytes for the parser at once */
#define SLOTS (2 * XML_NAMES)

struct reading {
	struct xml *x;
	XML_Parser parser;
	const char *where;
	struct err *e;
	uint32_t open[XML_DEPTH], last[XML_DEPTH]; /* elements, and their last children so far */
	size_t depth;
	size_t text; /* where text of the innermost element begins; 0: it has none yet */
};

/* ---- memory of the parser ---- */

/* Only one document is read at a time in a thread; expat gives no pointer to these functions. */
static _Thread_local size_t used;

union header {
	size_t n;
	max_align_t align;
};

static void *
resize(void *p, size_t n)
{
	union header *h = p ? (union header *)p - 1 : NULL;
	size_t old = h ? h->n : 0;

	if (n > XML_PARSER || used - old > XML_PARSER - n)
		return NULL;
	h = realloc(h, sizeof *h + n);
	if (!h)
		return NULL;
	used = used - old + n;
	h->n = n;
	return h + 1;
}

static void *
allocate(size_t n)
{
	return resize(NULL, n);
}

static void
release(void *p)
{
	union header *h = p ? (union header *)p - 1 : NULL;

	used -= h ? h->n : 0;
	free(h);
}

/* ---- names ---- */

/* The number of a name; XML_NAMES with an error. */
static uint32_t
name_of(struct reading *r, const char *name)
{
	struct xml *x = r->x;
	uint32_t h = 2166136261u, at;
	const char *p;

	for (p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 16777619u;
	for (at = h % SLOTS; x->slots[at]; at = (at + 1) % SLOTS)
		if (strcmp((const char *)x->text.p + x->names[x->slots[at] - 1], name) == 0)
			return x->slots[at] - 1;
	if (x->name_count == XML_NAMES) {
		err_set(r->e, ERR_MEMORY, r->where, "has more than %d names of elements and attributes", XML_NAMES);
		return XML_NAMES;
	}
	x->names[x->name_count++] = (uint32_t)x->text.n;
	x->slots[at] = (uint32_t)x->name_count;
	buf_put(&x->text, name, (size_t)(p - name) + 1);
	return (uint32_t)x->name_count - 1;
}

/* ---- what the parser reports ---- */

static void
stop(struct reading *r)
{
	XML_StopParser(r->parser, XML_FALSE);
}

static bool
failed(const struct reading *r)
{
	return r->e->code != ERR_NONE;
}

/* Ends the text of the innermost element, whose white space alone does not count. */
static void
end_text(struct reading *r)
{
	struct xml *x = r->x;
	struct xml_node *node = &x->nodes[r->open[r->depth - 1]];
	size_t i;

	if (!r->text || !buf_ok(&x->text))
		return;
	for (i = r->text; i < x->text.n && strchr(" \t\r\n", x->text.p[i]); i++)
		;
	if (i == x->text.n) {
		x->text.n = r->text;
	} else {
		node->text = (uint32_t)r->text;
		buf_u8(&x->text, 0);
	}
	r->text = 0;
}

/* Appends an element to its parent. */
static struct xml_node *
append(struct reading *r)
{
	struct xml *x = r->x;
	uint32_t number = (uint32_t)x->count, *last = r->depth ? &r->last[r->depth - 1] : NULL;

	if (mem_grow(&x->nodes, &x->cap, x->count + 1, sizeof *x->nodes) < 0) {
		err_memory(r->e);
		return NULL;
	}
	if (last && *last)
		x->nodes[*last].next = number;
	else if (last)
		x->nodes[r->open[r->depth - 1]].child = number;
	if (last)
		*last = number;
	r->last[r->depth] = 0;
	r->open[r->depth++] = number;
	return &x->nodes[x->count++];
}

static void
put_attributes(struct reading *r, struct xml_node *node, const char **list)
{
	struct xml *x = r->x;

	for (node->attr = (uint32_t)x->attr_count; *list && !failed(r); list += 2) {
		uint32_t name = name_of(r, list[0]);

		if (failed(r) || mem_grow(&x->attrs, &x->attr_cap, x->attr_count + 1, sizeof *x->attrs) < 0) {
			err_memory(r->e);
			return;
		}
		x->attrs[x->attr_count++] = (struct xml_attr){ name, (uint32_t)x->text.n };
		buf_put(&x->text, list[1], strlen(list[1]) + 1);
		node->attrs++;
	}
}

static void
start(void *of, const char *name, const char **attributes)
{
	struct reading *r = of;
	struct xml *x = r->x;
	struct xml_node *node;

	if (failed(r))
		return;
	if (r->depth)
		end_text(r);
	if (r->depth == XML_DEPTH)
		err_set(r->e, ERR_MEMORY, r->where, "has more than %d elements inside each other", XML_DEPTH);
	else if ((uint64_t)x->count * sizeof *x->nodes + (uint64_t)x->attr_count * sizeof *x->attrs + x->text.n > XML_TREE ||
	         x->text.n > UINT32_MAX - XML_PARSER)
		err_set(r->e, ERR_MEMORY, r->where, "needs more than 4 GiB as a tree");
	else if ((node = append(r))) {
		node->line = (uint32_t)XML_GetCurrentLineNumber(r->parser);
		node->name = name_of(r, name);
		put_attributes(r, node, attributes);
	}
	if (!buf_ok(&x->text))
		err_memory(r->e);
	if (failed(r))
		stop(r);
}

static void
end(void *of, const char *name)
{
	struct reading *r = of;

	(void)name;
	if (failed(r))
		return;
	end_text(r);
	r->depth--;
}

static void
text(void *of, const char *p, int n)
{
	struct reading *r = of;
	struct xml *x = r->x;

	if (failed(r) || r->depth == 0 || r->last[r->depth - 1])
		return;
	r->text = r->text ? r->text : x->text.n;
	if (x->text.n > UINT32_MAX - XML_PARSER)
		err_set(r->e, ERR_MEMORY, r->where, "has more than 4 GiB of text");
	else
		buf_put(&x->text, p, (size_t)n);
	if (!buf_ok(&x->text))
		err_memory(r->e);
	if (failed(r))
		stop(r);
}

static void
doctype(void *of, const char *name, const char *system, const char *public, int declares)
{
	struct reading *r = of;

	(void)name;
	(void)system;
	(void)public;
	if (!declares || failed(r))
		return;
	err_set(r->e, ERR_FORMAT, r->where, "line %lu: the document type declares entities or attributes, which "
	        "are not read", (unsigned long)XML_GetCurrentLineNumber(r->parser));
	stop(r);
}

static void
skipped(void *of, const char *name, int parameter)
{
	struct reading *r = of;

	(void)parameter;
	if (failed(r))
		return;
	err_set(r->e, ERR_CORRUPT, r->where, "line %lu: the entity %.60s is not declared",
	        (unsigned long)XML_GetCurrentLineNumber(r->parser), name);
	stop(r);
}

/* ---- the document ---- */

static int
parse(struct reading *r, const char *p, size_t n)
{
	size_t some;

	do {
		some = n < PIECE ? n : PIECE;
		if (XML_Parse(r->parser, p, (int)some, some == n) != XML_STATUS_OK) {
			enum XML_Error code = XML_GetErrorCode(r->parser);

			if (code == XML_ERROR_NO_MEMORY)
				return err_set(r->e, ERR_MEMORY, r->where, "a part of the document is larger than %zu MiB",
				               XML_PARSER >> 20);
			return err_set(r->e, ERR_CORRUPT, r->where, "line %lu: %s",
			               (unsigned long)XML_GetCurrentLineNumber(r->parser), XML_ErrorString(code));
		}
		p += some;
		n -= some;
	} while (n > 0);
	return failed(r) ? -1 : 0;
}

static int
begin(struct xml *x, struct err *e)
{
	x->names = mem_array(XML_NAMES, sizeof *x->names);
	x->slots = mem_array(SLOTS, sizeof *x->slots);
	if (!x->names || !x->slots || mem_grow(&x->nodes, &x->cap, 64, sizeof *x->nodes) < 0)
		return err_memory(e);
	x->count = 1;
	buf_u8(&x->text, 0); /* place 0: without text */
	return buf_ok(&x->text) ? 0 : err_memory(e);
}

int
xml_read(struct xml *x, const void *p, size_t n, const char *where, struct err *e)
{
	static const XML_Memory_Handling_Suite memory = { allocate, resize, release };
	struct reading *r = calloc(1, sizeof *r);
	int status = -1;

	used = 0;
	if (!r || begin(x, e) < 0 || !(r->parser = XML_ParserCreate_MM(NULL, &memory, NULL))) {
		free(r);
		return err_memory(e);
	}
	r->x = x;
	r->where = where;
	r->e = e;
	/* Any secret does: it chooses places in tables of the parser, and nothing that is seen. */
	XML_SetHashSalt(r->parser, (unsigned long)((uintptr_t)r >> 4) | 1);
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, start, end);
	XML_SetCharacterDataHandler(r->parser, text);
	XML_SetStartDoctypeDeclHandler(r->parser, doctype);
	XML_SetSkippedEntityHandler(r->parser, skipped);
	status = parse(r, p, n);
	XML_ParserFree(r->parser);
	free(r);
	return status;
}

void
xml_free(struct xml *x)
{
	free(x->nodes);
	free(x->attrs);
	free(x->names);
	free(x->slots);
	buf_free(&x->text);
	*x = (struct xml){ 0 };
}

/* ---- what was read ---- */

static const char *
at(const struct xml *x, uint32_t place)
{
	return (const char *)x->text.p + place;
}

const char *
xml_name(const struct xml *x, uint32_t node)
{
	return node ? at(x, x->names[x->nodes[node].name]) : "";
}

bool
xml_is(const struct xml *x, uint32_t node, const char *name)
{
	return node && strcmp(xml_name(x, node), name) == 0;
}

const char *
xml_attr(const struct xml *x, uint32_t node, const char *name)
{
	const struct xml_node *o = &x->nodes[node];
	uint32_t i;

	for (i = 0; node && i < o->attrs; i++)
		if (strcmp(at(x, x->names[x->attrs[o->attr + i].name]), name) == 0)
			return at(x, x->attrs[o->attr + i].value);
	return NULL;
}

const char *
xml_text(const struct xml *x, uint32_t node)
{
	return node && x->nodes[node].text ? at(x, x->nodes[node].text) : "";
}

static uint32_t
named(const struct xml *x, uint32_t node, const char *name)
{
	while (node && name && !xml_is(x, node, name))
		node = x->nodes[node].next;
	return node;
}

uint32_t
xml_child(const struct xml *x, uint32_t node, const char *name)
{
	return node ? named(x, x->nodes[node].child, name) : XML_NONE;
}

uint32_t
xml_next(const struct xml *x, uint32_t node, const char *name)
{
	return node ? named(x, x->nodes[node].next, name) : XML_NONE;
}
