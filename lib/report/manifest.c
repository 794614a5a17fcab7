#include "report/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/reader.h"
#include "core/text.h"
#include "report/lines.h"

#define MANIFEST_BYTES (256u << 20) /* maximum size of a list */

/* ---- lines ---- */

static void
put_name(struct buf *b, const char *name)
{
	size_t n = strlen(name), room = 4 * n + 8;
	uint8_t *to = buf_room(b, room);

	if (to)
		b->n += strlen(text_quote((char *)to, room, name, n));
}

/* Appends the detail of a line, such as "Q4_0 1024x256". */
static void
put_detail(struct buf *b, const struct manifest_entry *x)
{
	unsigned i;

	buf_printf(b, "  %s", x->type);
	for (i = 0; x->shaped && i < x->ndim; i++)
		buf_printf(b, "%c%" PRIu64, i ? 'x' : ' ', x->dims[i]);
	if (x->shaped && x->ndim == 0)
		buf_text(b, " scalar");
}

static void
put_text(struct buf *b, const struct manifest_entry *x)
{
	if (x->kind)
		buf_printf(b, "%s  ", x->kind);
	put_name(b, x->name);
	if (x->type)
		put_detail(b, x);
}

static void
put_json(struct buf *b, const struct manifest_entry *x, const struct manifest *m)
{
	json_t *shape = x->shaped ? json_array() : NULL;
	json_t *o = json_pack("{s:s*,s:s,s:s*,s:s,s:s*,s:o*}", "hash", x->hash, "digest",
	                      x->digest, "kind", x->kind, "name", x->name ? x->name : m->file,
	                      x->shaped ? "dtype" : "type", x->type, "shape", shape);
	unsigned i;

	for (i = 0; x->shaped && i < x->ndim; i++)
		json_array_append_new(shape, json_from_u64(x->dims[i]));
	lines_json_of(b, o, m->model);
}

int
manifest_add(struct manifest *m, const struct manifest_entry *x, struct err *e)
{
	struct manifest_line *l;
	struct buf b = { 0 };

	if (mem_grow(&m->lines, &m->cap, m->n + 1, sizeof *m->lines) < 0)
		return err_memory(e);
	l = &m->lines[m->n];
	l->hash = x->hash;
	snprintf(l->digest, sizeof l->digest, "%s", x->digest);
	if (m->json) {
		put_json(&b, x, m);
	} else if (!m->file) {
		put_text(&b, x);
	} else if (x->name) {
		buf_text(&b, ":");
		put_name(&b, x->name);
	}
	if (buf_string(&b) && (l->text = mem_text((char *)b.p, b.n)))
		m->n++;
	else
		err_memory(e);
	buf_free(&b);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
add_digest(struct manifest *m, struct manifest_entry x, const struct digest *d,
           struct err *e)
{
	char text[DIGEST_TEXT];

	x.digest = digest_text(text, d);
	return manifest_add(m, &x, e);
}

static int
add_list(struct manifest *m, const struct content_list *l, bool tensors, struct err *e)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct content_item *x = &l->item[i];
		struct manifest_entry line = {
			.kind = tensors ? "tensor" : x->kind, .name = x->name, .type = x->type,
			.shaped = tensors, .ndim = x->ndim, .dims = x->dims,
		};

		if (add_digest(m, line, &x->digest, e) < 0)
			return -1;
	}
	return 0;
}

int
manifest_add_content(struct manifest *m, const struct content *c, struct err *e)
{
	const struct {
		const char *name;
		const struct digest *digest;
	} parts[] = {
		{ "metadata", &c->components.metadata }, { "blobs", &c->components.blobs },
		{ "licence", &c->components.licence },   { "tensors", &c->components.tensors },
		{ "root", &c->root },
	};
	size_t i;

	if (add_list(m, &c->tensors, true, e) < 0 || add_list(m, &c->blobs, false, e) < 0)
		return -1;
	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct manifest_entry line = { .kind = "content", .name = parts[i].name };

		if (add_digest(m, line, parts[i].digest, e) < 0)
			return -1;
	}
	return 0;
}

int
manifest_add_tensor(struct manifest *m, const struct tensor *t, const char *hash,
                    const struct digest *d, struct err *e)
{
	struct manifest_entry line = { .hash = hash, .name = tensor_name(t),
		.type = tensor_type(t)->name, .shaped = true, .ndim = tensor_ndim(t),
		.dims = tensor_dims(t) };

	return add_digest(m, line, d, e);
}

