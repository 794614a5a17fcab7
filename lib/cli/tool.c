#include "cli/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "core/descriptors.h"
#include "core/embedded.h"
#include "core/mem.h"
#include "core/remote.h"
#include "core/sandbox.h"
#include "core/signals.h"
#include "core/text.h"
#include "core/version.h"
#include "model/suffix.h"

#define LIMIT "APR_RAM_LIMIT"

#define OPTIONS 64 /* of a tool */

static const struct tool *self;
static int user_words = 1;  /* the first word of the user */
static bool inner[OPTIONS]; /* options that embedded words have set: the user's replace them */

const char *
tool_name(void)
{
	return self ? self->name : "apr";
}

const char *
tool_input(const char *operand, struct err *e)
{
	if (operand && strcmp(operand, "-") != 0)
		return operand;
	if (!isatty(STDIN_FILENO))
		return "-";
	tool_misused(e, "no model: give a FILE, or a model on standard input");
	return NULL;
}

void
tool_drain(void)
{
	static char room[1 << 16];
	struct stat st;
	ssize_t n;

	fflush(stdout);
	if (fstat(STDIN_FILENO, &st) < 0 || S_ISREG(st.st_mode))
		return;
	do
		n = read(STDIN_FILENO, room, sizeof room);
	while (n > 0 || (n < 0 && errno == EINTR));
}

/* ---- the command line ---- */

struct opt *
opt_add(struct opt *to, const struct opt *rows)
{
	while (rows->name)
		*to++ = *rows++;
	return to;
}

struct opt *
opt_add_named(struct opt *to, const char *name, const char *arg, const char *help,
              const char **value)
{
	*to = (struct opt){ 0, name, arg, arg ? OPT_TEXT : OPT_MARK, value, help, 0, 0 };
	return to + 1;
}

