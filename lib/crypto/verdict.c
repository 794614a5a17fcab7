#include "crypto/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

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

/* No trusted key has signed: name the keys that did. */
static int
untrusted(const struct verdict *v, const struct trusted *keys, struct err *e)
{
	char id[KEY_ID_TEXT];

	err_set(e, ERR_SIGNATURE, NULL, "no signature is by a trusted key; the first is by %s",
	        key_id_text(id, v->frames[0].head.key_id));
	return keys->n ? -1 : err_hint(e, "name the public key: apr-verify KEY.pub FILE");
}

/* The signature is genuine. Check that its statement is the one wanted. */
static int
says(const struct statement *s, const struct verdict_wants *w, struct err *e)
{
	if (w->name && strcmp(w->name, s->name) != 0)
		return *s->name ? err_set(e, ERR_SIGNATURE, "signature",
		                          "is for the name \"%s\", not \"%.150s\"", s->name, w->name)
		                : err_set(e, ERR_SIGNATURE, "signature",
		                          "states no name; \"%.150s\" was expected", w->name);
	if (w->not_before && strcmp(s->date, w->not_before) < 0)
		return *s->date ? err_set(e, ERR_SIGNATURE, "signature", "is dated %s, before %s",
		                          s->date, w->not_before)
		                : err_set(e, ERR_SIGNATURE, "signature",
		                          "states no date; %s or later was expected", w->not_before);
	return 0;
}

/* Check one frame against one key. A fault names the key. */
static int
try_key(const struct verdict_frame *f, const struct trusted_key *k, const struct content *c,
        const struct verdict_wants *w, struct err *e)
{
	char print[KEY_FINGERPRINT], path[128];

	if (signature_check(&f->head, f->body.p, f->body.n, c, &k->key, w->scope, e) == 0 &&
	    says(&f->head.says, w, e) == 0)
		return 0;
	return err_hint(e, "the key tried is %s, SHA-256 %s",
	                text_quote(path, sizeof path, k->path, strlen(k->path)),
	                key_fingerprint(print, &k->key));
}

int
verdict_give(struct verdict *v, const struct content *c, const struct trusted *keys,
             const struct verdict_wants *wants, struct err *e)
{
	struct err first = ERR_INIT;
	size_t i, k;

	for (i = 0; i < v->n; i++)
		for (k = 0; k < keys->n; k++) {
			const struct trusted_key *key = &keys->item[k];
			struct err why = ERR_INIT;

			if (memcmp(key->key.id, v->frames[i].head.key_id, KEY_ID_BYTES) != 0)
				continue;
			if (try_key(&v->frames[i], key, c, wants, &why) == 0) {
				v->held = i;
				v->by = key;
				return 0;
			}
			if (first.code == ERR_NONE)
				first = why;
		}
	if (first.code == ERR_NONE)
		return untrusted(v, keys, e);
	*e = first;
	return -1;
}

int
verdict_send(const struct verdict *v, struct sink *sink, struct err *e)
{
	const struct verdict_frame *f = &v->frames[v->held];
	char head[SIGNATURE_HEAD_BYTES + 1], note[80];
	struct item it = { .kind = ITEM_SIGN, .head = head,
		.head_bytes = SIGNATURE_HEAD_BYTES, .bytes = f->body.n };

	signature_head(&f->head, head);
	if (v->n > 1 && sink->note) {
		snprintf(note, sizeof note, "%zu other signature%s not verified, and dropped",
		         v->n - 1, v->n == 2 ? " is" : "s are");
		sink->note(note);
	}
	if (sink_put(sink, &it, e) < 0 || sink_write(sink, f->body.p, f->body.n, e) < 0)
		return -1;
	return sink_put_end(sink, e);
}

const struct signature *
verdict_signature(const struct verdict *v)
{
	return &v->frames[v->held].head;
}

void
verdict_free(struct verdict *v)
{
	while (v->n > 0)
		buf_free(&v->frames[--v->n].body);
	free(v->frames);
	*v = (struct verdict){ 0 };
}
