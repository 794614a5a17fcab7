/* adapt: a model in another form, as a source behind a source.
 *
 * The forms are those of arch/arch.h. Names, order, shapes, values and types of the tensors,
 * metadata and side files become those of the form. Memory is bounded, whatever the size of the
 * model: tensors that must be gathered are read at their places if the source has them in
 * files, and go through a spool if it does not.
 */
#ifndef ADAPT_ADAPT_H
#define ADAPT_ADAPT_H

#include <stdbool.h>

#include "arch/arch.h"
#include "core/err.h"
#include "model/dtype.h"
#include "model/flow.h"

struct adapt_options {
	enum arch_form form;      /* that the model gets */
	const char *arch;         /* architecture: a name of GGUF or a model_type; NULL: what the
	                           * model says */
	const struct dtype *type; /* GGUF: of matrices; NULL: as the source */
	bool relaxed;             /* tensors without a rule pass under their names */
	bool no_record;           /* GGUF: without the key apr.origin */
	bool places;              /* all tensors are expected to have places in files: the order
	                           * is then that of the form, else that of the source */
	const char *pre;          /* name of the pre-tokenizer; NULL: derived */
	const char *chat_template; /* file whose chat template holds if they differ, or NULL */
	const char *file;         /* name of the model's file, for general.name where the plan has no
	                           * name of a folder; or NULL */
	unsigned jobs;            /* threads */
};

/* Read the side files of inner, and all tensors if options ask for places, and plan. inner
 * stays the caller's and must outlive the result. NULL with e filled. */
struct source *adapt_source(struct source *inner, const struct adapt_options *o,
                            struct err *e);

/* False if the model already has the form, and passes unchanged. */
bool adapt_changes(const struct source *s);

#endif
