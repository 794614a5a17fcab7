/* conversion: converts a model to other types: a recipe, and the hooks of a flow that
 * follow it.
 */
#ifndef STAGE_CONVERSION_H
#define STAGE_CONVERSION_H

#include "core/buf.h"
#include "model/flow.h"
#include "quant/loss.h"
#include "quant/recipe.h"
#include "quant/recode.h"
#include "report/table.h"

/* The caller sets the first group of members; the rest is initially all zero. */
struct conversion {
	const struct recipe_options *how; /* with prune and keys; must outlive the conversion */
	double max_rmse;      /* an error above it fails; or infinite */
	void (*note)(struct buf *lines);  /* takes notes for the user, a line each, and clears them */
	void (*print)(struct buf *lines); /* the same for what check reports; NULL without check */
	unsigned jobs;        /* threads */
	bool check;           /* report the error of each tensor */
	bool json;            /* as objects */
	bool allow_nonfinite;

	/* conversion_begin: */
	struct model plan;    /* the source's, without pruned blocks and with new keys */
	size_t *row;          /* for each tensor of the source its index in plan, or CONVERSION_GONE */
	struct recipe recipe;
	struct table table;   /* widths of what is printed */
	const char *name;     /* of the source */

	/* As the model flows: */
	struct recode recode;
	struct convert_stats all;
	struct loss loss;     /* with check */
	struct buf text;      /* to be printed */
	bool measured;        /* the model was read once, to measure */
	char warning[LOSS_TEXT]; /* for the metadata; empty: none */
	char operation[160];  /* of a flow */
};

#define CONVERSION_GONE SIZE_MAX

/* Decides the new type of each tensor of a plan; name is that of its source. Returns 0 or -1; call
 * conversion_free either way. */
int conversion_begin(struct conversion *c, const struct model *source, const char *name,
                     struct err *e);

/* Fill f with the hooks that convert a model from its source to a sink. */
void conversion_hooks(struct conversion *c, struct flow *f);

/* The same for a source that conversion_begin has not seen: the hooks begin with the plan, and
 * refuse what recipe_allowed refuses. */
void conversion_stage(struct conversion *c, const char *name, struct flow *f);

/* Fill f with hooks that only measure: with check, the errors are printed, and after
 * conversion_measured the hooks of conversion_hooks add a warning about them to the metadata. */
void conversion_measures(struct conversion *c, struct flow *f);
void conversion_measured(struct conversion *c);

void conversion_free(struct conversion *c);

#endif