void
manifest_put(struct buf *b, const struct manifest *m)
{
	const struct manifest_line *l;

	for (l = m->lines; l < m->lines + m->n; l++) {
		if (m->json)
			buf_text(b, l->text);
		else if (m->file)
			buf_printf(b, "%-8s  %s  %s%s\n", l->hash, l->digest, m->file, l->text);
		else
			buf_printf(b, "%s  %s\n", l->digest, l->text);
	}
}

void
manifest_free(struct manifest *m)
{
	while (m->n > 0)
		free(m->lines[--m->n].text);
	free(m->lines);
	*m = (struct manifest){ 0 };
}

/* ---- a list ---- */

/* The lines point into bytes. */
struct manifest_list {
	struct buf bytes;
	const char *path;
	bool hashes;   /* in gguf-hash's form */
	struct listed {
		const char *hash, *digest, *text;
		bool found;
	} *lines;
	size_t n, cap;
	size_t passed; /* lines with hashes that apr-sum does not compute */
};

static int
read_bytes(const char *path, struct buf *b, struct err *e)
{
	struct reader r;

	if (reader_open(&r, path, e) < 0)
		return -1;
	reader_rest(&r, b, MANIFEST_BYTES);
	reader_close(&r);
	if (e->code != ERR_NONE)
		return -1;
	if (b->n > MANIFEST_BYTES)
		return err_set(e, ERR_CORRUPT, path, "is too long for a list of digests");
	return buf_string(b) ? 0 : err_memory(e);
}

/* Cuts the first word off the line, with the spaces after it. */
static char *
next_word(char **line)
{
	char *word = *line;

	*line += strcspn(*line, " ");
	if (**line)
		*(*line)++ = '\0';
	*line += strspn(*line, " ");
	return word;
}

/* Rewrites a shape of an earlier version, such as 1024,256. */
static void
mend_shape(char *text)
{
	char *shape = strrchr(text, ' ');

	if (!shape || strncmp(text, "blob  ", 6) == 0 || strspn(shape + 1, "0123456789,") !=
	    strlen(shape + 1))
		return;
	for (; *shape; shape++)
		if (*shape == ',')
			*shape = 'x';
}

/* Splits a line of our own form, which has two spaces after the digest; a third one
 * belongs to the name. */
static bool
cut_line(char *line, struct listed *l)
{
	if (strspn(line, "0123456789abcdef") != DIGEST_TEXT - 1 ||
	    strncmp(line + DIGEST_TEXT - 1, "  ", 2) != 0)
		return false;
	line[DIGEST_TEXT - 1] = '\0';
	mend_shape(line + DIGEST_TEXT + 1);
	*l = (struct listed){ NULL, line, line + DIGEST_TEXT + 1, false };
	return true;
}

static bool
is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

static bool
cut_hash_line(char *line, struct listed *l, size_t *passed)
{
	static const char *const known[] = { "sha256", "uuid", NULL };
	static const char *const other[] = { "sha1", "xxh64", "xxh3", NULL };
	const char *hash = next_word(&line), *digest = next_word(&line);

	if (!*line || strspn(digest, "0123456789abcdef-") != strlen(digest))
		return false;
	*l = (struct listed){ hash, digest, line, false };
	if (is_one_of(hash, known))
		return true;
	l->hash = NULL;
	*passed += 1;
	return is_one_of(hash, other);
}

static int
by_text(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order || !x->hash ? order : strcmp(x->hash, y->hash);
}

static int
cut_lines(struct manifest_list *l, struct err *e)
{
	char *line, *next;
	size_t number = 0;

	for (line = (char *)l->bytes.p; *line; line = next) {
		struct listed *to;
		bool good;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		number++;
		if (mem_grow(&l->lines, &l->cap, l->n + 1, sizeof *l->lines) < 0)
			return err_memory(e);
		to = &l->lines[l->n];
		good = l->hashes ? cut_hash_line(line, to, &l->passed) : cut_line(line, to);
		if (!good)
			return err_set(e, ERR_CORRUPT, l->path, "line %zu is not %s", number,
			               l->hashes ? "a line of gguf-hash" : "a digest and a name");
		l->n += !l->hashes || to->hash;
	}
	if (l->n == 0)
		return err_set(e, ERR_CORRUPT, l->path, "lists nothing%s",
		               l->passed ? " except hashes that apr-sum does not compute" : "");
	return 0;
}

static bool
ends_with(const char *s, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n > m && memcmp(s + n - m, end, m) == 0;
}

