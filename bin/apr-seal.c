/* apr-seal: a message -> a sealed message for the owner of a model */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/inference_key.h"
#include "cli/tool.h"
#include "core/out.h"
#include "core/sandbox.h"
#include "crypto/seal/message.h"
#include "crypto/trusted.h"

struct options {
	const char *model, *recipient, *recipients, *reply;
	struct opt_list keys;
	const char *path;
	bool force, unverified;
};

/* Reads the whole message. */
static int
read_words(const char *path, struct secret *words, struct err *e)
{
	bool is_stdin = !path || strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;

	if (fd < 0)
		return err_errno(e, path, "cannot be opened");
	r = secret_alloc(words, MESSAGE_WORDS, e);
	if (r == 0)
		r = secret_read(words, fd, ERR_USAGE, is_stdin ? "<stdin>" : path, e);
	if (!is_stdin)
		close(fd);
	return r;
}

/* Finds the key that a model publishes. Unless --unverified is given, a trusted key must
 * have signed the model. */
static int
find_owner(const struct options *o, uint8_t key[AGREE_BYTES], struct err *e)
{
	struct trusted keys = { .n = 0 };
	int r = 0;

	if (o->keys.n)
		r = trusted_files(&keys, o->keys.items, o->keys.n, e);
	else if (!o->unverified)
		r = trusted_load(&keys, e);
	if (r == 0)
		r = inference_key(o->model, o->unverified ? NULL : &keys, key, e);
	if (e->code == ERR_SIGNATURE && !e->hint[0])
		err_hint(e, "--trusted-key KEY names the signer; --unverified requires no "
		         "signature");
	trusted_free(&keys);
	return r;
}

static int
find_addressee(const struct options *o, struct addressee *to, struct err *e)
{
	static struct recipients one;

	if (!!o->model + !!o->recipient + !!o->recipients != 1)
		return tool_misused(e, "use one of -m MODEL, -r age1... and -R FILE");
	if (o->model && strcmp(o->model, "-") == 0)
		return tool_misused(e, "-m -: standard input is the message");
	if (!o->model && (o->keys.n || o->unverified))
		return tool_misused(e, "--trusted-key and --unverified need -m MODEL");
	if (o->keys.n && o->unverified)
		return tool_misused(e, "use --trusted-key or --unverified, not both");
	if (o->model)
		return find_owner(o, to->key, e);
	if (o->recipients && addressee_read(to, o->recipients, e) < 0)
		return -1;
	if (o->recipient && recipients_add(&one, o->recipient, e) < 0)
		return -1;
	sandbox_enter();
	if (o->recipient)
		memcpy(to->key, one.key[0], AGREE_BYTES);
	return 0;
}

static int
send(const struct options *o, const struct addressee *to, const struct secret *words,
     struct err *e)
{
	struct out_options where = { .path = o->path, .force = o->force, .input = -1 };
	struct addressee reply = { .answers = false };
	uint8_t public[AGREE_BYTES];
	struct secret pair = { 0 };
	struct out out = { .fd = -1 };
	struct buf b = { 0 };
	int r = out_open(&out, &where, e);

	if (r == 0)
		r = secret_alloc(&pair, AGREE_BYTES, e);
	if (r == 0)
		r = agree_new(pair.p, public, e);
	/* The identity must exist before a message that asks for an answer is sent. */
	if (r == 0 && o->reply)
		r = identity_make(o->reply, o->force, &reply, e);
	if (r == 0)
		r = message_seal(to, o->reply ? &reply : NULL, pair.p, words->p, words->n, &b, e);
	if (r == 0)
		r = out_put(&out, b.p, b.n);
	if (r == 0)
		r = out_finish(&out);
	out_abandon(&out);
	buf_free(&b);
	addressee_free(&reply);
	secret_free(&pair);
	return r;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT('m', "model", "MODEL", &o.model,
		     "seal for the owner of MODEL, whose metadata holds the key"),
		LIST(0, "trusted-key", "KEY", &o.keys,
		     "with -m: trust the public key in the file KEY, and no other"),
		FLAG(0, "unverified", &o.unverified,
		     "with -m: accept a model without a trusted signature"),
		TEXT('r', "recipient", "age1...", &o.recipient,
		     "seal for the owner of this age public key"),
		TEXT('R', "recipients-file", "FILE", &o.recipients,
		     "seal for the key in FILE, which apr-open may have written"),
		TEXT('k', "reply-key", "FILE", &o.reply,
		     "ask for an answer: write the identity that opens it to FILE"),
		TEXT('o', "output", "FILE", &o.path, "write to FILE"),
		FLAG('f', "force", &o.force, "replace existing files"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-seal", "-m MODEL [--trusted-key KEY | --unverified] | -r age1... | -R FILE\n"
		"[-k FILE] [-f] [-o FILE] [FILE]",
		"Seal a message for the owner of a model, or an answer.", opts, 1
	};
	struct addressee to = { .answers = false };
	struct secret words = { 0 };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	sandbox_write(o.path, o.force);
	sandbox_write(o.reply, o.force);
	sandbox_prepare();
	if (secret_guard(&e) == 0 && read_words(operands[0], &words, &e) == 0 &&
	    find_addressee(&o, &to, &e) == 0)
		send(&o, &to, &words, &e);
	addressee_free(&to);
	secret_free(&words);
	return tool_end(&e);
}
