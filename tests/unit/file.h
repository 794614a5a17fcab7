/* file: a whole file in memory, for tests. */
#ifndef FILE_H
#define FILE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The bytes of the named file and their number, or NULL. A zero byte follows
 * them. The caller frees them. */
__attribute__((unused, format(printf, 2, 3))) static uint8_t *
file_read(size_t *bytes, const char *fmt, ...)
{
	char path[4096];
	uint8_t *data = NULL;
	va_list ap;
	FILE *f;
	long n;

	va_start(ap, fmt);
	vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET) &&
	    (data = calloc((size_t)n + 1, 1)) && fread(data, 1, (size_t)n, f) == (size_t)n)
		*bytes = (size_t)n;
	else {
		free(data);
		data = NULL;
	}
	fclose(f);
	return data;
}

#endif
