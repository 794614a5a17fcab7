#include "report/signature_text.h"

#include <string.h>

#include "core/text.h"
#include "report/lines.h"

/* ---- notes ---- */

static void
note_key(struct buf *to, const struct trusted_key *k)
{
	char key[KEY_TEXT], print[KEY_FINGERPRINT];

	lines_note(to, "the key is %s, SHA-256 %s, from %s", key_public_text(key, &k->key),
	           key_fingerprint(print, &k->key), k->path);
}

/* Appends a statement, such as: name "x". Nothing for an empty text. */
static void
put_stated(struct buf *b, const char *what, const char *text)
{
	char quoted[4 * STATEMENT_COMMENT + 8];

	if (!*text)
		return;
	buf_printf(b, "%s %s \"%s\"", b->n ? "," : "", what,
	           text_quote(quoted, sizeof quoted, text, strlen(text)));
}

static void
note_statement(struct buf *to, const struct statement *says)
{
	struct buf b = { 0 };

	put_stated(&b, "name", says->name);
	put_stated(&b, "version", says->version);
	put_stated(&b, "date", says->date);
	put_stated(&b, "comment", says->comment);
	if (b.n && buf_string(&b))
		lines_note(to, "the signer states:%s", (char *)b.p);
	buf_free(&b);
}

void
signature_notes(struct buf *to, const struct verdict *v, const char *name,
                const struct digest *root, enum signature_scope scope)
{
	const struct signature *s = verdict_signature(v);
	char id[KEY_ID_TEXT], hex[DIGEST_TEXT];

	lines_note(to, "%s: signature by %s holds for %s, root %s", name,
	           key_id_text(id, s->key_id),
	           scope == SIGNATURE_WEIGHTS ? "the weights" : "everything",
	           digest_text(hex, root));
	note_key(to, v->by);
	note_statement(to, &s->says);
}

/* ---- JSON ---- */

/* Returns the members that both kinds of signature have. digest: what it covers, named
 * `what`. */
static json_t *
signature_json(const struct trusted_key *by, const uint8_t id[KEY_ID_BYTES],
               const char *what, const struct digest *digest, const char *scope,
               const char *name)
{
	char text[KEY_ID_TEXT], key[KEY_TEXT], print[KEY_FINGERPRINT], hex[DIGEST_TEXT];

	return json_pack("{s:b,s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "verified", 1, "key",
	                 key_id_text(text, id), what, digest_text(hex, digest), "scope", scope,
	                 "public_key", key_public_text(key, &by->key), "fingerprint",
	                 key_fingerprint(print, &by->key), "key_file", lines_file_name(by->path),
	                 "file", lines_file_name(name));
}

static json_t *
stated_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

void
signature_put_json(struct buf *to, const struct verdict *v, const char *name,
                   const struct digest *root, enum signature_scope scope)
{
	const struct signature *s = verdict_signature(v);
	json_t *o = signature_json(v->by, s->key_id, "root", root,
	                           scope == SIGNATURE_WEIGHTS ? "weights" : "all", name);
	int r = json_object_set_new(o, "name", stated_or_null(s->says.name));

	r |= json_object_set_new(o, "version", stated_or_null(s->says.version));
	r |= json_object_set_new(o, "date", stated_or_null(s->says.date));
	r |= json_object_set_new(o, "comment", stated_or_null(s->says.comment));
	to->failed |= r != 0;
	lines_json(to, o);
}

void
signature_put_seal_json(struct buf *to, const struct authentic_seal *a, const char *name)
{
	lines_json(to, signature_json(a->by, a->by->key.id, "seal", &a->digest, "seal", name));
}
