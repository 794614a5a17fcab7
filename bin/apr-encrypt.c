/* apr-encrypt: stream -> stream, in which only recipients can read the tensors */
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/passphrase.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "crypto/seal/seal.h"
#include "stage/sealing.h"

struct options {
	struct opt_list recipients, files;
	bool ask;
	struct passphrase_options passphrase;
	const char *sign_key, *sign_passphrase;
	struct output_options output;
};

/* No output replaces a file that is read. */
static int
spare(const struct options *o, struct err *e)
{
	const char *const files[] = { o->passphrase.file, o->sign_key, o->sign_passphrase };

	return input_spare_all(files, 3, &o->output, e) < 0 ||
	       input_spare_all(o->files.items, o->files.n, &o->output, e) < 0 ? -1 : 0;
}

/* Makes a random data key and salt, and the stanzas of the recipients. */
static int
prepare(const struct options *o, struct skey *skey, struct secret *data, struct err *e)
{
	static struct recipients to;
	struct secret secret = { 0 };
	bool password = o->ask || passphrase_given(&o->passphrase);
	size_t i;
	int r;

	for (i = 0; i < o->recipients.n; i++)
		if (recipients_add(&to, o->recipients.items[i], e) < 0)
			return -1;
	for (i = 0; i < o->files.n; i++)
		if (recipients_read(&to, o->files.items[i], e) < 0)
			return -1;
	if (!to.n && !password)
		return tool_misused(e, "no recipient: use -r, -R or -p");
	if (to.n && password)
		return tool_misused(e, "use recipients or a passphrase, not both");
	if (secret_guard(e) < 0)
		return -1;
	if (password &&
	    passphrase_get(&o->passphrase, "the sealed model", true, &secret, e) < 0)
		return -1;
	r = sealing_make(skey, data, &to, &secret, e);
	secret_free(&secret);
	return r;
}

/* Sets *signer to the key of the outer signature, or leaves it NULL if there is none. */
static int
find_signer(const struct options *o, struct key_secret **signer, struct err *e)
{
	struct passphrase_options own = { .file = o->sign_passphrase };

	if (!o->sign_key)
		return o->sign_passphrase
		           ? tool_misused(e, "--sign-passphrase-file needs --sign-key") : 0;
	*signer = passphrase_key(o->sign_key, &own, e);
	return *signer ? 0 : -1;
}

static int
encrypt(const char *path, const struct options *o, const struct skey *skey,
        struct secret *data, const struct key_secret *signer, struct err *e)
{
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	struct sink *sink = NULL, *sealed = NULL;
	struct flow f = { 0 };
	struct input in;

	if (input_open(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		sink = filter_sink(&where, e);
		if (sink)
			sealed = seal_sink(sink, skey, data->p, signer, e);
		secret_free(data);
		if (sealed)
			filter_flow(in.source, sealed, o->output.progress, &f, e);
	}
	if (sealed)
		sink_close(sealed);
	sink_close(sink);
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		LIST('r', "recipient", "age1...", &o.recipients,
		     "encrypt to this age public key; may be repeated"),
		LIST('R', "recipients-file", "FILE", &o.files,
		     "encrypt to the age public keys in FILE, one per line"),
		FLAG('p', "passphrase", &o.ask,
		     "encrypt with a passphrase that is asked for"),
		OPT_PASSPHRASE(&o.passphrase),
		TEXT(0, "sign-key", "KEY", &o.sign_key,
		     "sign the seal with the secret key in KEY"),
		TEXT(0, "sign-passphrase-file", "FILE", &o.sign_passphrase,
		     "read the passphrase of that key from the first line of FILE"),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-encrypt",
		"-r age1... | -R FILE | -p | --passphrase-file FILE |\n"
		"--passphrase-fd N | --passphrase-env NAME [--sign-key KEY]\n"
		"[--sign-passphrase-file FILE] [-f] [-o FILE] [FILE]",
		"Seal the tensors, side files and signatures of a stream.", opts, 1
	};
	static struct skey skey;
	struct secret data = { 0 };
	struct key_secret *signer = NULL;
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	sandbox_write(o.output.path, o.output.force);
	sandbox_spool();
	sandbox_prepare();
	if (spare(&o, &e) == 0 && prepare(&o, &skey, &data, &e) == 0 && find_signer(&o, &signer, &e) == 0)
		encrypt(operands[0], &o, &skey, &data, signer, &e);
	key_secret_free(signer);
	secret_free(&data);
	return tool_end(&e);
}
