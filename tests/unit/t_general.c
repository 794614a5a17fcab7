/* general: what a model folder says of its model, as keys; the names of models; the way back. */
#include "adapt/keys/general.h"

#include "adapt/keys/general_name.h"
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
	struct arch_sizes sizes;
	struct model out;
	struct err e = ERR_INIT;
	const char *differs = "";
	size_t n = 0;

	arch_count(NULL, &c->expected.plan, &sizes);
	if (model_init(&out, &e) == 0 && general_put(&c->subject, "hf", &sizes, &out, &e) == 0)
		n = compare(&c->expected.plan, &out, &differs);
	test_ok(!differs && n > 2, "%s: %zu keys as the reference writes them %s %s", c->name, n,
	        differs ? differs : "", e.fact);
	model_free(&out);
}

/* ---- the way back ---- */

/* A folder of these files. */
static void
folder_of(struct subject *s, struct model *plan, struct subject_files *files)
{
	struct err e = ERR_INIT;
	size_t i;

	if (model_init(plan, &e) < 0)
		abort();
	*s = (struct subject){ .plan = plan, .form = ARCH_FOLDER,
		.w = { .name = "folder", .plan = plan } };
	s->w.blobs = calloc(files->count + 1, sizeof *s->w.blobs);
	for (i = 0; s->w.blobs && i < files->count; i++) {
		s->w.blobs[i].p = files->file[i].bytes.p;
		s->w.blobs[i].n = files->file[i].bytes.n;
		if (model_add_blob(plan, files->file[i].name, "text", s->w.blobs[i].n, &e) < 0)
			abort();
	}
}

