#include "tool/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "stream/stream.h"
#include "tool/tool.h"

#define PIPE_BYTES (1 << 20)

/* The apr-unpack in the folder of the running program, never PATH's. */
static int
unpack_path(char *path, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 16);
	char *slash;

	if (n < 0)
		return err_errno(e, "/proc/self/exe", "cannot be read");
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "apr-unpack");
	if (access(path, X_OK) < 0)
		return err_errno(e, path, "reads model files for %s, but cannot be run",
		                 tool_name());
	return 0;
}

static int
start_child(struct input *in, int *fd, struct err *e)
{
	char program[4096];
	int ends[2];

	if (unpack_path(program, sizeof program, e) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, in->path, "a pipe cannot be made");
	/* Larger pieces, fewer turns; the system may refuse without harm. */
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	in->child = fork();
	if (in->child < 0) {
		in->child = 0;
		close(ends[0]);
		close(ends[1]);
		return err_errno(e, in->path, "apr-unpack cannot be started");
	}
	if (in->child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGPIPE, SIG_DFL);
		mem_unlimit();
		execl(program, "apr-unpack", "--", in->path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	*fd = ends[0];
	return 0;
}

/* Does the name stand for several files: an index, or one of them? */
static bool
is_several(const char *name)
{
	static const char *const indexes[] = { ".index.json", ".apr.json" };
	static const char *const shards[] = { ".gguf", ".apr", ".safetensors" };
	struct dir_number number;
	size_t i;

	for (i = 0; i < sizeof indexes / sizeof *indexes; i++)
		if (dir_name_ends(name, indexes[i]))
			return true;
	for (i = 0; i < sizeof shards / sizeof *shards; i++)
		if (dir_numbered(name, shards[i], &number))
			return true;
	return false;
}

/* What identifies the input: the file, or the folder in which all of it lies. */
static int
hold(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096] = ".";
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || !is_several(slash ? slash + 1 : path))
		return fd;
	close(fd);
	if (slash)
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
	return open(folder, O_PATH | O_CLOEXEC);
}

int
input_open(struct input *in, const char *path, struct err *e)
{
	struct reader r;
	int fd = STDIN_FILENO;

	*in = (struct input){ .held = -1 };
	path = tool_input(path, e);
	if (!path)
		return -1;
	if (strcmp(path, "-") == 0) {
		in->held = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		if (reader_fd(&r, STDIN_FILENO, "<stdin>", e) < 0)
			return -1;
	} else {
		in->path = path;
		in->held = hold(path);
		if (in->held < 0)
			return err_errno(e, path, "cannot be opened");
		if (start_child(in, &fd, e) < 0)
			return -1;
		if (reader_fd(&r, fd, path, e) < 0) {
			close(fd);
			return -1;
		}
		r.owns_fd = true;
	}
	in->source = stream_source(&r, e);
	return in->source ? 0 : -1;
}

/* Close the stream and wait for the child. Returns its status, or 0. */
static int
reap(struct input *in)
{
	int status = 0;

	source_close(in->source);
	in->source = NULL;
	if (in->held >= 0)
		close(in->held);
	in->held = -1;
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
		else if (WIFSIGNALED(status) && e->code == ERR_NONE)
			err_set(e, ERR_IO, in->path, "its reader was ended by signal %d",
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
	return in->child && left >= INPUT_FAR;
}

int
input_abandon(struct input *in, struct err *e)
{
	reap(in);
	return e->code == ERR_NONE ? 0 : -1;
}
