#include "front/help.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/near.h"
#include "front/find.h"
#include "front/line.h"

static const char usage[] =
	"usage: apr WORD [ARGUMENT ...] [--show]\n"
	"       apr help [WORD]\n"
	"       apr --version\n";

static bool
is_there(const struct front_word *w)
{
	char path[PATH_MAX];

	return !w->tool || front_find(w->tool, path);
}

/* ---- words ---- */

void
front_help_words(struct buf *b)
{
	const struct front_word *w;
	enum front_group g;
	bool missing = false;

	buf_text(b, usage);
	buf_text(b, "\nRun a tool, or a pipe of tools, by one word.\n");
	for (g = 0; g < FRONT_GROUPS; g++) {
		buf_printf(b, "\n%s\n", front_group_title(g));
		for (w = front_words(); w->name; w++) {
			if (w->group != g)
				continue;
			buf_printf(b, "  %-12s  %s%s\n", w->name, w->purpose, is_there(w) ? "" : " *");
			missing = missing || !is_there(w);
		}
	}
	buf_text(b, "\napr WORD --help lists options; apr WORD ... --show prints the pipe.\n");
	if (missing)
		buf_text(b, "* This tool is not installed.\n");
}

/* Appends a row for each of the spellings, which are separated by spaces. */
static void
put_spellings(struct buf *b, const char *dashes, const char *names, const char *second,
              const char *third)
{
	size_t n;

	for (; *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		buf_printf(b, "%s%.*s\t%s\t%s\n", dashes, (int)n, names, second, third);
	}
}

void
front_help_words_table(struct buf *b)
{
	const struct front_word *w;

	for (w = front_words(); w->name; w++) {
		if (!is_there(w))
			continue;
		put_spellings(b, "", w->name, w->tool ? w->tool : "-", w->purpose);
		put_spellings(b, "", w->also, w->tool ? w->tool : "-", w->purpose);
	}
}

/* ---- options ---- */

#define LEFT 28 /* columns of an option and its value */

static void
put_option(struct buf *b, const struct front_option *o)
{
	char left[96];

	snprintf(left, sizeof left, "%c%c%s--%.*s%s%s", o->letter ? '-' : ' ',
	         o->letter ? o->letter : ' ', o->letter ? ", " : "  ", (int)strcspn(o->names, " "),
	         o->names, o->arg ? " " : "", o->arg ? o->arg : "");
	if (strlen(left) > LEFT)
		buf_printf(b, "  %s\n  %-*s  %s\n", left, LEFT, "", o->help);
	else
		buf_printf(b, "  %-*s  %s\n", LEFT, left, o->help);
}

void
front_help_word(struct buf *b, const struct front_word *w)
{
	const struct front_option *o;

	buf_printf(b, "usage: apr %s [OPTION ...] %s\n\n%c%s.\n\n", w->name, w->usage,
	           w->purpose[0] >= 'a' && w->purpose[0] <= 'z' ? w->purpose[0] - 32 : w->purpose[0],
	           w->purpose + 1);
	for (o = front_options(); o->words; o++)
		if (o->words & w->plan && o->help)
			put_option(b, o);
}

void
front_help_options_table(struct buf *b, const struct front_word *w)
{
	const struct front_option *o;

	for (o = front_options(); o->words; o++)
		if (o->words & w->plan && !(o->why && *o->why == '!'))
			put_spellings(b, "--", o->names, o->arg ? o->arg : "", o->help ? o->help : "");
}

/* ---- pages ---- */

/* Runs a program, and returns its exit status, or -1. */
static int
run(const char *path, const char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execv(path, (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Finds the page beside the running program, in a checkout or where it is installed. */
static bool
find_page(const char *tool, char page[PATH_MAX])
{
	static const char *const folders[] = { "/../share/man/man1/", "/../man/", "/../../../man/" };
	size_t i;
	int n;

	for (i = 0; i < sizeof folders / sizeof *folders; i++) {
		n = snprintf(page, PATH_MAX, "%s%s%s.1", front_folder(), folders[i], tool);
		if (n > 0 && n < PATH_MAX && access(page, R_OK) == 0)
			return true;
	}
	return false;
}

int
front_help_page(const struct front_word *w, const char *name, struct err *e)
{
	char page[PATH_MAX], path[PATH_MAX];
	const char *tool = w && w->tool ? w->tool : w ? "apr" : name;
	const char *local[] = { "man", "-l", page, NULL };
	const char *installed[] = { "man", "1", tool, NULL };
	const char *help[] = { tool, "--help", NULL };

	if (front_find("man", path) &&
	    run(path, find_page(tool, page) ? local : installed) == 0)
		exit(0);
	if (w && !w->tool) {
		struct buf b = { 0 };

		front_help_word(&b, w);
		fwrite(b.p, 1, b.n, stdout);
		buf_free(&b);
		return 0;
	}
	if (!front_find(tool, path))
		return err_set(e, ERR_USAGE, name, "%s is not installed", tool);
	execv(path, (char *const *)help);
	return err_errno(e, path, "cannot be run");
}

int
front_help_unknown(const char *name, struct err *e)
{
	err_set(e, ERR_USAGE, NULL, "%.80s is not a word of apr", name);
	err_hint(e, "apr lists the words");
	near_words(e, name, front_word_spelling);
	return -1;
}

static const char *
own_option(unsigned index)
{
	static const char *const options[] = { "--help", "--version", NULL };

	return options[index];
}

int
front_help_option(const char *name, struct err *e)
{
	err_set(e, ERR_USAGE, NULL, "apr has no option %.80s", name);
	err_hint(e, "apr --help, apr --version, or apr WORD with its options");
	near_words(e, name, own_option);
	return -1;
}
