/* Keys, signatures and seals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/make.h"
#include "core/mem.h"
#include "crypto/agree.h"

/* ---- rings ---- */

struct aprml_ring *
aprml_ring_open(struct aprml_error *e)
{
	struct aprml_ring *r = mem_array(1, sizeof *r);
	struct err err = ERR_INIT;

	if (!r) {
		err_memory(&err);
		api_fail(&err, e);
	}
	return r;
}

void
aprml_ring_close(struct aprml_ring *r)
{
	if (r)
		ring_free(&r->ring);
	free(r);
}

static int
add_public(struct aprml_ring *r, const struct key_public *key, struct err *e)
{
	char id[KEY_ID_TEXT];

	return trusted_add(&r->ring.trusted, key_id_text(id, key->id), key, e);
}

static int
add_secret(struct aprml_ring *r, const uint8_t *p, size_t n, const void *passphrase,
           size_t length, struct err *e)
{
	struct key_secret *key = key_secret_parse(p, n, e);

	if (!key)
		return -1;
	if (key_secret_is_encrypted(key) && !passphrase)
		err_set(e, ERR_DECRYPT, NULL, "the key needs its passphrase");
	else if (r->ring.key)
		err_set(e, ERR_USAGE, NULL, "the ring has a secret key");
	else
		key_secret_unlock(key, passphrase, length, e);
	if (e->code != ERR_NONE) {
		key_secret_free(key);
		return -1;
	}
	r->ring.key = key;
	return 0;
}

/* Keys of minisign. Which kind it is follows from the length of the second line. */
static int
add_pair(struct aprml_ring *r, const uint8_t *p, size_t n, const void *passphrase, size_t length,
         struct err *e)
{
	struct err none = ERR_INIT;
	struct key_public key;

	if (key_public_parse(p, n, &key, &none) == 0)
		return add_public(r, &key, e);
	return add_secret(r, p, n, passphrase, length, e);
}

/* Whether a line of the text begins with these letters, in any case. */
static bool
has_line(const uint8_t *p, size_t n, const char *head)
{
	const size_t length = strlen(head);
	const uint8_t *end;

	while (n >= length) {
		if (strncasecmp((const char *)p, head, length) == 0)
			return true;
		end = memchr(p, '\n', n);
		if (!end)
			break;
		n -= (size_t)(end + 1 - p);
		p = end + 1;
	}
	return false;
}

static int
add_keys(struct aprml_ring *r, const uint8_t *p, size_t n, const void *passphrase, size_t length,
         struct err *e)
{
	if (n > IDENTITY_FILE)
		return err_set(e, ERR_FORMAT, "<key>", "is too long for keys");
	if (has_line(p, n, "untrusted comment:"))
		return add_pair(r, p, n, passphrase, length, e);
	if (has_line(p, n, "age-secret-key-"))
		return identities_parse(&r->ring.identities, p, n, "<key>", e);
	return recipients_parse(&r->ring.recipients, (const char *)p, n, "<key>", e);
}

int
aprml_ring_add(struct aprml_ring *r, const void *p, size_t n, const void *passphrase,
               size_t length, struct aprml_error *e)
{
	struct err err = ERR_INIT;

	if (api_need(r, "ring", e) < 0)
		return -1;
	return add_keys(r, p, n, passphrase, length, &err) < 0 ? api_fail(&err, e) : 0;
}

int
aprml_ring_passphrase(struct aprml_ring *r, const void *p, size_t n, struct aprml_error *e)
{
	struct secret *s;
	struct err err = ERR_INIT;

	if (api_need(r, "ring", e) < 0)
		return -1;
	s = &r->ring.password;
	secret_free(s);
	if (secret_alloc(s, n ? n : 1, &err) < 0)
		return api_fail(&err, e);
	if (n > 0)
		memcpy(s->p, p, n);
	s->n = n;
	return 0;
}

/* ---- new keys ---- */

/* Copy n bytes of text and terminate them. Every key fits. */
static int
give_text(char to[APRML_KEY], const char *text, size_t n, struct err *e)
{
	if (n >= APRML_KEY)
		return err_memory(e);
	memcpy(to, text, n);
	to[n] = '\0';
	return 0;
}