/* Prints the SYNOPSIS. Further lines are aligned with the first word. */
static void
print_usage(void)
{
	const char *line = self->usage;
	int indent = printf("usage: %s ", self->name);

	while (*line) {
		size_t n = strcspn(line, "\n");

		printf("%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
		if (*line)
			printf("%*s", indent, "");
	}
}

#define HELP_LEFT 28 /* columns of an option and its value */

/* Prints an option and its help, whose further lines are aligned with the first. */
static void
print_option(const char *left, const char *help)
{
	size_t n = strcspn(help, "\n");

	printf("  %-*s  %.*s\n", HELP_LEFT, left, (int)n, help);
	if (help[n])
		print_option("", help + n + 1);
}

static void
print_help(void)
{
	const struct opt *o;
	char left[64];

	print_usage();
	printf("\n%s\n\n", self->summary);
	for (o = self->opts; o->name; o++) {
		if (!o->help)
			continue;
		snprintf(left, sizeof left, "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
		         o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
		         o->arg ? " " : "", o->arg ? o->arg : "");
		if (strlen(left) > HELP_LEFT) {
			printf("  %s\n", left);
			left[0] = '\0';
		}
		print_option(left, o->help);
	}
	print_option("-h, --help", "show this help and exit");
	print_option("    --version", "show the version and the sandbox, and exit");
}

_Noreturn static void
leave(struct err *e)
{
	exit(tool_end(e));
}

__attribute__((format(printf, 1, 2))) _Noreturn static void
misused(const char *fmt, ...)
{
	struct err e = ERR_INIT;
	va_list ap;

	va_start(ap, fmt);
	err_vset(&e, ERR_USAGE, NULL, fmt, ap);
	va_end(ap);
	err_hint(&e, "%s --help", self->name);
	leave(&e);
}

/* Returns the option that this name probably means: the nearest one, or one whose name
 * contains it; NULL if none is near. */
static const struct opt *
nearest(const char *name)
{
	const struct opt *o, *near = NULL;
	size_t cost, far = strlen(name) / 3 + 2, best = far;

	for (o = self->opts; o->name; o++) {
		if (!o->help)
			continue;
		cost = text_distance(name, o->name);
		if (cost >= far && strlen(name) > 3 && strstr(o->name, name))
			cost = far - 1;
		if (cost < best) {
			best = cost;
			near = o;
		}
	}
	return near;
}

_Noreturn static void
unknown(const char *name)
{
	const struct opt *near = nearest(name);
	struct err e = ERR_INIT;

	err_set(&e, ERR_USAGE, NULL, "unknown option --%.80s", name);
	if (near)
		err_hint(&e, "did you mean --%s?", near->name);
	else
		err_hint(&e, "%s --help", self->name);
	leave(&e);
}

/* Reports a letter that no option has and exits. word: all characters after the dash,
 * which may be the name of a long option. */
_Noreturn static void
unknown_letter(char letter, const char *word)
{
	const struct opt *o;
	struct err e = ERR_INIT;

	err_set(&e, ERR_USAGE, NULL, "unknown option -%c", letter);
	for (o = self->opts; o->name; o++)
		if (o->help && strcmp(o->name, word) == 0)
			err_hint(&e, "did you mean --%s?", o->name);
	err_hint(&e, "%s --help", self->name);
	leave(&e);
}

/* Spellings of one option share its target; the first is the current one. */
static const struct opt *
first_spelling(const struct opt *o)
{
	const struct opt *first = self->opts;

	while (first->to != o->to || !first->help)
		first++;
	return first;
}

static void
note_old(const struct opt *o, bool letter)
{
	const struct opt *now = first_spelling(o);

	if (letter && now->letter)
		tool_notef("-%c is deprecated: use -%c", o->letter, now->letter);
	else if (letter)
		tool_notef("-%c is deprecated: use --%s", o->letter, now->name);
	else
		tool_notef("--%s is deprecated: use --%s", o->name, now->name);
}

/* Refuses the suffix of a container: the output would be taken for a file of that
 * format. */
static void
set_stream(const struct opt *o, const char *value)
{
	struct err e = ERR_INIT;

	if (!*value)
		misused("--%s needs %s", o->name, o->arg);
	if (suffix_container(value)) {
		err_set(&e, ERR_USAGE, NULL, "-%c %.100s: %s writes a stream, not a file of that "
		        "format", o->letter, value, self->name);
		err_hint(&e, "%s ... | apr-pack -o %.100s", self->name, value);
		leave(&e);
	}
	*(const char **)o->to = value;
}

static void
set_bytes(const struct opt *o, const char *value)
{
	uint64_t n;

	if (text_bytes(value, o->low, o->high, o->to) == 0)
		return;
	if (text_bytes(value, 0, UINT64_MAX, &n) == 0)
		misused("--%s needs %" PRIu64 " to %" PRIu64 " bytes, not %.80s", o->name, o->low,
		        o->high, value);
	misused("--%s needs a number of bytes from %" PRIu64 " to %" PRIu64
	        ", such as 2G, 2GiB or 2GB, not %.80s", o->name, o->low, o->high, value);
}

static void
set_option(const struct opt *o, const char *value, bool *seen)
{
	const struct opt *first = first_spelling(o);
	struct opt_list *list;

	if (seen[first - self->opts] && !inner[first - self->opts] && o->kind != OPT_LIST)
		misused("--%s is given twice", first->name);
	seen[first - self->opts] = true;
	inner[first - self->opts] = false;
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		break;
	case OPT_MARK:
		*(const char **)o->to = "";
		break;
	case OPT_TEXT:
		if (!*value)
			misused("--%s needs %s", o->name, o->arg);
		*(const char **)o->to = value;
		break;
	case OPT_ANY_TEXT:
		*(const char **)o->to = value;
		break;
	case OPT_STREAM:
		set_stream(o, value);
		break;
	case OPT_NUMBER:
		if (text_u64(value, o->low, o->high, o->to) < 0)
			misused("--%s needs a number from %" PRIu64 " to %" PRIu64
			        ", not %.80s", o->name, o->low, o->high, value);
		break;
	case OPT_BYTES:
		set_bytes(o, value);
		break;
	case OPT_DECIMAL:
		if (text_decimal(value, (double)o->low, (double)o->high, o->to) < 0)
			misused("--%s needs a number from %" PRIu64 " to %" PRIu64
			        ", not %.80s", o->name, o->low, o->high, value);
		break;
	case OPT_LIST:
		list = o->to;
		if (mem_grow(&list->items, &list->cap, list->n + 1, sizeof *list->items) < 0) {
			struct err e = ERR_INIT;

			err_memory(&e);
			leave(&e);
		}
		list->items[list->n++] = value;
		break;
	}
}

