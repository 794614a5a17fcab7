#include "core/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/part.h"
#include "core/payload.h"

static struct payload own; /* stays until the process ends, */
static int program = -1;   /* and so does its file */
static char model[sizeof EMBEDDED + PAYLOAD_NAME];
static char **words;       /* of the command, as long as the process */

/* Opens a path if it is an ELF file, above the descriptors of standard streams. */
static int
open_program(const char *path)
{
	int fd = path && *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1, copy;
	char magic[4] = "";

	if (fd < 0)
		return -1;
	copy = pread(fd, magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0
	       ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	close(fd);
	return copy;
}

int
embedded_begin(struct err *e)
{
	const char *path = (const char *)getauxval(AT_EXECFN);

	program = open_program(path);
	if (program < 0)
		program = open_program(path = "/proc/self/exe");
	if (program < 0)
		return 0;
	if (payload_read(&own, program, path, e) < 0)
		return -1;
	if (own.count > 0) {
		snprintf(model, sizeof model, EMBEDDED "%s", own.files[0].name);
		return 0;
	}
	close(program);
	program = -1;
	return 0;
}

const char *
embedded_model(void)
{
	return own.count > 0 ? model : NULL;
}

char **
embedded_command(int *argc, char **argv, int *user)
{
	size_t n = own.word_count, rest = *argc > 1 ? (size_t)*argc - 1 : 0;

	if (own.count == 0)
		return argv;
	free(words); /* those of an earlier call */
	words = mem_array(2 + n + rest + 1, sizeof *words);
	if (!words)
		return NULL;
	words[0] = argv[0];
	words[1] = model;
	memcpy(words + 2, own.words, n * sizeof *words);
	if (rest > 0)
		memcpy(words + 2 + n, argv + 1, rest * sizeof *words);
	*user = (int)(2 + n);
	*argc = (int)(2 + n + rest);
	return words;
}

bool
embedded_is(const char *path)
{
	return own.count > 0 && strncmp(path, EMBEDDED, strlen(EMBEDDED)) == 0;
}

int
embedded_open(const char *path)
{
	const struct payload_file *f = payload_find(&own, path + strlen(EMBEDDED));

	if (f)
		return part_open(program, f->at, f->bytes);
	errno = ENOENT;
	return -1;
}

bool
embedded_lies_in(int fd)
{
	struct err ignored = ERR_INIT;
	struct payload p;
	bool lies = payload_read(&p, fd, "", &ignored) == 0 && p.count > 0;

	payload_free(&p);
	return lies;
}

int
embedded_in(int fd)
{
	struct err ignored = ERR_INIT;
	struct payload p;
	int part, error;

	/* What is not sound is read as what it is: an executable, not a model. */
	if (fd < 0 || payload_read(&p, fd, "", &ignored) < 0 || p.count == 0)
		return fd;
	part = part_open(fd, p.files[0].at, p.files[0].bytes);
	payload_free(&p);
	error = errno;
	close(fd);
	errno = error;
	return part;
}
