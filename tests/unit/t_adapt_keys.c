/* Hyper-parameters as keys of GGUF and as config.json. */
#include <math.h>

#include "adapt/keys.h"
#include "convert.h"
#include "core/le.h"

/* ---- as keys ---- */

static bool
is_hyper(const char *key, const char *arch)
{
	size_t n = strlen(arch);

	return strcmp(key, "general.file_type") == 0 ||
		(strncmp(key, arch, n) == 0 && key[n] == '.' &&
		 strcmp(key + n, ".rope.scaling.attn_factor") != 0 &&
		 strncmp(key, "tokenizer.", 10) != 0);
}

static void
show(const struct meta *m, const char *what)
{
	size_t i;

	printf("# %s %s type %u,%u:", what, m->key, m->type.depth, m->type.leaf);
	for (i = 0; i < m->wire_bytes && i < 40; i++)
		printf(" %02x", m->wire[i]);
	printf("\n");
}

/* The next key of a model that is one of hyper-parameters, from index *i. */
static const struct meta *
next_key(const struct model *m, const char *arch, size_t *i)
{
	while (*i < m->meta_count) {
		const struct meta *key = &m->meta[(*i)++];

		if (is_hyper(key->key, arch))
			return key;
	}
	return NULL;
}

static bool
same(const struct model *made, const struct model *expected, const char *arch)
{
	const struct meta *a, *b;
	size_t i = 0, k = 0;

	do {
		a = next_key(made, arch, &i);
		b = next_key(expected, arch, &k);
		if ((a || b) && (!a || !b || strcmp(a->key, b->key) != 0 ||
		    a->type.depth != b->type.depth || a->type.leaf != b->type.leaf ||
		    a->wire_bytes != b->wire_bytes || memcmp(a->wire, b->wire, a->wire_bytes))) {
			if (a)
				show(a, "made");
			if (b)
				show(b, "expected");
			return false;
		}
	} while (a && b);
	return true;
}

static uint32_t
file_type(const struct model *expected)
{
	uint64_t n = 0;

	model_u64(expected, "general.file_type", &n);
	return (uint32_t)n;
}

/* The keys that stand before general.type. */
static void
each_first(struct convert *c)
{
	const char *key = "phi3.rope.scaling.attn_factor";
	const struct meta *expected = model_find(&c->expected.plan, key), *m;
	struct model made;
	struct err e = ERR_INIT;
	int r = model_init(&made, &e);

	if (r == 0)
		r = keys_put_first(&c->subject, &made, &e);
	m = model_find(&made, key);
	test_ok(r == 0 && made.meta_count == (expected ? 1 : 0) && (!expected || (m &&
	        m->type.leaf == VALUE_F32 && memcmp(m->wire, expected->wire, 4) == 0)),
	        "%s: first keys %s", c->name, e.fact);
	model_free(&made);
}

static void
each_put(struct convert *c)
{
	const char *arch = model_text(&c->expected.plan, "general.architecture");
	struct model made;
	struct err e = ERR_INIT;
	size_t n;
	int r = model_init(&made, &e);

	if (r == 0)
		r = keys_put(&c->subject, file_type(&c->expected.plan), &made, &e);
	if (!weights_file(&c->subject.w, "1_Pooling/config.json", &n))
		model_unset_meta(&c->expected.plan, "bert.pooling_type");
	test_ok(r == 0 && same(&made, &c->expected.plan, arch), "%s: keys %s%s%s", c->name,
	        e.object, e.fact[0] ? ": " : "", e.fact);
	model_free(&made);
}

int
main(void)
{
	const char *data = test_data();

	if (data) {
		convert_each(data, each_put);
		convert_each(data, each_first);
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
