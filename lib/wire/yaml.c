#include "wire/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "core/mem.h"

/* ---- reading ---- */

struct anchor {
	char *name;
	json_t *v;
	size_t weight;   /* of the value, with those of its aliases */
	unsigned height; /* levels below it */
};

struct loader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *what;
	size_t line, weight;
	struct anchor *anchors;
	size_t count, cap;
	struct yaml_lines *lines; /* or NULL */
	struct err *e;
};

static json_t *read_node(struct loader *l, unsigned depth, unsigned *height);

static int
wrong(struct loader *l, size_t line, const char *fact)
{
	return err_set(l->e, ERR_CORRUPT, l->what, "YAML at line %zu: %s", l->line + line, fact);
}

static int
too_much(struct loader *l, const char *fact)
{
	return err_set(l->e, ERR_MEMORY, l->what, "YAML at line %zu: %s",
	               l->line + l->event.start_mark.line, fact);
}

/* Reads the next event. */
static int
next_event(struct loader *l)
{
	const yaml_parser_t *p = &l->parser;

	yaml_event_delete(&l->event);
	if (yaml_parser_parse(&l->parser, &l->event))
		return 0;
	memset(&l->event, 0, sizeof l->event);
	if (p->error == YAML_MEMORY_ERROR)
		return err_memory(l->e);
	return wrong(l, p->error == YAML_READER_ERROR ? p->mark.line : p->problem_mark.line,
	             p->problem ? p->problem : "it cannot be read");
}

/* The text of a scalar as a new reference. */
static json_t *
scalar_text(struct loader *l)
{
	const char *s = (const char *)l->event.data.scalar.value;
	size_t n = l->event.data.scalar.length;
	json_t *v;

	if (memchr(s, 0, n)) {
		wrong(l, l->event.start_mark.line, "a NUL in text");
		return NULL;
	}
	v = json_stringn(s, n);
	if (!v)
		err_memory(l->e);
	return v;
}

static json_t *
read_scalar(struct loader *l)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	const char *s = (const char *)l->event.data.scalar.value;
	size_t i;

	if (l->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		for (i = 0; i < sizeof nulls / sizeof *nulls; i++)
			if (strcmp(s, nulls[i]) == 0)
				return json_null();
	return scalar_text(l);
}

static json_t *
read_alias(struct loader *l, unsigned depth, unsigned *height)
{
	const char *name = (const char *)l->event.data.alias.anchor;
	size_t i = l->count;

	while (i > 0 && strcmp(l->anchors[i - 1].name, name) != 0)
		i--;
	if (i == 0) {
		wrong(l, l->event.start_mark.line, "an alias of an unknown or unfinished anchor");
		return NULL;
	}
	*height = l->anchors[i - 1].height;
	l->weight += l->anchors[i - 1].weight; /* both are at most YAML_WEIGHT */
	if (l->weight > YAML_WEIGHT || depth + *height > YAML_DEPTH) {
		too_much(l, "its aliases repeat too much");
		return NULL;
	}
	return json_incref(l->anchors[i - 1].v);
}

static json_t *
read_sequence(struct loader *l, unsigned depth, unsigned *height)
{
	json_t *list = json_array(), *v;
	unsigned h;

	for (;;) {
		if (next_event(l) < 0)
			break;
		if (l->event.type == YAML_SEQUENCE_END_EVENT)
			return list;
		v = read_node(l, depth + 1, &h);
		if (!v)
			break;
		*height = h + 1 > *height ? h + 1 : *height;
		if (json_array_append_new(list, v) < 0) {
			err_memory(l->e);
			break;
		}
	}
	json_decref(list);
	return NULL;
}

/* Remembers the line of a key that was just added. */
static int
keep_line(struct loader *l, json_t *object, const char *key, size_t line)
{
	struct yaml_lines *to = l->lines;

	if (!to)
		return 0;
	if (to->n == to->cap && mem_grow(&to->of, &to->cap, to->n + 1, sizeof *to->of) < 0)
		return err_memory(l->e);
	to->of[to->n++] = (struct yaml_line){ object,
		json_object_iter_key(json_object_iter_at(object, key)), l->line + line };
	return 0;
}