static int
new_key(const void *passphrase, size_t length, char secret[APRML_KEY],
        char public_key[APRML_KEY], struct err *e)
{
	struct key_secret *key = key_secret_new(e);
	struct secret s = { 0 };
	char text[KEY_FILE_BYTES];
	size_t n;
	int r = -1;

	if (key && secret_alloc(&s, KEY_FILE_BYTES, e) == 0 &&
	    key_secret_put(key, passphrase, length, KEY_COST_FULL, (char *)s.p, &n, e) == 0 &&
	    give_text(secret, (const char *)s.p, n, e) == 0)
		r = give_text(public_key, text, key_public_put(key_secret_public(key), text), e);
	secret_free(&s);
	key_secret_free(key);
	return r;
}

int
aprml_key_new(const void *passphrase, size_t n, char secret[APRML_KEY],
              char public_key[APRML_KEY], struct aprml_error *e)
{
	struct err err = ERR_INIT;

	return new_key(passphrase, n, secret, public_key, &err) < 0 ? api_fail(&err, e) : 0;
}

int
aprml_identity_new(char identity[APRML_IDENTITY], char recipient[APRML_IDENTITY],
                   struct aprml_error *e)
{
	uint8_t public[AGREE_BYTES];
	struct secret s = { 0 };
	struct err err = ERR_INIT;

	if (secret_alloc(&s, AGREE_BYTES, &err) == 0 && agree_new(s.p, public, &err) == 0) {
		identity_text(s.p, identity);
		recipient_text(public, recipient);
	}
	secret_free(&s);
	return err.code == ERR_NONE ? 0 : api_fail(&err, e);
}

/* ---- verify ---- */

/* What the program wants, with a date in `date`. */
static int
wants_of(struct verdict_wants *to, const struct aprml_wants *from,
         char date[STATEMENT_DATE + 1], struct err *e)
{
	struct aprml_wants w = { .bytes = sizeof w };

	if (api_options(&w, sizeof w, from, sizeof w, "aprml_wants", e) < 0)
		return -1;
	*to = (struct verdict_wants){ w.weights ? SIGNATURE_WEIGHTS : SIGNATURE_ALL, w.name, NULL };
	if (!w.not_before)
		return 0;
	to->not_before = date;
	if (statement_date(w.not_before, date) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "not_before", "is not a date");
}

static int
no_keys(struct err *e)
{
	return err_set(e, ERR_SIGNATURE, NULL, "the ring has no public key");
}

static void
fill_verdict(const struct verification *v, struct aprml_verdict *to)
{
	const struct signature *s;

	*to = (struct aprml_verdict){ .bytes = sizeof *to, .sealed = v->sealed };
	if (v->sealed) {
		key_id_text(to->key, v->seal.by->key.id);
		digest_text(to->root, &v->seal.digest);
		return;
	}
	s = verdict_signature(&v->verdict);
	key_id_text(to->key, s->key_id);
	digest_text(to->root, &v->witness.content.root);
	strcpy(to->name, s->says.name);
	strcpy(to->version, s->says.version);
	strcpy(to->date, s->says.date);
	strcpy(to->comment, s->says.comment);
}

static void
give_verdict(const struct verification *v, struct aprml_verdict *to)
{
	struct aprml_verdict known;

	fill_verdict(v, &known);
	if (to)
		api_fill(to, &known, sizeof known, sizeof known);
}

_Static_assert(sizeof ((struct aprml_verdict *)NULL)->name > STATEMENT_NAME &&
               sizeof ((struct aprml_verdict *)NULL)->version > STATEMENT_VERSION &&
               sizeof ((struct aprml_verdict *)NULL)->date > STATEMENT_DATE &&
               sizeof ((struct aprml_verdict *)NULL)->comment > STATEMENT_COMMENT &&
               sizeof ((struct aprml_verdict *)NULL)->root >= DIGEST_TEXT &&
               sizeof ((struct aprml_verdict *)NULL)->key >= KEY_ID_TEXT, "texts");

static int
verify(struct api_job *j, struct verification *v, struct aprml *m)
{
	struct flow f;

	if (m->source->plan->sealed) {
		m->source->sealed_too = true;
		return verification_of_seal(v, m->source, &m->err);
	}
	verification_hooks(v, m->source->name, &f);
	api_job_hooks(j, &f, m->source->plan);
	return flow_run(m->source, NULL, &f, &m->err);
}

