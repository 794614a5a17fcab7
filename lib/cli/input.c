#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/broker.h"
#include "core/buf.h"
#include "core/dir.h"
#include "core/embedded.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/pipe.h"
#include "core/program.h"
#include "core/remote.h"
#include "core/sandbox.h"
#include "stream/stream.h"

#define LENT 512              /* maximum number of these that are lent */

/* The arguments of input_trust. */
static struct {
	const char *path[2], *key;
	size_t count;
} trusted;

void
input_trust(const char *path, const char *key)
{
	/* A requirement must not be lost. */
	if (trusted.count == sizeof trusted.path / sizeof *trusted.path)
		abort();
	trusted.path[trusted.count++] = path ? path : "-";
	trusted.key = key;
}

static bool
is_trusted(const char *path)
{
	size_t i = 0;

	while (i < trusted.count && strcmp(trusted.path[i], path) != 0)
		i++;
	return trusted.key && i < trusted.count;
}

bool
input_is_signed_apr1(const char *path)
{
	uint8_t head[22];
	struct stat st;
	FILE *f;
	bool yes;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(f = fopen(path, "rb")))
		return false;
	yes = fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, "APRN", 4) == 0 &&
	      head[21] & 0x02;
	fclose(f);
	return yes;
}

/* Inputs whose children wait to be used: two models twice, or all that are merged. */
static struct input prepared[64];
static size_t prepared_count;

/* The input whose reader could not be started, if input_prepare was called for it. Inside the
 * sandbox, the reason would be another one. */
static struct {
	const char *path;
	struct err why;
} unprepared;

static const char *
reader_name(const struct input *in)
{
	if (in->run)
		return in->run[0];
	return in->trusts && !in->bytes_signed ? "apr-verify" : "apr-unpack";
}

/* In the child: waits for the byte that starts it, then runs the reader. */
_Noreturn static void
be_child(const struct input *in, const char *program, int go, int to)
{
	const char *path = in->run ? NULL : remote_source(in->path);
	struct buf lent = { 0 };
	char byte;
	size_t i;

	/* An open copy would hide the end of the other child's pipe from its reader. */
	for (i = 0; i < prepared_count; i++) {
		close(prepared[i].go);
		close(prepared[i].from);
	}
	close(in->go);
	close(in->from);
	broker_leave();
	dup2(to, STDOUT_FILENO);
	for (i = 0; i < in->lent_count; i++) {
		buf_printf(&lent, "%s%d", i ? "," : "", in->lent[i]);
		(void)fcntl(in->lent[i], F_SETFD, 0);
	}
	signal(SIGPIPE, SIG_DFL);
	while (read(go, &byte, 1) != 1)
		if (errno != EINTR)
			_exit(0);
	mem_unlimit();
	if (in->run)
		execv(program, (char *const *)(uintptr_t)in->run);
	else if (in->trusts && !*trusted.key)
		execl(program, "apr-verify", "--", path, (char *)NULL);
	else if (in->trusts)
		execl(program, reader_name(in), "--trusted-key", trusted.key, "--", path,
		      (char *)NULL);
	else if (in->lent_count > 0 && buf_string(&lent))
		execl(program, "apr-unpack", "--places", buf_string(&lent), "--", path, (char *)NULL);
	else
		execl(program, "apr-unpack", "--", path, (char *)NULL);
	_exit(PROGRAM_UNSTARTED);
}

static int
start_child(struct input *in, struct err *e)
{
	char program[4096];
	int data[2], go[2];

	if (program_beside(program, sizeof program, reader_name(in), "to read model files", e) < 0)
		return -1;
	if (pipe2(data, O_CLOEXEC) < 0)
		return err_errno(e, in->path, "a pipe cannot be created");
	if (pipe2(go, O_CLOEXEC) < 0) {
		close(data[0]);
		close(data[1]);
		return err_errno(e, in->path, "a pipe cannot be created");
	}
	pipe_widen(data[1]);
	in->from = data[0];
	in->go = go[1];
	errno = 0;
	in->child = fork();
	if (in->child == 0)
		be_child(in, program, go[0], data[1]);
	close(go[0]);
	close(data[1]);
	if (in->child > 0)
		return 0;
	in->child = 0;
	err_errno(e, in->path, "its reader cannot be started");
	close(in->go);
	close(in->from);
	in->go = in->from = -1;
	return -1;
}

/* Opens a descriptor that identifies the input: the file, or the folder of all its
 * files. No output can be a remote model. */