/* ---- settings ---- */

static const struct opt *
option_named(const char *name, size_t n)
{
	const struct opt *o;

	for (o = self->opts; o->name; o++)
		if (n > 0 && strlen(o->name) == n && strncmp(o->name, name, n) == 0)
			break;
	return o->name ? o : NULL;
}

/* Whether one of the options in a list of words was given. */
static bool
is_given(const char *list, const bool *seen)
{
	const struct opt *o;
	size_t n;

	for (; list && *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		o = option_named(list, n);
		if (o && seen[first_spelling(o) - self->opts])
			return true;
	}
	return false;
}

static bool
has_word(const char *list, const char *word)
{
	const char *at = word && *word ? strstr(list, word) : NULL;
	size_t n = at ? strlen(word) : 0;

	return at && (at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
}

static bool
concerns(const struct config_use *u)
{
	const bool not = u->tool && u->tool[0] == '!';

	return (!u->tool || (strcmp(u->tool + not, self->name) == 0) != not) &&
	       option_named(u->option, strlen(u->option));
}

/* Sets an option. A text may be empty, which it may not be on the command line. */
static void
set_by(const struct opt *o, const char *value, bool *seen)
{
	if (o->kind == OPT_TEXT && !*value)
		*(const char **)o->to = value;
	else
		set_option(o, value, seen);
}

/* Sets the options that settings stand for, after those of the command line. */
static void
take_settings(const char *operand, bool *seen)
{
	const struct config_use *u;
	const struct config_key *k;
	const char *value;
	size_t i;

	config_warn_once();
	for (i = 0; (u = config_use(i)); i++) {
		if (!concerns(u) || is_given(u->option, seen) || is_given(u->unless, seen) ||
		    (u->with && !is_given(u->with, seen)) ||
		    (u->operands && !has_word(u->operands, operand)))
			continue;
		k = config_key(config_find(u->key));
		value = config_text(k->variable);
		if (value && (!u->on || strcmp(value, u->on) == 0))
			set_by(option_named(u->option, strlen(u->option)), u->on ? "" : value, seen);
	}
}

/* --no-NAME, where a setting stands for the option NAME: it counts as given. False if there is
 * no such option. */
static bool
undo_setting(const char *name, bool *seen)
{
	const struct config_use *u;
	const struct config_key *k;
	bool found = false;
	size_t i;

	for (i = 0; strncmp(name, "no-", 3) == 0 && (u = config_use(i)); i++) {
		if (!concerns(u) || strcmp(u->option, name + 3) != 0)
			continue;
		if (is_given(u->option, seen))
			misused("--%s is given twice", u->option);
		k = config_key(config_find(u->key));
		if (k->type == CONFIG_WHEN)
			(void)setenv(k->variable, "never", 1);
		seen[first_spelling(option_named(u->option, strlen(u->option))) - self->opts] = true;
		found = true;
		break;
	}
	return found;
}

/* ---- words ---- */

/* Parses argv[i], which begins with "--". Returns the number of words used. */
static int
long_option(char **argv, int i, bool *seen)
{
	const char *name = argv[i] + 2, *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	const struct opt *o;

	if (strcmp(name, "help") == 0) {
		struct err e = ERR_INIT;

		print_help();
		leave(&e);
	}
	if (strcmp(name, "version") == 0) {
		struct err e = ERR_INIT;

		printf("%s (apr tools) %s\n", self->name, APR_VERSION);
		printf("sandbox: %s\n", sandbox_text((char[SANDBOX_TEXT]){ 0 }));
		leave(&e);
	}
	o = option_named(name, n);
	if (!o && undo_setting(name, seen))
		return 1;
	if (!o)
		unknown(name);
	if (!o->help)
		note_old(o, false);
	if (!o->arg && equals)
		misused("--%s takes no value", o->name);
	if (o->arg && !equals && !argv[i + 1])
		misused("--%s needs %s", o->name, o->arg);
	set_option(o, equals ? equals + 1 : argv[i + 1], seen);
	return o->arg && !equals ? 2 : 1;
}

/* Parses argv[i], such as "-abc". */
static int
short_options(char **argv, int i, bool *seen)
{
	const char *p;

	for (p = argv[i] + 1; *p; p++) {
		const struct opt *o;

		if (*p == 'h') {
			struct err e = ERR_INIT;

			print_help();
			leave(&e);
		}
		for (o = self->opts; o->name && o->letter != *p; o++)
			;
		if (!o->name)
			unknown_letter(*p, argv[i] + 1);
		if (!o->help)
			note_old(o, true);
		if (!o->arg) {
			set_option(o, NULL, seen);
			continue;
		}
		if (!p[1] && !argv[i + 1])
			misused("-%c needs %s", *p, o->arg);
		set_option(o, p[1] ? p + 1 : argv[i + 1], seen);
		return p[1] ? 1 : 2;
	}
	return 1;
}

/* Applies the user's memory limit; after the command line is parsed, so that --help works
 * under any limit. */
static void
take_limit(void)
{
	const char *text = getenv(LIMIT);
	struct err e = ERR_INIT;
	uint64_t bytes;

	if (!text || !*text)
		return;
	if (text_bytes(text, 1, UINT64_MAX, &bytes) < 0)
		err_set(&e, ERR_USAGE, NULL, LIMIT " is %.80s, not a number of bytes such "
		        "as 2G, 2GiB or 2GB", text);
	else if (mem_limit(bytes) < 0)
		err_errno(&e, LIMIT, "cannot be set");
	if (e.code != ERR_NONE)
		leave(&e);
}

/* Allocates room for every word of argv and two NULLs. */
static char **
room_for_operands(int argc)
{
	char **operands = calloc((size_t)argc + 2, sizeof *operands);
	struct err e = ERR_INIT;

	if (!operands) {
		err_memory(&e);
		leave(&e);
	}
	return operands;
}

static const char *
name_of(const char *operand)
{
	const char *name = remote_name(operand);
	struct err e = ERR_INIT;

	if (!name) {
		err_memory(&e);
		leave(&e);
	}
	return name;
}

char **
tool_begin(const struct tool *t, int argc, char **argv)
{
	static char **operands;
	bool seen[OPTIONS] = { false };
	size_t n = 0;
	struct err settings = ERR_INIT;
	int i = 1;

	self = t;
	signals_catch();
	(void)config_take(&settings);
	operands = room_for_operands(argc);
	sandbox_tool(t->name);
	descriptors_occupy();
	/* Exceeding the file size limit then fails as a write error, with a message. */
	signal(SIGXFSZ, SIG_IGN);
	while (i < argc) {
		if (i <= user_words)
			memcpy(inner, seen, sizeof inner);
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][0] == '-' && argv[i][1] == '-') {
			i += long_option(argv, i, seen);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			i += short_options(argv, i, seen);
		} else if (n < t->operands) {
			operands[n++] = argv[i++];
		} else {
			misused("one operand too many: %.80s", argv[i]);
		}
	}
	for (; i < argc; i++) {
		if (n == t->operands)
			misused("one operand too many: %.80s", argv[i]);
		operands[n++] = argv[i];
	}
	operands[n] = NULL;
	if (settings.code != ERR_NONE)
		leave(&settings);
	take_settings(operands[0], seen);
	for (n = 0; operands[n]; n++)
		operands[n] = (char *)(uintptr_t)name_of(operands[n]);
	take_limit();
	return operands;
}

char **
tool_begin_embedded(const struct tool *t, int argc, char **argv)
{
	struct err e = ERR_INIT;

	self = t;
	if (embedded_begin(&e) == 0 && !(argv = embedded_command(&argc, argv, &user_words)))
		err_memory(&e);
	if (e.code != ERR_NONE)
		leave(&e);
	return tool_begin(t, argc, argv);
}
