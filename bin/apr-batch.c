/* apr-batch: runs a word over many models */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch/batch.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/near.h"
#include "core/remote.h"
#include "front/find.h"
#include "front/words.h"

struct options {
	uint64_t jobs;
	bool json, dry_run;
};

/* ---- the command line ---- */

/* Returns the number of operands before "--", or SIZE_MAX if there is no "--". */
static size_t
count_patterns(int argc, char **argv, char **operands)
{
	size_t n = 0;
	int i;

	while (operands[n])
		n++;
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		;
	return i < argc ? n - (size_t)(argc - i - 1) : SIZE_MAX;
}

/* A word that apr does not know may be a tool of another package. */
static bool
is_unknown(const char *word)
{
	char name[80], path[PATH_MAX];

	return !front_word_find(word) &&
	       (strchr(word, '/') ||
	        snprintf(name, sizeof name, "apr-%s", word) >= (int)sizeof name ||
	        !front_find(name, path));
}

/* Finds what is run. words: room for the command, its NULL, and one more word before it. */
static int
choose_program(struct batch *b, const char **words, char **command, char path[PATH_MAX],
               struct err *e)
{
	const char *word = command[0];
	size_t i;

	words[0] = "apr";
	for (i = 0; command[i]; i++)
		words[i + 1] = remote_source(command[i]);
	b->words = words;
	if (strcmp(word, "apr") == 0) {
		b->words = words + 1;
		word = words[2];
	} else if (strncmp(word, "apr-", 4) == 0) {
		b->words = words + 1;
	}
	if (!word)
		return tool_misused(e, "a word is missing after apr");
	if (strncmp(word, "apr-", 4) != 0 && is_unknown(word)) {
		tool_misused(e, "unknown word %.80s", word);
		near_words(e, word, front_word_spelling);
		return -1;
	}
	if (!front_find(b->words[0], path))
		return tool_misused(e, "%.80s is not installed", b->words[0]);
	b->program = path;
	return 0;
}

static int
collect(struct batch *b, char **operands, size_t n, struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (batch_add(b, remote_source(operands[i]), e) < 0)
			return -1;
	return 0;
}

/* ---- the work ---- */

/* Appends a word so that a shell reads it as one. */
static void
put_word(struct buf *to, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_-./=:,+@%";

	if (*word && !word[strspn(word, plain)]) {
		buf_text(to, word);
		return;
	}
	buf_u8(to, '\'');
	for (; *word; word++)
		buf_text(to, *word == '\'' ? "'\\''" : (char[]){ *word, '\0' });
	buf_u8(to, '\'');
}

/* --dry-run: prints the commands. */
static int
print_commands(const struct batch *b, struct err *e)
{
	struct buf text = { 0 };
	char **words;
	size_t i, k;
	int r = 0;

	for (i = 0; r == 0 && i < b->n; i++) {
		if (!(words = batch_words(b, b->runs[i].model))) {
			r = err_memory(e);
			break;
		}
		for (k = 0; words[k]; k++) {
			buf_text(&text, k ? " " : "");
			put_word(&text, words[k]);
		}
		buf_text(&text, "\n");
		batch_free_words(words);
		r = tool_print(&text, e);
	}
	buf_free(&text);
	return r;
}

static int
run_all(struct batch *b, int *number, struct err *e)
{
	struct buf table = { 0 };
	int worst;

	batch_start(b, number, e);
	worst = batch_table(b, &table);
	if (!b->json && buf_string(&table))
		fputs((char *)table.p, stderr);
	buf_free(&table);
	if (e->code == ERR_NONE && worst)
		*e = (struct err){ .code = ERR_CHILD, .status = worst };
	return e->code == ERR_NONE ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static struct options o = { .jobs = 1 };
	static const struct opt opts[] = {
		NUMBER('j', "jobs", "N", &o.jobs, 1, BATCH_JOBS, "run N at a time (default: 1)"),
		FLAG('n', "dry-run", &o.dry_run, "print the commands, and run nothing"),
		FLAG(0, "json", &o.json, "print one object per model"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-batch", "[-j N] [-n | --json] PATTERN ... -- WORD [ARGUMENT ...]",
		"Run a word of apr, or a tool, over many models.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv), path[PATH_MAX];
	size_t patterns = count_patterns(argc, argv, operands);
	const char **words = mem_array((size_t)argc + 2, sizeof *words);
	struct batch b = { .jobs = o.jobs, .json = o.json };
	int number = 0;

	if (!words)
		err_memory(&e);
	else if (patterns == SIZE_MAX || !operands[patterns])
		tool_misused(&e, "-- WORD is missing: what to run over the models");
	else if (patterns == 0)
		tool_misused(&e, "no models: give a PATTERN before --");
	else if (choose_program(&b, words, operands + patterns, path, &e) == 0 &&
	         collect(&b, operands, patterns, &e) == 0)
		(void)(o.dry_run ? print_commands(&b, &e) : run_all(&b, &number, &e));
	batch_free(&b);
	free(words);
	if (number) {
		signal(number, SIG_DFL);
		raise(number);
	}
	return tool_end(&e);
}
