#include "cli/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/ids.h"
#include "cli/tool.h"

static int
read_all(int fd, const char *name, struct buf *text, struct err *e)
{
	uint8_t *room;
	ssize_t n;

	do {
		room = buf_room(text, 1 << 16);
		if (!room)
			return err_memory(e);
		n = read(fd, room, 1 << 16);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, name, "cannot be read");
		text->n += (size_t)n;
		if (text->n > PROMPT_BYTES)
			return err_set(e, ERR_MEMORY, name, "is longer than %u bytes", PROMPT_BYTES);
	} while (n != 0);
	return 0;
}

static int
read_file(const char *path, struct buf *text, struct err *e)
{
	bool standard = !strcmp(path, "-");
	const char *name = standard ? "<stdin>" : path;
	int done, fd = STDIN_FILENO;

	if (standard && isatty(fd))
		return tool_misused(e, "no prompt: use -p, -f or standard input");
	if (!standard) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_errno(e, name, "cannot be opened");
	}
	done = read_all(fd, name, text, e);
	if (!standard)
		close(fd);
	if (done == 0 && text->n > 0 && text->p[text->n - 1] == '\n')
		text->n--;
	if (done == 0 && text->n > 0 && text->p[text->n - 1] == '\r')
		text->n--;
	return done;
}

int
prompt_given(const struct prompt_from *from)
{
	return !!from->text + !!from->file + !!from->ids;
}

int
prompt_take(const struct prompt_from *from, const char *operand, struct buf *text,
            struct tokens *tokens, struct err *e)
{
	const char *file = from->file ? from->file : "-";

	if (from->ids) {
		if (ids_parse(tokens, from->ids, e) < 0)
			return -1;
		return tokens->n ? 0 : tool_misused(e, "--tokens: no token id is given");
	}
	if (from->text) {
		buf_text(text, from->text);
		return buf_ok(text) ? 0 : err_memory(e);
	}
	if (!strcmp(operand, "-") && !strcmp(file, "-"))
		return tool_misused(e, "standard input is the model: give the prompt with -p or "
		                    "-f");
	return read_file(file, text, e);
}

int
prompt_encode(struct tokenizer *t, const struct buf *text, struct tokens *to, struct err *e)
{
	uint32_t begin = tokenizer_role(t, TOKENIZER_BOS);
	size_t n = to->n;

	if (tokenizer_encode(t, text->p ? text->p : (const uint8_t *)"", text->n,
	                     TOKENIZER_SPECIAL, to, e) < 0)
		return -1;
	if (tokenizer_lost(t))
		tool_notef("%zu bytes of the text are dropped: the vocabulary has no token for "
		           "them", tokenizer_lost(t));
	if (to->n > n)
		return 0;
	if (begin == TOKEN_NONE)
		return tool_misused(e, "the prompt is empty, and the vocabulary has no BOS token");
	return tokens_add(to, begin, e);
}
