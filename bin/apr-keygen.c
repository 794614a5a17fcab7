/* apr-keygen: a new pair of signing keys */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/passphrase.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "crypto/keys.h"

struct options {
	const char *name;
	bool no_passphrase, force;
	struct passphrase_options passphrase;
};

/* Checks that both names are free or may be replaced, before the user is asked for a
 * passphrase. */
static int
check_names(const struct options *o, const char *public_path, struct err *e)
{
	const char *paths[] = { o->name, public_path };
	int i;

	for (i = 0; i < 2 && !o->force; i++)
		if (access(paths[i], F_OK) == 0) {
			err_set(e, ERR_USAGE, paths[i], "exists already");
			return err_hint(e, "-f replaces it");
		}
	return 0;
}

static int
keygen(const struct options *o, struct err *e)
{
	struct key_secret *k;
	struct secret s = { 0 };
	char id[KEY_ID_TEXT], path[4096];
	int r = -1;

	if (!o->name)
		return tool_misused(e, "-o NAME is missing");
	if (o->no_passphrase && passphrase_given(&o->passphrase))
		return tool_misused(e, "--no-passphrase excludes a passphrase");
	if (snprintf(path, sizeof path, "%s.pub", o->name) >= (int)sizeof path)
		return err_set(e, ERR_USAGE, NULL, "the name is too long");
	if (check_names(o, path, e) < 0)
		return -1;
	sandbox_write(o->name, o->force);
	sandbox_write(path, o->force);
	sandbox_prepare();
	k = secret_guard(e) == 0 ? key_secret_new(e) : NULL;
	if (k && (o->no_passphrase ||
	          passphrase_get(&o->passphrase, o->name, true, &s, e) == 0)) {
		sandbox_enter();
		r = key_pair_write(k, o->name, path, o->no_passphrase ? NULL : s.p, s.n,
		                   KEY_COST_FULL, o->force, e);
	}
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
		TEXT('o', "output", "NAME", &o.name,
		     "write the secret key to NAME and the public key to NAME.pub"),
		FLAG('f', "force", &o.force, "replace existing files"),
		FLAG('W', "no-passphrase", &o.no_passphrase,
		     "do not encrypt the secret key"),
		OPT_PASSPHRASE(&o.passphrase),
		OPT_END
	};
	static const struct tool tool = {
		"apr-keygen",
		"[-W | --passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[-f] -o NAME",
		"Generate a pair of signing keys in minisign's format, and print its id.", opts, 0
	};
	struct err e = ERR_INIT;

	tool_begin(&tool, argc, argv);
	keygen(&o, &e);
	return tool_end(&e);
}