/* Adds the pair that begins with the current event. */
static int
read_pair(struct loader *l, json_t *object, unsigned depth, unsigned *h)
{
	size_t line = l->event.start_mark.line;
	json_t *key, *v = NULL;
	int r = -1;

	if (l->event.type != YAML_SCALAR_EVENT)
		return wrong(l, l->event.start_mark.line, "a key that is not text");
	key = scalar_text(l);
	if (!key)
		return -1;
	if (json_object_get(object, json_string_value(key))) {
		err_set(l->e, ERR_CORRUPT, l->what, "YAML at line %zu: a second %s",
		        l->line + l->event.start_mark.line, json_string_value(key));
		goto end;
	}
	if (next_event(l) < 0)
		goto end;
	v = read_node(l, depth + 1, h);
	if (v)
		r = json_object_set_new(object, json_string_value(key), v) < 0
			? err_memory(l->e) : keep_line(l, object, json_string_value(key), line);
end:
	json_decref(key);
	return r;
}

static json_t *
read_mapping(struct loader *l, unsigned depth, unsigned *height)
{
	json_t *object = json_object();
	unsigned h;

	for (;;) {
		if (next_event(l) < 0)
			break;
		if (l->event.type == YAML_MAPPING_END_EVENT)
			return object;
		if (read_pair(l, object, depth, &h) < 0)
			break;
		*height = h + 1 > *height ? h + 1 : *height;
	}
	json_decref(object);
	return NULL;
}

static const char *
anchor_of(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return (const char *)event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return (const char *)event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return (const char *)event->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

/* Keeps a value under the name; takes the name. */
static int
keep_anchor(struct loader *l, char *name, json_t *v, size_t weight, unsigned height)
{
	if (l->count == YAML_ANCHORS) {
		free(name);
		return too_much(l, "too many anchors");
	}
	if (l->count == l->cap &&
	    mem_grow(&l->anchors, &l->cap, l->count + 1, sizeof *l->anchors) < 0) {
		free(name);
		return err_memory(l->e);
	}
	l->anchors[l->count++] = (struct anchor){ .name = name, .v = json_incref(v),
		.weight = weight, .height = height };
	return 0;
}

/* Reads the value that begins with the current event. *height: the levels below it. */
static json_t *
read_node(struct loader *l, unsigned depth, unsigned *height)
{
	const char *anchor = anchor_of(&l->event);
	size_t before = l->weight;
	char *name = NULL;
	json_t *v;

	*height = 0;
	l->weight += 1 + (l->event.type == YAML_SCALAR_EVENT ? l->event.data.scalar.length / 32 : 0);
	if (depth > YAML_DEPTH || l->weight > YAML_WEIGHT) {
		too_much(l, depth > YAML_DEPTH ? "nested too deeply" : "too many values");
		return NULL;
	}
	if (anchor && !(name = mem_text(anchor, strlen(anchor)))) {
		err_memory(l->e);
		return NULL;
	}
	v = l->event.type == YAML_SCALAR_EVENT ? read_scalar(l) :
	    l->event.type == YAML_ALIAS_EVENT ? read_alias(l, depth, height) :
	    l->event.type == YAML_SEQUENCE_START_EVENT ? read_sequence(l, depth, height) :
	    read_mapping(l, depth, height);
	if (!v) {
		free(name);
	} else if (name && keep_anchor(l, name, v, l->weight - before, *height) < 0) {
		json_decref(v);
		v = NULL;
	}
	return v;
}

/* Reads the only document, or null if there is none. */
static json_t *
read_document(struct loader *l)
{
	json_t *v = NULL;
	unsigned height;

	if (next_event(l) < 0 || next_event(l) < 0) /* the beginning of the stream */
		return NULL;
	if (l->event.type == YAML_STREAM_END_EVENT)
		return json_null();
	if (next_event(l) == 0)
		v = read_node(l, 1, &height);
	if (!v)
		return NULL;
	if (next_event(l) == 0 && next_event(l) == 0) { /* the end of the document */
		if (l->event.type == YAML_STREAM_END_EVENT)
			return v;
		wrong(l, l->event.start_mark.line, "a second document");
	}
	json_decref(v);
	return NULL;
}

static json_t *
load(struct loader *l, const struct buf *text)
{
	json_t *v = NULL;

	if (!yaml_parser_initialize(&l->parser)) {
		err_memory(l->e);
		return NULL;
	}
	yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&l->parser, text->p, text->n);
	v = read_document(l);
	yaml_event_delete(&l->event);
	yaml_parser_delete(&l->parser);
	while (l->count > 0) {
		json_decref(l->anchors[--l->count].v);
		free(l->anchors[l->count].name);
	}
	free(l->anchors);
	return v;
}

