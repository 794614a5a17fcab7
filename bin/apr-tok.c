/* apr-tok: turn text into token ids, and back */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ids.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/near.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "formats/format.h"
#include "load/load_tokenizer.h"
#include "report/tokens_text.h"

struct options {
	const char *text, *tokens, *trusted;
	bool json, pieces, count, lines, bare, special, any;
};

/* --trusted-key: reads the model from its verifier. The signature holds once all of it
 * has been read. */
static struct tokenizer *
open_trusted(const char *path, const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = NULL;
	struct input in;

	if (input_open(&in, path, e) == 0)
		t = load_tokenizer_source(in.source, o, e);
	if (input_close(&in, e) == 0)
		return t;
	tokenizer_free(t);
	return NULL;
}

struct job {
	struct tokenizer *t;
	const struct options *o;
	enum tokens_form form;
	unsigned flags;
	size_t lost;
	struct buf text; /* the text to print */
};

static int
encode(struct job *j, const char *text, size_t n, struct err *e)
{
	struct tokens list = { 0 };
	int r = tokenizer_encode(j->t, text, n, j->flags, &list, e);

	j->lost += tokenizer_lost(j->t);
	if (r == 0) {
		tokens_put(&j->text, j->t, &list, j->form);
		r = tool_print(&j->text, e);
	}
	tokens_free(&list);
	return r;
}

static int
decode(struct job *j, const char *text, size_t n, struct err *e)
{
	char *line = mem_text(text, n);
	struct tokens list = { 0 };
	struct buf b = { 0 }, shown = { 0 };
	int r = line ? 0 : err_memory(e);

	if (n > 0 && memchr(text, 0, n))
		r = err_set(e, ERR_USAGE, NULL, "a NUL is not a token id");
	if (r == 0)
		r = ids_parse(&list, line, e);
	if (r == 0)
		r = tokenizer_decode(j->t, list.id, list.n, j->flags, &b, e);
	if (r == 0 && isatty(STDOUT_FILENO))
		text_show(&shown, b.p, b.n);
	else if (r == 0)
		buf_put(&shown, b.p, b.n);
	if (r == 0 && !buf_ok(&shown))
		r = err_memory(e);
	if (r == 0 && shown.n > 0)
		fwrite(shown.p, 1, shown.n, stdout);
	if (r == 0 && j->o->lines)
		putchar('\n');
	tokens_free(&list);
	buf_free(&b);
	buf_free(&shown);
	free(line);
	return r;
}

static int
work(struct job *j, int (*one)(struct job *, const char *, size_t, struct err *),
     const char *text, size_t n, struct err *e)
{
	size_t length;
	const char *newline;

	if (!j->o->lines)
		return one(j, text, n, e);
	for (; n > 0; text += length, n -= length) {
		newline = memchr(text, '\n', n);
		length = newline ? (size_t)(newline - text) : n;
		if (one(j, text, length, e) < 0)
			return -1;
		length += newline != NULL;
	}
	return 0;
}

static int
run(const char *verb, const char *path, const struct options *o, struct err *e)
{
	const struct tokenizer_options how = { .any = o->any, .note = tool_note };
	bool encodes = strcmp(verb, "encode") == 0;
	struct job j = { .o = o };
	const char *given = encodes ? o->text : o->tokens;
	struct buf input = { 0 };
	struct reader r;
	int status = -1;

	j.form = o->json ? TOKENS_JSON : o->pieces ? TOKENS_PIECES
	         : o->count ? TOKENS_COUNT : TOKENS_IDS;
	j.flags = (o->bare ? TOKENIZER_BARE : 0) | (o->special ? TOKENIZER_SPECIAL : 0);
	if (given) {
		buf_text(&input, given);
	} else if (reader_fd(&r, STDIN_FILENO, "<stdin>", e) < 0) {
		return -1;
	} else {
		status = reader_rest(&r, &input, SIZE_MAX);
		reader_close(&r);
		if (status < 0)
			goto end;
	}
	j.t = o->trusted ? open_trusted(path, &how, e) : load_tokenizer(path, &how, e);
	if (j.t)
		status = work(&j, encodes ? encode : decode, buf_string(&input), input.n, e);
	else
		status = -1;
	if (status == 0 && j.lost)
		tool_notef("%zu bytes have no token and were left out", j.lost);
end:
	buf_free(&j.text);
	tokenizer_free(j.t);
	buf_free(&input);
	return status;
}

static const char *
verb_word(unsigned i)
{
	static const char *const verbs[] = { "encode", "decode", NULL };

	return verbs[i];
}

static int
refuse_verb(const char *verb, struct err *e)
{
	tool_misused(e, "%.80s is neither encode nor decode", verb);
	near_words(e, verb, verb_word);
	return -1;
}

static int
check(char **operands, const struct options *o, struct err *e)
{
	bool encodes = operands[0] && strcmp(operands[0], "encode") == 0;
	bool decodes = operands[0] && strcmp(operands[0], "decode") == 0;

	if (!operands[0])
		return tool_misused(e, "encode or decode is expected");
	if (!encodes && !decodes)
		return refuse_verb(operands[0], e);
	if (o->pieces + o->json + o->count > 1)
		return tool_misused(e, "only one of --pieces, --json and --count can be given");
	if (decodes && (o->pieces || o->json || o->count || o->bare || o->text))
		return tool_misused(e, "decode takes none of --text, --bare, --pieces, --json and "
		                    "--count");
	if (encodes && o->tokens)
		return tool_misused(e, "encode takes no --tokens");
	if (!operands[1] && !o->text && !o->tokens)
		return tool_misused(e, "standard input is the text, or the ids: a MODEL is expected");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		ANY_TEXT('p', "text", "TEXT", &o.text, "encode TEXT instead of standard input"),
		TEXT(0, "tokens", "ID,ID,...", &o.tokens,
		     "decode these ids instead of standard input"),
		FLAG(0, "lines", &o.lines, "take each line as a text, or as a list of ids"),
		FLAG(0, "special", &o.special, "read and write the text of control tokens"),
		FLAG(0, "bare", &o.bare, "add no BOS and no EOS token"),
		FLAG(0, "pieces", &o.pieces, "print one token per line: id, text"),
		FLAG(0, "json", &o.json, "print one object per token"),
		FLAG(0, "count", &o.count, "print only the number of tokens"),
		FLAG(0, "any-tokenizer", &o.any,
		     "use the default pattern if the model's is unknown"),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-tok",
		"encode | decode [-p TEXT | --tokens ID,ID,...] [--lines] [--special]\n"
		"[--bare] [--pieces | --json | --count] [--any-tokenizer]\n"
		"[--trusted-key KEY] [MODEL]",
		"Turn text into the token ids of a model, or ids into text.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = check(operands, &o, &e) == 0 ? tool_input(operands[1], &e) : NULL;

	/* A tensor file of a model folder needs the files beside it. */
	char *folder = path ? format_folder_of(path) : NULL;

	if (folder) {
		tool_notef("%s is read with the files of its folder", path);
		path = folder;
	}
	input_trust(path, o.trusted);
	if (o.trusted)
		input_prepare(path);
	else
		sandbox_read(path);
	if (format_may_spool(path))
		sandbox_spool();
	sandbox_enter();
	if (path)
		run(operands[0], path, &o, &e);
	free(folder);
	return tool_end(&e);
}
