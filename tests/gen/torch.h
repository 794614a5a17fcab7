/* torch: zip archives and pickles by hand, for the generators. */
#ifndef GEN_TORCH_H
#define GEN_TORCH_H

#include "gen.h"

/* ---- pickles: opcodes as strings, with octal escapes ---- */

#define LENGTH(N) N "\000\000\000" /* of a BINUNICODE */
#define STORAGE(TYPE, KEY, N) \
	"(X" LENGTH("\007") "storagectorch\n" TYPE "\nX" LENGTH("\001") KEY \
	"X" LENGTH("\003") "cpuK" N "tQ"
#define DICT "ccollections\nOrderedDict\n)R"
#define TENSOR_OF(STORAGE_ID, OFFSET, SHAPE, STRIDES) \
	"ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE_ID OFFSET SHAPE STRIDES "\211" DICT "tR"
/* 2 rows of 3 floats */
#define SHAPE_2_3 "K\002K\003\206"
#define STRIDES_3_1 "K\003K\001\206"
#define TENSOR TENSOR_OF(STORAGE("FloatStorage", "0", "\006"), "K\000", SHAPE_2_3, STRIDES_3_1)
#define KEY(C) "X" LENGTH("\001") C
#define PROTO "\200\002"
/* A dictionary with the tensor, and something else beside it. */
#define BESIDE(X) PROTO "}(" KEY("a") TENSOR KEY("b") X "u."
/* A dictionary with a tensor made by these opcodes. */
#define ALONE(X) PROTO "}" KEY("a") X "s."

/* Arrays of NumPy. */
#define ARRAY_IN(MODULE, SHAPE, TYPE, FORTRAN, BYTES) \
	"c" MODULE ".multiarray\n_reconstruct\ncnumpy\nndarray\nK\000\205C\001b\207R(K\001" SHAPE TYPE \
	FORTRAN BYTES "tb"
#define ARRAY(SHAPE, TYPE, FORTRAN, BYTES) \
	ARRAY_IN("numpy.core", SHAPE, TYPE, FORTRAN, BYTES)
#define DTYPE(CODE, ORDER) \
	"cnumpy\ndtype\n\214\002" CODE "\211\210\207R(K\003\214\001" ORDER \
	"NNNJ\377\377\377\377J\377\377\377\377K\000tb"
#define LETTERS(N, TEXT) "c_codecs\nencode\nX" LENGTH(N) TEXT "\214\006latin1\206R"

/* ---- zip ---- */

struct member {
	const char *name;
	const void *p;
	size_t n;
	uint16_t flags;
};

static inline uint32_t
crc_of(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint32_t crc = ~0u;
	unsigned i;

	for (; n > 0; n--, b++)
		for (crc ^= *b, i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	return ~crc;
}

static inline void
put_u16(struct gen *g, unsigned v)
{
	put_number(g, v, 2);
}

/* Marks of the first members: the letter l (local) or c (central), the number of the member,
 * and a word. */
static inline void
mark_of(struct gen *g, char letter, size_t i, const char *word)
{
	char *name;

	if (i >= 4)
		return;
	name = malloc(32);
	if (!name)
		gen_die("out of memory", word);
	snprintf(name, 32, "%c%zu.%s", letter, i, word);
	mark(g, name);
}

static inline void
put_head(struct gen *g, char letter, size_t i, const struct member *m)
{
	mark_of(g, letter, i, "flags");
	put_u16(g, m->flags);
	mark_of(g, letter, i, "method");
	put_u16(g, 0);
	put_u32(g, 0);
	mark_of(g, letter, i, "crc");
	put_u32(g, crc_of(m->p, m->n));
	mark_of(g, letter, i, "stored");
	put_u32(g, (uint32_t)m->n);
	mark_of(g, letter, i, "bytes");
	put_u32(g, (uint32_t)m->n);
	put_u16(g, (unsigned)strlen(m->name));
}

static inline void
put_zip(struct gen *g, const struct member *list, size_t n)
{
	static size_t at[8192];
	size_t from, i;

	for (i = 0; i < n; i++) {
		at[i] = g->n;
		mark_of(g, 'l', i, "head");
		put_u32(g, 0x04034b50);
		put_u16(g, 20);
		put_head(g, 'l', i, &list[i]);
		put_u16(g, 0);
		mark_of(g, 'l', i, "name");
		put_text(g, list[i].name);
		mark_of(g, 'l', i, "data");
		put(g, list[i].p, list[i].n);
	}
	from = g->n;
	mark(g, "directory");
	for (i = 0; i < n; i++) {
		mark_of(g, 'c', i, "head");
		put_u32(g, 0x02014b50);
		put_u32(g, 20 << 16 | 20);
		put_head(g, 'c', i, &list[i]);
		put_u16(g, 0);
		put_u16(g, 0);
		mark_of(g, 'c', i, "disk");
		put_u16(g, 0);
		put_u16(g, 0);
		put_u32(g, 0);
		mark_of(g, 'c', i, "at");
		put_u32(g, (uint32_t)at[i]);
		mark_of(g, 'c', i, "name");
		put_text(g, list[i].name);
	}
	mark(g, "end");
	put_u32(g, 0x06054b50);
	mark(g, "end.disk");
	put_u32(g, 0);
	mark(g, "end.here");
	put_u16(g, (unsigned)n);
	mark(g, "end.count");
	put_u16(g, (unsigned)n);
	mark(g, "end.bytes");
	put_u32(g, (uint32_t)(mark_at(g, "end") - from));
	mark(g, "end.at");
	put_u32(g, (uint32_t)from);
	mark(g, "end.comment");
	put_u16(g, 0);
}

/* A file of torch.save: its pickle, one storage of 24 bytes, its version. */
static inline void
put_torch(struct gen *g, const void *pickle, size_t n)
{
	static const float values[] = { 1, 2, 3, 4, 5, 6 };
	const struct member list[] = { { "archive/data.pkl", pickle, n, 0 },
		{ "archive/data/0", values, sizeof values, 0 },
		{ "archive/version", "3\n", 2, 0 } };

	put_zip(g, list, 3);
}

#endif
