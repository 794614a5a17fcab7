#include "distill/texts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/text.h"

bool
texts_are_lines(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcasecmp(dot, ".jsonl") == 0 || strcasecmp(dot, ".ndjson") == 0);
}

int
texts_check(const void *p, size_t n, const char *name, struct err *e)
{
	const uint8_t *at = p;
	size_t i, size;
	uint32_t cp;

	if (n == 0)
		return err_set(e, ERR_INVALID, name, "is empty");
	if (text_utf8(p, n, false))
		return 0;
	for (i = 0; i < n && at[i] && (size = text_character(at + i, n - i, &cp)) > 0; i += size)
		;
	return err_set(e, ERR_CORRUPT, name, "is not UTF-8 text: byte %zu is %02x", i,
	               i < n ? at[i] : 0);
}

/* ---- documents ---- */

static int
add_document(struct texts *t, struct tokenizer *k, bool ends, const char *text, size_t n,
             struct err *e)
{
	const uint32_t eos = tokenizer_role(k, TOKENIZER_EOS);
	const size_t before = t->tokens.n;

	if (n == 0)
		return 0;
	if (tokenizer_encode(k, text, n, TOKENIZER_SPECIAL, &t->tokens, e) < 0)
		return -1;
	t->lost += tokenizer_lost(k);
	t->documents++;
	if (!ends || eos == TOKEN_NONE || t->tokens.n == before || t->tokens.id[t->tokens.n - 1] == eos)
		return 0;
	return tokens_add(&t->tokens, eos, e);
}

/* The member of this name if it is a text. *other: there is a member of another type. */
static const char *
text_of(const json_t *o, const char *name, size_t *n, bool *other)
{
	const json_t *v = json_object_get(o, name);

	*n = 0;
	if (!v)
		return NULL;
	*other |= !json_is_string(v);
	*n = json_string_length(v);
	return json_string_value(v);
}

static int
add_object(struct texts *t, struct tokenizer *k, const json_t *o, const char *name, size_t line,
           struct err *e)
{
	bool other = false;
	size_t n, m, all;
	const char *text = text_of(o, "text", &all, &other);
	const char *prompt = text_of(o, "prompt", &n, &other);
	const char *completion = text_of(o, "completion", &m, &other);
	struct buf both = { 0 };
	int r;

	if (other || (!text && (!prompt || !completion)))
		return err_set(e, ERR_CORRUPT, name, "line %zu: the object must have a text \"text\", or "
		               "\"prompt\" and \"completion\"", line);
	if (text)
		return add_document(t, k, true, text, all, e);
	buf_put(&both, prompt, n);
	buf_put(&both, completion, m);
	r = buf_ok(&both) ? add_document(t, k, true, (const char *)both.p, both.n, e) : err_memory(e);
	buf_free(&both);
	return r;
}

static int
add_line(struct texts *t, struct tokenizer *k, const char *text, size_t n, const char *name,
         size_t line, struct err *e)
{
	struct err own = ERR_INIT;
	json_t *o = json_parse_wide(text, n, ERR_CORRUPT, name, &own);
	int r = o ? add_object(t, k, o, name, line, e)
	          : err_set(e, own.code, name, "line %zu: %s", line, own.fact);

	json_decref(o);
	return r;
}

static int
add_lines(struct texts *t, struct tokenizer *k, const char *p, size_t n, const char *name,
          struct err *e)
{
	const char *at = p, *end = p + n, *stop;
	size_t line, size, blank;

	for (line = 1; at < end; line++, at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		size = (size_t)(stop - at);
		for (blank = 0; blank < size && strchr(" \t\r", at[blank]); blank++)
			;
		if (blank < size && add_line(t, k, at, size, name, line, e) < 0)
			return -1;
	}
	return 0;
}

int
texts_read(struct texts *t, struct tokenizer *k, bool lines, const void *p, size_t n,
           const char *name, struct err *e)
{
	if (texts_check(p, n, name, e) < 0 ||
	    (lines ? add_lines(t, k, p, n, name, e) : add_document(t, k, false, p, n, e)) < 0)
		return -1;
	return t->tokens.n ? 0 : err_set(e, ERR_INVALID, name, "has no text");
}

void
texts_free(struct texts *t)
{
	tokens_free(&t->tokens);
	*t = (struct texts){ 0 };
}