/* The files that are made from the expected keys give the same keys. */
static void
back(struct convert *c)
{
	struct subject gguf = { .plan = &c->expected.plan, .w = c->expected.weights,
		.form = ARCH_GGUF }, folder;
	struct subject_files files = { 0 };
	struct arch_sizes sizes;
	struct model plan, out;
	struct err e = ERR_INIT;
	const char *differs = "no files";
	size_t i;
	int r = general_files(&gguf, &files, &e);

	arch_count(NULL, &c->expected.plan, &sizes);
	folder_of(&folder, &plan, &files);
	if (r == 0 && model_init(&out, &e) == 0) {
		if (general_put(&folder, "out", &sizes, &out, &e) == 0)
			compare(&c->expected.plan, &out, &differs);
		model_free(&out);
	}
	test_ok(!differs, "%s: the keys come back from %zu files %s %s", c->name, files.count,
	        differs ? differs : "", e.fact);
	for (i = 0; differs && i < files.count; i++)
		printf("# %s\n", (char *)files.file[i].bytes.p);
	free(folder.w.blobs);
	model_free(&plan);
	subject_free_files(&files);
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
	const struct arch_sizes sizes = { number(args, 0), number(args, 1), number(args, 2),
		number(args, 3) };
	char text[ARCH_SIZE];

	arch_size_text(text, &sizes);
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

/* ---- wrong folders ---- */

static char notes[4096];

static void
note(const char *text)
{
	strncat(notes, text, sizeof notes - strlen(notes) - 2);
	strcat(notes, "\n");
}

/* Puts the keys of a folder with these files; their number, or -1. */
static int
put(const char *readme, const char *config, const char *generation, struct model *out,
    struct err *e)
{
	const struct arch_sizes sizes = { .all = 1000, .shared = 1000 };
	struct subject_files files = { 0 };
	struct subject s;
	struct model plan;
	int r = -1;

	if (readme) {
		struct buf b = { 0 };

		buf_text(&b, readme);
		subject_add_file(&files, "README.md", &b, e);
	}
	if (generation) {
		struct buf b = { 0 };

		buf_text(&b, generation);
		subject_add_file(&files, "generation_config.json", &b, e);
	}
	folder_of(&s, &plan, &files);
	s.note = note;
	s.config = config ? json_loads(config, 0, NULL) : NULL;
	notes[0] = '\0';
	if (model_init(out, e) == 0 && general_put(&s, "folder", &sizes, out, e) == 0)
		r = (int)out->meta_count;
	json_decref(s.config);
	free(s.w.blobs);
	model_free(&plan);
	subject_free_files(&files);
	return r;
}

/* The folder is accepted; general.KEY is text (NULL: not there); the notes contain `noted`. */
static void
accepts(const char *readme, const char *config, const char *generation, const char *key,
        const char *text, const char *noted)
{
	struct model out;
	struct err e = ERR_INIT;
	int n = put(readme, config, generation, &out, &e);
	const char *got = n > 0 ? model_text(&out, key) : NULL;

	test_ok(n > 0 && (text ? got && strcmp(got, text) == 0 : !got) &&
	        (*noted ? strstr(notes, noted) != NULL : !*notes), "%s is %s: %s%s", key,
	        got ? got : "not set", e.fact, notes);
	model_free(&out);
}

static void
refuses(const char *readme, const char *config, const char *object, const char *fact)
{
	struct model out;
	struct err e = ERR_INIT;
	int n = put(readme, config, NULL, &out, &e);

	test_ok(n < 0 && strcmp(e.object, object) == 0 && strstr(e.fact, fact), "%s: %s", e.object,
	        e.fact);
	model_free(&out);
}

static void
wrong(void)
{
	struct buf b = { 0 };
	int i;

	accepts("---\nversion: 2.10\n---\n", NULL, NULL, "general.version", "2.10", "");
	accepts("---\nname: no\n---\n", NULL, NULL, "general.name", "no", "");
	accepts("---\nname: ~\nmodel_name: Two\n---\n", NULL, NULL, "general.name", "Two", "");
	accepts("---\nname: [a]\n---\n", NULL, NULL, "general.name", "Folder",
	        "README.md: name is not text");
	accepts("---\nlicense: {a: b}\n---\n", NULL, NULL, "general.license", NULL,
	        "license is not text");
	accepts("---\ntags: [a, [b]]\nbase_model: {name: x}\n---\n", NULL, NULL,
	        "general.base_model.0.name", NULL, "base_model is not a list");
	accepts("---\nbase_model: [{name: x, doi: [y]}]\n---\n", NULL, NULL,
	        "general.base_model.0.name", "x", "an entry of base_model is not text");
	accepts("---\n- a\n- b\n---\n", NULL, NULL, "general.name", "Folder", "");
	accepts("# A card\n\nwithout front matter\n", NULL, NULL, "general.name", "Folder", "");
	accepts(NULL, "{\"_name_or_path\":\"/home/x/y\"}", NULL, "general.name", "Folder", "");
	accepts(NULL, "{\"_name_or_path\":\"\"}", NULL, "general.name", NULL, "");
	accepts(NULL, NULL, "{\"top_k\":\"x\"}", "general.sampling.top_k", NULL,
	        "top_k is not an integer of 32 bits");
	accepts(NULL, NULL, "{\"top_k\":4294967296}", "general.sampling.top_k", NULL,
	        "top_k is not an integer of 32 bits");
	accepts(NULL, NULL, "{\"temperature\":1e300}", "general.sampling.temp", NULL,
	        "temperature is not a number of 32 bits");
	accepts(NULL, NULL, "{\"top_k\":1", "general.name", "Folder", "is not a JSON object");
	accepts(NULL, NULL, "{\"sequence\":\"kpt\"}", "general.sampling.sequence", "kpt", "");
	refuses("---\na: [\n---\n", NULL, "README.md", "line 3");
	refuses("---\nlicense: mit\nlicense: other\n---\n", NULL, "README.md",
	        "line 3: a second license");
	refuses(NULL, "{\"_name_or_path\":3}", "config.json", "_name_or_path is not text");
	buf_text(&b, "---\ndatasets:\n");
	for (i = 0; i < 2000; i++)
		buf_text(&b, "- a\n");
	refuses(buf_string(&b), NULL, "README.md", "lists more than 1000");
	buf_free(&b);
}

int
main(void)
{
	wrong();
	const char *data = test_data();

	if (data) {
		convert_each(data, each);
		convert_each(data, back);
		names(data);
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
