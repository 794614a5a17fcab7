/* roles: a model folder gets the types that its GGUF file gets, mixture by mixture. */
#include "stage/roles.h"

#include <string.h>

#include "quant/recipe.h"

#include "convert.h"
#include "test.h"

/* The types that a mixture wants for all tensors of a plan, before rows have to fill blocks. */
static bool
wants(struct recipe *r, const struct model *m, const struct mixture *mixture,
      const struct mixture_model *model)
{
	const struct recipe_options o = { .mixture = mixture, .model = model,
		.allow_requantize = true, .fallback = RECIPE_WARN };
	struct err e = ERR_INIT;

	return recipe_make(r, m, &o, &e) == 0;
}

static const struct dtype *
wanted_of(const struct recipe *r, const struct model *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0)
			return r->rows[i].from == r->rows[i].wanted ? NULL : r->rows[i].wanted;
	return NULL;
}

/* True if the folder stores the output matrix of a tied model, which GGUF leaves out: the
 * embedding then has another part in each. */
static bool
is_tied(const struct convert *c, const struct roles *roles)
{
	const struct model *gguf = &c->expected.plan;
	bool folder = false, file = false;
	size_t i;

	for (i = 0; i < roles->count; i++)
		folder |= strcmp(roles->names[i].gguf, "output.weight") == 0;
	for (i = 0; i < gguf->tensor_count; i++)
		file |= strcmp(tensor_name(gguf->tensors[i]), "output.weight") == 0;
	return folder && !file;
}

/* The number of tensors of a folder that get another type than in GGUF. Tensors that neither
 * changes do not count. */
static size_t
differ(const struct convert *c, const struct roles *roles, const struct mixture *mixture,
       size_t *same)
{
	const struct model *folder = c->source->plan, *gguf = &c->expected.plan;
	struct recipe a = { 0 }, b = { 0 };
	const struct dtype *want;
	size_t bad = 0, i;

	if (!wants(&a, folder, mixture, &roles->model) || !wants(&b, gguf, mixture, NULL))
		bad = 1;
	for (i = 0; bad == 0 && i < roles->count; i++) {
		const char *name = roles->names[i].gguf;

		want = wanted_of(&b, gguf, name);
		if (!want || (strcmp(name, "token_embd.weight") == 0 && is_tied(c, roles)))
			continue;
		if (want == a.rows[i].wanted) {
			++*same;
			continue;
		}
		printf("# %s: %s: %s (%s): %s, in GGUF %s\n", c->name, mixture->name,
		       tensor_name(folder->tensors[i]), name, a.rows[i].wanted->name, want->name);
		bad++;
	}
	recipe_free(&a);
	recipe_free(&b);
	return bad;
}

static void
each(struct convert *c)
{
	struct err e = ERR_INIT;
	size_t bad = 0, same = 0;
	struct roles roles;
	unsigned i;
	bool found;

	/* Packed weights have other tensors. */
	if (c->subject.config && json_object_get(c->subject.config, "quantization_config"))
		return;
	if (roles_find(&roles, c->source->plan, &found, &e) < 0 || !found)
		bad = 1;
	for (i = 2; bad == 0 && mixture_row(i); i++)
		bad += differ(c, &roles, mixture_row(i), &same);
	test_ok(bad == 0 && same >= 100, "%s: %zu types are those of its GGUF file", c->name, same);
	roles_free(&roles);
}

static void
every_folder(const char *data)
{
	convert_each(data, each);
}

static void
names(void)
{
	static const uint64_t square[] = { 256, 256 };
	static const char *const name[] = { "model.embed_tokens.weight",
		"model.layers.3.mlp.experts.5.down_proj.weight", "something.weight" };
	struct model m = { 0 };
	struct tensor *t[3];
	struct err e = ERR_INIT;
	struct roles roles;
	bool found;
	size_t i;

	for (i = 0; i < 3; i++)
		t[i] = tensor_new(name[i], strlen(name[i]), dtype_by_name("F16"), 2, square,
		                  TENSOR_OWN_SIZE, "test", &e);
	m.tensors = t;
	m.tensor_count = 3;
	test_ok(roles_find(&roles, &m, &found, &e) == 0 && !found && roles.count == 0,
	        "a model of no known architecture goes by its own names");
	roles_free(&roles);
	for (i = 0; i < 3; i++)
		tensor_free(t[i]);
}

int
main(void)
{
	const char *data = test_data();

	names();
	every_folder("tests/data");
	if (data)
		every_folder(data);
	else
		test_skip("all cases", "no reference data (APR_TEST_DATA)");
	return test_done();
}
