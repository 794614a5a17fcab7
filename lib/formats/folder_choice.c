/* Which files of a folder are its model: by their names alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/opened.h"
#include "formats/folder_choice.h"

/* The kinds: the first that a folder has is read. */
static const struct folder_kind *const kinds[] = { &folder_safetensors, &folder_pytorch };
#define KINDS (sizeof kinds / sizeof *kinds)

const struct folder_kind *
folder_kind_row(size_t i)
{
	return i < KINDS ? kinds[i] : NULL;
}

static bool
has(const struct dir_names *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->p[i], name) == 0)
			return true;
	return false;
}

/* True if a file with this name may be a model of this kind. */
static bool
may_be_model(const struct folder_kind *kind, const char *name)
{
	size_t i;

	if (!dir_name_ends(name, kind->ending))
		return false;
	for (i = 0; kind->others && kind->others[i]; i++)
		if (strcmp(name, kind->others[i]) == 0)
			return false;
	return true;
}

/* Choose the weights from the names in a folder, as transformers does: a single file before an
 * index, the usual names before others. False if there are none of this kind. */
static bool
choose_of(const struct dir_names *list, const struct folder_kind *kind, struct folder_choice *c)
{
	const char *single = NULL, *index = NULL;
	size_t i, indexes = 0;
	char end[64];

	snprintf(end, sizeof end, "%s" FOLDER_INDEX_END, kind->ending);
	*c = (struct folder_choice){ .kind = kind };
	for (i = 0; i < list->n; i++) {
		if (dir_name_ends(list->p[i], end)) {
			index = list->p[i];
			indexes++;
		}
		if (may_be_model(kind, list->p[i])) {
			single = list->p[i];
			c->files++;
		}
	}
	if (has(list, kind->single))
		c->single = kind->single;
	else if (has(list, kind->index))
		c->index = kind->index;
	else if (indexes == 1)
		c->index = index;
	else if (c->files == 1)
		c->single = single;
	return c->single || c->index || c->files > 0;
}

struct folder_choice
folder_choose(const struct dir_names *list)
{
	struct folder_choice c;
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (choose_of(list, kinds[i], &c))
			return c;
	return (struct folder_choice){ .kind = NULL };
}

/* True if the file with this name holds the chosen weights, or some of them. */
static bool
is_weights(const struct folder_choice *c, const char *name)
{
	const char *ending = c->kind->ending;
	struct dir_number n;
	size_t stem;

	if (!c->index)
		return c->single && strcmp(name, c->single) == 0;
	stem = strlen(c->index) - strlen(ending) - strlen(FOLDER_INDEX_END);
	return strcmp(name, c->index) == 0 ||
	       (dir_numbered(name, ending, &n) && n.prefix == stem &&
	        memcmp(name, c->index, stem) == 0);
}

bool
folder_is_weights(const char *name)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (strcmp(name, kinds[i]->single) == 0 || strcmp(name, kinds[i]->index) == 0 ||
		    (!kinds[i]->others && dir_name_ends(name, kinds[i]->ending)))
			return true;
	return false;
}

char *
folder_around(const struct folder_kind *kind, const char *path)
{
	struct dir_names list = { 0 };
	struct folder_choice c = { .kind = NULL };
	struct err e = ERR_INIT;
	char *folder = NULL;
	const char *name;
	struct stat st;
	bool found = false;
	int fd;

	if (opened_stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	fd = dir_of(path, &folder, &name, &e);
	if (fd >= 0 && dir_list(fd, folder, &list, &e) == 0)
		c = folder_choose(&list);
	if (c.kind == kind)
		found = (has(&list, FOLDER_CONFIG) || has(&list, "tokenizer.json")) &&
			is_weights(&c, name);
	if (fd >= 0)
		close(fd);
	dir_names_free(&list);
	if (found && *folder)
		return folder;
	free(folder);
	return found ? mem_text(".", 1) : NULL;
}
