#include "tool/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

struct verdict_frame {
	struct signature head;
	struct buf body;
};

int
verdict_sign(struct verdict *v, const struct item *in, struct err *e)
{
	if (mem_grow(&v->frames, &v->cap, v->n + 1, sizeof *v->frames) < 0)
		return err_memory(e);
	return signature_parse(in->head, in->head_bytes, &v->frames[v->n++].head, e);
}

int
verdict_add(struct verdict *v, const uint8_t *p, size_t n, struct err *e)
{
	struct buf *b = &v->frames[v->n - 1].body;

	buf_put(b, p, n);
	return buf_ok(b) ? 0 : err_memory(e);
}

static const struct key_public *
key_of(const struct trusted *keys, const uint8_t id[KEY_ID_BYTES])
{
	size_t i;

	for (i = 0; i < keys->n; i++)
		if (memcmp(keys->item[i].key.id, id, KEY_ID_BYTES) == 0)
			return &keys->item[i].key;
	return NULL;
}

/* Nobody we trust has signed: say who did. */
static int
untrusted(const struct verdict *v, const struct trusted *keys, struct err *e)
{
	char id[KEY_ID_TEXT];

	err_set(e, ERR_SIGNATURE, NULL, "no signature is by a trusted key; the first is by %s",
	        key_id_text(id, v->frames[0].head.key_id));
	return keys->n ? -1 : err_hint(e, "name the public key: apr-verify KEY.pub FILE");
}

int
verdict_give(struct verdict *v, const struct content *c, const struct trusted *keys,
             enum signature_scope scope, struct err *e)
{
	struct err first = ERR_INIT;
	size_t i, tried = 0;

	for (i = 0; i < v->n; i++) {
		const struct verdict_frame *f = &v->frames[i];
		const struct key_public *key = key_of(keys, f->head.key_id);
		struct err why = ERR_INIT;

		if (!key)
			continue;
		tried++;
		if (signature_check(&f->head, f->body.p, f->body.n, c, key, scope, &why) == 0) {
			key_id_text(v->by, f->head.key_id);
			return 0;
		}
		if (first.code == ERR_NONE)
			first = why;
	}
	if (!tried)
		return untrusted(v, keys, e);
	*e = first;
	return -1;
}

void
verdict_free(struct verdict *v)
{
	while (v->n > 0)
		buf_free(&v->frames[--v->n].body);
	free(v->frames);
	*v = (struct verdict){ 0 };
}
