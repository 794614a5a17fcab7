/* maker: what the module that runs models has instead of lib/api/make_options.c and lib/stage/conversion.c: it
 * signs and seals models, whose tensors stay as they are.
 */
#include <string.h>

#include "api/make.h"

void
api_quant_free(struct api_quant *q)
{
	(void)q;
}

void
conversion_stage(struct conversion *c, const char *name, struct flow *f)
{
	(void)c, (void)name, (void)f;
}

void
conversion_free(struct conversion *c)
{
	(void)c;
}

/* The only option: "to", a container that this module writes. */
int
aprml_maker_set(struct aprml_maker *k, const char *option, const char *value,
                struct aprml_error *e)
{
	const struct format *f;

	if (api_maker_begin(k, e) < 0)
		return -1;
	f = strcmp(option, "to") == 0 && value ? format_by_name(value) : NULL;
	if (f && f->writes) {
		k->format = f;
		return 0;
	}
	err_set(&k->err, ERR_USAGE, option, "is not for this module, which signs and seals");
	return api_maker_fail(k, e);
}

int
api_maker_prove(struct aprml_maker *k)
{
	if (k->err.code != ERR_NONE)
		return -1;
	if (!k->format)
		k->format = &format_apr2;
	return k->signs ? statement_check(&k->says, ERR_USAGE, &k->err) : 0;
}
