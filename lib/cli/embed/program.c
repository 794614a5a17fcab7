#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/embed/embed.h"
#include "core/le.h"
#include "core/program.h"

/* Of an ELF file of 64 bits: the header, and one of its table of segments. */
#define HEADER 64
#define CLASS 4
#define CLASS_64 2
#define SEGMENTS_AT 32
#define SEGMENT_BYTES 54
#define SEGMENT_COUNT 56
#define SEGMENT 56
#define INTERPRETER 3

/* Whether an ELF file of 64 bits names an interpreter, which loads its shared libraries. */
static bool
has_interpreter(int fd, const uint8_t *header)
{
	uint64_t at = le64(header + SEGMENTS_AT), step = le16(header + SEGMENT_BYTES), i;
	uint8_t type[4];

	for (i = 0; i < le16(header + SEGMENT_COUNT) && at <= INT64_MAX - step; i++, at += step)
		if (pread(fd, type, sizeof type, (off_t)at) == sizeof type &&
		    le32(type) == INTERPRETER)
			return true;
	return false;
}

int
embed_program_open(struct embed_program *p, const char *path, struct err *e)
{
	struct payload payload;
	uint8_t header[HEADER];
	struct stat st;
	int r;

	*p = (struct embed_program){ .path = path,
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) };
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return err_errno(e, path, "cannot be opened");
	if (!S_ISREG(st.st_mode) || pread(p->fd, header, sizeof header, 0) != sizeof header ||
	    memcmp(header, "\177ELF", 4) != 0 || header[CLASS] != CLASS_64)
		return err_set(e, ERR_FORMAT, path, "is not a program for Linux, an ELF file of 64 bits");
	r = payload_read(&payload, p->fd, path, e);
	p->bytes = payload.count > 0 ? payload.program : (uint64_t)st.st_size;
	p->is_static = !has_interpreter(p->fd, header);
	payload_free(&payload);
	return r;
}

void
embed_program_close(struct embed_program *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

int
embed_program_find(char path[EMBED_PATH], const char *tool, struct err *e)
{
	static const char why[] = "to embed models";
	struct embed_program p = { .fd = -1 };
	struct err ignored = ERR_INIT;
	char name[64];
	bool found;

	snprintf(name, sizeof name, "%s.static", tool);
	if (program_beside(path, EMBED_PATH, name, why, &ignored) == 0)
		return 0;
	ignored = (struct err)ERR_INIT;
	found = program_beside(path, EMBED_PATH, tool, why, &ignored) == 0 &&
	        embed_program_open(&p, path, &ignored) == 0 && p.is_static;
	embed_program_close(&p);
	if (found)
		return 0;
	err_set(e, ERR_IO, NULL, "no static program %s is beside this one", tool);
	return err_hint(e, "make runtimes builds it; --runtime FILE names another");
}
