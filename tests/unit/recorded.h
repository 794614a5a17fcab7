/* recorded: files beside models, with the rows and the predictions of the libraries that they come from. */
#ifndef RECORDED_H
#define RECORDED_H

#include <string.h>

#include "core/buf.h"
#include "file.h"

/* Reads the named file, with a zero byte behind it. 0 or -1. */
__attribute__((unused, format(printf, 2, 3))) static int
recorded_read(struct buf *to, const char *fmt, ...)
{
	char path[256];
	size_t n = 0;
	va_list ap;
	uint8_t *p;

	va_start(ap, fmt);
	vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	p = file_read(&n, "%s", path);
	buf_clear(to);
	if (p)
		buf_put(to, p, n);
	free(p);
	return p && buf_string(to) ? 0 : -1;
}

/* The text of the file of these three parts, and its bytes, until the next call: empty if it cannot be read. */
__attribute__((unused)) static char *
recorded_text(const char *folder, const char *name, const char *end, size_t *n)
{
	static struct buf last;

	if (recorded_read(&last, "%s%s%s", folder, name, end) < 0)
		buf_string(&last);
	*n = last.n;
	return (char *)last.p;
}

/* The next line, without its end; NULL past the last. */
__attribute__((unused)) static char *
recorded_line(char **p)
{
	char *line = *p, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = 0;
	*p = end + 1;
	return line;
}

#endif