static int
hold(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096] = ".";
	int fd = open(remote_is(path) ? "/dev/null" : path, O_PATH | O_CLOEXEC);

	if (fd < 0 || remote_is(path) || !dir_is_several(slash ? slash + 1 : path))
		return fd;
	close(fd);
	if (slash)
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
	return open(folder, O_PATH | O_CLOEXEC);
}

/* Opens the file for threads of this process, which read faster than a process can send.
 * A named pipe must not be opened: its writer would take this process for its reader. A model
 * embedded in a program has other offsets than its reader reports. */
static int
lend_file(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || embedded_lies_in(fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int
add_lent(struct input *in, size_t *cap, const char *path)
{
	int fd = lend_file(path);

	if (fd >= 0 && mem_grow(&in->lent, cap, in->lent_count + 1, sizeof *in->lent) < 0) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		in->lent[in->lent_count++] = fd;
	return fd < 0 ? -1 : 0;
}

static int
is_weights(const struct dirent *d)
{
	/* The endings of files of a folder that hold tensors. */
	return d->d_name[0] != '.' && (dir_name_ends(d->d_name, ".safetensors") ||
	                               dir_name_ends(d->d_name, ".bin"));
}

static void
close_lent(struct input *in)
{
	size_t i;

	for (i = 0; i < in->lent_count; i++)
		close(in->lent[i]);
	free(in->lent);
	in->lent = NULL;
	in->lent_count = 0;
}

/* Open the file, or all files of weights of a folder: all of them or none. */
static void
lend(struct input *in, const char *path)
{
	struct dirent **list;
	char file[4096];
	size_t cap = 0;
	int i, n, r = 0;

	if (add_lent(in, &cap, path) == 0)
		return;
	n = scandir(path, &list, is_weights, alphasort);
	for (i = 0; i < n; i++) {
		if (r == 0 && snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name) <
		              (int)sizeof file)
			r = n <= LENT ? add_lent(in, &cap, file) : -1;
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (r < 0)
		close_lent(in);
}

int
input_spare(const char *path, const struct output_options *to, struct err *e)
{
	struct out_options where = { .path = to->path, .force = to->force, .from = path };
	int r, own = path && strcmp(path, "-") != 0 ? hold(path) : -1;

	where.input = path && own < 0 && strcmp(path, "-") == 0 ? STDIN_FILENO : own;
	r = where.input >= 0 ? out_refuse(&where, e) : 0;
	if (own >= 0)
		close(own);
	return r;
}

int
input_spare_all(const char *const *paths, size_t n, const struct output_options *to, struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (input_spare(paths[i], to, e) < 0)
			return -1;
	return 0;
}

static void
let_go(struct input *in)
{
	if (in->held >= 0)
		close(in->held);
	close_lent(in);
	in->held = -1;
}

static int
start(struct input *in, const char *path, struct err *e)
{
	bool trusts = is_trusted(path), piped = strcmp(path, "-") == 0;

	*in = (struct input){ .path = path, .go = -1, .from = -1, .trusts = trusts,
		.bytes_signed = trusts && *trusted.key && input_is_signed_apr1(path),
		.held = piped ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : hold(path) };
	if (in->held < 0 && embedded_is(path)) {
		err_set(e, ERR_USAGE, path, "is not verified by the program that it lies in");
		return err_hint(e, "apr-verify KEY FILE, with that program as FILE");
	}
	if (in->held < 0)
		return err_errno(e, path, "cannot be opened");
	if (!trusts)
		lend(in, path);
	return start_child(in, e);
}

void
input_prepare(const char *path)
{
	struct input *in = &prepared[prepared_count];
	struct err e = ERR_INIT;

	if (!path || (strcmp(path, "-") == 0 && !is_trusted(path)) || prepared_count == sizeof prepared / sizeof *prepared)
		return;
	if (start(in, path, &e) == 0) {
		prepared_count++;
		return;
	}
	let_go(in);
	unprepared.path = path;
	unprepared.why = e;
}

void
input_prepare_run(const char *path, const char *const *run)
{
	struct input *in = &prepared[prepared_count];
	struct err e = ERR_INIT;

	if (prepared_count == sizeof prepared / sizeof *prepared)
		return;
	*in = (struct input){ .path = path, .run = run, .go = -1, .from = -1, .held = -1 };
	if (start_child(in, &e) == 0) {
		prepared_count++;
		return;
	}
	unprepared.path = path;
	unprepared.why = e;
}

/* Takes the child that was prepared for this path. False if there is none. */
static bool
take_prepared(struct input *in, const char *path)
{
	size_t i;

	for (i = 0; i < prepared_count; i++)
		if (prepared[i].path == path) {
			*in = prepared[i];
			prepared[i] = prepared[--prepared_count];
			return true;
		}
	return false;
}

static int
open_child(struct input *in, const char *path, struct reader *r, struct err *e)
{
	int fd;

	if (!take_prepared(in, path)) {
		if (unprepared.path == path) {
			*e = unprepared.why;
			return -1;
		}
		if (start(in, path, e) < 0)
			return -1;
	}
	sandbox_enter();
	fd = in->from;
	in->from = -1;
	if (write(in->go, "", 1) < 0 || close(in->go) < 0)
		err_errno(e, path, "its reader cannot be started");
	in->go = -1;
	if (e->code != ERR_NONE || reader_fd(r, fd, path, e) < 0) {
		close(fd);
		return -1;
	}
	r->owns_fd = true;
	return 0;
}

int
input_open_sealed(struct input *in, const char *path, struct err *e)
{
	struct reader r;

	*in = (struct input){ .go = -1, .from = -1, .held = -1 };
	path = tool_input(path, e);
	if (!path)
		return -1;
	if (strcmp(path, "-") != 0 || is_trusted(path)) {
		if (open_child(in, path, &r, e) < 0)
			return -1;
	} else {
		in->held = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		sandbox_enter();
		if (reader_fd(&r, STDIN_FILENO, "<stdin>", e) < 0)
			return -1;
	}
	in->source = stream_source(&r, e);
	if (!in->source)
		return -1;
	in->source->sealed_too = true;
	in->source->verified = in->trusts && !in->bytes_signed;
	if (in->lent_count > 0)
		stream_lend(in->source, in->lent, in->lent_count);
	return 0;
}

int
input_open(struct input *in, const char *path, struct err *e)
{
	return input_open_sealed(in, path, e) < 0 ? -1 : source_check_open(in->source, e);
}

bool
input_reopens(const char *path)
{
	struct stat st;

	if (!path || strcmp(path, "-") == 0)
		return false;
	return remote_is(path) ||
	       (stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)));
}

