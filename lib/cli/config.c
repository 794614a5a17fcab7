#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/mem.h"
#include "core/text.h"

#define WARNINGS 8 /* unknown keys that are named */
#define WARNED "APR_CONFIG_WARNED" /* set for the processes that this one starts */

/* ---- values ---- */

static bool
is_word(const char *list, const char *word)
{
	const size_t n = strlen(word);
	const char *p = list;

	for (; *p; p += strcspn(p, "|"), p += *p == '|')
		if (n > 0 && strcspn(p, "|") == n && strncmp(p, word, n) == 0)
			return true;
	return false;
}

/* Describes what a key takes: "text or json". */
static void
put_wanted(struct buf *b, const struct config_key *k)
{
	const char *p;

	switch (k->type) {
	case CONFIG_WORD:
		for (p = k->words; *p; p++)
			if (*p != '|')
				buf_u8(b, (uint8_t)*p);
			else
				buf_text(b, strchr(p + 1, '|') ? ", " : " or ");
		return;
	case CONFIG_WHEN:
		buf_text(b, "auto, always, never, true or false");
		return;
	case CONFIG_SWITCH:
		buf_text(b, "true or false");
		return;
	case CONFIG_NUMBER:
		buf_printf(b, "an integer from %" PRIu64 " to %" PRIu64, k->low, k->high);
		return;
	case CONFIG_BYTES:
		buf_text(b, "a number of bytes such as 2G, 2GiB or 2GB");
		return;
	case CONFIG_PATH:
		buf_text(b, "an absolute path, or one that begins with ~/");
	}
}

/* A variable is not an object of the message: take_limit in tool.c says the same of its own. */
static int
refuse(const struct config_key *k, const char *object, const char *what, struct err *e)
{
	const bool variable = strcmp(object, k->variable) == 0;
	struct buf wanted = { 0 };
	int r;

	put_wanted(&wanted, k);
	if (!buf_string(&wanted))
		r = err_memory(e);
	else
		r = err_set(e, ERR_USAGE, variable ? NULL : object, "%s%sis %.80s, not %s",
		            variable ? object : "", variable ? " " : "", what, (char *)wanted.p);
	buf_free(&wanted);
	return r;
}

/* Writes the form that the tools use. False if the text is not a value of the key. */
static bool
take_value(const struct config_key *k, const char *text, struct buf *to)
{
	const char *home = getenv("HOME");
	uint64_t n;

	switch (k->type) {
	case CONFIG_WORD:
		buf_text(to, text);
		return is_word(k->words, text);
	case CONFIG_WHEN:
		buf_text(to, strcmp(text, "true") == 0 ? "auto"
		             : strcmp(text, "false") == 0 ? "never" : text);
		return is_word("auto|always|never|true|false", text);
	case CONFIG_SWITCH:
		buf_text(to, text);
		return is_word("true|false", text);
	case CONFIG_NUMBER:
		buf_text(to, text);
		return text_u64(text, k->low, k->high, &n) == 0;
	case CONFIG_BYTES:
		buf_text(to, text);
		return text_bytes(text, k->low, k->high, &n) == 0;
	case CONFIG_PATH:
		if (strncmp(text, "~/", 2) == 0 && home && *home == '/')
			buf_printf(to, "%s%s", home, text + 1);
		else
			buf_text(to, text);
		return to->n > 0 && to->p[0] == '/';
	}
	return false;
}

int
config_value(const struct config_key *k, const char *text, struct buf *to, struct err *e)
{
	char name[64];

	snprintf(name, sizeof name, "%s.%s", k->table, k->name);
	if (!take_value(k, text, to))
		return refuse(k, name, text, e);
	return buf_string(to) ? 0 : err_memory(e);
}

