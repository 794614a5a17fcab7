/* tables: what the programs that make tables share. */
#ifndef TABLES_H
#define TABLES_H

#include <stdio.h>
#include <stdlib.h>

#include "core/wasm/squeeze.h"

#define table_want(x) \
	((x) ? (void)0 : (fprintf(stderr, "tables: not as expected: %s\n", #x), exit(1)))

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
