/* merge_asked: what the command line of apr-merge asks for, as a recipe. */
#ifndef CLI_MERGE_MERGE_ASKED_H
#define CLI_MERGE_MERGE_ASKED_H

#include "cli/tool.h"
#include "merge/plan.h"
#include "merge/recipe.h"

struct merge_asked {
	const char *method, *base, *recipe, *metric, *type;
	const char *tokens;
	bool lower, compat, any_tokens;
	uint64_t seed;
	struct opt_list weights, models;   /* -w, --model */
	const char *given[MERGE_PARAMS];   /* an option for each parameter */

	char **paths;                      /* of the models of the recipe, by number; owned */
	size_t path_count;
};

/* The rows of a table of options: with those that follow from the table of parameters, at most
 * MERGE_OPTIONS. Returns the place after them. */
#define MERGE_OPTIONS (13 + MERGE_PARAMS)
struct opt *merge_asked_options(struct merge_asked *a, struct opt *to);

/* Make the recipe from the options and the operands, or read the file that they name. Before the
 * sandbox. merge_asked_free and merge_recipe_free in any case. 0 or -1. */
int merge_asked_recipe(struct merge_asked *a, char **operands, struct merge_recipe *r,
                       struct merge_options *o, struct err *e);
void merge_asked_free(struct merge_asked *a);

/* --list: append the methods and their parameters. */
void merge_asked_list(struct buf *b);

#endif
