#include "crypto/authentic.h"

#include <string.h>

#include "crypto/seal/seal.h"
#include "crypto/verdict.h"
#include "crypto/witness.h"

/* ---- a signature over content ---- */

/* Pass one item, whose head has come, to the witness or to the verdict. */
static int
see_item(struct source *source, const struct item *item, struct witness *w,
         struct verdict *v, struct err *e)
{
	bool sign = item->kind == ITEM_SIGN, other = item->kind == ITEM_OTHER;
	const uint8_t *p;
	size_t n;
	int r = sign ? verdict_sign(v, item, e) : other ? 0 : witness_item(w, item, e);

	while (r == 0) {
		if (source_read(source, &p, &n, e) < 0)
			return -1;
		if (n == 0)
			break;
		r = sign ? verdict_add(v, p, n, e) : other ? 0 : witness_data(w, item, p, n, e);
	}
	return r < 0 || sign || other ? r : witness_item_end(w, item, e);
}

int
authentic_content(struct source *source, const struct trusted *keys, struct err *e)
{
	const struct verdict_wants wants = { .scope = SIGNATURE_ALL };
	struct verdict v = { .by = NULL };
	struct witness w;
	struct item item;
	int r, more;

	if (source->plan->signatures == 0)
		return err_set(e, ERR_SIGNATURE, source->name, "the model is not signed");
	r = witness_begin(&w, source->plan, 1, e);
	while (r == 0 && (more = source_next(source, &item, e)) != 0)
		r = more < 0 ? -1 : see_item(source, &item, &w, &v, e);
	if (r == 0)
		r = witness_finish(&w, e);
	if (r == 0)
		r = verdict_give(&v, &w.content, keys, &wants, e);
	witness_free(&w);
	verdict_free(&v);
	return r;
}

/* ---- the outer signature of a seal ---- */

static int
not_signed(const char *name, struct err *e)
{
	err_set(e, ERR_SIGNATURE, name, "its seal has no outer signature");
	return err_hint(e, "apr-encrypt --sign-key makes one; apr-decrypt | apr-verify verifies "
	                "the signature inside");
}

int
authentic_outer(struct source *source, const struct trusted *keys,
                struct authentic_seal *a, struct err *e)
{
	static struct skey skey;
	char id[KEY_ID_TEXT];
	bool known = false;
	int more = seal_peek(source, &skey, &a->digest, e);
	size_t i;

	if (more < 0)
		return -1;
	if (!skey.has_outer)
		return not_signed(source->name, e);
	for (i = 0; i < keys->n; i++) {
		const struct trusted_key *k = &keys->item[i];

		known |= memcmp(k->key.id, skey.outer_key, sizeof skey.outer_key) == 0;
		if (skey_verify(&skey, &a->digest, &k->key)) {
			a->by = k;
			return more;
		}
	}
	if (known)
		return err_set(e, ERR_SIGNATURE, source->name, "its outer signature does not hold");
	return err_set(e, ERR_SIGNATURE, source->name, "its seal is signed by %s, which is not "
	               "trusted", key_id_text(id, skey.outer_key));
}

int
authentic_sealed(struct source *source, const struct trusted *keys,
                 struct authentic_seal *a, struct err *e)
{
	int more = authentic_outer(source, keys, a, e);

	return more > 0 ? source_finish(source, e) : more;
}
