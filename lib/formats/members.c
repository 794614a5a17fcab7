#include "formats/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "formats/members_walk.h"

#define NAME_BYTES (6 * 65535) /* of a name's text, if every byte is escaped */

/* The name whose text, quotes included, is the bytes [at, at + n) of the spool. */
static char *
read_name(struct walk *s, uint64_t at, uint64_t n)
{
	char *text = NULL, *name = NULL;
	json_t *v = NULL;

	if (n > NAME_BYTES) {
		walk_fail(s, "a member with a name of more than 65535 bytes");
		return NULL;
	}
	text = mem_array(1, (size_t)n + 1);
	if (!text)
		err_memory(s->e);
	else if (spool_get(s->text, at, text, (size_t)n, s->e) == 0)
		v = json_parse_any(text, (size_t)n, ERR_CORRUPT, s->where, s->e);
	if (v && !(name = mem_text(json_string_value(v), json_string_length(v))))
		err_memory(s->e);
	json_decref(v);
	free(text);
	s->broken |= !name;
	return name;
}

static int
too_many(struct walk *s)
{
	char text[48];

	snprintf(text, sizeof text, "more than %zu members", s->rules->members);
	return walk_fail(s, text);
}

static int
member(struct walk *s, struct members *m)
{
	struct member *x;
	uint64_t at;

	if (m->count == s->rules->members)
		return too_many(s);
	if (mem_grow(&m->list, &m->cap, m->count + 1, sizeof *m->list) < 0) {
		s->broken = true;
		return err_memory(s->e);
	}
	x = &m->list[m->count++];
	walk_blanks(s);
	at = walk_tell(s);
	if (!walk_take(s, '"'))
		return walk_fail(s, "no name of a member");
	if (walk_string(s, NULL) < 0 || !(x->name = read_name(s, at, walk_tell(s) - at)))
		return -1;
	walk_blanks(s);
	if (!walk_take(s, ':'))
		return walk_fail(s, "no colon");
	walk_blanks(s);
	x->at = walk_tell(s);
	if (walk_value(s) < 0)
		return -1;
	x->n = walk_tell(s) - x->at;
	return 0;
}

static int
object(struct walk *s, struct members *m)
{
	int r = 1;

	walk_blanks(s);
	if (!walk_take(s, '{'))
		return walk_fail(s, "not an object");
	s->depth = 1;
	walk_blanks(s);
	if (walk_take(s, '}'))
		r = 0;
	while (r > 0) {
		if (member(s, m) < 0)
			return -1;
		r = walk_more(s, '}');
	}
	if (r == 0 && walk_blanks(s) >= 0)
		return walk_fail(s, "something after its end");
	return s->broken ? -1 : r;
}

static int
by_name(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int
sort(struct members *m, const char *where, struct err *e)
{
	size_t i;

	m->sorted = mem_array(m->count, sizeof *m->sorted);
	if (!m->sorted)
		return err_memory(e);
	for (i = 0; i < m->count; i++)
		m->sorted[i] = &m->list[i];
	qsort(m->sorted, m->count, sizeof *m->sorted, by_name);
	for (i = 1; i < m->count; i++)
		if (strcmp(m->sorted[i - 1]->name, m->sorted[i]->name) == 0)
			return err_set(e, ERR_CORRUPT, where, "metadata key %.100s occurs twice",
			               m->sorted[i]->name);
	return 0;
}

int
members_scan(struct members *m, struct spool *text, uint64_t at, uint64_t n,
             const struct members_rules *rules, const char *where, uint64_t base,
             struct err *e)
{
	struct walk_names names = { .parts = 1, .factor = WALK_FACTOR };
	struct walk s = { .text = text, .at = at, .end = at + n, .rules = rules,
		.names = rules->strict ? &names : NULL, .where = where, .base = base,
		.outermost = 1 };
	int r = walk_begin(&s, e);

	if (r == 0)
		r = object(&s, m);
	if (r == 0 && s.names)
		r = walk_names_check(&s, at);
	walk_end(&s);
	free(names.list);
	return r == 0 ? sort(m, where, e) : -1;
}

/* Does not allocate: running out of memory must not look like a missing member. */
struct member *
members_find(const struct members *m, const char *prefix, const char *name)
{
	size_t low = 0, high = m->count, n = strlen(prefix);

	while (low < high) {
		size_t at = low + (high - low) / 2;
		const char *have = m->sorted[at]->name;
		int order = strncmp(prefix, have, n);

		if (order == 0)
			order = strcmp(name, have + n);
		if (order == 0)
			return m->sorted[at];
		if (order < 0)
			high = at;
		else
			low = at + 1;
	}
	return NULL;
}

int
members_text(struct spool *text, const struct member *x, struct buf *b, struct err *e)
{
	uint8_t *to = buf_room(b, (size_t)x->n);

	if (!to)
		return err_memory(e);
	b->n += (size_t)x->n;
	return spool_get(text, x->at, to, (size_t)x->n, e);
}

void
members_free(struct members *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		free(m->list[i].name);
	free(m->list);
	free(m->sorted);
	*m = (struct members){ 0 };
}

int
members_is_value(struct spool *text, uint64_t at, uint64_t n,
                 const struct members_rules *rules, struct err *e)
{
	struct walk_names names = { .parts = 1, .factor = WALK_FACTOR };
	struct walk s = { .text = text, .at = at, .end = at + n, .rules = rules,
		.names = rules->strict ? &names : NULL, .where = "", .depth = 1, .outer = 1 };
	struct err fault = ERR_INIT;
	int r = walk_begin(&s, &fault);

	if (r == 0)
		r = walk_value(&s) == 0 && walk_tell(&s) == s.end;
	if (r > 0 && s.names && walk_names_check(&s, at) < 0)
		r = 0;
	walk_end(&s);
	free(names.list);
	if (fault.code == ERR_NONE || fault.code == ERR_CORRUPT)
		return r;
	*e = fault;
	return -1;
}
