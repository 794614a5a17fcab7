/* imports: opens files of other programs in memory, and compares what comes out. */
#ifndef IMPORTS_TEST_H
#define IMPORTS_TEST_H

#include "test.h"

#include <inttypes.h>
#include <string.h>

#include "../gen/gen.h"
#include "core/crc32.h"
#include "formats/format.h"

static char noted[2048]; /* the notes of the last run */

static void
note(const char *text)
{
	size_t n = strlen(noted);

	snprintf(noted + n, sizeof noted - n, "%s\n", text);
}

/* A file that was read to its end. */
struct brought {
	struct source *source;
	struct err err;
	struct buf *bodies; /* of the tensors */
};

static void
let_go(struct brought *b)
{
	size_t i, n = b->source ? b->source->plan->tensor_count : 0;

	for (i = 0; i < n; i++)
		buf_free(&b->bodies[i]);
	free(b->bodies);
	source_close(b->source);
	*b = (struct brought){ 0 };
}

/* Read an opened source to its end. 0, or -1 with b->err filled. */
static int
bring_all(struct brought *b)
{
	struct item item;
	const uint8_t *body;
	size_t bytes;
	int more = -1;

	if (!b->source)
		return -1;
	b->bodies = calloc(b->source->plan->tensor_count + 1, sizeof *b->bodies);
	while (b->bodies && (more = source_next(b->source, &item, &b->err)) > 0)
		do {
			if (source_read(b->source, &body, &bytes, &b->err) < 0)
				return -1;
			if (item.kind == ITEM_TENSOR)
				buf_put(&b->bodies[item.index], body, bytes);
		} while (bytes > 0);
	return more;
}

/* Open the bytes and read them to their end. 0, or -1 with b->err filled. */
static int
bring(struct brought *b, const struct format *f, const uint8_t *p, size_t n,
      const struct format_options *o, bool pipe)
{
	struct reader r;

	*b = (struct brought){ .err = ERR_INIT };
	noted[0] = 0;
	reader_memory(&r, p, n, "in", &b->err);
	if (pipe) {
		r.seekable = false;
		r.end = READER_UNKNOWN;
	}
	b->source = f->reads->open(&r, o, note, &b->err);
	return bring_all(b);
}

/* The number of a tensor, or SIZE_MAX. */
static size_t
number_of(const struct brought *b, const char *name)
{
	const struct model *m = b->source->plan;
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0)
			return i;
	return SIZE_MAX;
}

/* True if a tensor has this type, shape ("2x3") and these bytes. */
__attribute__((unused)) static bool
holds(const struct brought *b, const char *name, const char *type, const char *shape,
      const struct gen *want)
{
	size_t i = number_of(b, name);
	char text[TENSOR_SHAPE_TEXT];
	const struct tensor *t;

	if (i == SIZE_MAX)
		return false;
	t = b->source->plan->tensors[i];
	if (strcmp(tensor_type(t)->name, type) == 0 &&
	    strcmp(tensor_shape_text(t, text), shape) == 0 && b->bodies[i].n == want->n &&
	    (want->n == 0 || memcmp(b->bodies[i].p, want->p, want->n) == 0))
		return true;
	printf("# %s: %s %s, %zu bytes\n", name, tensor_type(t)->name,
	       tensor_shape_text(t, text), b->bodies[i].n);
	return false;
}

/* ---- files with one fault ---- */

struct fault {
	const char *name;
	int exit;
	const char *says;
	struct edit edit, second;
};

__attribute__((unused)) static void
try_faults(const struct format *f, const struct format_options *o, void (*make)(struct gen *),
           const struct fault *list, size_t n)
{
	struct brought b;
	struct gen g;
	size_t i;
	int pipe;

	for (i = 0; i < n; i++)
		for (pipe = 0; pipe < 2; pipe++) {
			g = (struct gen){ 0 };
			make(&g);
			edit(&g, &list[i].edit);
			edit(&g, &list[i].second);
			bring(&b, f, g.p, g.n, o, pipe);
			test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == list[i].exit &&
			        strstr(b.err.fact, list[i].says), "%s%s: %s: %s", list[i].name,
			        pipe ? ", pipe" : "", b.err.object, b.err.fact);
			let_go(&b);
			gen_free(&g);
		}
}

/* Cut at every byte, a file is refused as damaged. `ends`: or else it ends between two
 * tensors, which only a format without their number allows. */
__attribute__((unused)) static void
try_cuts(const char *name, const struct format *f, const struct format_options *o,
         void (*make)(struct gen *), bool ends)
{
	struct gen g = { 0 };
	struct brought b;
	size_t i, whole = 0, wrong = 0;
	uint8_t *cut;

	make(&g);
	for (i = 1; i < g.n; i++) {
		cut = malloc(i);
		memcpy(cut, g.p, i);
		if (bring(&b, f, cut, i, o, false) == 0)
			whole++;
		else if (err_exit(&b.err) != 4)
			wrong++;
		let_go(&b);
		free(cut);
	}
	test_ok(wrong == 0 && (ends ? whole < 16 : whole == 0),
	        "%s cut at each of %zu bytes: %zu wrong, %zu whole", name, g.n, wrong, whole);
	gen_free(&g);
}

/* ---- real files ---- */

__attribute__((unused)) static void
bring_file(struct brought *b, const struct format *f, const char *path)
{
	static const struct format_options none;
	struct gen g = { 0 };
	FILE *file = fopen(path, "rb");
	uint8_t piece[4096];
	size_t n;

	while (file && (n = fread(piece, 1, sizeof piece, file)) > 0)
		put(&g, piece, n);
	if (file)
		fclose(file);
	bring(b, f, g.p, g.n, &none, false);
	gen_free(&g);
}

/* A file that was read by a program in Python that shares no code with this one: the number of
 * tensors, and a CRC-32 of "NAME TYPE SHAPE\n" and the bytes of each. */
struct real {
	const char *path; /* in a folder of the reference data */
	size_t tensors;
	uint32_t crc;
};

__attribute__((unused)) static void
try_real(const struct format *f, const char *folder, const struct real *list, size_t n)
{
	char path[4096], line[1024], shape[TENSOR_SHAPE_TEXT];
	const struct tensor *t;
	struct brought b;
	uint32_t crc;
	size_t i, k;

	for (i = 0; i < n; i++) {
		if (!test_data()) {
			test_skip(list[i].path, "without the reference data");
			continue;
		}
		snprintf(path, sizeof path, "%s/import/%s/%s", test_data(), folder, list[i].path);
		bring_file(&b, f, path);
		crc = 0;
		for (k = 0; b.source && k < b.source->plan->tensor_count; k++) {
			t = b.source->plan->tensors[k];
			snprintf(line, sizeof line, "%s %s %s\n", tensor_name(t), tensor_type(t)->name,
			         tensor_shape_text(t, shape));
			crc = crc32_add(crc, line, strlen(line));
			crc = crc32_add(crc, b.bodies[k].p, b.bodies[k].n);
		}
		test_ok(k == list[i].tensors && crc == list[i].crc,
		        "%s has the tensors that Python finds in it", list[i].path);
		let_go(&b);
	}
}

#endif
