#include "crypto/trusted.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/mem.h"

/* a and b as one string, or NULL. */
static char *
join(const char *a, const char *b)
{
	size_t n = strlen(a) + strlen(b) + 1;
	char *s = malloc(n);

	if (s)
		snprintf(s, n, "%s%s", a, b);
	return s;
}

static int
find_folder(struct trusted *t, struct err *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"),
		*named = getenv("APR_TRUSTED");

	if (named && *named)
		t->folder = join(named, "");
	else if (config && config[0] == '/')
		t->folder = join(config, "/apr/trusted");
	else if (home && *home)
		t->folder = join(home, "/.config/apr/trusted");
	else
		return 0;
	return t->folder ? 0 : err_memory(e);
}

static bool
is_key_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".pub") == 0;
}

/* Takes ownership of path, which is NULL if memory ran out. */
static struct trusted_key *
append(struct trusted *t, char *path, struct err *e)
{
	struct trusted_key *k;

	if (!path || mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item) < 0) {
		free(path);
		err_memory(e);
		return NULL;
	}
	k = &t->item[t->n++];
	k->path = path;
	return k;
}

static int
add(struct trusted *t, char *path, struct err *e)
{
	struct trusted_key *k = append(t, path, e);

	return k ? key_public_read(path, &k->key, e) : -1;
}

int
trusted_add(struct trusted *t, const char *name, const struct key_public *key, struct err *e)
{
	struct trusted_key *k = append(t, join(name, ""), e);

	if (!k)
		return -1;
	k->key = *key;
	return 0;
}

static int
add_from_folder(struct trusted *t, const char *name, struct err *e)
{
	char *slash = join(t->folder, "/");
	char *path = slash ? join(slash, name) : NULL;

	free(slash);
	return add(t, path, e);
}

bool
trusted_is_key(const char *path)
{
	static const char first[] = "untrusted comment:";
	char head[sizeof first - 1];
	struct stat st;
	FILE *f;
	bool yes;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(f = fopen(path, "rb")))
		return false;
	yes = fread(head, 1, sizeof head, f) == sizeof head &&
	      memcmp(head, first, sizeof head) == 0;
	fclose(f);
	return yes;
}

bool
trusted_is_named(const char *path)
{
	const char *slash = strrchr(path, '/');

	return is_key_name(slash ? slash + 1 : path);
}

int
trusted_files(struct trusted *t, const char *const *paths, size_t n, struct err *e)
{
	size_t i;

	*t = (struct trusted){ 0 };
	for (i = 0; i < n; i++)
		if (add(t, join(paths[i], ""), e) < 0)
			return -1;
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	const struct trusted_key *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int
trusted_load(struct trusted *t, struct err *e)
{
	struct dirent *entry;
	DIR *d;
	int r = 0;

	*t = (struct trusted){ 0 };
	if (find_folder(t, e) < 0)
		return -1;
	if (!t->folder)
		return 0;
	d = opendir(t->folder);
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, t->folder, "cannot be read");
	while (r == 0 && (errno = 0, entry = readdir(d)))
		if (is_key_name(entry->d_name))
			r = add_from_folder(t, entry->d_name, e);
	if (r == 0 && errno)
		r = err_errno(e, t->folder, "cannot be read");
	closedir(d);
	if (t->n > 1)
		qsort(t->item, t->n, sizeof *t->item, by_path);
	return r;
}

void
trusted_free(struct trusted *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->item[i].path);
	free(t->item);
	free(t->folder);
	*t = (struct trusted){ 0 };
}
