/* Explanations: words for each architecture, role, type and code, and of real models. */
#include "report/explain.h"

#include "arch/words.h"
#include "convert.h"
#include "model/block.h"

static const char *
member(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

/* ---- tables ---- */

static void
words_of_each_architecture(void)
{
	const struct arch_rule *r;
	const struct arch *a;
	size_t i, k, bare;

	for (i = 0; (a = arch_row(i)); i++) {
		for (k = 0, bare = 0; (r = arch_rule(a, k)); k++)
			bare += !role_words(r);
		test_ok(arch_words(a)->family && !bare, "%s has words, and so have its %zu tensors",
		        a->folder, k);
	}
}

static void
words_of_each_role(void)
{
	struct arch_rule r = { 0 };
	size_t bare = 0;

	for (r.role = 0; r.role < ROLES; r.role++)
		bare += !role_words(&r);
	test_ok(bare == 0, "each of %d roles has words", ROLES);
}

/* The parts of a block lie one after the other and fill it. */
static bool
fills(const struct dtype *t)
{
	const struct block_part *p = block_parts(t);
	unsigned at = 0;

	for (; p && p->name && p->offset == at; p++)
		at += p->bytes;
	return p && !p->name && at == t->bytes;
}

static void
parts_of_each_type(void)
{
	const struct dtype *t;
	unsigned i;

	for (i = 0; (t = dtype_row(i)); i++)
		if (t->quantized && t->items > 1)
			test_ok(fills(t), "the parts of %s fill %u bytes", t->name, t->bytes);
	test_ok(!block_parts(dtype_by_name("F32")), "a value of F32 has no parts");
}

static void
each_word_is_explained(void)
{
	struct err e = ERR_INIT;
	struct explain_entry x;
	size_t i, bad = 0;
	json_t *o;

	for (i = 0; explain_entry(i, &x); i++) {
		o = explain_word(x.word, &e);
		bad += !o || strncmp(member(o, "title"), x.word, 0) != 0 || !*x.title || !*x.kind;
		json_decref(o);
	}
	test_ok(i > 60 && bad == 0 && e.code == ERR_NONE, "each of %zu words is explained", i);
}

static void
codes(void)
{
	static const char *const yes[] = { "E999", "e004", "APR-028", "LINT-LICENSE", "E1" };
	static const char *const no[] = { "E", "m.gguf", "exit-4", "ln-mean", "model", "E00x",
		"A-", "Q4-k" };
	struct err e = ERR_INIT;
	char word[8];
	size_t i;
	json_t *o;

	for (i = 0; i < sizeof yes / sizeof *yes; i++)
		test_ok(explain_is_code(yes[i]), "%s has the form of a code", yes[i]);
	for (i = 0; i < sizeof no / sizeof *no; i++)
		test_ok(!explain_is_code(no[i]), "%s does not", no[i]);
	for (i = ERR_FORMAT; i <= ERR_MEMORY; i++) {
		snprintf(word, sizeof word, "E%03zu", i);
		o = explain_word(word, &e);
		test_ok(json_array_size(json_object_get(o, "causes")) > 1 &&
		        json_array_size(json_object_get(o, "steps")) > 1,
		        "%s has causes and steps", word);
		json_decref(o);
	}
	o = explain_word("E002", &e);
	test_ok(strstr(member(o, "meaning"), "E004") != NULL, "E002 points to E004");
	json_decref(o);
	test_ok(!explain_word("E999", &e) && e.code == ERR_NONE, "E999 is not known");
}

static void
text_is_escaped(void)
{
	json_t *o = json_pack("{s:s,s:[s,s]}", "title", "a\033[31m", "steps", "one\n", "two");
	struct buf b = { 0 };

	explain_put(&b, o);
	test_ok(strcmp(buf_string(&b), "a\\x1b[31m\nsteps         1. one\\x0a\n"
	               "              2. two\n") == 0, "names from files are escaped");
	buf_free(&b);
	json_decref(o);
}

/* ---- real models ---- */

/* Counts the tensors without a role, and those whose shape contradicts the
 * hyper-parameters. */
static void
explain_tensors(struct subject *s, size_t *nameless, size_t *shapeless)
{
	struct err e = ERR_INIT;
	size_t i;
	json_t *o;

	*nameless = *shapeless = 0;
	for (i = 0; i < s->plan->tensor_count; i++) {
		o = explain_tensor(s, i, NULL, &e);
		*nameless += strstr(member(o, "role"), "not known") != NULL;
		*shapeless += strstr(member(o, "shape"), "give") != NULL;
		json_decref(o);
	}
}

static void
check(struct subject *s, const char *name, const char *form)
{
	struct err e = ERR_INIT;
	size_t nameless, shapeless;
	json_t *o = explain_model(s, &e);
	bool packed = json_object_get(s->config, "quantization_config") != NULL;

	test_ok(*member(o, "purpose") && strstr(member(o, "architecture"), "block") &&
	        strstr(member(o, "vocabulary"), "tokens"), "%s (%s): %s", name, form,
	        member(o, "title"));
	json_decref(o);
	explain_tensors(s, &nameless, &shapeless);
	/* A folder of DeepSeek-V3 has one more block, which predicts a second token. */
	if (strcmp(name, "deepseek3") == 0 && s->form == ARCH_FOLDER && nameless == 5)
		nameless = 0;
	if (!packed)
		test_ok(nameless == 0 && shapeless == 0, "%s (%s): each of %zu tensors has a role "
		        "and its shape", name, form, s->plan->tensor_count);
}

static void
each(struct convert *c)
{
	struct load *l = &c->expected;
	struct subject gguf = { .plan = &l->plan, .form = ARCH_GGUF, .w = l->weights };

	check(&c->subject, c->name, "folder");
	gguf.w.plan = &l->plan;
	gguf.arch = arch_by_name(model_text(&l->plan, "general.architecture"));
	check(&gguf, c->name, "gguf");
}

int
main(void)
{
	const char *data = test_data();

	words_of_each_architecture();
	words_of_each_role();
	parts_of_each_type();
	each_word_is_explained();
	codes();
	text_is_escaped();
	if (data)
		convert_each(data, each);
	else
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	return test_done();
}
