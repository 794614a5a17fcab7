#include "cli/config/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/out.h"

/* Makes the folders of a path that are missing, for the user alone. */
static int
make_folders(char *file, struct err *e)
{
	char *slash = file;
	int r;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		r = mkdir(file, 0700) < 0 && errno != EEXIST ? err_errno(e, file, "cannot be created") : 0;
		*slash = '/';
		if (r < 0)
			return -1;
	}
	return 0;
}

/* Locks the folder of the file, until the process ends, so that of two changes at the same time
 * none is lost. A folder that cannot be locked is used unlocked. */
static void
lock_folder(const char *file)
{
	char *folder = strdup(file), *slash = folder ? strrchr(folder, '/') : NULL;
	int fd = -1;

	if (slash) {
		slash[slash == folder] = '\0';
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else if (folder) {
		fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd >= 0)
		while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
			;
	free(folder);
}

/* Replaces the file, or what a link of its name leads to. */
static int
write_file(struct config *c, const struct buf *text, struct err *e)
{
	char *real = realpath(c->path, NULL);
	struct out_options where = { .path = real ? real : c->path, .force = true, .input = -1,
		.terminal_ok = true };
	struct stat st;
	struct out out;
	int r = -1;

	where.mode = 0600;
	if (real && stat(real, &st) == 0) {
		where.mode = st.st_mode & 0777;
		if (!S_ISREG(st.st_mode)) {
			free(real);
			return err_set(e, ERR_USAGE, c->path, "is not a regular file");
		}
	}
	if (out_open(&out, &where, e) == 0) {
		if (out_put(&out, text->p, text->n) == 0 && out_finish(&out) == 0)
			r = 0;
		else
			out_abandon(&out);
	}
	free(real);
	return r;
}

/* Finds the file and reads it. One that APR_CONFIG names may be missing here. */
static int
open_to_change(struct config *c, struct err *e)
{
	if (config_place(c, e) < 0)
		return -1;
	if (!c->path)
		return err_set(e, ERR_NO, NULL, "neither APR_CONFIG, XDG_CONFIG_HOME nor HOME is set");
	if (make_folders(c->path, e) < 0)
		return -1;
	lock_folder(c->path);
	if (c->named && access(c->path, F_OK) < 0 && errno == ENOENT)
		return 0;
	config_close(c);
	return config_open(c, e);
}

/* The value as TOML. */
static void
put_toml(struct buf *to, const struct config_key *k, const char *value)
{
	if (k->type == CONFIG_SWITCH || k->type == CONFIG_NUMBER ||
	    (k->type == CONFIG_BYTES && !value[strspn(value, "0123456789")]))
		buf_text(to, value);
	else
		toml_quote(to, value);
}

/* Puts VALUE, which is TOML, into the file. */
static int
put_value(struct config *c, const struct config_key *k, const char *value, struct err *e)
{
	struct buf text = { 0 };
	int r = toml_set(&c->toml, c->path, c->text.p ? (char *)c->text.p : "", c->text.n, k->table,
	                 k->name, value, &text, e);

	if (r == 0)
		r = write_file(c, &text, e);
	buf_free(&text);
	return r;
}

int
change_set(struct config *c, size_t key, const char *text, struct err *e)
{
	const struct config_key *k = config_key(key);
	struct buf form = { 0 }, value = { 0 };
	int r = config_value(k, text, &form, e);

	/* A path is kept as it was given, with its ~. */
	if (r == 0)
		put_toml(&value, k, k->type == CONFIG_PATH ? text : (char *)form.p);
	if (r == 0 && !buf_string(&value))
		r = err_memory(e);
	if (r == 0 && (r = open_to_change(c, e)) == 0)
		r = put_value(c, k, (char *)value.p, e);
	if (r == 0 && c->items[key].from == CONFIG_ENVIRONMENT)
		tool_notef("%s is set, and stronger than the file", k->variable);
	buf_free(&form);
	buf_free(&value);
	return r;
}

int
change_unset(struct config *c, const char *name, struct err *e)
{
	const struct toml_entry *x;
	struct buf text = { 0 };
	int r;

	if (open_to_change(c, e) < 0)
		return -1;
	if (!(x = toml_find(&c->toml, name)))
		return err_set(e, ERR_NO, c->path, "does not have %s", name);
	toml_unset(x, c->text.p, c->text.n, &text);
	r = buf_ok(&text) ? write_file(c, &text, e) : err_memory(e);
	buf_free(&text);
	return r;
}
