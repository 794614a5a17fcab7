/* conversion: converts a model to other types: a recipe, and the hooks of a flow that
 * follow it. Prints notes, and the errors of a conversion, on standard error.
 */
#ifndef CLI_QUANT_CONVERSION_H
#define CLI_QUANT_CONVERSION_H

#include "cli/quant/quant_options.h"
#include "quant/loss.h"
#include "quant/recode.h"
#include "report/table.h"

/* The caller sets the first group of members; the rest is initially all zero. */
struct conversion {
	const struct quant_options *options; /* parsed; must outlive the conversion */
	unsigned jobs;        /* threads */
	bool check;           /* print the error of each tensor */
	bool json;            /* as objects */
	bool allow_nonfinite;

	/* conversion_begin: */
	struct model plan;    /* the source's, without pruned blocks and with new keys */
	size_t *row;          /* for each tensor of the source its index in plan, or QUANT_GONE */
	struct recipe recipe;
	struct table table;   /* widths of what is printed */
	const char *name;     /* of the source */

	/* As the model flows: */
	struct recode recode;
	struct convert_stats all;
	struct loss loss;     /* with check */
	struct buf text;      /* to be printed */
	bool measured;        /* conversion_measure has read the model */
	char warning[LOSS_TEXT]; /* for the metadata; empty: none */
};

/* Decides the new type of each tensor of source. Returns 0 or -1; call conversion_free
 * either way. */
int conversion_begin(struct conversion *c, const struct source *source, struct err *e);

/* Reads source once before conversion_run reads it again: with check, it prints the
 * errors, and conversion_run adds the warning about them to the metadata. Returns 0 or
 * -1. */
int conversion_measure(struct conversion *c, struct source *source, bool progress,
                       struct err *e);

/* Converts source into sink. Returns 0 or -1. */
int conversion_run(struct conversion *c, struct source *source, struct sink *sink,
                   bool progress, struct err *e);

void conversion_free(struct conversion *c);

#endif