/* A value of the file, as text. -1 if its type is not that of the key. */
static int
text_of(const struct config_key *k, const struct toml_entry *x, struct buf *b, struct err *e)
{
	const struct toml_value *v = &x->value;
	static const char *const types[] = { "a string", "an integer", "a float", "a boolean",
		"an array" };
	const bool text = k->type == CONFIG_WORD || k->type == CONFIG_WHEN ||
	                  k->type == CONFIG_BYTES || k->type == CONFIG_PATH;
	const bool number = k->type == CONFIG_NUMBER || k->type == CONFIG_BYTES;
	const bool boolean = k->type == CONFIG_SWITCH || k->type == CONFIG_WHEN;

	if (v->type == TOML_TEXT && text && strlen(v->text) == v->n)
		buf_text(b, v->text);
	else if (v->type == TOML_INTEGER && number)
		buf_printf(b, "%" PRId64, v->integer);
	else if (v->type == TOML_BOOLEAN && boolean)
		buf_text(b, v->yes ? "true" : "false");
	else
		return refuse(k, x->path, v->type == TOML_TEXT && text ? "a string with a NUL"
		              : types[v->type], e);
	return buf_string(b) ? 0 : err_memory(e);
}

/* Ends the work of an item: takes the value out of b. */
static int
set_item(struct config_item *x, struct buf *b, enum config_from from, struct err *e)
{
	x->value = buf_string(b) ? mem_text((char *)b->p, b->n) : NULL;
	x->from = from;
	return x->value ? 0 : err_memory(e);
}

/* ---- the file ---- */

int
config_place(struct config *c, struct err *e)
{
	const char *named = getenv("APR_CONFIG"), *folder = getenv("XDG_CONFIG_HOME"),
		*home = getenv("HOME");
	struct buf b = { 0 };
	int r = 0;

	*c = (struct config){ .named = named && *named };
	if (c->named)
		buf_text(&b, named);
	else if (folder && folder[0] == '/')
		buf_printf(&b, "%s/apr/config.toml", folder);
	else if (home && *home)
		buf_printf(&b, "%s/.config/apr/config.toml", home);
	if (b.failed || (b.n > 0 && !(c->path = mem_text((char *)b.p, b.n))))
		r = err_memory(e);
	buf_free(&b);
	return r;
}

static int
prove_file(const struct config *c, int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, c->path, "cannot be read");
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, c->path, "is a directory, not a file of settings");
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) /* /dev/null */
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, c->path, "is not a regular file");
	if (st.st_mode & S_IWOTH) {
		err_set(e, ERR_USAGE, c->path, "can be written by every user");
		return err_hint(e, "chmod o-w %.200s", c->path);
	}
	if (!c->named && st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, ERR_USAGE, c->path, "belongs to another user");
	return 0;
}

