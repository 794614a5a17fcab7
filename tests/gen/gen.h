/* gen: test files written by hand, one field after another.
 *
 * A generator puts the fields of a sound file, the mother, and gives the places
 * of interest a name (a mark). A fault is then a row of a table which changes
 * one field by its name, and says how the tools must answer:
 *
 *     { "gguf_version_4", 4, "GGUF version 4", NULL, { SET32("version", 4) } },
 *
 * Usage of every generator: PROGRAM FOLDER. Writes each file under its row's
 * name, and MANIFEST: a line for each file, fields separated by a tab.
 * Nothing here comes from lib/: a mistake there must not be repeated here.
 */
#ifndef GEN_H
#define GEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A generator ends without freeing: what is left then is no leak of a tool. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* ---- a file that is being written ---- */

struct mark {
	const char *name;
	size_t at;
};

struct gen {
	uint8_t *p;
	size_t n, cap;
	struct mark marks[128];
	size_t mark_count;
};

_Noreturn static inline void
gen_die(const char *what, const char *which)
{
	fprintf(stderr, "gen: %s: %s\n", which, what);
	exit(1);
}

/* Make room for n bytes at an offset; marks behind it move along. */
static inline uint8_t *
gen_open(struct gen *g, size_t at, size_t n)
{
	size_t i;

	if (!g->p || g->n + n > g->cap) {
		g->cap = (g->n + n + 32) * 2;
		g->p = realloc(g->p, g->cap);
		if (!g->p)
			gen_die("out of memory", "file");
	}
	memmove(g->p + at + n, g->p + at, g->n - at);
	for (i = 0; i < g->mark_count; i++)
		if (g->marks[i].at > at)
			g->marks[i].at += n;
	g->n += n;
	return g->p + at;
}

static inline void
put(struct gen *g, const void *p, size_t n)
{
	if (n)
		memcpy(gen_open(g, g->n, n), p, n);
}

/* Little-endian, of width 1 to 8 bytes. */
static inline void
put_number(struct gen *g, uint64_t v, unsigned width)
{
	for (; width > 0; width--, v >>= 8)
		*gen_open(g, g->n, 1) = (uint8_t)v;
}

static inline void
put_u8(struct gen *g, uint8_t v)
{
	put_number(g, v, 1);
}

static inline void
put_u32(struct gen *g, uint32_t v)
{
	put_number(g, v, 4);
}

static inline void
put_u64(struct gen *g, uint64_t v)
{
	put_number(g, v, 8);
}

static inline void
put_text(struct gen *g, const char *s)
{
	put(g, s, strlen(s));
}

static inline void
put_fill(struct gen *g, uint8_t byte, size_t n)
{
	if (n)
		memset(gen_open(g, g->n, n), byte, n);
}

/* Bytes that are all different from their neighbours, so that a shift shows. */
static inline void
put_ramp(struct gen *g, size_t n)
{
	size_t i;
	uint8_t *to = gen_open(g, g->n, n);

	for (i = 0; i < n; i++)
		to[i] = (uint8_t)(i * 7 + 1);
}

static inline void
put_align(struct gen *g, size_t align)
{
	put_fill(g, 0, (align - g->n % align) % align);
}

static inline void
mark(struct gen *g, const char *name)
{
	if (g->mark_count == sizeof g->marks / sizeof *g->marks)
		gen_die("too many marks", name);
	g->marks[g->mark_count++] = (struct mark){ name, g->n };
}

static inline size_t
mark_at(const struct gen *g, const char *name)
{
	size_t i;

	for (i = 0; i < g->mark_count; i++)
		if (strcmp(g->marks[i].name, name) == 0)
			return g->marks[i].at;
	gen_die("no such mark", name);
}

static inline void
gen_free(struct gen *g)
{
	free(g->p);
	*g = (struct gen){ 0 };
}

/* ---- one change of a file ---- */

struct edit {
	enum { EDIT_NONE, EDIT_SET, EDIT_ADD, EDIT_TEXT, EDIT_INSERT, EDIT_CUT, EDIT_TAIL } op;
	const char *mark;
	uint64_t value;      /* SET: the number; ADD: to the one that is there */
	unsigned width;      /* of so many bytes */
	const char *bytes;   /* TEXT: over what is there; INSERT: before it */
	size_t n;
};

#define SET8(MARK, V) { EDIT_SET, MARK, V, 1, NULL, 0 }
#define SET32(MARK, V) { EDIT_SET, MARK, V, 4, NULL, 0 }
#define SET64(MARK, V) { EDIT_SET, MARK, V, 8, NULL, 0 }
#define ADD32(MARK, V) { EDIT_ADD, MARK, (uint64_t)(V), 4, NULL, 0 }
#define TEXT(MARK, S) { EDIT_TEXT, MARK, 0, 0, S, sizeof(S) - 1 }
#define INSERT(MARK, S) { EDIT_INSERT, MARK, 0, 0, S, sizeof(S) - 1 }
#define CUT(MARK) { EDIT_CUT, MARK, 0, 0, NULL, 0 }  /* the file ends there */
#define TAIL(S) { EDIT_TAIL, NULL, 0, 0, S, sizeof(S) - 1 }

static inline void
edit(struct gen *g, const struct edit *x)
{
	size_t at = x->mark ? mark_at(g, x->mark) : g->n;
	uint64_t value = x->value;
	unsigned i;

	switch (x->op) {
	case EDIT_NONE:
		break;
	case EDIT_ADD:
		for (i = 0; i < x->width; i++)
			value += (uint64_t)g->p[at + i] << 8 * i;
		/* fall through */
	case EDIT_SET:
		for (i = 0; i < x->width; i++)
			g->p[at + i] = (uint8_t)(value >> 8 * i);
		break;
	case EDIT_TEXT:
		memcpy(g->p + at, x->bytes, x->n);
		break;
	case EDIT_INSERT:
	case EDIT_TAIL:
		memcpy(gen_open(g, at, x->n), x->bytes, x->n);
		break;
	case EDIT_CUT:
		g->n = at;
		break;
	}
}

/* ---- a folder of files ---- */

struct folder {
	const char *path;
	FILE *manifest;
};

static inline void
folder_open(struct folder *f, int argc, char **argv)
{
	char name[4096];

	if (argc != 2)
		gen_die("one operand, the folder, is needed", argv[0]);
	f->path = argv[1];
	snprintf(name, sizeof name, "%s/MANIFEST", f->path);
	f->manifest = fopen(name, "w");
	if (!f->manifest)
		gen_die("cannot be written", name);
}

/* Write g under the name. */
static inline void
folder_file(struct folder *f, const char *name, const struct gen *g)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", f->path, name);
	file = fopen(path, "wb");
	if (!file || fwrite(g->p, 1, g->n, file) != g->n || fclose(file) != 0)
		gen_die("cannot be written", path);
}

static inline int
folder_close(struct folder *f)
{
	if (ferror(f->manifest) || fclose(f->manifest) != 0)
		gen_die("cannot be written", "MANIFEST");
	return 0;
}

/* A fault's line: name, exit status, what the message says of the file, and of
 * the same bytes from a pipe, whose length nobody knows beforehand (NULL: the
 * same). */
static inline void
folder_fault(struct folder *f, const char *name, int status, const char *says,
             const char *pipe)
{
	fprintf(f->manifest, "%s\t%d\t%s\t%s\n", name, status, says, pipe ? pipe : says);
}

#endif
