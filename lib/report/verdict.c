#include "report/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool.h"
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

/* Nobody we trust has signed: say who did. */
static int
untrusted(const struct verdict *v, const struct trusted *keys, struct err *e)
{
	char id[KEY_ID_TEXT];

	err_set(e, ERR_SIGNATURE, NULL, "no signature is by a trusted key; the first is by %s",
	        key_id_text(id, v->frames[0].head.key_id));
	return keys->n ? -1 : err_hint(e, "name the public key: apr-verify KEY.pub FILE");
}

/* The signature is genuine; does it say what is asked for? */
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

/* One frame against one key. A fault says which key was tried. */
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
	char head[SIGNATURE_HEAD_BYTES + 1];
	struct item it = { .kind = ITEM_SIGN, .head = head,
		.head_bytes = SIGNATURE_HEAD_BYTES, .bytes = f->body.n };

	signature_head(&f->head, head);
	if (v->n > 1)
		tool_notef("%zu other signature%s not verified, and dropped", v->n - 1,
		           v->n == 2 ? " is" : "s are");
	if (sink_put(sink, &it, e) < 0 || sink_write(sink, f->body.p, f->body.n, e) < 0)
		return -1;
	return sink_put_end(sink, e);
}

/* ", version \"1\"" and so on, where it is said. */
static void
put_said(struct buf *b, const char *what, const char *text)
{
	char quoted[4 * STATEMENT_COMMENT + 8];

	if (!*text || !b->n)
		return;
	text_quote(quoted, sizeof quoted, text, strlen(text));
	buf_printf(b, "%s %s \"%s\"", b->p[b->n - 1] == ':' ? "" : ",", what, quoted);
}

void
verdict_tell(const struct verdict *v, const char *name, const struct digest *root,
             enum signature_scope scope)
{
	const struct signature *s = &v->frames[v->held].head;
	char id[KEY_ID_TEXT], key[KEY_TEXT], print[KEY_FINGERPRINT], hex[DIGEST_TEXT];
	struct buf said = { 0 };

	buf_text(&said, "the signer states:");
	tool_notef("%s: signature by %s holds for %s, root %s", name,
	           key_id_text(id, s->key_id),
	           scope == SIGNATURE_WEIGHTS ? "the weights" : "everything",
	           digest_text(hex, root));
	tool_notef("the key is %s, SHA-256 %s, from %s", key_public_text(key, &v->by->key),
	           key_fingerprint(print, &v->by->key), v->by->path);
	put_said(&said, "name", s->says.name);
	put_said(&said, "version", s->says.version);
	put_said(&said, "date", s->says.date);
	put_said(&said, "comment", s->says.comment);
	if (said.n > strlen("the signer states:") && buf_string(&said))
		tool_note((char *)said.p);
	buf_free(&said);
}

json_t *
verdict_file_name(const char *path)
{
	char text[4096];
	json_t *v = json_string(path);

	return v ? v : json_string(text_quote(text, sizeof text, path, strlen(path)));
}

static json_t *
said_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

int
verdict_print(const struct verdict *v, const char *name, const struct digest *root,
              enum signature_scope scope, struct err *e)
{
	const struct signature *s = &v->frames[v->held].head;
	char id[KEY_ID_TEXT], key[KEY_TEXT], print[KEY_FINGERPRINT], hex[DIGEST_TEXT];
	struct buf b = { 0 };
	json_t *o = json_pack("{s:b,s:s,s:s,s:s,s:s,s:s}", "verified", 1, "key",
	                      key_id_text(id, s->key_id), "root", digest_text(hex, root),
	                      "scope", scope == SIGNATURE_WEIGHTS ? "weights" : "all",
	                      "public_key", key_public_text(key, &v->by->key), "fingerprint",
	                      key_fingerprint(print, &v->by->key));
	int r = o ? 0 : -1;

	r |= json_object_set_new(o, "key_file", verdict_file_name(v->by->path));
	r |= json_object_set_new(o, "file", verdict_file_name(name));
	r |= json_object_set_new(o, "name", said_or_null(s->says.name));
	r |= json_object_set_new(o, "version", said_or_null(s->says.version));
	r |= json_object_set_new(o, "date", said_or_null(s->says.date));
	r |= json_object_set_new(o, "comment", said_or_null(s->says.comment));
	if (r == 0 && json_show(o, &b) == 0 && buf_ok(&b))
		printf("%.*s\n", (int)b.n, (char *)b.p);
	else
		err_memory(e);
	json_decref(o);
	buf_free(&b);
	return e->code == ERR_NONE ? 0 : -1;
}

void
verdict_free(struct verdict *v)
{
	while (v->n > 0)
		buf_free(&v->frames[--v->n].body);
	free(v->frames);
	*v = (struct verdict){ 0 };
}
