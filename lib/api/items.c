#include "api/private.h"

#include <stdio.h>

int
api_fail(const struct err *from, struct aprml_error *e)
{
	if (!e)
		return -1;
	e->code = from->code <= ERR_MEMORY ? (int)from->code : 0;
	snprintf(e->text, sizeof e->text, "%s%s%s", from->object, *from->object ? ": " : "",
	         from->fact);
	return -1;
}

int
api_need(const void *handle, const char *what, struct aprml_error *e)
{
	struct err err = ERR_INIT;

	if (handle)
		return 0;
	err_set(&err, ERR_NO, what, "is NULL");
	return api_fail(&err, e);
}

int
api_refill(struct aprml *m)
{
	if (m->n > 0 || !m->in_body)
		return 0;
	if (source_read(m->source, &m->p, &m->n, &m->err) < 0)
		return -1;
	m->in_body = m->n > 0;
	return 0;
}

/* Skip the rest of the body. */
static int
drain(struct aprml *m)
{
	do {
		m->n = 0;
		if (api_refill(m) < 0)
			return -1;
	} while (m->in_body);
	return 0;
}

int
api_item(struct aprml *m, struct item *item)
{
	int more;

	if (m->waits) {
		*item = m->item;
		m->waits = false;
		return 1;
	}
	if (m->err.code != ERR_NONE || m->ended || drain(m) < 0)
		return m->err.code == ERR_NONE ? 0 : -1;
	more = source_next(m->source, item, &m->err);
	m->in_body = more > 0;
	m->ended = more == 0;
	return more;
}
