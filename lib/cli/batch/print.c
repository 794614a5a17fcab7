#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/batch/batch.h"
#include "cli/tool.h"
#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"

#define TAIL 4096          /* bytes of messages in which the last line is looked for */
#define SHOWN (64u << 10)  /* bytes of output that an object may have */
#define MODEL_MOST 60      /* columns of a model in the table */

static uint64_t
size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Reads up to n bytes from an offset. */
static size_t
read_at(int fd, uint64_t at, void *p, size_t n)
{
	size_t done = 0;
	ssize_t r = 1;

	while (done < n && (r > 0 || (r < 0 && errno == EINTR))) {
		r = pread(fd, (char *)p + done, n - done, (off_t)(at + done));
		done += r > 0 ? (size_t)r : 0;
	}
	return done;
}

/* Copies a file to a stream of stdio. */
static int
copy(int fd, FILE *to)
{
	char room[1 << 14];
	uint64_t at = 0;
	size_t n;

	while ((n = read_at(fd, at, room, sizeof room)) > 0) {
		if (fwrite(room, 1, n, to) != n)
			return -1;
		at += n;
	}
	return fflush(to) == 0 ? 0 : -1;
}

/* ---- the last message ---- */

/* Removes colours, in place. */
static void
strip(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\033' && s[1] == '[') {
			s += 2;
			s += strspn(s, "0123456789;?");
			s += *s != '\0';
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Finds the last line that is neither empty nor a hint. */
static void
find_message(struct batch_run *x)
{
	const uint64_t bytes = size_of(x->err), from = bytes > TAIL ? bytes - TAIL : 0;
	char text[TAIL + 1], *line, *end;
	size_t n = read_at(x->err, from, text, TAIL), i;

	for (i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	text[n] = '\0';
	for (end = text + n; end > text; end = line) {
		*end = '\0';
		for (line = end; line > text && line[-1] != '\n' && line[-1] != '\r'; line--)
			;
		strip(line);
		if (*line && strncmp(line, "hint: ", 6) != 0) {
			text_quote(x->message, sizeof x->message, line, strlen(line));
			return;
		}
		line -= line > text;
	}
}

/* ---- one run ---- */

static int
print_object(const struct batch_run *x)
{
	struct buf b = { 0 }, text = { 0 };
	const uint64_t bytes = size_of(x->out);
	uint8_t *room = bytes <= SHOWN ? buf_room(&text, SHOWN) : NULL;
	struct err ignored = ERR_INIT;
	json_t *o = json_object();

	json_object_set_new(o, "model", lines_file_name(x->model));
	if (x->signal)
		json_object_set_new(o, "signal", json_integer(x->signal));
	else
		json_object_set_new(o, "exit", json_integer(x->status));
	json_object_set_new(o, "milliseconds", json_integer((json_int_t)(x->seconds * 1000)));
	json_object_set_new(o, "message", json_string(x->message));
	json_object_set_new(o, "stdout_bytes", json_from_u64(bytes));
	if (room) {
		text.n = read_at(x->out, 0, room, SHOWN);
		if (text_utf8(text.p, text.n, false))
			json_object_set_new(o, "stdout", json_stringn((char *)text.p, text.n));
	}
	buf_free(&text);
	lines_json(&b, o);
	tool_print(&b, &ignored);
	buf_free(&b);
	return fflush(stdout) == 0 && ignored.code == ERR_NONE ? 0 : -1;
}

/* Data is not shown on a terminal. */
static bool
is_data(int fd)
{
	char room[TAIL];

	return isatty(STDOUT_FILENO) && memchr(room, '\0', read_at(fd, 0, room, sizeof room));
}

int
batch_print(const struct batch *b, struct batch_run *x, struct err *e)
{
	char name[1024];
	int r = 0;

	find_message(x);
	if (size_of(x->err) > 0) {
		if (b->n > 1)
			fprintf(stderr, "==> %s <==\n",
			        text_quote(name, sizeof name, x->model, strlen(x->model)));
		copy(x->err, stderr);
	}
	errno = 0;
	if (b->json)
		r = print_object(x);
	else if (is_data(x->out))
		tool_notef("%s: its output is data, and not shown on a terminal", x->model);
	else
		r = copy(x->out, stdout);
	close(x->out);
	close(x->err);
	x->out = x->err = -1;
	return r < 0 ? err_errno(e, "<stdout>", "cannot be written") : 0;
}

/* ---- the table ---- */

static void
put_padded(struct buf *to, const char *text, size_t width)
{
	size_t n = text_columns(text);

	buf_text(to, text);
	buf_printf(to, "%*s", n < width ? (int)(width - n) : 0, "");
}

static void
put_run(struct buf *to, const struct batch_run *x, size_t width)
{
	char name[1024], how[32];

	if (!x->started)
		snprintf(how, sizeof how, "-");
	else if (x->signal)
		snprintf(how, sizeof how, "signal %d", x->signal);
	else
		snprintf(how, sizeof how, "%d", x->status);
	put_padded(to, text_quote(name, sizeof name, x->model, strlen(x->model)), width);
	buf_printf(to, "  %9s  %8.1f s%s%s\n", how, x->seconds, *x->message ? "  " : "",
	           x->started ? x->message : "  not started");
}

int
batch_table(const struct batch *b, struct buf *to)
{
	char name[1024];
	size_t i, width = 5, failed = 0, columns;
	int worst = 0, status;

	for (i = 0; i < b->n; i++) {
		columns = text_columns(text_quote(name, sizeof name, b->runs[i].model,
		                                  strlen(b->runs[i].model)));
		if (columns > width)
			width = columns < MODEL_MOST ? columns : MODEL_MOST;
	}
	put_padded(to, "model", width);
	buf_printf(to, "  %9s  %10s  %s\n", "exit", "time", "last message");
	for (i = 0; i < b->n; i++) {
		const struct batch_run *x = &b->runs[i];

		put_run(to, x, width);
		status = x->signal || !x->ended ? 1 : x->status;
		failed += status != 0;
		worst = status > worst ? status : worst;
	}
	buf_printf(to, "%zu model%s, %zu failed\n", b->n, b->n == 1 ? "" : "s", failed);
	return worst;
}
