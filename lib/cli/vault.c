#include "cli/vault.h"

bool
vault_asked(const struct vault_options *o)
{
	return o->sign_key || o->sign_passphrase || o->recipients.n || o->trusted_key ||
	       o->identities.n || passphrase_given(&o->passphrase);
}

int
vault_to_write(struct ring *v, const struct vault_options *o, struct err *e)
{
	struct passphrase_options own = { .file = o->sign_passphrase };
	size_t i;

	ring_writes(v);
	if (!vault_asked(o))
		return 0;
	if (o->recipients.n && passphrase_given(&o->passphrase))
		return tool_misused(e, "use recipients or a passphrase, not both");
	if (o->sign_passphrase && !o->sign_key)
		return tool_misused(e, "--sign-passphrase-file needs --sign-key");
	if (secret_guard(e) < 0)
		return -1;
	if (o->sign_key && !(v->key = passphrase_key(o->sign_key, &own, e)))
		return -1;
	for (i = 0; i < o->recipients.n; i++)
		if (recipients_add(&v->recipients, o->recipients.items[i], e) < 0)
			return -1;
	if (passphrase_given(&o->passphrase) &&
	    passphrase_get(&o->passphrase, "the model", true, &v->password, e) < 0)
		return -1;
	ring_writes(v);
	return 0;
}

int
vault_to_read(struct ring *v, const struct vault_options *o, struct err *e)
{
	size_t i;

	v->note = tool_note;
	ring_reads(v);
	if (!vault_asked(o))
		return 0;
	if (o->trusted_key && trusted_files(&v->trusted, &o->trusted_key, 1, e) < 0)
		return -1;
	ring_reads(v);
	if ((o->identities.n || passphrase_given(&o->passphrase)) && secret_guard(e) < 0)
		return -1;
	for (i = 0; i < o->identities.n; i++)
		if (identities_read(&v->identities, o->identities.items[i], e) < 0)
			return -1;
	if (passphrase_given(&o->passphrase))
		return passphrase_get(&o->passphrase, "the model", false, &v->password, e);
	return 0;
}
