/* mixture: the types that llama-quantize chose. */
#include "quant/mixture.h"

#include <jansson.h>
#include <string.h>

#include "test.h"

#define TENSORS 1024

/* A model of the tables: its tensors, and how they were chosen for. */
struct subject {
	char name[64], architecture[64];
	struct mixture_model model;
	struct tensor *tensors[TENSORS];
	size_t n;
};

static void
clear(struct subject *s)
{
	while (s->n > 0)
		tensor_free(s->tensors[--s->n]);
	*s = (struct subject){ 0 };
}

static int
add(struct subject *s, const char *name, unsigned ndim, const uint64_t *dims,
    const char *type)
{
	struct err e = ERR_INIT;

	if (s->n == TENSORS)
		return -1;
	s->tensors[s->n] = tensor_new(name, strlen(name), dtype_by_name(type), ndim, dims,
	                              TENSOR_OWN_SIZE, "test", &e);
	return s->tensors[s->n] ? (int)s->n++ : -1;
}

/* Returns the number of types that are chosen as expected; reports a wrong one. */
static size_t
agree(const struct subject *s, const char *target, bool pure, const char *const *want)
{
	static struct mixture_choice choices[TENSORS];
	const struct mixture *m = mixture_by_name(target);
	struct mixture_options how = { .pure = pure };
	struct err e = ERR_INIT;
	size_t i, right = 0;

	if (!m || mixture_choose(m, &how, &s->model, s->tensors, s->n, choices, &e) < 0)
		return 0;
	for (i = 0; i < s->n; i++) {
		if (strcmp(choices[i].type->name, want[i]) == 0)
			right++;
		else
			printf("# %s: %s of %s: %s, expected %s\n", s->name, target,
			       tensor_name(s->tensors[i]), choices[i].type->name, want[i]);
	}
	return right;
}

static void
tensor_line(struct subject *s, char *line)
{
	char *name = strtok(line, " "), *shape = strtok(NULL, " "), *type = strtok(NULL, " \n");
	uint64_t dims[8];
	unsigned ndim = 0;

	do
		dims[ndim++] = strtoull(shape, &shape, 10);
	while (*shape++ == 'x' && ndim < 8);
	if (add(s, name, ndim, dims, type) < 0)
		test_ok(0, "tensor %s", name);
}

/* "= MIXTURE 3xQ4_K Q6_K …" */
static void
target_line(const struct subject *s, char *line)
{
	static const char *want[TENSORS];
	char *target = strtok(line + 2, " "), *run;
	size_t n = 0;

	while ((run = strtok(NULL, " \n"))) {
		char *x = strchr(run, 'x');
		unsigned long count = x && run[0] >= '0' && run[0] <= '9' ? strtoul(run, NULL, 10) : 1;

		for (; count > 0 && n < TENSORS; count--)
			want[n++] = x && run[0] >= '0' && run[0] <= '9' ? x + 1 : run;
	}
	test_ok(n == s->n && agree(s, target, false, want) == n, "%s: %s, %zu tensors", s->name,
	        target, n);
}

static void
committed(void)
{
	static struct subject s;
	static char line[65536];
	FILE *f = fopen("tests/golden/mixtures.txt", "r");
	unsigned long long blocks, heads, kv, experts;

	if (!test_ok(f != NULL, "tests/golden/mixtures.txt"))
		return;
	while (fgets(line, sizeof line, f)) {
		if (line[0] == '#')
			continue;
		if (line[0] == '=') {
			target_line(&s, line);
			continue;
		}
		if (strncmp(line, "model ", 6) != 0) {
			tensor_line(&s, line);
			continue;
		}
		clear(&s);
		if (sscanf(line, "model %63s %63s %llu %llu %llu %llu", s.name, s.architecture,
		           &blocks, &heads, &kv, &experts) != 6)
			test_ok(0, "a model line");
		s.model = (struct mixture_model){ s.architecture, blocks, heads, kv, experts, false, NULL };
	}
	fclose(f);
	clear(&s);
}

