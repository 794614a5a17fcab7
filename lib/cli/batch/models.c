#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/batch/batch.h"
#include "core/mem.h"
#include "core/remote.h"

/* ---- models ---- */

static int
add_model(struct batch *b, const char *path, struct err *e)
{
	char *copy;
	size_t i;

	for (i = 0; i < b->n; i++)
		if (strcmp(b->runs[i].model, path) == 0)
			return 0;
	if (!(copy = mem_text(path, strlen(path))) ||
	    mem_grow(&b->runs, &b->cap, b->n + 1, sizeof *b->runs) < 0) {
		free(copy);
		return err_memory(e);
	}
	b->runs[b->n++] = (struct batch_run){ .model = copy, .out = -1, .err = -1 };
	return 0;
}

static int
no_match(const char *pattern, struct err *e)
{
	errno = ENOENT;
	err_errno(e, pattern, "matches no file");
	return -1;
}

int
batch_add(struct batch *b, const char *pattern, struct err *e)
{
	struct stat st;
	glob_t found;
	size_t i;
	int r;

	if (remote_is(pattern) || lstat(pattern, &st) == 0)
		return add_model(b, pattern, e);
	if (!pattern[strcspn(pattern, "*?[\\")])
		return no_match(pattern, e);
	r = glob(pattern, 0, NULL, &found);
	if (r == GLOB_NOSPACE)
		return err_memory(e);
	if (r != 0)
		return no_match(pattern, e);
	for (i = 0, r = 0; r == 0 && i < found.gl_pathc; i++)
		r = add_model(b, found.gl_pathv[i], e);
	globfree(&found);
	return r;
}

void
batch_free(struct batch *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		if (b->runs[i].out >= 0)
			close(b->runs[i].out);
		if (b->runs[i].err >= 0)
			close(b->runs[i].err);
		free(b->runs[i].model);
	}
	free(b->runs);
	*b = (struct batch){ .runs = NULL };
}

/* ---- commands ---- */

/* The parts of a path. */
struct parts {
	const char *path;
	size_t n, name, stem; /* length; where the name begins; where its suffix begins, or n */
};

static struct parts
parts_of(const char *path)
{
	struct parts p = { .path = path, .n = strlen(path) };
	const char *dot;

	while (p.n > 1 && path[p.n - 1] == '/') /* a folder */
		p.n--;
	for (p.name = p.n; p.name > 0 && path[p.name - 1] != '/'; p.name--)
		;
	dot = p.n > p.name ? memrchr(path + p.name, '.', p.n - p.name) : NULL;
	p.stem = dot && dot > path + p.name ? (size_t)(dot - path) : p.n;
	return p;
}

/* Appends what the placeholder at s stands for. Returns its length, or 0 if it is none. */
static size_t
put_placeholder(struct buf *to, const char *s, const struct parts *p)
{
	size_t from = 0, until = p->n, n;

	if (strncmp(s, "{}", 2) == 0) {
		n = 2;
	} else if (strncmp(s, "{.}", 3) == 0) {
		until = p->stem;
		n = 3;
	} else if (strncmp(s, "{/}", 3) == 0) {
		from = p->name;
		n = 3;
	} else if (strncmp(s, "{/.}", 4) == 0) {
		from = p->name;
		until = p->stem;
		n = 4;
	} else if (strncmp(s, "{//}", 4) == 0) {
		until = p->name > 1 ? p->name - 1 : p->name;
		n = 4;
	} else {
		return 0;
	}
	/* It must not become an option. */
	if (to->n == 0 && until > from && p->path[from] == '-')
		buf_text(to, "./");
	if (n == 4 && s[2] == '/' && until == 0)
		buf_text(to, ".");
	buf_put(to, p->path + from, until - from);
	return n;
}

/* The argument for a model; *found: it had a placeholder. NULL without memory. */
static char *
word_for(const char *word, const struct parts *p, bool *found)
{
	struct buf b = { 0 };
	const char *s;
	char *text;
	size_t n;

	for (s = word; *s; s += n) {
		n = *s == '{' ? put_placeholder(&b, s, p) : 0;
		*found |= n > 0;
		if (n == 0) {
			buf_u8(&b, (uint8_t)*s);
			n = 1;
		}
	}
	text = buf_string(&b) ? mem_text((char *)b.p, b.n) : NULL;
	buf_free(&b);
	return text;
}

char **
batch_words(const struct batch *b, const char *model)
{
	const struct parts p = parts_of(model);
	size_t i, n = 0;
	bool found = false, good = true;
	char **list;

	while (b->words[n])
		n++;
	if (!(list = mem_array(n + 2, sizeof *list)))
		return NULL;
	for (i = 0; i < n; i++)
		good = (list[i] = word_for(b->words[i], &p, &found)) && good;
	if (!found)
		good = (list[n] = word_for("{}", &p, &found)) && good;
	if (good)
		return list;
	for (i = 0; i <= n; i++)
		free(list[i]);
	free(list);
	return NULL;
}

void
batch_free_words(char **words)
{
	size_t i;

	for (i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}