json_t *
yaml_parse(const char *text, size_t n, const char *what, size_t line, struct err *e)
{
	return yaml_parse_lines(text, n, what, line, NULL, e);
}

void
yaml_lines_free(struct yaml_lines *lines)
{
	free(lines->of);
	*lines = (struct yaml_lines){ 0 };
}

size_t
yaml_line_of(const struct yaml_lines *lines, const json_t *object, const char *key)
{
	size_t i;

	for (i = 0; i < lines->n; i++)
		if (lines->of[i].object == object && strcmp(lines->of[i].key, key) == 0)
			return lines->of[i].line;
	return 0;
}

json_t *
yaml_parse_lines(const char *text, size_t n, const char *what, size_t line,
                 struct yaml_lines *lines, struct err *e)
{
	struct loader l = { .what = what, .line = line, .lines = lines, .e = e };
	struct buf plain = { 0 };
	json_t *v = NULL;
	size_t i;

	if (n > YAML_BYTES) {
		err_set(e, ERR_MEMORY, what, "its YAML has more than %zu bytes", YAML_BYTES);
		return NULL;
	}
	for (i = 0; i < n; i++)
		if (text[i] == '\t')
			buf_text(&plain, "  ");
		else
			buf_u8(&plain, (uint8_t)text[i]);
	if (buf_string(&plain))
		v = load(&l, &plain);
	else
		err_memory(e);
	buf_free(&plain);
	return v;
}

/* ---- writing ---- */

static int write_node(yaml_emitter_t *to, const json_t *v, unsigned depth);

/* Whether every YAML reader takes unquoted text for the same text. */
static bool
is_plain(const char *s)
{
	static const char *const others[] = { "null", "true", "false", "yes", "no", "on", "off",
		"y", "n", "nan", "inf" };
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                  "0123456789_./-"), i;

	if (n == 0 || s[n] || !((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')))
		return false;
	for (i = 0; i < sizeof others / sizeof *others; i++)
		if (strcasecmp(s, others[i]) == 0)
			return false;
	return true;
}

static int
put_scalar(yaml_emitter_t *to, const char *s, size_t n, bool plain)
{
	yaml_event_t event;

	return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)s, (int)n,
	                                    1, 1, plain ? YAML_PLAIN_SCALAR_STYLE
	                                    : YAML_DOUBLE_QUOTED_SCALAR_STYLE) &&
	       yaml_emitter_emit(to, &event) ? 0 : -1;
}

static int
write_text(yaml_emitter_t *to, const char *s, size_t n)
{
	return n > YAML_BYTES ? -1 : put_scalar(to, s, n, is_plain(s));
}

static int
write_array(yaml_emitter_t *to, const json_t *v, unsigned depth)
{
	yaml_event_t event;
	size_t i;

	if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
	                                          YAML_BLOCK_SEQUENCE_STYLE) ||
	    !yaml_emitter_emit(to, &event))
		return -1;
	for (i = 0; i < json_array_size(v); i++)
		if (write_node(to, json_array_get(v, i), depth + 1) < 0)
			return -1;
	return yaml_sequence_end_event_initialize(&event) && yaml_emitter_emit(to, &event) ? 0 : -1;
}

