/* form: two models that say the same in different forms: a model folder and the GGUF file that
 * was converted from it, or an .apr file with names of its own. Names, rows, stacks and values
 * differ between forms (arch/arch.h); one of the models must be adapted before they are compared.
 */
#ifndef ARCH_FORM_H
#define ARCH_FORM_H

#include <stdbool.h>

#include "arch/arch.h"
#include "model/model.h"

/* The row and the form of a model. arch: the architecture, if the user gave it, or NULL. False if
 * they are not known. */
bool form_of(const struct model *m, const char *arch, const struct arch **row,
             enum arch_form *form);

struct form_change {
	size_t side;          /* 0 or 1: the model that gets another form */
	enum arch_form form;  /* which is this */
};

/* Which of two models should get the form of the other. arch: the architecture, if the user gave
 * it, or NULL. False if they have the same form, or if the form of one is not known. */
bool form_between(const struct model *a, const struct model *b, const char *arch,
                  struct form_change *to);

#endif
