/* The model that is adapted: its architecture and side files. */
#include "convert.h"

static void
each(struct convert *c)
{
	struct model *plan = &c->expected.plan;
	const char *name = model_text(plan, "general.architecture");

	test_ok(c->subject.form == ARCH_FOLDER && c->subject.config, "%s is a folder", c->name);
	test_ok(c->subject.arch && strcmp(c->subject.arch->name, name) == 0,
	        "%s has the architecture %s", c->name, name);
}

int
main(void)
{
	const char *data = test_data();

	if (data)
		convert_each(data, each);
	else
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	return test_done();
}