int
input_reopen(struct input *again, const struct input *first, struct err *e)
{
	const struct model *a, *b = first->source->plan;
	size_t i = 0;

	if (input_open(again, first->path, e) < 0)
		return -1;
	a = again->source->plan;
	while (i < a->tensor_count && i < b->tensor_count &&
	       tensor_same(a->tensors[i], b->tensors[i]))
		i++;
	if (i < a->tensor_count || i < b->tensor_count)
		return err_set(e, ERR_CORRUPT, first->path, "changed while it was read");
	return 0;
}

/* Closes the stream and waits for the child. Returns its status, or 0. */
static int
reap(struct input *in)
{
	int status = 0;

	source_close(in->source);
	in->source = NULL;
	let_go(in);
	if (in->child)
		while (waitpid(in->child, &status, 0) < 0 && errno == EINTR)
			;
	in->child = 0;
	return status;
}

int
input_close(struct input *in, struct err *e)
{
	bool child = in->child != 0;
	int status = reap(in);

	if (child) {
		if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
			*e = (struct err){ .code = ERR_CHILD, .status = WEXITSTATUS(status) };
		if (WIFEXITED(status) && WEXITSTATUS(status) == PROGRAM_UNSTARTED)
			program_unstarted(reader_name(in), e);
		else if (WIFSIGNALED(status) && e->code == ERR_NONE)
			err_set(e, ERR_IO, in->path, "its reader was killed by signal %d",
			        WTERMSIG(status));
	}
	return e->code == ERR_NONE ? 0 : -1;
}

bool
input_may_stop(const struct input *in, size_t tensor)
{
	const struct model *m = in->source->plan;
	uint64_t left = 0;

	while (++tensor < m->tensor_count && left < INPUT_FAR)
		left += num_min(tensor_bytes(m->tensors[tensor]), INPUT_FAR);
	return in->child && !in->trusts && left >= INPUT_FAR;
}

int
input_abandon(struct input *in, struct err *e)
{
	bool child = in->child != 0;
	int status = reap(in);

	if (child && WIFEXITED(status) && WEXITSTATUS(status) == PROGRAM_UNSTARTED)
		program_unstarted(reader_name(in), e);
	if (!child && e->code == ERR_NONE)
		tool_drain();
	return e->code == ERR_NONE ? 0 : -1;
}
