/* forms: models as tensors in memory (predict/form.h), for tests. */
#ifndef FORMS_H
#define FORMS_H

#include <string.h>

#include "model/weights.h"
#include "predict/form.h"
#include "predict/tensors.h"
#include "test.h"

/* A form as a model of a file. */
struct forms {
	struct form form;
	struct model plan;
	struct weights w;
};

/* Makes w of the form, which may have been changed. 0 or -1; forms_free in any case. */
static int
forms_weigh(struct forms *x, struct err *e)
{
	struct form *f = &x->form;
	struct buf wire = { 0 };
	size_t i;

	model_init(&x->plan, e);
	buf_u64(&wire, f->json.n);
	buf_put(&wire, f->json.p, f->json.n);
	model_add_meta(&x->plan, FORM_KEY, strlen(FORM_KEY), (struct value_type){ 0, VALUE_STRING }, wire.p, wire.n, e);
	buf_free(&wire);
	x->w = (struct weights){ .name = "form", .plan = &x->plan, .tensors = calloc(f->count + 1, sizeof *x->w.tensors) };
	for (i = 0; i < f->count; i++) {
		struct form_part *p = f->parts[i];

		x->w.tensors[i] = p->data.p ? p->data.p : (const uint8_t *)"";
		model_add_tensor(&x->plan, tensor_new(p->name, strlen(p->name), dtype_by_name(p->type), p->ndim, p->dims,
		                                      TENSOR_OWN_SIZE, "form", e), e);
	}
	return e->code == ERR_NONE ? 0 : -1;
}

static void
forms_free(struct forms *x)
{
	form_free(&x->form);
	if (x->w.plan)
		model_free(&x->plan);
	free(x->w.tensors);
	*x = (struct forms){ .w = { .name = NULL } };
}

#endif