/* Reads at most one byte more than a document may have, since the size of a file may lie. */
static int
read_file(struct config *c, int fd, struct err *e)
{
	uint8_t *room;
	ssize_t n;

	while (c->text.n <= TOML_BYTES) {
		if (!(room = buf_room(&c->text, TOML_BYTES + 1)))
			return err_memory(e);
		n = read(fd, room, TOML_BYTES + 1 - c->text.n);
		if (n < 0 && errno != EINTR)
			return err_errno(e, c->path, "cannot be read");
		if (n == 0)
			return 0;
		c->text.n += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Whether a file that could not be opened is missing, or lies in a folder that this user may not
 * enter, as the home of another user: then it is not this user's. */
static bool
is_absent(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
}

static int
load_file(struct config *c, struct err *e)
{
	int fd = c->path ? open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1, r;

	if (!c->path || (fd < 0 && !c->named && is_absent(c->path)))
		return 0;
	if (fd < 0)
		return err_errno(e, c->path, "cannot be opened");
	c->exists = true;
	r = prove_file(c, fd, e);
	if (r == 0)
		r = read_file(c, fd, e);
	close(fd);
	if (r == 0)
		r = toml_parse(&c->toml, c->path, c->text.n ? (char *)c->text.p : "", c->text.n, e);
	return r;
}

/* Takes one value of the file. */
static int
take_entry(const struct toml_entry *x, const struct config_key *k, struct config_item *to,
           struct err *e)
{
	struct buf raw = { 0 }, b = { 0 };
	int r = text_of(k, x, &raw, e);

	if (r == 0)
		r = config_value(k, (char *)raw.p, &b, e);
	if (r == 0)
		r = set_item(to, &b, CONFIG_FILE, e);
	to->line = x->line;
	buf_free(&raw);
	buf_free(&b);
	return r;
}

static int
take_file(struct config *c, struct err *e)
{
	struct err why = ERR_INIT;
	const struct toml_entry *x;
	char place[384];
	size_t i, key;

	for (i = 0; i < c->toml.n; i++) {
		x = &c->toml.entries[i];
		key = config_find(x->path);
		if (key == CONFIG_KEYS ||
		    take_entry(x, config_key(key), &c->items[key], &why) == 0)
			continue;
		snprintf(place, sizeof place, "%.360s:%u", c->path, x->line);
		return err_set(e, why.code, place, "%s %s", why.object, why.fact);
	}
	return 0;
}

/* A variable counts more than the file. Unknown levels of APR_LOG_LEVEL are those of other
 * programs. */
static int
take_environment(struct config *c, struct err *e)
{
	const struct config_key *k;
	struct buf b = { 0 };
	const char *text;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && (k = config_key(i)); i++) {
		text = getenv(k->variable);
		if (!text || !*text)
			continue;
		buf_clear(&b);
		if (!take_value(k, text, &b) && strcmp(k->variable, "APR_LOG_LEVEL") != 0) {
			r = refuse(k, k->variable, text, e);
		} else {
			free(c->items[i].value);
			r = set_item(&c->items[i], &b, CONFIG_ENVIRONMENT, e);
		}
	}
	buf_free(&b);
	return r;
}

/* Takes what the keys have without a setting. */
static int
take_standard(struct config *c, struct err *e)
{
	const struct config_key *k;
	size_t i;

	for (i = 0; (k = config_key(i)); i++)
		if (!c->items[i].value && k->standard &&
		    !(c->items[i].value = mem_text(k->standard, strlen(k->standard))))
			return err_memory(e);
	return 0;
}

int
config_open(struct config *c, struct err *e)
{
	if (config_place(c, e) == 0 && load_file(c, e) == 0 && take_file(c, e) == 0 &&
	    take_environment(c, e) == 0)
		return take_standard(c, e);
	/* The settings are part of the command, not of a model. */
	if (e->code == ERR_CORRUPT || e->code == ERR_IO)
		e->code = ERR_USAGE;
	return -1;
}

void
config_close(struct config *c)
{
	size_t i;

	for (i = 0; i < CONFIG_KEYS; i++)
		free(c->items[i].value);
	toml_free(&c->toml);
	buf_free(&c->text);
	free(c->path);
	*c = (struct config){ .path = NULL };
}

/* ---- keys that do not exist ---- */

void
config_warn(const struct config *c)
{
	const struct toml_entry *x;
	struct err e;
	size_t i, n = 0;

	for (i = 0; i < c->toml.n; i++) {
		x = &c->toml.entries[i];
		if (config_find(x->path) < CONFIG_KEYS || n++ >= WARNINGS)
			continue;
		e = (struct err)ERR_INIT;
		config_near(x->path, &e);
		tool_notef("%.300s:%u: unknown key %.255s%s%s", c->path, x->line, x->path,
		           *e.hint ? "; " : "", e.hint);
	}
	if (n > WARNINGS)
		tool_notef("%.300s: %zu more unknown keys", c->path, n - WARNINGS);
}

/* ---- for tool_begin ---- */

static struct config taken;
static bool left;

int
config_take(struct err *e)
{
	const struct config_key *k;
	size_t i;

	if (left)
		return 0;
	if (config_open(&taken, e) < 0)
		return -1;
	for (i = 0; (k = config_key(i)); i++)
		if (taken.items[i].from == CONFIG_FILE &&
		    setenv(k->variable, taken.items[i].value, 1) < 0)
			return err_memory(e);
	return 0;
}

void
config_warn_once(void)
{
	if (taken.toml.n > 0 && !getenv(WARNED)) {
		config_warn(&taken);
		(void)setenv(WARNED, "1", 1);
	}
	config_close(&taken);
}

void
config_leave(void)
{
	left = true;
}

const char *
config_text(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text ? text : NULL;
}