static uint64_t
number(json_t *o, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(o, name));
}

static void
load(struct subject *s, json_t *o)
{
	json_t *row;
	size_t i, k;

	clear(s);
	snprintf(s->name, sizeof s->name, "%s", json_string_value(json_object_get(o, "case")));
	snprintf(s->architecture, sizeof s->architecture, "%s",
	         json_string_value(json_object_get(o, "architecture")));
	s->model = (struct mixture_model){ s->architecture, number(o, "blocks"),
		number(o, "head_count"), number(o, "head_count_kv"), number(o, "expert_count"),
		false, NULL };
	json_array_foreach(json_object_get(o, "tensors"), i, row) {
		json_t *shape = json_array_get(row, 1);
		uint64_t dims[8];

		for (k = 0; k < json_array_size(shape) && k < 8; k++)
			dims[k] = (uint64_t)json_integer_value(json_array_get(shape, k));
		add(s, json_string_value(json_array_get(row, 0)), (unsigned)k, dims,
		    json_string_value(json_array_get(row, 2)));
	}
}

static void
reference(const char *dir)
{
	static const char *const cases[] = { "gpt2-12", "llama-1", "llama-16-tied",
		"llama-22-narrow", "llama-32-gqa4", "llama-32", "llama-80-gqa8", "mixtral-32",
		"qwen2-28" };
	static const char *want[TENSORS];
	static struct subject s;
	size_t i, k, n = 0;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[4096];
		const char *target;
		json_t *o, *types;

		snprintf(path, sizeof path, "%s/golden/mixtures/%s.json", dir, cases[i]);
		o = json_load_file(path, 0, NULL);
		if (!test_ok(o != NULL, "%s", cases[i]))
			continue;
		load(&s, o);
		json_object_foreach(json_object_get(o, "types"), target, types) {
			for (k = 0; k < json_array_size(types) && k < TENSORS; k++)
				want[k] = json_string_value(json_array_get(types, k));
			test_ok(k == s.n && agree(&s, target, false, want) == k, "%s: %s, all %zu",
			        cases[i], target, k);
			n++;
		}
		json_decref(o);
	}
	test_ok(n == 9 * 33, "nine models, 33 mixtures");
	clear(&s);
}

/* Cases outside the tables. */
static void
others(void)
{
	static const uint64_t narrow[] = { 8, 172 }, wide[] = { 8, 256 }, one[] = { 256 };
	static const uint64_t scalar_row[] = { 1, 256 };
	static const char *const pure[] = { "Q4_0", "F32", "Q4_0" };
	static const char *const fallbacks[] = { "F16", "I32", "F32" };
	static const struct mixture_options plain = { 0 };
	static struct subject s;
	struct mixture_choice c[8];
	struct err e = ERR_INIT;

	s.model.architecture = "llama";
	s.model.blocks = 4;
	add(&s, "output.weight", 2, wide, "F16");
	add(&s, "blk.0.attn_norm.weight", 1, one, "F32");
	add(&s, "blk.0.attn_q.weight", 2, wide, "F16");
	test_ok(agree(&s, "q4_0", true, pure) == 3, "pure: one type for output and queries");
	clear(&s);
	s.model.architecture = "llama";
	add(&s, "blk.0.ffn_down.weight", 2, narrow, "F32");
	add(&s, "blk.0.ids.weight", 2, wide, "I32");
	add(&s, "blk.0.x.weight", 2, scalar_row, "F32");
	test_ok(agree(&s, "q4_0", false, fallbacks) == 3,
	        "rows of 172, integers, and a matrix of one row");
	mixture_choose(mixture_by_name("q4_0"), &plain, &s.model, s.tensors, s.n, c, &e);
	test_ok(c[0].type != c[0].wanted && !c[0].kept && c[1].kept && c[2].kept,
	        "a fallback is told from what is kept");
	s.model.importance = true;
	s.model.blocks = 32;
	mixture_choose(mixture_by_name("q4_0"), &plain, &s.model, s.tensors, s.n, c, &e);
	test_ok(strcmp(c[0].wanted->name, "Q4_1") == 0,
	        "with importance, q4_0 gives the first ffn_down Q4_1");
	clear(&s);
	test_ok(mixture_by_name("FP16") == mixture_by_name("f16") &&
	        mixture_by_name("q4_k") == mixture_by_name("Q4_K_M") && !mixture_by_name("q9"),
	        "names and aliases");
	s.model.architecture = "llama";
	add(&s, "blk.0.attn_q.weight", 2, wide, "F16");
	mixture_choose(mixture_by_name("iq2_xxs"), &plain, &s.model, s.tensors, s.n, c, &e);
	test_ok(c[0].needs_importance, "iq2_xxs is of no use without importance");
	clear(&s);
}

