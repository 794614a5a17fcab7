#include "cli/quant/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/buf.h"
#include "core/mem.h"

#define ANSWER 256 /* maximum bytes read; names of types are shorter */
#define ARGUMENTS 4

/* The answer: the command's wait status and its output. */
struct reply {
	int status;
	uint32_t bytes;
	char text[ANSWER];
};

/* Writes all n bytes. Returns -1 if the other side has closed the pipe. */
static int
put(int fd, const void *p, size_t n)
{
	const char *at = p;
	ssize_t done;

	for (; n > 0; at += done, n -= (size_t)done) {
		done = write(fd, at, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return -1;
	}
	return 0;
}

static int
get(int fd, void *p, size_t n)
{
	char *at = p;
	ssize_t done;

	for (; n > 0; at += done, n -= (size_t)done) {
		done = read(fd, at, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return -1;
	}
	return 0;
}

/* ---- the process that runs the command ---- */

/* Runs the command. Names are arguments and never part of the command. */
_Noreturn static void
become(const char *script, char *const arguments[ARGUMENTS], int out)
{
	dup2(out, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execl("/bin/sh", "sh", "-c", script, "apr-quant", arguments[0], arguments[1],
	      arguments[2], arguments[3], (char *)NULL);
	_exit(127);
}

/* Reads the output of the command and ignores bytes beyond ANSWER. */
static uint32_t
listen_to(int fd, char text[ANSWER])
{
	size_t n = 0;
	ssize_t got;

	while (n < ANSWER) {
		got = read(fd, text + n, ANSWER - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return (uint32_t)n;
}

static void
run(const char *script, char *const arguments[ARGUMENTS], struct reply *r)
{
	int ends[2];
	pid_t child;

	r->status = 127 << 8;
	r->bytes = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0)
		become(script, arguments, ends[1]);
	close(ends[1]);
	if (child > 0)
		r->bytes = listen_to(ends[0], r->text);
	close(ends[0]);
	while (child > 0 && waitpid(child, &r->status, 0) < 0 && errno == EINTR)
		;
}

/* Answers questions. A question is its length and four texts, each ending in NUL. */
_Noreturn static void
serve(const char *script, int from, int to)
{
	struct reply r = { 0 };
	char *arguments[ARGUMENTS], *text = NULL;
	size_t cap = 0, i;
	uint32_t n;
	char *at;

	while (get(from, &n, sizeof n) == 0) {
		if (mem_grow(&text, &cap, n, 1) < 0 || get(from, text, n) < 0)
			break;
		for (at = text, i = 0; i < ARGUMENTS; i++, at += strlen(at) + 1)
			arguments[i] = at;
		run(script, arguments, &r);
		if (put(to, &r, sizeof r) < 0)
			break;
	}
	_exit(0);
}

int
hook_begin(struct hook *h, const char *command, struct err *e)
{
	int ask[2], answer[2], nothing;
	struct buf script = { 0 };

	buf_printf(&script, "%s \"$@\"", command);
	if (!buf_string(&script)) {
		buf_free(&script);
		return err_memory(e);
	}
	if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 ||
	    (h->child = fork()) < 0) {
		h->child = 0;
		buf_free(&script);
		return err_errno(e, "--hook", "its process cannot be started");
	}
	if (h->child == 0) {
		close(ask[1]);
		close(answer[0]);
		broker_leave();
		/* The command must not reach the model or the output. */
		nothing = open("/dev/null", O_RDWR);
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
		mem_unlimit();
		serve((char *)script.p, ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	h->ask = ask[1];
	h->answer = answer[0];
	buf_free(&script);
	return 0;
}

/* ---- the side that asks ---- */

static int
question(const struct hook *h, const struct tensor *t, const struct dtype *type,
         struct reply *r, struct err *e)
{
	char shape[TENSOR_SHAPE_TEXT];
	const char *texts[ARGUMENTS] = { tensor_name(t), tensor_shape_text(t, shape),
		tensor_type(t)->name, type->name };
	struct buf b = { 0 };
	uint32_t n;
	int status;
	size_t i;

	for (i = 0; i < ARGUMENTS; i++)
		buf_put(&b, texts[i], strlen(texts[i]) + 1);
	n = (uint32_t)b.n;
	if (!buf_ok(&b)) {
		buf_free(&b);
		return err_memory(e);
	}
	status = put(h->ask, &n, sizeof n) < 0 || put(h->ask, b.p, b.n) < 0 ||
	         get(h->answer, r, sizeof *r) < 0;
	buf_free(&b);
	return status ? err_set(e, ERR_IO, "--hook", "its process has ended") : 0;
}

int
hook_ask(void *ctx, const struct tensor *t, const struct dtype **type, struct err *e)
{
	const struct dtype *found;
	struct reply r;
	char *word;

	if (question(ctx, t, *type, &r, e) < 0)
		return -1;
	if (r.status != 0)
		return err_set(e, ERR_IO, tensor_name(t), "the hook failed with status %d",
		               WIFEXITED(r.status) ? WEXITSTATUS(r.status)
		                                   : 128 + WTERMSIG(r.status));
	r.text[r.bytes < ANSWER ? r.bytes : ANSWER - 1] = '\0';
	word = r.text + strspn(r.text, " \t\r\n");
	word[strcspn(word, " \t\r\n")] = '\0';
	if (!*word)
		return 0;
	found = strcasecmp(word, "keep") ? dtype_asked(word) : tensor_type(t);
	if (!found || !dtype_sized(found))
		return err_set(e, ERR_USAGE, tensor_name(t), "the hook printed %.40s, which is not a type",
		               word);
	*type = found;
	return 0;
}

void
hook_end(struct hook *h)
{
	if (!h->child)
		return;
	/* The helper ends when its pipe is closed. Do not wait for it: a reader that was
	 * prepared but not used (cli/input.h) holds its pipe until this process ends. */
	close(h->ask);
	close(h->answer);
	h->child = 0;
}
