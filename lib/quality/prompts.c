#include "quality/prompts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "quality/canary.h"

static struct prompt_line *
add(struct prompts *p, size_t line, struct err *e)
{
	if (p->n == PROMPTS_MOST) {
		err_set(e, ERR_MEMORY, NULL, "more than %d prompts", PROMPTS_MOST);
		return NULL;
	}
	if (mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item) < 0) {
		err_memory(e);
		return NULL;
	}
	p->item[p->n].line = line;
	return &p->item[p->n++];
}

int
prompts_add(struct prompts *p, const char *text, size_t n, size_t line, struct err *e)
{
	struct prompt_line *to;

	if (!text_utf8(text, n, false))
		return err_set(e, ERR_CORRUPT, NULL, "prompt %zu is not UTF-8 text", p->n + 1);
	if (!(to = add(p, line, e)))
		return -1;
	to->text = mem_text(text, n);
	return to->text ? 0 : err_memory(e);
}

void
prompts_free(struct prompts *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->item[i].text);
		tokens_free(&p->item[i].ids);
	}
	free(p->item);
	*p = (struct prompts){ 0 };
}

/* ---- JSON lines ---- */

static int
take_ids(struct tokens *to, const json_t *list, const char *name, size_t line, struct err *e)
{
	size_t i, n = json_array_size(list);
	uint64_t v;

	for (i = 0; i < n; i++)
		if (json_value_u64(json_array_get(list, i), &v) < 0 || v >= TOKEN_NONE)
			return err_set(e, ERR_CORRUPT, name, "line %zu: \"tokens\" has an item that "
			               "is not a token", line);
		else if (tokens_add(to, (uint32_t)v, e) < 0)
			return -1;
	return n ? 0 : err_set(e, ERR_CORRUPT, name, "line %zu: \"tokens\" is empty or is not a "
	                       "list", line);
}

static int
take_object(struct prompts *p, const json_t *o, const char *name, size_t line, struct err *e)
{
	const json_t *ids = json_object_get(o, "tokens");
	const char *text, *kind;
	struct prompt_line *to;

	if (json_object_get(o, "kind") &&
	    (json_member_text(o, "kind", &kind) < 0 || strcmp(kind, CANARY_KIND) != 0))
		return err_set(e, ERR_FORMAT, name, "line %zu: its kind is not \"" CANARY_KIND
		               "\"; other kinds are not supported", line);
	if (ids && !json_object_get(o, "prompt")) {
		to = add(p, line, e);
		return to ? take_ids(&to->ids, ids, name, line, e) : -1;
	}
	if (ids || json_member_text(o, "prompt", &text) < 0)
		return err_set(e, ERR_CORRUPT, name, "line %zu: the object must have a text "
		               "\"prompt\" or a list \"tokens\"", line);
	return prompts_add(p, text, strlen(text), line, e);
}

static int
take_json(struct prompts *p, const char *text, size_t n, const char *name, size_t line,
          struct err *e)
{
	json_t *o = json_parse(text, n, ERR_CORRUPT, name, e);
	int done = o ? take_object(p, o, name, line, e) : -1;

	json_decref(o);
	return done;
}

int
prompts_parse(struct prompts *p, const void *text, size_t n, const char *name, struct err *e)
{
	const char *at = text, *end = at + n, *stop;
	const bool json = n > 0 && *at == '{';
	size_t line, size;

	for (line = 1; at < end; line++, at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		size = (size_t)(stop - at);
		size -= size > 0 && at[size - 1] == '\r';
		if (size == 0)
			continue;
		if ((json ? take_json(p, at, size, name, line, e)
		          : prompts_add(p, at, size, line, e)) < 0) {
			if (!*e->object)
				snprintf(e->object, sizeof e->object, "%s", name);
			return -1;
		}
	}
	return p->n ? 0 : err_set(e, ERR_CORRUPT, name, "has no prompts");
}
