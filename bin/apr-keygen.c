/* apr-keygen: a new pair of signing keys */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crypto/keys.h"
#include "tool/passphrase.h"
#include "tool/tool.h"

struct options {
	const char *name;
	bool no_passphrase, force;
	struct passphrase_options passphrase;
};

static int
write_pair(const struct options *o, const struct key_secret *k, const struct secret *s,
           struct err *e)
{
	char path[4096];
	bool fresh;

	if (snprintf(path, sizeof path, "%s.pub", o->name) >= (int)sizeof path)
		return err_set(e, ERR_USAGE, NULL, "the name is too long");
	if (!o->force && access(o->name, F_OK) == 0) {
		err_set(e, ERR_USAGE, o->name, "exists already");
		return err_hint(e, "-f replaces it");
	}
	fresh = access(path, F_OK) < 0;
	/* The secret key last: where it cannot be written, an old one still stands. */
	if (key_public_write(key_secret_public(k), path, o->force, e) < 0)
		return -1;
	if (key_secret_write(k, o->name, o->no_passphrase ? NULL : s->p, s->n, KEY_COST_FULL,
	                     o->force, e) == 0)
		return 0;
	if (fresh)
		unlink(path); /* one key of a pair is none */
	return -1;
}

static int
keygen(const struct options *o, struct err *e)
{
	struct key_secret *k;
	struct secret s = { 0 };
	char id[KEY_ID_TEXT];
	int r = -1;

	if (!o->name)
		return tool_misused(e, "-o NAME is missing");
	if (o->no_passphrase && passphrase_given(&o->passphrase))
		return tool_misused(e, "a passphrase is given, and --no-passphrase");
	k = key_secret_new(e);
	if (k && (o->no_passphrase ||
	          passphrase_get(&o->passphrase, o->name, true, &s, e) == 0))
		r = write_pair(o, k, &s, e);
	if (r == 0)
		printf("%s\n", key_id_text(id, key_secret_public(k)->id));
	secret_free(&s);
	key_secret_free(k);
	return r;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		{ 'o', "output", "NAME", OPT_TEXT, &o.name,
		  "write the secret key to NAME and the public key to NAME.pub", 0, 0 },
		{ 'f', "force", NULL, OPT_FLAG, &o.force, "replace existing files", 0, 0 },
		{ 'W', "no-passphrase", NULL, OPT_FLAG, &o.no_passphrase,
		  "do not encrypt the secret key", 0, 0 },
		OPT_PASSPHRASE(&o.passphrase),
		OPT_END
	};
	static const struct tool tool = {
		"apr-keygen",
		"[-W | --passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[-f] -o NAME",
		"Make a pair of signing keys in minisign's format, and print their id.", opts, 0
	};
	struct err e = ERR_INIT;

	tool_begin(&tool, argc, argv);
	keygen(&o, &e);
	return tool_end(&e);
}
