/* tables: what the programs that make tables share. */
#ifndef TABLES_H
#define TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wasm/squeeze.h"

#define table_want(x) \
	((x) ? (void)0 : (fprintf(stderr, "tables: not as expected: %s\n", #x), exit(1)))

/* The number of the record among n that were found, which it joins if it is new. */
static uint32_t
table_record(void *records, size_t room, uint32_t *n, const void *record, size_t bytes)
{
	uint8_t *p = records;
	uint32_t i;

	for (i = 0; i < *n && memcmp(p + i * bytes, record, bytes) != 0; i++)
		;
	table_want((i + 1) * bytes <= room);
	if (i == *n)
		memcpy(p + (*n)++ * bytes, record, bytes);
	return i;
}

/* Prints what was written, as an array. */
static int
table_finish(struct squeeze *z, const uint8_t *bytes, const char *name)
{
	const uint8_t *p;

	*z->to++ = (uint8_t)(z->low >> 24) + (z->low << 8 != 0);
	while (z->to > bytes && z->to[-1] == 0)
		z->to--;
	printf("static const uint8_t %s[] = {", name);
	for (p = bytes; p < z->to; p++)
		printf("%s%u,", (p - bytes) % 24 ? "" : "\n", *p);
	printf("\n};\n");
	return fflush(stdout) != 0 || ferror(stdout);
}

#endif
