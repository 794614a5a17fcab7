/* apr-decrypt: sealed stream -> stream, with a key or a passphrase */
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/passphrase.h"
#include "cli/select.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "crypto/seal/seal.h"

struct options {
	struct opt_list identities;
	struct passphrase_options passphrase;
	struct select_options select;
	struct output_options output;
};

/* Reads identities or the passphrase, before the model is read. */
static int
prepare(const struct options *o, struct openers *with, struct err *e)
{
	size_t i;

	if (o->identities.n && passphrase_given(&o->passphrase))
		return tool_misused(e, "use identities or a passphrase, not both");
	if (input_spare(o->passphrase.file, &o->output, e) < 0 ||
	    input_spare_all(o->identities.items, o->identities.n, &o->output, e) < 0 ||
	    secret_guard(e) < 0)
		return -1;
	for (i = 0; i < o->identities.n; i++)
		if (identities_read(&with->identities, o->identities.items[i], e) < 0)
			return -1;
	if (o->identities.n)
		return 0;
	return passphrase_get(&o->passphrase, "the sealed model", false, &with->password, e);
}

static int
decrypt(const char *path, const struct options *o, struct openers *with,
        const struct flow *f, struct err *e)
{
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	struct source *source = NULL;
	struct sink *sink = NULL;
	struct input in;

	if (input_open_sealed(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		sink = filter_sink(&where, e);
		if (sink)
			source = seal_source(in.source, with, tool_note, e);
		openers_free(with);
		if (source)
			filter_flow(source, sink, o->output.progress, f, e);
	}
	sink_close(sink);
	source_close(source);
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		LIST('i', "identity", "FILE", &o.identities,
		     "decrypt with the identity in FILE, as made by age-keygen"),
		OPT_PASSPHRASE(&o.passphrase),
		OPT_SELECT(&o.select),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-decrypt",
		"[-i FILE ... | --passphrase-file FILE | --passphrase-fd N |\n"
		"--passphrase-env NAME] [--only REGEX] [--except REGEX] [-f] [-o FILE] [FILE]",
		"Decrypt a stream sealed by apr-encrypt.", opts, 1
	};
	struct openers with = { 0 };
	struct selection s;
	struct flow f = { 0 };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	sandbox_write(o.output.path, o.output.force);
	sandbox_spool();
	sandbox_prepare();
	if (select_open(&s, &o.select, tool.name, &f, &e) == 0 && prepare(&o, &with, &e) == 0)
		decrypt(operands[0], &o, &with, &f, &e);
	select_close(&s);
	openers_free(&with);
	return tool_end(&e);
}
