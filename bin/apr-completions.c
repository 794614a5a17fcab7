/* apr-completions: prints the completions of a shell */
#include <stdio.h>
#include <string.h>

#include "cli/tool.h"

/* The lines of the files in completions/, which the Makefile turns into strings. */
static const char *const bash[] = {
#include <completions/apr-tools.bash.inc>
	NULL
};
static const char *const zsh[] = {
#include <completions/_apr-tools.inc>
	NULL
};
static const char *const fish[] = {
#include <completions/apr-tools.fish.inc>
	NULL
};

static const struct shell {
	const char *name;
	const char *const *lines;
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
#define SHELLS (sizeof shells / sizeof *shells)

int
main(int argc, char **argv)
{
	static const struct opt opts[] = { OPT_END };
	static const struct tool tool = {
		"apr-completions", "bash | zsh | fish",
		"Print the completions of apr and its tools for a shell.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *const *line;
	size_t i;

	for (i = 0; operands[0] && i < SHELLS && strcmp(shells[i].name, operands[0]) != 0; i++)
		;
	if (!operands[0])
		tool_misused(&e, "which shell: bash, zsh or fish");
	else if (i == SHELLS)
		tool_misused(&e, "the shell is bash, zsh or fish, not %.40s", operands[0]);
	else
		for (line = shells[i].lines; *line; line++)
			fputs(*line, stdout);
	return tool_end(&e);
}
