/* onnx: messages in the wire format of protocol buffers, written as text:
 *
 *     N:12 N:-1          field N, a varint
 *     N:"text"           bytes
 *     N:<01ff>           bytes in hexadecimal
 *     N:z5               five bytes that differ
 *     N:{ ... }          a message
 *     N:[1 2 -3]         packed varints
 *     N:f1.5 N:d1.5      4 or 8 bytes, a float or a double
 *     N:f[1 2] N:d[1 2]  packed floats, doubles
 *     !<0a01>            bytes as they are
 */
#ifndef GEN_ONNX_H
#define GEN_ONNX_H

#include <ctype.h>

#include "gen.h"

#define ONNX_MODEL(GRAPH) "1:8 2:\"maker\" 7:{" GRAPH "} 8:{2:17}"
#define ONNX_INIT(TENSOR) ONNX_MODEL("5:{" TENSOR "}")
#define ONNX_W "1:2 1:2 2:1 8:\"w\" "
#define ONNX_VALUES "9:<0000803f000000400000404000008040> "

static inline void
put_varint(struct gen *g, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		put_u8(g, (uint8_t)(v | 0x80));
	put_u8(g, (uint8_t)v);
}

static inline void
put_real(struct gen *g, double v, char kind)
{
	const float f = (float)v;

	if (kind == 'f')
		put(g, &f, sizeof f);
	else
		put(g, &v, sizeof v);
}

static inline const char *
put_hex(struct gen *g, const char *s)
{
	unsigned v;

	for (s++; *s != '>'; s += 2) {
		if (sscanf(s, "%2x", &v) != 1)
			gen_die("not hexadecimal", s);
		put_u8(g, (uint8_t)v);
	}
	return s + 1;
}

static inline const char *put_proto(struct gen *g, const char *s);

/* The content of a field with a length. */
static inline const char *
put_content(struct gen *g, const char *s)
{
	char kind = *s, *end;

	if (kind == '"') {
		end = strchr(s + 1, '"');
		put(g, s + 1, (size_t)(end - s - 1));
		return end + 1;
	}
	if (kind == '<')
		return put_hex(g, s);
	if (kind == '{')
		return put_proto(g, s + 1) + 1;
	if (kind == 'z') {
		put_ramp(g, strtoul(s + 1, &end, 10));
		return end;
	}
	for (s += kind == '[' ? 1 : 2; *s != ']'; s = end + (*end == ' '))
		if (kind == '[')
			put_varint(g, (uint64_t)strtoll(s, &end, 10));
		else
			put_real(g, strtod(s, &end), kind);
	return s + 1;
}

static inline const char *
put_field(struct gen *g, const char *s)
{
	struct gen inner = { 0 };
	char *end;
	const unsigned long number = strtoul(s, &end, 10);

	s = end + 1;
	if (*s == '-' || isdigit((unsigned char)*s)) {
		put_varint(g, number << 3);
		put_varint(g, (uint64_t)strtoll(s, &end, 10));
		return end;
	}
	if ((*s == 'f' || *s == 'd') && s[1] != '[') {
		put_varint(g, number << 3 | (*s == 'f' ? 5 : 1));
		put_real(g, strtod(s + 1, &end), *s);
		return end;
	}
	s = put_content(&inner, s);
	put_varint(g, number << 3 | 2);
	put_varint(g, inner.n);
	put(g, inner.p, inner.n);
	gen_free(&inner);
	return s;
}

/* Write fields up to "}" or the end of the text; returns what is left. */
static inline const char *
put_proto(struct gen *g, const char *s)
{
	while (*s && *s != '}')
		if (*s == ' ')
			s++;
		else if (*s == '!')
			s = put_hex(g, s + 1);
		else if (isdigit((unsigned char)*s))
			s = put_field(g, s);
		else
			gen_die("not understood", s);
	return s;
}

#endif
