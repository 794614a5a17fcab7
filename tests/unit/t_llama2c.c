/* t_llama2c: files of llama2.c in its three versions, and files with one fault each. */
#include "imports.h"

#include "../gen/llama2c.h"

static const struct format_options usual;

static const char *
name_of(unsigned version)
{
	return version == 0 ? "version 0" : version == 1 ? "version 1" : "version 2";
}

/* The same values come out of each version. */
static void
versions_have_the_same_tensors(void)
{
	struct gen g, want;
	struct brought b;
	unsigned version;
	int shared;

	for (version = 0; version < 3; version++)
		for (shared = 0; shared < 2; shared++) {
			g = want = (struct gen){ 0 };
			made_llama2c(&g, version, shared);
			test_ok(bring(&b, &format_llama2c, g.p, g.n, &usual, version & 1) == 0 &&
			        b.source->plan->tensor_count == (shared ? 20 : 21), "%s%s: %s",
			        name_of(version), shared ? ", shared" : "", b.err.fact);
			put_weights(&want, "attn_k1", 4 * 8);
			test_ok(b.source && holds(&b, "blk.1.attn_k.weight", "F32", "4x8", &want), "%s: a matrix of layer 1",
			        name_of(version));
			gen_free(&want);
			put_weights(&want, "norm", 8);
			test_ok(b.source && holds(&b, "output_norm.weight", "F32", "8", &want), "%s: the last norm",
			        name_of(version));
			gen_free(&want);
			put_weights(&want, "output", 5 * 8);
			test_ok(b.source && (shared ? number_of(&b, "output.weight") == SIZE_MAX
			                            : holds(&b, "output.weight", "F32", "5x8", &want)),
			        "%s: the output matrix", name_of(version));
			gen_free(&want);
			let_go(&b);
			gen_free(&g);
		}
}

static void
mother_0(struct gen *g)
{
	made_llama2c(g, 0, false);
}

static void
mother_1(struct gen *g)
{
	made_llama2c(g, 1, false);
}

static void
mother_2(struct gen *g)
{
	made_llama2c(g, 2, true);
}

static const struct fault old_faults[] = {
	{ "no hidden size", 4, "sizes that no model", SET32("dim", 0), { 0 } },
	{ "a hidden size of 2^31", 4, "sizes that no model", SET32("dim", 0x80000000), { 0 } },
	{ "heads that do not divide", 4, "sizes that no model", SET32("heads", 3), { 0 } },
	{ "heads of keys that do not divide", 4, "sizes that no model", SET32("kv", 3), { 0 } },
	{ "heads of odd size", 4, "sizes that no model", SET32("heads", 8), { 0 } },
	{ "a vocabulary of -2^31", 4, "sizes that no model", SET32("vocab", 0x80000000), { 0 } },
	{ "a shared matrix, and the other too", 4, "bytes behind its last tensor", SET32("vocab", 5), { 0 } },
	{ "more layers", 4, "ends inside", SET32("layers", 3), { 0 } },
	{ "most layers of the greatest size", 4, "ends inside", SET32("layers", 4096), SET32("ff", 1 << 20) },
	{ "a longer context", 4, "ends inside", SET32("context", 1 << 20), { 0 } },
	{ "a byte behind", 4, "has 1 bytes behind its last tensor", TAIL("\0"), { 0 } },
};

static const struct fault new_faults[] = {
	{ "version 0 with the magic", 4, "version 0, which is not known", SET32("version", 0), { 0 } },
	{ "version 3", 4, "version 3, which is not known", SET32("version", 3), { 0 } },
	{ "a negative vocabulary", 4, "sizes that no model has", SET32("vocab", (uint32_t)-5), { 0 } },
	{ "a flag of 2", 4, "a flag for a shared matrix that is 2", SET8("shared", 2), { 0 } },
	{ "more layers", 4, "ends inside", SET32("layers", 3), { 0 } },
	{ "bytes behind", 4, "bytes behind its last tensor", TAIL("\0\0\0\0"), { 0 } },
};

static const struct fault group_faults[] = {
	{ "groups of 0", 4, "groups of 0 values", SET32("group", 0), { 0 } },
	{ "groups of 3", 4, "groups of 3 values", SET32("group", 3), { 0 } },
	{ "groups of 2^31", 4, "groups of 2147483648 values", SET32("group", 0x80000000), { 0 } },
};

#define TRY(MOTHER, LIST) \
	try_faults(&format_llama2c, &usual, MOTHER, LIST, sizeof LIST / sizeof *LIST)

static void
faults_are_named(void)
{
	TRY(mother_0, old_faults);
	TRY(mother_1, new_faults);
	TRY(mother_2, group_faults);
	try_cuts("version 0", &format_llama2c, &usual, mother_0, false);
	try_cuts("version 1", &format_llama2c, &usual, mother_1, false);
	try_cuts("version 2", &format_llama2c, &usual, mother_2, false);
}

int
main(void)
{
	versions_have_the_same_tensors();
	faults_are_named();
	return test_done();
}
