/* line: the command line of a word with a plan, by one table of options.
 *
 * A row of the table names the words that have the option, and what it does: it is passed to
 * stages of the pipe under the name that their tool has for it, makes stages run, or is read
 * by the plan itself (a slot). So a new option of a tool is one row.
 */
#ifndef FRONT_LINE_H
#define FRONT_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "front/words.h"

/* The stages of a pipe, in the only order in which they run. */
enum front_step {
	STEP_FETCH,   /* apr-pull */
	STEP_SOURCE,  /* apr-unpack, or the only tool */
	STEP_TRUST,   /* apr-verify */
	STEP_DECODE,  /* apr-quant, to floats */
	STEP_ADAPT,
	STEP_RENAME,  /* of an import: each tensor has a canonical name */
	STEP_PRUNE, STEP_LOWRANK, STEP_DISTILL, STEP_QUANT, STEP_GATE, STEP_CHECK, STEP_SPARSE,
	STEP_SIGN, STEP_PACK, FRONT_STEPS
};

/* What a plan asks of a command line; each is the value of the option, "" for one that has
 * none, NULL if it is not given. */
enum front_slot {
	SLOT_NONE, SLOT_FROM, SLOT_TO, SLOT_ARCH, SLOT_FORM, SLOT_TYPE, SLOT_PRECISION, SLOT_FLOATS,
	SLOT_DECODE, SLOT_KEEP, SLOT_FORCE, SLOT_NO_CHECK, SLOT_OUTPUT, SLOT_FORCE_OUTPUT,
	SLOT_SIGN, SLOT_TRUST, SLOT_ANALYZE, SLOT_NATIVE, SLOT_QUALITY, SLOT_CHECKSUM, SLOT_CANARY,
	SLOT_GATE, SLOT_LOWRANK, SLOT_TARGET, SLOT_SPARSE, SLOT_JSON, SLOT_SHOW, SLOT_PROGRESS, SLOT_HELP,
	SLOT_NAN, SLOT_ZERO, SLOT_SHAPES,
	FRONT_SLOTS
};

struct front_option {
	unsigned words;    /* the words that have it */
	char letter;       /* or 0 */
	const char *names; /* its spellings, separated by spaces; the first is the usual one */
	const char *arg;   /* the name of its value, "[NAME]" if that may be missing, or NULL */
	unsigned passes;   /* steps (1 << STEP_...) that get it, if they run */
	unsigned wants;    /* steps that run because of it */
	const char *as;    /* its name there, or NULL: only wanted */
	enum front_slot slot;
	const char *why;   /* NULL; or why it has no effect, or "!" and why it is refused */
	const char *help;  /* NULL: another row of --help has it */
};

#define FRONT_GIVEN 64
#define FRONT_OPERANDS 64

struct front_line {
	const struct front_word *word;
	const char *slot[FRONT_SLOTS];
	const char *operands[FRONT_OPERANDS];
	size_t operand_count;
	struct {
		const struct front_option *option;
		const char *value;  /* or NULL */
	} given[FRONT_GIVEN];
	size_t given_count;
	unsigned wanted;        /* steps */
};

/* The table, ended by a row without words. */
const struct front_option *front_options(void);

/* Reads the arguments after the word, which argv need to outlive. 0; or -1 with ERR_USAGE and
 * a similar option as the hint. */
int front_line_read(struct front_line *l, const struct front_word *w, char **args, struct err *e);

#endif
