/* form: two models that say the same in different forms: a model folder and the GGUF file that
 * was converted from it, or an .apr file with names of its own. Names, rows, stacks and values
 * differ between forms (arch/arch.h); one of the models must be adapted before they are compared.
 */
#ifndef DIFF_FORM_H
#define DIFF_FORM_H

#include <stdbool.h>

#include "arch/arch.h"
#include "model/model.h"

struct diff_form {
	size_t side;          /* 0 or 1: the model that gets another form */
	enum arch_form form;  /* which is this */
};

/* Which of two models should get the form of the other. arch: the architecture, if the user gave
 * it, or NULL. False if they have the same form, or if the form of one is not known. */
bool diff_forms(const struct model *a, const struct model *b, const char *arch,
                struct diff_form *to);

#endif
