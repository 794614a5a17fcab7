/* Tokenizers. */
#include "api/compute.h"

#include <stdlib.h>

#include "core/mem.h"
#include "tokenizer/material.h"

_Static_assert(APRML_BARE == TOKENIZER_BARE && APRML_SPECIAL == TOKENIZER_SPECIAL, "flags");
_Static_assert(APRML_NO_TOKEN == TOKEN_NONE, "no token");
_Static_assert((int)APRML_MASK == (int)TOKENIZER_MASK &&
               (int)APRML_EOT == (int)TOKENIZER_EOT, "roles");

struct aprml_tokenizer *
api_tokenizer(struct tokenizer *t, struct err *e)
{
	struct aprml_tokenizer *to = t ? mem_array(1, sizeof *to) : NULL;

	if (to) {
		to->t = t;
		pthread_mutex_init(&to->lock, NULL);
	} else if (t) {
		tokenizer_free(t);
		err_memory(e);
	}
	return to;
}

void
aprml_tokenizer_close(struct aprml_tokenizer *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	tokenizer_free(t->t);
	free(t);
}

/* The tokenizer of a model whose side files have not been read yet. */
static struct tokenizer *
read_tokenizer(struct aprml *m, struct err *e)
{
	const struct tokenizer_options options = { 0 };
	struct tokenizer *t = NULL;
	struct material material;

	if (material_open(&material, m->source->plan, e) == 0 &&
	    material_read(&material, m->source, e) == 0)
		t = tokenizer_open(&material, api_name(m), &options, e);
	material_free(&material);
	return t;
}

struct aprml_tokenizer *
aprml_tokenizer_open(struct aprml *m, struct aprml_error *e)
{
	struct aprml *again, *from;
	struct aprml_tokenizer *t = NULL;
	struct err err = ERR_INIT;

	if (api_need(m, "model", e) < 0)
		return NULL;
	from = api_fresh(m, &again, &err);
	if (from)
		t = api_tokenizer(read_tokenizer(from, &from->err), &from->err);
	if (!t)
		api_fail(from ? &from->err : &err, e);
	aprml_close(again);
	return t;
}

struct aprml_tokenizer *
aprml_tokenizer_open_memory(const void *p, size_t n, struct aprml_error *e)
{
	const struct tokenizer_options options = { 0 };
	const char *head = p;
	struct aprml_tokenizer *t;
	struct err err = ERR_INIT;

	if (n > 0 && api_need(p, "p", e) < 0)
		return NULL;
	t = api_tokenizer(n > 0 && *head == '{'
	                  ? tokenizer_open_json(p, n, NULL, 0, "<memory>", &options, &err)
	                  : tokenizer_open_sentencepiece(p, n, "<memory>", &options, &err), &err);
	if (!t)
		api_fail(&err, e);
	return t;
}

int
aprml_tokenizer_encode(struct aprml_tokenizer *t, const char *text, size_t n, unsigned flags,
                       uint32_t *id, size_t room, size_t *count, struct aprml_error *e)
{
	struct tokens list = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (api_need(t, "tokenizer", e) < 0)
		return -1;
	pthread_mutex_lock(&t->lock);
	r = tokenizer_encode(t->t, text, n, flags & (APRML_BARE | APRML_SPECIAL), &list, &err);
	pthread_mutex_unlock(&t->lock);
	if (r == 0)
		api_give(id, room, list.id, list.n, sizeof *id, count);
	tokens_free(&list);
	return r < 0 ? api_fail(&err, e) : 0;
}

int
aprml_tokenizer_decode(struct aprml_tokenizer *t, const uint32_t *id, size_t n, unsigned flags,
                       char *text, size_t room, size_t *bytes, struct aprml_error *e)
{
	struct buf b = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (api_need(t, "tokenizer", e) < 0)
		return -1;
	r = tokenizer_decode(t->t, id, n, flags & (APRML_BARE | APRML_SPECIAL), &b, &err);
	if (r == 0 && !buf_ok(&b))
		r = err_memory(&err);
	if (r == 0)
		api_give(text, room, b.p, b.n, 1, bytes);
	buf_free(&b);
	return r < 0 ? api_fail(&err, e) : 0;
}

size_t
aprml_tokenizer_count(const struct aprml_tokenizer *t)
{
	return tokenizer_count(t->t);
}

const char *
aprml_tokenizer_text(const struct aprml_tokenizer *t, uint32_t id, size_t *n)
{
	return id < tokenizer_count(t->t) ? tokenizer_text(t->t, id, n) : NULL;
}

uint32_t
aprml_tokenizer_find(const struct aprml_tokenizer *t, const char *text, size_t n)
{
	return tokenizer_find(t->t, text, n);
}

uint32_t
aprml_tokenizer_special(const struct aprml_tokenizer *t, enum aprml_special role)
{
	return (unsigned)role <= APRML_MASK ? tokenizer_role(t->t, (enum tokenizer_role)role)
	                                    : APRML_NO_TOKEN;
}

int
aprml_tokenizer_ends(const struct aprml_tokenizer *t, uint32_t id)
{
	return id < tokenizer_count(t->t) && tokenizer_is_end(t->t, id);
}
