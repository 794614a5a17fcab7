/* apr-open: a sealed message -> its text, with the key of the recipient */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inference_key.h"
#include "cli/tool.h"
#include "core/base64.h"
#include "core/out.h"
#include "core/reader.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "crypto/seal/message.h"

struct options {
	struct opt_list identities;
	const char *reply, *path;
	bool force, publish;
};

static int
write_all(const char *path, const struct options *o, const void *p, size_t n,
          struct err *e)
{
	struct out_options where = { .path = path, .force = o->force, .terminal_ok = true,
		.input = -1 };
	struct out out = { .fd = -1 };
	int r = out_open(&out, &where, e);

	if (r == 0)
		r = out_put(&out, p, n);
	if (r == 0)
		r = out_flush(&out);
	/* This copy of the text is in ordinary memory. */
	if (out.window)
		secret_wipe(out.window, OUT_WINDOW);
	if (r == 0)
		r = out_finish(&out);
	out_abandon(&out);
	return r;
}

/* Writes the text. On a terminal, characters that could move the cursor are escaped: the
 * sender may be anyone. */
static int
write_words(const struct options *o, const struct secret *words, struct err *e)
{
	struct buf shown = { 0 };
	int r;

	if (o->path || !isatty(STDOUT_FILENO))
		return write_all(o->path, o, words->p, words->n, e);
	text_show(&shown, words->p, words->n);
	r = buf_ok(&shown) ? write_all(NULL, o, shown.p, shown.n, e) : err_memory(e);
	if (shown.p)
		secret_wipe(shown.p, shown.n);
	buf_free(&shown);
	return r;
}

static int
open_message(const struct options *o, const struct identities *with, const char *path,
             struct reader *r, struct err *e)
{
	struct secret words = { 0 };
	struct buf b = { 0 };
	struct addressee reply = { .answers = false };
	bool asks = false;
	int status = reader_rest(r, &b, MESSAGE_BYTES);

	if (status == 0 && b.n > MESSAGE_BYTES)
		status = err_set(e, ERR_CORRUPT, path, "is too long for a message");
	if (status == 0 && b.n == 0)
		status = err_set(e, ERR_CORRUPT, path, "is empty");
	if (status == 0)
		status = message_open(with, b.p, b.n, &words, &asks, &reply, path, e);
	if (status == 0 && o->reply && !asks)
		status = err_set(e, ERR_NO, path, "does not ask for an answer");
	if (status == 0 && o->reply)
		status = addressee_write(&reply, o->reply, o->force, e);
	if (status == 0)
		status = write_words(o, &words, e);
	secret_free(&words);
	addressee_free(&reply);
	buf_free(&b);
	return status;
}

/* Prints the keys that the owner writes into the metadata of a model. */
static int
publish(const struct identities *with, struct err *e)
{
	uint8_t key[AGREE_BYTES];
	struct buf b = { 0 };

	if (agree_public(identities_key(with, 0), key, e) < 0)
		return -1;
	base64_put(&b, key, sizeof key);
	if (!buf_string(&b))
		return err_memory(e);
	printf(INFERENCE_KEY "=str:%s\n" INFERENCE_PROTOCOL "=str:" MESSAGE_PROTOCOL "\n",
	       (char *)b.p);
	buf_free(&b);
	return 0;
}

static int
prepare(const struct options *o, struct identities *with, struct err *e)
{
	size_t i;

	if (!o->identities.n)
		return tool_misused(e, "no identity: use -i FILE");
	if (secret_guard(e) < 0)
		return -1;
	for (i = 0; i < o->identities.n; i++)
		if (identities_read(with, o->identities.items[i], e) < 0)
			return -1;
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		LIST('i', "identity", "FILE", &o.identities,
		     "decrypt with the identity in FILE"),
		TEXT(0, "reply-to", "FILE", &o.reply,
		     "write the key for an answer to FILE, for apr-seal -R"),
		TEXT('k', "", "FILE", &o.reply, NULL),
		FLAG(0, "publish", &o.publish,
		     "print the metadata that publishes the key; read no message"),
		TEXT('o', "output", "FILE", &o.path, "write to FILE"),
		FLAG('f', "force", &o.force, "replace existing files"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-open", "-i FILE [--reply-to FILE] [--publish] [-f] [-o FILE] [FILE]",
		"Decrypt a message sealed by apr-seal.", opts, 1
	};
	struct identities with = { .keys = { 0 } };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = operands[0] ? operands[0] : "-";
	struct reader r;

	sandbox_write(o.path, o.force);
	sandbox_write(o.reply, o.force);
	sandbox_prepare();
	if (prepare(&o, &with, &e) == 0 && o.publish) {
		publish(&with, &e);
	} else if (e.code == ERR_NONE && reader_open(&r, path, &e) == 0) {
		sandbox_enter();
		open_message(&o, &with, r.name, &r, &e);
		reader_close(&r);
	}
	identities_free(&with);
	return tool_end(&e);
}
