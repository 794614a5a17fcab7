#include "cli/each.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/text.h"

static const char *named;
static struct {
	const char *begin, *between, *end;
} around = { "", "", "" };

const char *
each_name(void)
{
	return named;
}

void
each_around(const char *begin, const char *between, const char *end)
{
	around.begin = begin;
	around.between = between;
	around.end = end;
}

/* Prints text before the next process does. */
static int
print_around(const char *text, struct err *e)
{
	return fputs(text, stdout) >= 0 && fflush(stdout) == 0
	           ? 0 : err_errno(e, "<stdout>", "cannot be written");
}

_Noreturn static void
leave(struct err *e, int worst)
{
	if (e->code == ERR_NONE && worst)
		*e = (struct err){ .code = ERR_CHILD, .status = worst };
	exit(tool_end(e));
}

/* Prints the heading that head(1) prints. */
static int
print_heading(const char *file, bool first, struct err *e)
{
	char name[4096];

	printf("%s==> %s <==\n", first ? "" : "\n",
	       text_quote(name, sizeof name, file, strlen(file)));
	return fflush(stdout) == 0 ? 0 : err_errno(e, "<stdout>", "cannot be written");
}

/* Waits for the process that reads file and returns its exit status. */
static int
await(pid_t child, const char *file)
{
	struct err e = ERR_INIT;
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* The user, or the reader of a pipe, has ended the whole command. */
	switch (WTERMSIG(status)) {
	case SIGHUP: case SIGINT: case SIGPIPE: case SIGTERM:
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	err_set(&e, ERR_IO, file, "its process was killed by signal %d", WTERMSIG(status));
	return tool_end(&e);
}

const char *
each_file(char **files, bool headed)
{
	struct err e = ERR_INIT;
	int status, worst = 0;
	size_t i;
	pid_t child;

	if (!files[0] || !files[1])
		return files[0];
	for (i = 0; files[i]; i++) {
		if (print_around(i == 0 ? around.begin : around.between, &e) < 0 ||
		    (headed && print_heading(files[i], i == 0, &e) < 0))
			leave(&e, worst);
		child = fork();
		if (child < 0) {
			err_errno(&e, files[i], "its process cannot be started");
			leave(&e, worst);
		}
		if (child == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
			tool_subject(files[i]);
			return named = files[i];
		}
		status = await(child, files[i]);
		worst = status > worst ? status : worst;
	}
	print_around(around.end, &e);
	leave(&e, worst);
}
