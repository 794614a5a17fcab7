/* apr-sign: stream -> stream, with a signature over its content */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/filter.h"
#include "cli/passphrase.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/signature.h"
#include "crypto/trusted.h"
#include "crypto/witness.h"

struct options {
	uint64_t jobs;
	const char *name, *version, *comment, *date;
	struct passphrase_options passphrase;
	struct output_options output;
};

struct sign {
	const struct options *o;
	const struct key_secret *key;
	struct statement says;
	struct witness witness;
	struct model plan;    /* the signed model, which the witness reads */
	uint64_t signatures;  /* number of signatures that the model had before */
};

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct sign *s = ctx;

	s->signatures = out->signatures++;
	if (model_copy(&s->plan, out, e) < 0)
		return -1;
	return witness_begin(&s->witness, &s->plan, (unsigned)s->o->jobs, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct sign *s = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		tool_notef("a frame of unknown kind %s is passed on unsigned", in->frame);
	if (in->kind == ITEM_PROV && in->index == 0)
		tool_note("the model has records of earlier operations: they are signed, but "
		          "were not verified");
	return witness_item(&s->witness, in, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct sign *s = ctx;

	(void)sink;
	return witness_data(&s->witness, in, p, n, e);
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct sign *s = ctx;

	(void)sink;
	return witness_item_end(&s->witness, in, e);
}

/* Signs the content once all of it has passed, and writes the frame. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct sign *s = ctx;
	struct signature signature;
	char head[SIGNATURE_HEAD_BYTES + 1], id[KEY_ID_TEXT];
	struct buf body = { 0 };
	struct item it = { .kind = ITEM_SIGN, .index = (size_t)s->signatures, .head = head,
		.head_bytes = SIGNATURE_HEAD_BYTES };
	int r = -1;

	if (witness_finish(&s->witness, e) == 0 &&
	    signature_make(&signature, &s->witness.content, &s->says, s->key, e) == 0 &&
	    signature_body(&s->witness.content, &body, e) == 0) {
		signature_head(&signature, head);
		it.bytes = body.n;
		r = sink_put(sink, &it, e);
		if (r == 0)
			r = sink_write(sink, body.p, body.n, e);
		if (r == 0)
			r = sink_put_end(sink, e);
	}
	if (r == 0)
		tool_notef("signed by %s", key_id_text(id, signature.key_id));
	buf_free(&body);
	return r;
}

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
	struct sign s = { .o = &o };
	struct flow f = { .plan = plan, .item = item, .data = data, .looks = true,
		.item_end = item_end, .finish = finish, .ctx = &s };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	struct key_secret *key = NULL;

	if (!o.jobs)
		o.jobs = thread_count();
	sandbox_write(o.output.path, o.output.force);
	sandbox_prepare();
	if (!operands[0]) {
		tool_misused(&e, "KEY is missing");
	} else if (operands[1] && trusted_is_key(operands[1]) && !trusted_is_key(operands[0])) {
		err_set(&e, ERR_USAGE, NULL, "%.100s is a key and %.100s is not: KEY comes "
		        "before FILE", operands[1], operands[0]);
		err_hint(&e, "apr-sign %.100s %.100s", operands[1], operands[0]);
	} else if (state(&o, &s.says, &e) == 0 && secret_guard(&e) == 0) {
		s.key = key = passphrase_key(operands[0], &o.passphrase, &e);
	}
	if (key)
		filter_run(operands[1], &o.output, &f, &e);
	witness_free(&s.witness);
	model_free(&s.plan);
	key_secret_free(key);
	return tool_end(&e);
}
