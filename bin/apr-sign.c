/* apr-sign: stream -> stream, with a signature over its content */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/passphrase.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/trusted.h"
#include "stage/signing.h"

struct options {
	uint64_t jobs;
	const char *name, *version, *comment, *date;
	struct passphrase_options passphrase;
	struct output_options output;
};

/* Sets the date from --date or SOURCE_DATE_EPOCH; without them there is no date. Only
 * --date now reads the clock. */
static int
state_date(const char *date, struct statement *says, struct err *e)
{
	char now[24];

	if (date && strcmp(date, "now") == 0)
		snprintf(now, sizeof now, "%lld", (long long)time(NULL));
	if (date && statement_date(strcmp(date, "now") ? date : now, says->date) < 0)
		return tool_misused(e, "--date needs a day (2026-11-22), a time (2026-11-22T10:00:00Z), "
		                    "seconds since 1970, or now");
	date = date ? NULL : getenv("SOURCE_DATE_EPOCH");
	if (date && *date && statement_date(date, says->date) < 0)
		return err_set(e, ERR_USAGE, "SOURCE_DATE_EPOCH", "is not a date");
	return 0;
}

static int
state(const struct options *o, struct statement *says, struct err *e)
{
	const struct {
		const char *option, *text;
		char *to;
		size_t size;
	} fields[] = {
		{ "--name", o->name, says->name, sizeof says->name },
		{ "--model-version", o->version, says->version, sizeof says->version },
		{ "--comment", o->comment, says->comment, sizeof says->comment },
	};
	size_t i;

	for (i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].text && statement_set(fields[i].to, fields[i].size, fields[i].option,
		                                    fields[i].text, ERR_USAGE, e) < 0)
			return -1;
	if (state_date(o->date, says, e) < 0)
		return -1;
	return statement_check(says, ERR_USAGE, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "name", "TEXT", &o.name, "state the name of the model in the signature"),
		TEXT(0, "model-version", "TEXT", &o.version, "state its version"),
		TEXT(0, "date", "DATE", &o.date,
		     "state this date, or now (default: SOURCE_DATE_EPOCH, or none)"),
		TEXT(0, "comment", "TEXT", &o.comment, "add a comment, which is signed too"),
		OPT_PASSPHRASE(&o.passphrase),
		OPT_JOBS(&o.jobs),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-sign",
		"[--name TEXT] [--model-version TEXT] [--date DATE] [--comment TEXT]\n"
		"[--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[-j N] [-f] [-o FILE] KEY [FILE]",
		"Sign the content of a stream with the secret key in the file KEY.", opts, 2
	};
	struct statement says = { .name = "" };
	struct signing s = { .says = &says, .note = tool_note };
	struct flow f;
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *const files[] = { operands[0], o.passphrase.file };
	struct key_secret *key = NULL;

	s.jobs = o.jobs ? (unsigned)o.jobs : thread_count();
	signing_hooks(&s, &f);
	sandbox_write(o.output.path, o.output.force);
	sandbox_prepare();
	if (!operands[0]) {
		tool_misused(&e, "KEY is missing");
	} else if (operands[1] && trusted_is_key(operands[1]) && !trusted_is_key(operands[0])) {
		err_set(&e, ERR_USAGE, NULL, "%.100s is a key and %.100s is not: KEY comes "
		        "before FILE", operands[1], operands[0]);
		err_hint(&e, "apr-sign %.100s %.100s", operands[1], operands[0]);
	} else if (input_spare_all(files, 2, &o.output, &e) == 0 && state(&o, &says, &e) == 0 &&
	           secret_guard(&e) == 0) {
		s.key = key = passphrase_key(operands[0], &o.passphrase, &e);
	}
	if (key)
		filter_run(operands[1], &o.output, &f, &e);
	signing_free(&s);
	key_secret_free(key);
	return tool_end(&e);
}
