/* The metadata of .apr files as existing software writes it: members with nearly the names of a
 * config.json, and tensors with the names of either GGUF or a model folder.
 */
#include <string.h>

#include "arch/apr_keys.h"
#include "arch/hyper.h"

static bool
has_tensor(const struct weights *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->plan->tensor_count; i++)
		if (strcmp(tensor_name(w->plan->tensors[i]), name) == 0)
			return true;
	return false;
}

/* rope_type says how rope pairs values: 0, neighbours; 2, halves. If it is missing and the
 * architecture pairs neighbours in GGUF and halves in folders, the order of rows is
 * unknown. */
static int
read_turn(struct hyper *h, const struct weights *w, struct err *e)
{
	json_t *j = apr_key_value(w, "rope_type");
	bool said = json_is_integer(j);
	json_int_t type = json_integer_value(j);

	json_decref(j);
	h->halves = said ? type == 2 : (h->arch->flags & ARCH_HALVES) != 0;
	if (said ? type == 0 || type == 2 : h->halves || (h->arch->flags & ARCH_POSITIONS))
		return 0;
	return err_set(e, ERR_FORMAT, w->name, "does not say how positions turn its heads: "
	               "rope_type is %s", said ? "neither 0 nor 2" : "missing");
}

int
hyper_apr(struct hyper *h, const struct weights *w, struct err *e)
{
	json_t *o = apr_config(w, e);
	int r;

	if (!o)
		return -1;
	h->folder = !has_tensor(w, "token_embd.weight");
	r = hyper_config(h, w, o, e);
	if (r == 0)
		r = read_turn(h, w, e);
	json_decref(o);
	return r;
}