static int
write_object(yaml_emitter_t *to, const json_t *v, unsigned depth)
{
	yaml_event_t event;
	const char *key;
	json_t *member;

	if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
	                                         YAML_BLOCK_MAPPING_STYLE) ||
	    !yaml_emitter_emit(to, &event))
		return -1;
	json_object_foreach((json_t *)(uintptr_t)v, key, member)
		if (write_text(to, key, strlen(key)) < 0 || write_node(to, member, depth + 1) < 0)
			return -1;
	return yaml_mapping_end_event_initialize(&event) && yaml_emitter_emit(to, &event) ? 0 : -1;
}

static int
write_node(yaml_emitter_t *to, const json_t *v, unsigned depth)
{
	struct buf text = { 0 };
	int r;

	if (depth > YAML_DEPTH)
		return -1;
	if (json_is_object(v))
		return write_object(to, v, depth);
	if (json_is_array(v))
		return write_array(to, v, depth);
	if (json_is_null(v))
		return put_scalar(to, "null", 4, true);
	if (json_is_string(v))
		return write_text(to, json_string_value(v), json_string_length(v));
	r = json_write(v, &text) == 0 && buf_string(&text)
		? write_text(to, (const char *)text.p, text.n) : -1;
	buf_free(&text);
	return r;
}

static int
append(void *to, unsigned char *p, size_t n)
{
	buf_put(to, p, n);
	return buf_ok(to);
}

static int
write_document(yaml_emitter_t *to, const json_t *object)
{
	yaml_event_t event;

	yaml_emitter_set_unicode(to, 1);
	yaml_emitter_set_width(to, -1);
	return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
	       yaml_emitter_emit(to, &event) &&
	       yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
	       yaml_emitter_emit(to, &event) && write_node(to, object, 1) == 0 &&
	       yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(to, &event) &&
	       yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(to, &event) ? 0 : -1;
}

int
yaml_write(const json_t *object, struct buf *to, struct err *e)
{
	yaml_emitter_t emitter;
	int r;

	if (json_object_size(object) == 0)
		return 0;
	if (!yaml_emitter_initialize(&emitter))
		return err_memory(e);
	yaml_emitter_set_output(&emitter, append, to);
	r = write_document(&emitter, object);
	yaml_emitter_delete(&emitter);
	return r < 0 ? err_set(e, ERR_MEMORY, NULL, "the values need too much YAML") : 0;
}

/* ---- front matter ---- */

/* The end of the line at p, before its line break. *next: the next line. */
static const char *
line_end(const char *p, const char *end, const char **next)
{
	const char *stop = memchr(p, '\n', (size_t)(end - p));

	*next = stop ? stop + 1 : end;
	stop = stop ? stop : end;
	return stop > p && stop[-1] == '\r' ? stop - 1 : stop;
}

static bool
is_fence(const char *p, const char *stop)
{
	return stop - p == 3 && memcmp(p, "---", 3) == 0;
}

bool
yaml_front(const char *text, size_t n, const char **front, size_t *front_bytes,
           const char **body)
{
	const char *end = text + n, *p, *next;

	*body = text;
	if (!is_fence(text, line_end(text, end, &p)))
		return false;
	*front = p;
	for (; p < end; p = next)
		if (is_fence(p, line_end(p, end, &next)))
			break;
	*front_bytes = (size_t)(p - *front);
	*body = p < end ? next : end;
	return true;
}

json_t *
yaml_front_parse(const char *text, size_t n, const char *what, struct err *e)
{
	const char *front, *body;
	size_t bytes;
	json_t *v = yaml_front(text, n, &front, &bytes, &body)
		? yaml_parse(front, bytes, what, 2, e) : json_object();

	if (v && !json_is_object(v)) {
		json_decref(v);
		v = json_object();
	}
	if (!v)
		err_memory(e); /* unless there is an error already */
	return v;
}