static const char *
chosen(const struct subject *s, const struct mixture_options *how, size_t i,
       const char **rule)
{
	static struct mixture_choice c[8];
	struct err e = ERR_INIT;

	if (mixture_choose(mixture_by_name("q4_k_m"), how, &s->model, s->tensors, s->n, c, &e) < 0)
		return "";
	*rule = c[i].rule;
	return c[i].type->name;
}

/* A person's own types: order, precedence, and rules that do nothing. */
static void
own(void)
{
	static const uint64_t wide[] = { 8, 256 }, one[] = { 256 };
	static struct subject s;
	struct overrides o = { 0 };
	struct mixture_options how = { .overrides = &o };
	struct err e = ERR_INIT;
	const char *rule = "";

	s.model.architecture = "llama";
	s.model.blocks = 1;
	add(&s, "output.weight", 2, wide, "F16");
	add(&s, "token_embd.weight", 2, wide, "F16");
	add(&s, "blk.0.ffn_down.weight", 2, wide, "F16");
	add(&s, "blk.0.ffn_norm.weight", 1, one, "F32");
	test_ok(override_add(&o, "ffn_(down|norm)=q8_0", &e) == 0 &&
	        override_add(&o, "ffn_down=q5_k", &e) == 0, "two rules");
	test_ok(!strcmp(chosen(&s, &how, 2, &rule), "Q8_0") &&
	        !strcmp(rule, "ffn_(down|norm)=q8_0"), "the first that matches decides, and is told");
	test_ok(!strcmp(chosen(&s, &how, 3, &rule), "F32"), "what is kept is kept");
	test_ok(override_all_used(&o, &e) < 0 && e.code == ERR_USAGE &&
	        !strcmp(e.object, "ffn_down=q5_k"), "a rule that decides nothing: %s", e.fact);
	o.embedding = dtype_by_name("Q2_K");
	o.output = dtype_by_name("Q5_K");
	test_ok(!strcmp(chosen(&s, &how, 1, &rule), "Q2_K"), "%s", rule);
	test_ok(!strcmp(chosen(&s, &how, 0, &rule), "Q5_K"), "%s", rule);
	o.leave_output = true;
	test_ok(!strcmp(chosen(&s, &how, 0, &rule), "F16"), "%s", rule);
	e = (struct err)ERR_INIT;
	test_ok(override_add(&o, "x=q9", &e) < 0 && e.code == ERR_USAGE, "x=q9 is not a rule");
	e = (struct err)ERR_INIT;
	test_ok(override_add(&o, "q8_0", &e) < 0 && e.code == ERR_USAGE, "q8_0 is not a rule");
	e = (struct err)ERR_INIT;
	test_ok(override_add(&o, "(=q8_0", &e) < 0 && e.code == ERR_USAGE, "( is not a pattern");
	override_free(&o);
	clear(&s);
}

int
main(void)
{
	const char *dir = test_data();

	committed();
	others();
	own();
	if (dir)
		reference(dir);
	else
		test_skip("all nine models", "no reference data");
	return test_done();
}
