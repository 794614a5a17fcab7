/* Tensors of a form by name (form_words.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/form_words.h"

const char *
form_name_of(char name[32], size_t i, const char *what)
{
	snprintf(name, 32, "step.%zu.%s", i, what);
	return name;
}

int
form_wrong(const struct form_source *x, size_t i, const char *what)
{
	return err_set(x->e, ERR_CORRUPT, x->w->name, FORM_KEY ": %sstep %zu: %s", x->prefix, i, what);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct form_name *)a)->name, ((const struct form_name *)b)->name);
}

int
form_names_begin(struct form_names *to, const struct weights *w, struct err *e)
{
	size_t i;

	to->n = w->plan->tensor_count;
	to->sorted = mem_array(to->n + 1, sizeof *to->sorted);
	if (!to->sorted)
		return err_memory(e);
	for (i = 0; i < to->n; i++)
		to->sorted[i] = (struct form_name){ tensor_name(w->plan->tensors[i]), i };
	qsort(to->sorted, to->n, sizeof *to->sorted, by_name);
	return 0;
}

/* A tensor behind the prefix, NULL if there is none. text: room for its name. */
static const struct form_name *
look(const struct form_source *x, const char *name, char text[80])
{
	struct form_name key = { text, 0 };

	snprintf(text, 80, "%s%s", x->prefix, name);
	return bsearch(&key, x->names->sorted, x->names->n, sizeof key, by_name);
}

int
form_find(const struct form_source *x, const char *name, const char *type, uint64_t n, bool must,
          struct form_list *to)
{
	char text[80];
	const struct form_name *found = look(x, name, text);
	const struct tensor *t = found ? x->w->plan->tensors[found->i] : NULL;

	*to = (struct form_list){ NULL, 0 };
	if (!t && !must)
		return 0;
	if (!t || strcmp(tensor_type(t)->name, type) != 0)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s of type %s is missing", text, type);
	*to = (struct form_list){ x->w->tensors[found->i], tensor_items(t) };
	if (!to->p && to->n)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s was not read", text);
	if (n && to->n != n)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "%s has %" PRIu64 " values, not %" PRIu64, text,
		               to->n, n);
	return 0;
}

double *
form_doubles(const struct form_source *x, const char *name, uint64_t n)
{
	struct form_list l;
	double *v;
	uint64_t i;

	if (form_find(x, name, "F64", n, true, &l) < 0)
		return NULL;
	v = mem_array((size_t)n, sizeof *v);
	if (!v)
		err_memory(x->e);
	for (i = 0; v && i < n; i++) {
		v[i] = le_f64(l.p + 8 * i);
		if (!isfinite(v[i])) {
			err_set(x->e, ERR_CORRUPT, x->w->name, "value %" PRIu64 " of %s%s is not finite", i, x->prefix, name);
			free(v);
			return NULL;
		}
	}
	return v;
}

uint32_t *
form_words(const struct form_source *x, const char *name, uint64_t n)
{
	struct form_list l;
	uint32_t *v;
	uint64_t i;

	if (form_find(x, name, "I32", n, true, &l) < 0)
		return NULL;
	v = mem_array((size_t)n, sizeof *v);
	if (!v)
		err_memory(x->e);
	for (i = 0; v && i < n; i++)
		v[i] = le32(l.p + 4 * i);
	return v;
}

const uint8_t *
form_bytes(const struct form_source *x, const char *name, size_t *n)
{
	struct form_list l;

	if (form_find(x, name, "I8", 0, true, &l) < 0)
		return NULL;
	*n = (size_t)l.n;
	return l.p;
}

uint64_t
form_items(const struct form_source *x, const char *name)
{
	char text[80];
	const struct form_name *found = look(x, name, text);

	return found ? tensor_items(x->w->plan->tensors[found->i]) : 0;
}

bool
form_has(const struct form_source *x, const char *name)
{
	char text[80];

	return look(x, name, text) != NULL;
}
