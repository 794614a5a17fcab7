/* guess: the architecture of a model that does not state one, or states it in other words, and
 * the form of its names.
 */
#ifndef ARCH_GUESS_H
#define ARCH_GUESS_H

#include <stdbool.h>

#include "arch/arch.h"
#include "core/err.h"
#include "model/model.h"

/* The first row whose names cover all tensors of a plan and whose required tensors are all
 * there, in block 0 at least, or NULL. *form: of the names. Rows with the same
 * names cannot be told apart: the result is then the first one ("llama" for Mistral). */
const struct arch *arch_guess(const struct model *m, enum arch_form *form);

/* The row for a model of architecture a: of the rows with the same name in GGUF, the first
 * that has rules for all tensors (Mixtral calls itself "llama"), or a. */
const struct arch *arch_refine(const struct arch *a, const struct model *m);

/* The form of the names of most tensors, for a model of architecture a. If they fit no form,
 * that of model folders. */
enum arch_form arch_form_of(const struct arch *a, const struct model *m);

/* What a plan says its architecture is: general.architecture, model_type of the config, or a
 * key model_type, hf_model_type or architecture of an .apr file; *n bytes of text, valid as
 * long as the model. NULL if it does not say it. */
const char *arch_said(const struct model *m, size_t *n);

/* The same, terminated and cut to fit; false if it does not say it. */
#define ARCH_NAME 128
bool arch_said_text(const struct model *m, char text[ARCH_NAME]);

/* The row for a name of GGUF or a model_type, or NULL. */
const struct arch *arch_known(const char *name);

/* The row of a model: by name if the user gave one, else as the plan says, else as its names
 * show it (arch_guess); refined. NULL with ERR_NO if the name has no row, or if nothing shows
 * it. */
const struct arch *arch_find(const char *name, const struct model *m, const char *where,
                             struct err *e);

/* ERR_INVALID (ArchitectureMismatch) if a plan says that its architecture is not this one. 0
 * or -1. */
int arch_check(const char *name, const struct model *m, const char *where, struct err *e);

/* ERR_NO with all names for --arch: this one has no row; the hint is the nearest one. -1. */
int arch_unknown(const char *where, const char *name, struct err *e);

/* ERR_NO with all names for --arch: a model does not state its architecture, and its names do not
 * show it. -1. */
int arch_unsaid(const char *where, struct err *e);

#endif
