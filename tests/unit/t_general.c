/* general: what a model folder says of its model, as keys; the names of models; the way back. */
#include "adapt/general.h"

#include "adapt/general_name.h"
#include "convert.h"

/* ---- the reference's cases ---- */

/* Keys of the part, except those that other parts write. */
static bool
is_ours(const struct meta *k)
{
	return strncmp(k->key, "general.", 8) == 0 && strcmp(k->key, "general.architecture") != 0 &&
	       strcmp(k->key, "general.file_type") != 0 &&
	       strcmp(k->key, "general.quantization_version") != 0;
}

static bool
is_same(const struct meta *a, const struct meta *b)
{
	return strcmp(a->key, b->key) == 0 && memcmp(&a->type, &b->type, sizeof a->type) == 0 &&
	       a->wire_bytes == b->wire_bytes && memcmp(a->wire, b->wire, a->wire_bytes) == 0;
}

/* The keys of the expected file are those of out, in the same order. */
static size_t
compare(const struct model *expected, const struct model *out, const char **differs)
{
	size_t i, k = 0;

	for (i = 0; i < expected->meta_count; i++) {
		const struct meta *m = &expected->meta[i];

		if (!is_ours(m))
			continue;
		if (k == out->meta_count || !is_same(m, &out->meta[k])) {
			*differs = m->key;
			return k;
		}
		k++;
	}
	*differs = k < out->meta_count ? out->meta[k].key : NULL;
	return k;
}

static void
each(struct convert *c)
{
	struct general_sizes sizes;
	struct model out;
	struct err e = ERR_INIT;
	const char *differs = "";
	size_t n = 0;

	general_count(&c->expected.plan, &sizes);
	if (model_init(&out, &e) == 0 && general_put(&c->subject, "hf", &sizes, &out, &e) == 0)
		n = compare(&c->expected.plan, &out, &differs);
	test_ok(!differs && n > 2, "%s: %zu keys as the reference writes them %s %s", c->name, n,
	        differs ? differs : "", e.fact);
	model_free(&out);
}

/* ---- names ---- */

static bool
is_text(const char *s, const json_t *v)
{
	return s ? json_is_string(v) && strcmp(s, json_string_value(v)) == 0 : json_is_null(v);
}

static bool
is_title(const char *s, const json_t *v)
{
	struct buf b = { 0 };
	bool good;

	if (s)
		general_title(s, &b);
	good = is_text(s ? buf_string(&b) : NULL, v);
	buf_free(&b);
	return good;
}

static void
id(const json_t *v)
{
	const char *text = json_string_value(json_object_get(v, "id"));
	json_int_t parameters = json_integer_value(json_object_get(v, "total_params"));
	struct general_name n;
	struct err e = ERR_INIT;
	int r = general_name_read(&n, text, parameters, &e);

	test_ok(r == 0 && is_text(n.full, json_object_get(v, "name")) &&
	        is_title(n.full, json_object_get(v, "title")) &&
	        is_text(n.organization, json_object_get(v, "organization")) &&
	        is_title(n.organization, json_object_get(v, "organization_title")) &&
	        is_text(n.basename, json_object_get(v, "basename")) &&
	        is_text(n.finetune, json_object_get(v, "finetune")) &&
	        is_text(n.version, json_object_get(v, "version")) &&
	        is_text(n.size_label, json_object_get(v, "size_label")),
	        "%s of %lld parameters: %s, %s, %s, %s", text, (long long)parameters,
	        n.basename ? n.basename : "-", n.finetune ? n.finetune : "-",
	        n.version ? n.version : "-", n.size_label ? n.size_label : "-");
	general_name_free(&n);
}

static uint64_t
number(const json_t *list, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(list, i));
}

static void
size(const json_t *v)
{
	const json_t *args = json_object_get(v, "args");
	char text[GENERAL_SIZE];

	general_size(text, number(args, 0), number(args, 1), number(args, 2), number(args, 3));
	test_ok(is_text(text, json_object_get(v, "label")), "size %s", text);
}

static void
names(const char *data)
{
	static char text[1 << 20];
	char path[4096];
	struct err e = ERR_INIT;
	json_t *file, *v;
	size_t i;
	FILE *f;

	snprintf(path, sizeof path, "%s/convert/names.json", data);
	f = fopen(path, "r");
	file = f ? json_parse(text, fread(text, 1, sizeof text, f), ERR_CORRUPT, path, &e) : NULL;
	test_ok(json_array_size(json_object_get(file, "ids")) > 50, "names.json is read");
	json_array_foreach(json_object_get(file, "ids"), i, v)
		id(v);
	json_array_foreach(json_object_get(file, "size_label"), i, v)
		size(v);
	json_decref(file);
	if (f)
		fclose(f);
}

int
main(void)
{
	const char *data = test_data();

	if (data) {
		convert_each(data, each);
		names(data);
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