/* Removes FILE from gguf-hash's lines, whatever its name is there. FILE is the text of
 * the lines about the whole model, which are the shortest; without such lines, it is the
 * part before the tensor's name in the shortest line. */
static void
strip_file(const struct manifest *m, struct manifest_list *l)
{
	const char *file = l->lines[0].text;
	size_t i, n, cut = 0;

	for (i = 1; i < l->n; i++)
		if (strlen(l->lines[i].text) < strlen(file))
			file = l->lines[i].text;
	n = strlen(file);
	for (i = 0; i < m->n; i++)
		if (*m->lines[i].text && ends_with(file, n, m->lines[i].text) &&
		    strlen(m->lines[i].text) > cut)
			cut = strlen(m->lines[i].text);
	n -= cut;
	for (i = 0; i < l->n; i++) {
		const char *text = l->lines[i].text;

		if (strncmp(text, file, n) == 0 && (text[n] == ':' || !text[n]))
			l->lines[i].text += n;
	}
}

/* Sorts the lines. Duplicates count once if they agree, else the list is refused. */
static int
sort_lines(struct manifest_list *l, struct err *e)
{
	size_t i, n = 1;

	qsort(l->lines, l->n, sizeof *l->lines, by_text);
	for (i = 1; i < l->n; i++) {
		if (by_text(&l->lines[i], &l->lines[n - 1]) != 0)
			l->lines[n++] = l->lines[i];
		else if (strcmp(l->lines[i].digest, l->lines[n - 1].digest) != 0)
			return err_set(e, ERR_CORRUPT, l->path, "lists %s twice, with different digests",
			               l->lines[i].text);
	}
	l->n = n;
	return 0;
}

struct manifest_list *
manifest_list_open(const char *path, bool hashes, struct err *e)
{
	struct manifest_list *l = mem_array(1, sizeof *l);

	if (!l) {
		err_memory(e);
		return NULL;
	}
	l->path = path;
	l->hashes = hashes;
	if (read_bytes(path, &l->bytes, e) < 0 || cut_lines(l, e) < 0) {
		manifest_list_close(l);
		return NULL;
	}
	return l;
}

size_t
manifest_list_ignored(const struct manifest_list *l)
{
	return l->passed;
}

void
manifest_list_close(struct manifest_list *l)
{
	if (!l)
		return;
	free(l->lines);
	buf_free(&l->bytes);
	free(l);
}

/* ---- comparison ---- */

/* Whether the list must have this line. A list of our own form is complete; one of
 * gguf-hash may omit the tensors, the whole model or the UUID. */
static bool
is_due(const struct manifest_list *l, const struct manifest_line *line)
{
	size_t i;

	if (!line->hash)
		return true;
	for (i = 0; i < l->n; i++)
		if (strcmp(l->lines[i].hash, line->hash) == 0 &&
		    !*l->lines[i].text == !*line->text)
			return true;
	return false;
}

/* Appends a note about a line, such as "m.gguf:output.weight"; text is escaped
 * already. */
static void
say(struct buf *notes, const struct manifest *m, const char *hash, const char *text,
    const char *fact)
{
	if (m->file)
		lines_note(notes, "%s %s%s: %s", hash, m->file, text, fact);
	else
		lines_note(notes, "%s: %s", text, fact);
}

/* Returns the number of lines that differ, and notes each. */
static size_t
compare(const struct manifest *m, struct manifest_list *l, struct buf *notes)
{
	const struct manifest_line *line;
	size_t i, bad = 0;

	for (line = m->lines; line < m->lines + m->n; line++) {
		struct listed key = { line->hash, NULL, line->text, false };
		struct listed *found = bsearch(&key, l->lines, l->n, sizeof key, by_text);

		if (found)
			found->found = true;
		if (found ? strcmp(found->digest, line->digest) == 0 : !is_due(l, line))
			continue;
		bad++;
		say(notes, m, line->hash, line->text, found ? "differs" : "is not listed");
	}
	for (i = 0; i < l->n; i++)
		if (!l->lines[i].found) {
			bad++;
			say(notes, m, l->lines[i].hash, l->lines[i].text, "is listed, but missing");
		}
	return bad;
}

int
manifest_check(const struct manifest *m, struct manifest_list *l, struct buf *notes,
               struct err *e)
{
	size_t bad;

	if (m->file)
		strip_file(m, l);
	if (sort_lines(l, e) < 0)
		return -1;
	bad = compare(m, l, notes);
	if (bad == 0)
		return 0;
	return err_set(e, ERR_NO, l->path, "%zu line%s not as in the model", bad,
	               bad == 1 ? " is" : "s are");
}
