#include "cli/meta/inplace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/rewrite.h"
#include "core/spool.h"

/* Waits for the child. 0 if it succeeded. */
static int
wait_for(pid_t child, const char *path, struct err *e)
{
	pid_t ended;
	int status = 0;

	while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		;
	if (ended < 0)
		return err_errno(e, path, "the end of its reader is not known");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (!WIFEXITED(status))
		return err_set(e, ERR_IO, path, "its reader was killed by signal %d",
		               WTERMSIG(status));
	*e = (struct err){ .code = ERR_CHILD, .status = WEXITSTATUS(status) };
	return -1;
}

static int
run_child(struct rewrite *w, int (*make)(void *ctx, int file, int to, struct err *e),
          void *ctx, int to, struct err *e)
{
	pid_t child;

	signal(SIGCHLD, SIG_DFL); /* if the caller ignored it, the child's status would be lost */
	child = fork();
	if (child < 0)
		return err_errno(e, w->name, "its reader cannot be started");
	if (child == 0) {
		make(ctx, w->fd, to, e);
		exit(tool_end(e));
	}
	return wait_for(child, w->name, e);
}

/* A folder's metadata is in its model.safetensors, if it has a single file of tensors. */
static int
refuse_folder(const char *path, struct err *e)
{
	char file[4096];
	int n = snprintf(file, sizeof file, "%s/model.safetensors", path);

	err_set(e, ERR_FORMAT, path, "is a folder, which cannot be changed in place");
	if (n > 0 && (size_t)n < sizeof file && access(file, F_OK) == 0)
		return err_hint(e, "its file model.safetensors can, if it has room");
	return err_hint(e, INPLACE_ELSE);
}

int
inplace_change(const char *path, int (*make)(void *ctx, int file, int to, struct err *e),
               void *ctx, struct err *e)
{
	struct rewrite w;
	struct stat st;
	int to = -1, r = -1;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return refuse_folder(path, e);
	if (rewrite_open(&w, path, e) == 0) {
		if (w.completed)
			tool_notef("%.200s: an earlier change, which was interrupted, is completed", path);
		to = spool_file(e);
	}
	if (to >= 0 && run_child(&w, make, ctx, to, e) == 0) {
		if (fstat(to, &st) < 0)
			err_errno(e, path, "its new header cannot be read");
		else
			r = st.st_size ? rewrite_head(&w, to, (uint64_t)st.st_size, e) : 0;
	}
	if (to >= 0)
		close(to);
	rewrite_close(&w);
	return r;
}
