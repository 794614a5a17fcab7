/* fuzz_plan: JSON that may be a plan. A valid plan is written and read again without
 * change, with and without its tensors.
 */
#include "fuzz.h"

#include "stream/plan.h"

static void
again(const struct model *m, bool tensors)
{
	struct err e = ERR_INIT;
	struct buf first = { 0 }, second = { 0 };
	struct model n;
	json_t *j = plan_to_json(m, tensors, &e);

	must_say(j && json_write(j, &first) == 0, &e);
	must_say(plan_from_json(&n, j, tensors, "again", &e) == 0, &e);
	json_decref(j);
	j = plan_to_json(&n, tensors, &e);
	must_say(j && json_write(j, &second) == 0, &e);
	json_decref(j);
	must(first.n == second.n && memcmp(first.p, second.p, first.n) == 0);
	must(model_sign_body(m) == model_sign_body(&n) || !tensors);
	buf_free(&first);
	buf_free(&second);
	model_free(&n);
}

/* Every second tensor goes, as with --only. */
static void
thin(struct model *m)
{
	struct err e = ERR_INIT;
	bool *keep = calloc(m->tensor_count + 1, sizeof *keep);
	size_t i, *order;

	must(keep);
	for (i = 0; i < m->tensor_count; i += 2)
		keep[i] = true;
	must_say(model_keep(m, keep, &e) == 0, &e);
	must_say(model_check(m, "thinned", &e) == 0, &e);
	order = model_tensors_by_name(m, &e);
	for (i = 1; i < m->tensor_count; i++)
		must(strcmp(tensor_name(m->tensors[order[i - 1]]),
		            tensor_name(m->tensors[order[i]])) < 0);
	free(order);
	free(keep);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool tensors = (fuzz_way < 0 ? crc32_add(0, data, size) : (unsigned)fuzz_way) & 3;
	struct err e = ERR_INIT;
	struct model m, copy;
	json_t *plan = json_parse(data, size, ERR_CORRUPT, "plan", &e);
	int r;

	if (!plan) {
		fuzz_refused(&e, false);
		return 0;
	}
	r = plan_from_json(&m, plan, tensors, "plan", &e);
	json_decref(plan);
	if (r < 0) {
		fuzz_refused(&e, false);
		must(!m.meta && !m.blobs && !m.tensors && !m.source);
		return 0;
	}
	again(&m, tensors);
	must_say(model_copy(&copy, &m, &e) == 0, &e);
	again(&copy, tensors);
	thin(&copy);
	again(&copy, tensors);
	must(model_parameters(&copy) <= model_parameters(&m));
	must(model_tensor_bytes(&copy) <= model_tensor_bytes(&m));
	model_free(&copy);
	model_free(&m);
	return 0;
}
