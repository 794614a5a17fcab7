#include "front/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERASE "\033[K" /* the rest of a line */

/* ---- progress ---- */

void
relay_clear(struct relay *r)
{
	for (; r->drawn > 0; r->drawn--)
		fputs("\033[A\r\033[K", stderr);
}

void
relay_draw(struct relay *r)
{
	size_t i;

	if (!r->terminal)
		return;
	relay_clear(r);
	for (i = 0; i < r->n; i++) {
		if (!*r->stages[i].progress)
			continue;
		fprintf(stderr, "%.78s\n", r->stages[i].progress);
		r->drawn++;
	}
}

/* ---- lines ---- */

static void
print_held(struct relay *r, struct relay_stage *s)
{
	if (s->held.n > 0) {
		relay_clear(r);
		fwrite(s->held.p, 1, s->held.n, stderr);
	}
	buf_clear(&s->held);
}

/* Takes a line, whose end is part of it: a hint belongs to the message before it. Returns its
 * length. */
static size_t
take_line(struct relay *r, struct relay_stage *s, const char *line, size_t n)
{
	if (n < 6 || strncmp(line, "hint: ", 6) != 0)
		print_held(r, s);
	buf_put(&s->held, line, n);
	return n;
}

/* Takes a text that a tool drew over its last one: "\r", the text, "\033[K". Returns its
 * length, or 0 if it has not arrived whole. */
static size_t
take_progress(struct relay_stage *s)
{
	const char *end;
	size_t n;

	s->line[s->n] = '\0';
	end = strstr(s->line, ERASE);
	if (!end)
		return s->n == RELAY_LINE - 1 ? s->n : 0;
	n = (size_t)(end - s->line) - 1;
	if (n > 0 && n < sizeof s->progress) {
		memcpy(s->progress, s->line + 1, n);
		s->progress[n] = '\0';
	}
	return n + 1 + strlen(ERASE);
}

/* Takes the first line or piece of progress of what has arrived. Returns its length, or 0. */
static size_t
take_piece(struct relay *r, struct relay_stage *s)
{
	const char *end;

	if (s->n == 0)
		return 0;
	if (r->terminal && s->line[0] == '\r')
		return take_progress(s);
	end = memchr(s->line, '\n', s->n);
	if (end)
		return take_line(r, s, s->line, (size_t)(end + 1 - s->line));
	return s->n == RELAY_LINE - 1 ? take_line(r, s, s->line, s->n) : 0;
}

static void
take_text(struct relay *r, struct relay_stage *s)
{
	size_t n;

	while ((n = take_piece(r, s)) > 0) {
		memmove(s->line, s->line + n, s->n - n);
		s->n -= n;
	}
}

void
relay_read(struct relay *r, size_t stage)
{
	struct relay_stage *s = &r->stages[stage];
	ssize_t n = read(s->fd, s->line + s->n, RELAY_LINE - 1 - s->n);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		s->n += (size_t)n;
		take_text(r, s);
		return;
	}
	close(s->fd);
	s->fd = -1;
	if (s->n > 0) {
		s->line[s->n++] = '\n';
		take_text(r, s);
	}
}

/* ---- the end of a stage ---- */

void
relay_release(struct relay *r, size_t stage, const char *name)
{
	struct relay_stage *s = &r->stages[stage];
	const char *colon;

	*s->progress = '\0';
	if (name && s->held.n > 0 && buf_string(&s->held) && !strstr((char *)s->held.p, name) &&
	    (colon = strstr((char *)s->held.p, ": "))) {
		size_t n = (size_t)(colon + 2 - (char *)s->held.p);

		relay_clear(r);
		fprintf(stderr, "%.*s%s: ", (int)n, (char *)s->held.p, name);
		fwrite(s->held.p + n, 1, s->held.n - n, stderr);
		buf_clear(&s->held);
	}
	print_held(r, s);
	buf_free(&s->held);
}

void
relay_drop(struct relay *r, size_t stage)
{
	*r->stages[stage].progress = '\0';
	buf_free(&r->stages[stage].held);
}
