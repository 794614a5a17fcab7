/* Tokenizers of model folders as keys of GGUF: those of the reference. */
#include "adapt/tokens/tokens.h"
#include "convert.h"

static bool
is_ours(const char *key)
{
	return strncmp(key, "tokenizer.", 10) == 0;
}

/* The next key of a tokenizer from i on. */
static size_t
next_key(const struct model *m, size_t i)
{
	while (i < m->meta_count && !is_ours(m->meta[i].key))
		i++;
	return i;
}

static const uint8_t *
value(const struct convert *c, const struct meta *m, size_t *n)
{
	struct value_type type;

	return weights_value(&c->expected.weights, m->key, &type, n);
}

static int
same_value(const struct convert *c, const struct meta *wants, const struct meta *has)
{
	size_t n;
	const uint8_t *p = value(c, wants, &n);

	if (strcmp(wants->key, "tokenizer.chat_templates") == 0) /* a set */
		return n == has->wire_bytes;
	return n == has->wire_bytes && memcmp(p, has->wire, n) == 0;
}

static void
each(struct convert *c)
{
	const struct tokens_options o = { 0 };
	const struct model *wants = &c->expected.plan;
	struct model has;
	struct err e = ERR_INIT;
	size_t i = 0, k = 0;

	model_init(&has, &e);
	if (tokens_put_keys(&c->subject, &o, &has, &e) < 0)
		test_ok(0, "%s: %s: %s", c->name, e.object, e.fact);
	for (;; i++, k++) {
		i = next_key(wants, i);
		k = next_key(&has, k);
		if (i >= wants->meta_count || k >= has.meta_count)
			break;
		if (strcmp(wants->meta[i].key, has.meta[k].key) != 0) {
			test_ok(0, "%s: %s, not %s", c->name, has.meta[k].key, wants->meta[i].key);
			break;
		}
		test_ok(wants->meta[i].type.leaf == has.meta[k].type.leaf &&
		        wants->meta[i].type.depth == has.meta[k].type.depth &&
		        same_value(c, &wants->meta[i], &has.meta[k]), "%s: %s", c->name,
		        has.meta[k].key);
	}
	test_ok(i >= wants->meta_count && k >= has.meta_count, "%s: all keys", c->name);
	model_free(&has);
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
