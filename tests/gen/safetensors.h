/* safetensors: such files by hand, for the generators: a length, a header, bytes. */
#ifndef GEN_SAFETENSORS_H
#define GEN_SAFETENSORS_H

#include "gen.h"

/* The header as it is (n bytes, whatever they are) and data bytes after it. */
static inline void
put_safetensors_n(struct gen *g, const char *header, size_t n, size_t data)
{
	mark(g, "length");
	put_u64(g, n);
	mark(g, "header");
	put(g, header, n);
	mark(g, "data");
	put_ramp(g, data);
}

static inline void
put_safetensors(struct gen *g, const char *header, size_t data)
{
	put_safetensors_n(g, header, strlen(header), data);
}

/* The same with spaces up to a multiple of 8, as the reference library has it. */
static inline void
put_padded(struct gen *g, const char *header, size_t data)
{
	static const char spaces[] = "        ";
	size_t n = strlen(header), more = (8 - n % 8) % 8;

	mark(g, "length");
	put_u64(g, n + more);
	mark(g, "header");
	put(g, header, n);
	put(g, spaces, more);
	mark(g, "data");
	put_ramp(g, data);
}

#endif
