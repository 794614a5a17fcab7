/* cuts_loops: the loops of cuts.c for one level. The file that includes this defines
 *
 *     VECTOR    bytes of a vector
 *     BYTES(over, a, b, c, t)   c > t ? b : a in each byte; the same for WORDS, of 16 bits
 */
#include "predict/cuts.h"

typedef int8_t bytes_of __attribute__((vector_size(VECTOR), may_alias));
typedef int16_t words_of __attribute__((vector_size(VECTOR), may_alias));

/* One function for each type: V is the vector, T its lane. */
#define CUTS_LOOPS(name, V, T, SELECT) \
static const V * \
name##_side(unsigned side, const V *slots, const V *exits, size_t *step) \
{ \
	*step = side & CUTS_EXIT ? 0 : 1; \
	return side & CUTS_EXIT ? exits + (side & ~CUTS_EXIT) * (CUTS_ALIGN / VECTOR) \
	                        : slots + side * (CUTS_ROWS * sizeof(T) / VECTOR); \
} \
\
static const T * \
name(const struct cuts *c, const T *ranks, struct cuts_room *r) \
{ \
	const V *columns = (const V *)(const void *)ranks; \
	const V *exits = (const V *)(const void *)r->exits, *x, *a, *b; \
	V *slots = (V *)(void *)r->slots, *to = slots, t, e; \
	const struct cut *p; \
	size_t i, n = CUTS_ROWS * sizeof(T) / VECTOR, left, right; \
\
	for (p = c->from; p < c->both; p++) { \
		x = columns + p->column * n; \
		to = slots + p->to * n; \
		t = (T)p->rank - (V){ 0 }; \
		e = (T)(p->left & ~CUTS_EXIT) - (V){ 0 }; \
		for (i = 0; i < n; i++) \
			to[i] = SELECT(x[i], t, e, e + 1); \
	} \
	for (; p < c->to; p++) { \
		x = columns + p->column * n; \
		to = slots + p->to * n; \
		t = (T)p->rank - (V){ 0 }; \
		a = name##_side(p->left, slots, exits, &left); \
		b = name##_side(p->right, slots, exits, &right); \
		for (i = 0; i < n; i++) \
			to[i] = SELECT(x[i], t, a[i * left], b[i * right]); \
	} \
	return (const T *)(const void *)to; \
}

CUTS_LOOPS(cuts_bytes, bytes_of, int8_t, BYTES)
CUTS_LOOPS(cuts_words, words_of, int16_t, WORDS)
