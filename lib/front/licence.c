#include "front/licence.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"
#include "front/find.h"

#define LINE "license " /* begins the line of apr-meta card */

_Noreturn static void
ask(const char *path, const char *file, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* The text is read here, whatever the user's settings are. */
	setenv("APR_OUTPUT_FORMAT", "text", 1);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
	    dup2(out, STDOUT_FILENO) >= 0)
		execl(path, "apr-meta", "card", "--", file, (char *)NULL);
	_exit(127);
}

static void
take(const char *line, char *text, size_t size)
{
	size_t n;

	if (strncmp(line, LINE, strlen(LINE)) != 0)
		return;
	line += strlen(LINE);
	line += strspn(line, " ");
	n = strcspn(line, "\n");
	text_quote(text, size, line, n);
}

int
front_licence(const char *file, char *text, size_t size)
{
	char path[PATH_MAX], line[512];
	int fd[2], status = -1;
	FILE *in = NULL;
	pid_t pid;

	*text = '\0';
	if (!front_find("apr-meta", path) || pipe2(fd, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		ask(path, file, fd[1]);
	close(fd[1]);
	in = pid > 0 ? fdopen(fd[0], "r") : NULL;
	while (in && fgets(line, sizeof line, in))
		take(line, text, size);
	if (in)
		fclose(in);
	else
		close(fd[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status == 0 ? 0 : -1;
}