int
aprml_verify(struct aprml *m, const struct aprml_ring *r, const struct aprml_wants *wants,
             const struct aprml_work *work, struct aprml_verdict *verdict, struct aprml_error *e)
{
	struct aprml *again = NULL, *from = NULL;
	struct verdict_wants wanted = { .name = NULL };
	struct verification v = { .wants = &wanted, .note = api_note };
	char date[STATEMENT_DATE + 1];
	struct aprml_work how;
	struct api_job j;
	struct err err = ERR_INIT;

	if (api_need(m, "model", e) < 0 || api_need(r, "ring", e) < 0)
		return -1;
	v.keys = &r->ring.trusted;
	if (verdict && verdict->bytes < sizeof *verdict)
		err_set(&err, ERR_NO, "aprml_verdict", "has %zu bytes, which is not its size",
		        verdict->bytes);
	if (err.code != ERR_NONE || wants_of(&wanted, wants, date, &err) < 0 || api_work(&how, work, &err) < 0 ||
	    (r->ring.trusted.n == 0 && no_keys(&err) < 0))
		return api_fail(&err, e);
	api_job_begin(&j, &how, NULL);
	v.jobs = api_job_threads(&j);
	from = api_fresh_for(m, FORMAT_ALL, &again, &err);
	if (from && verify(&j, &v, from) == 0)
		give_verdict(&v, verdict);
	else if (from)
		err = from->err;
	verification_reset(&v);
	api_fresh_end(from, again);
	api_job_end(&j, &err);
	return err.code == ERR_NONE ? 0 : api_fail(&err, e);
}

/* ---- stages of a maker ---- */

static bool
signs(const struct aprml_ring *r)
{
	return r && r->ring.key;
}

/* 0 if the maker can take the ring, which has what it needs. */
static int
prove_ring(struct aprml_maker *k, const struct aprml_ring *r, bool has, const char *lacks,
           struct aprml_error *e)
{
	if (api_maker_begin(k, e) < 0 || api_need(r, "ring", e) < 0)
		return -1;
	if (!has) {
		err_set(&k->err, ERR_USAGE, NULL, "%s", lacks);
		return api_maker_fail(k, e);
	}
	return 0;
}

int
aprml_maker_sign(struct aprml_maker *k, const struct aprml_ring *r, struct aprml_error *e)
{
	if (prove_ring(k, r, signs(r), "the ring has no secret key", e) < 0)
		return -1;
	k->signs = r;
	return 0;
}

int
aprml_maker_verify(struct aprml_maker *k, const struct aprml_ring *r,
                   const struct aprml_wants *wants, struct aprml_error *e)
{
	if (prove_ring(k, r, r && r->ring.trusted.n > 0, "the ring has no public key", e) < 0)
		return -1;
	k->verifies = r;
	if (wants_of(&k->wants, wants, k->not_before, &k->err) < 0)
		return api_maker_fail(k, e);
	if (k->wants.name && !(k->wants.name = api_maker_text(k, k->wants.name)))
		return api_maker_fail(k, e);
	return 0;
}

int
aprml_maker_seal(struct aprml_maker *k, const struct aprml_ring *r,
                 const struct aprml_ring *signer, struct aprml_error *e)
{
	const bool password = r && r->ring.password.p, keys = r && r->ring.recipients.n > 0;

	if (signer &&
	    prove_ring(k, signer, signs(signer), "the signer's ring has no secret key", e) < 0)
		return -1;
	if (prove_ring(k, r, password != keys, "a seal needs recipients or a passphrase, and not both",
	               e) < 0)
		return -1;
	k->outer = signer;
	k->seals = r;
	return 0;
}

int
aprml_maker_vault(struct aprml_maker *k, const struct aprml_ring *r, struct aprml_error *e)
{
	const bool password = r && r->ring.password.p, keys = r && r->ring.recipients.n > 0;

	if (prove_ring(k, r, (signs(r) || password || keys) && !(password && keys),
	               "the ring needs a secret key, recipients or a passphrase", e) < 0)
		return -1;
	k->vault = r;
	return 0;
}
