/* Tokenizers from keys of GGUF as files of a folder: the files give texts the same ids as the
 * keys, and the keys again.
 */
#include "adapt/tokens/tokens.h"
#include "convert.h"
#include "core/mem.h"
#include "tokenizer/tokenizer.h"

static struct buf text; /* mixed text */
static const char *data;

/* Keys that do not come back as they were, by models. */
static const struct { const char *model, *key; } exceptions[] = {
	/* stated although older files leave it to readers */
	{ "ggml-vocab-baichuan.gguf", "tokenizer.ggml.pre" },
	{ "ggml-vocab-baichuan.gguf", "tokenizer.ggml.add_bos_token" },
	{ "ggml-vocab-gpt-neox.gguf", "tokenizer.ggml.pre" },
	/* without tokenizer.json, the reference names no tokens and no post-processor */
	{ "bert-vocabtxt", "tokenizer.ggml.bos_token_id" },
	{ "bert-vocabtxt", "tokenizer.ggml.eos_token_id" },
	{ "bert-vocabtxt", "tokenizer.ggml.add_bos_token" },
	{ "bert-vocabtxt", "tokenizer.ggml.add_eos_token" },
	{ "bert-vocabtxt", "tokenizer.ggml.normalizer.lowercase" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.bos_token_id" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.eos_token_id" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.add_bos_token" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.add_eos_token" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.normalizer.lowercase" },
	{ "ggml-vocab-bert-bge.gguf", "tokenizer.ggml.cls_token_id" }, /* an old name of BOS */
	/* control tokens by their looks, which these files call user-defined; padding as user-
	 * defined or unknown tokens */
	{ "ggml-vocab-deepseek-coder.gguf", "tokenizer.ggml.token_type" },
	{ "ggml-vocab-phi-3.gguf", "tokenizer.ggml.token_type" },
	{ "ggml-vocab-phi-3.gguf", "tokenizer.ggml.scores" },
};

/* Models whose keys give other ids than the folder does: ranks cannot express scores that
 * are all the same, and the reference does not name BERT's tokens without tokenizer.json. */
static const char *const others[] = { "llama2-hf", "bert-vocabtxt" };

static bool
is_exception(const char *model, const char *key)
{
	size_t i;

	for (i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (strcmp(exceptions[i].model, model) == 0 && strcmp(exceptions[i].key, key) == 0)
			return true;
	return false;
}

static bool
is_other(const char *model)
{
	size_t i;

	for (i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i], model) == 0)
			return true;
	return false;
}

/* ---- texts ---- */

#ifdef __SANITIZE_ADDRESS__
#define TEXT_PART 25000 /* of each file; the sanitizers are slow, and the plain build reads more */
#else
#define TEXT_PART 250000
#endif

static void
read_text(const char *path, size_t most)
{
	FILE *f = fopen(path, "r");
	uint8_t *room = buf_room(&text, most);

	if (f && room)
		text.n += fread(room, 1, most, f);
	if (f)
		fclose(f);
}

/* English, and every character of the first planes with spaces and digits between them. */
static void
make_text(void)
{
	static const char *const files[] = { "wikitext-2.test.txt", "tinyshakespeare.txt",
		                             "tinystories-sample.txt" };
	char path[4096];
	uint32_t c;
	size_t i;

	for (i = 0; data && i < 3; i++) {
		snprintf(path, sizeof path, "%s/text/%s", data, files[i]);
		read_text(path, TEXT_PART);
	}
	for (c = 1; c < 0x3000; c++) {
		if (c < 0x80)
			buf_printf(&text, "a%c%c b%u  ", (int)c, (int)c, c);
		else if (c < 0x800)
			buf_printf(&text, "%c%c'S ", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
		else
			buf_printf(&text, "%c%c%c%s", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
			           (int)(0x80 | (c & 0x3f)), c % 7 ? "" : " 1234567  \n\n");
	}
}

/* ---- a model in memory ---- */

struct made {
	struct subject gguf, folder;
	struct model plan; /* of the folder */
	struct subject_files files;
	struct err e;
};

static const struct buf *
file(const struct made *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->files.count; i++)
		if (strcmp(m->files.file[i].name, name) == 0)
			return &m->files.file[i].bytes;
	return NULL;
}

static int
make_folder(struct made *m, size_t tokens, uint64_t types)
{
	size_t i;

	if (model_init(&m->plan, &m->e) < 0)
		return -1;
	m->folder = (struct subject){ .plan = &m->plan, .form = ARCH_FOLDER,
		.arch = m->gguf.arch, .w = { .name = "made", .plan = &m->plan } };
	m->folder.w.blobs = mem_array(m->files.count, sizeof *m->folder.w.blobs);
	for (i = 0; i < m->files.count; i++) {
		const struct subject_file *f = &m->files.file[i];

		m->folder.w.blobs[i].p = f->bytes.p;
		m->folder.w.blobs[i].n = f->bytes.n;
		if (model_add_blob(&m->plan, f->name, "", f->bytes.n, &m->e) < 0)
			return -1;
	}
	m->folder.config = json_pack("{s:I,s:I}", "vocab_size", (json_int_t)tokens,
	                             "type_vocab_size", (json_int_t)types);
	return 0;
}

static void
close_made(struct made *m)
{
	free(m->folder.w.blobs);
	json_decref(m->folder.config);
	if (m->plan.source)
		model_free(&m->plan);
	subject_free_files(&m->files);
}

/* ---- ids ---- */

static struct tokenizer *
open_keys(const struct load *l, struct err *e)
{
	const struct tokenizer_options o = { 0 };
	struct material m;
	struct tokenizer *t = NULL;
	size_t i;

	if (material_open(&m, &l->plan, e) == 0) {
		for (i = 0; i < l->plan.blob_count; i++)
			material_add(&m, i, l->weights.blobs[i].p, l->weights.blobs[i].n, e);
		t = tokenizer_open(&m, "keys", &o, e);
	}
	material_free(&m);
	return t;
}

/* Whether the ids of the made tokenizer.json are those of a, which is freed. */
static void
compare_ids(const char *name, struct tokenizer *a, const struct made *m, bool other)
{
	const struct buf *json = file(m, "tokenizer.json");
	const struct buf *config = file(m, "tokenizer_config.json");
	struct err e = ERR_INIT, e2 = ERR_INIT;
	struct tokenizer *b = NULL;
	struct tokens x = { 0 }, y = { 0 };
	size_t i;

	if (a && json && config)
		b = tokenizer_open_json(json->p, json->n, config->p, config->n, "made", NULL, &e2);
	if (!test_ok(a && b, "%s: the made tokenizer.json opens: %s", name, e2.fact))
		goto end;
	for (i = 0; i < 2; i++) {
		unsigned flags = i ? TOKENIZER_SPECIAL : 0;
		size_t k, n, bytes = i && text.n > 100000 ? 100000 : text.n;

		x.n = y.n = 0;
		if (tokenizer_encode(a, text.p, bytes, flags, &x, &e) < 0 ||
		    tokenizer_encode(b, text.p, bytes, flags, &y, &e) < 0) {
			test_ok(0, "%s: %s", name, e.fact);
			break;
		}
		n = x.n < y.n ? x.n : y.n;
		for (k = 0; k < n && x.id[k] == y.id[k]; k++)
			;
		test_ok((k == x.n && k == y.n) != other, "%s: %zu and %zu ids, the same: %zu", name, x.n, y.n,
		        k);
	}
end:
	tokens_free(&x);
	tokens_free(&y);
	tokenizer_free(a);
	tokenizer_free(b);
}

/* ---- keys ---- */

static bool
same_key(const struct load *l, const struct meta *has)
{
	const struct meta *wants = model_find(&l->plan, has->key);
	struct value_type type;
	size_t n;
	const uint8_t *p;

	if (!wants)
		return false;
	p = weights_value(&l->weights, has->key, &type, &n);
	if (strcmp(has->key, "tokenizer.chat_templates") == 0)
		return n == has->wire_bytes;
	return type.leaf == has->type.leaf && n == has->wire_bytes &&
	       memcmp(p, has->wire, n) == 0;
}

static void
compare_keys(const char *name, const struct load *l, struct made *m)
{
	const struct tokens_options o = { 0 };
	struct model has;
	struct err e = ERR_INIT;
	size_t i;
	int r;

	model_init(&has, &e);
	r = tokens_put_keys(&m->folder, &o, &has, &e);
	test_ok(r == 0, "%s: keys from the made files: %s %s", name, e.object, e.fact);
	for (i = 0; r == 0 && i < has.meta_count; i++)
		if (!same_key(l, &has.meta[i]) && !is_exception(name, has.meta[i].key))
			test_ok(0, "%s: %s%s", name, has.meta[i].key,
			        model_find(&l->plan, has.meta[i].key) ? "" : " is new");
	for (i = 0; r == 0 && i < l->plan.meta_count; i++)
		if (strncmp(l->plan.meta[i].key, "tokenizer.", 10) == 0 &&
		    !model_find(&has, l->plan.meta[i].key) &&
		    !is_exception(name, l->plan.meta[i].key))
			test_ok(0, "%s: %s is lost", name, l->plan.meta[i].key);
	model_free(&has);
}

/* ---- models ---- */

static void
try_model(const char *name, struct load *l)
{
	const char *arch = model_text(&l->plan, "general.architecture");
	uint64_t types = 1, tokens = 0;
	struct made m = { .e = ERR_INIT };
	struct value_type type;
	size_t n;
	const uint8_t *p = weights_value(&l->weights, "tokenizer.ggml.tokens", &type, &n);
	int i;

	for (i = 0; p && i < 8; i++)
		tokens |= (uint64_t)p[4 + i] << 8 * i;
	model_u64(&l->plan, "tokenizer.ggml.token_type_count", &types);
	m.gguf = (struct subject){ .plan = &l->plan, .w = l->weights, .form = ARCH_GGUF,
		.arch = arch ? arch_by_name(arch) : NULL };
	if (test_ok(tokens_files(&m.gguf, NULL, &m.files, &m.e) == 0, "%s: files: %s %s", name,
	            m.e.object, m.e.fact) && m.files.count > 0) {
		struct err e = ERR_INIT;
		struct tokenizer *a = open_keys(l, &e);

		if (!a && e.code == ERR_FORMAT)
			test_ok(1, "%s: %s", name, e.fact);
		else
			compare_ids(name, a, &m, is_other(name));
		make_folder(&m, tokens, types);
		compare_keys(name, l, &m);
	}
	close_made(&m);
}

static json_t *
record_of(const struct subject *folder, struct err *e)
{
	json_t *origin = NULL;
	const struct tokens_options o = { .pre = "default", .origin = &origin };
	struct model keys;

	if (model_init(&keys, e) == 0)
		tokens_put_keys(folder, &o, &keys, e);
	model_free(&keys);
	return origin;
}

/* Folder, GGUF, folder: the record makes the ids of any text those of the first folder. */
static void
come_back(struct convert *c)
{
	const struct weights *w = &c->subject.w;
	struct made m = { .e = ERR_INIT };
	struct err e = ERR_INIT;
	size_t n, config;
	const uint8_t *json = weights_file(w, "tokenizer.json", &n);
	const uint8_t *more = weights_file(w, "tokenizer_config.json", &config);
	json_t *origin = record_of(&c->subject, &e);
	struct tokenizer *a = NULL;

	m.gguf = (struct subject){ .plan = &c->expected.plan, .w = c->expected.weights,
		.form = ARCH_GGUF, .arch = c->subject.arch };
	test_ok(origin && tokens_files(&m.gguf, origin, &m.files, &m.e) == 0,
	        "%s: files with a record: %s", c->name, m.e.fact);
	if (json)
		a = tokenizer_open_json(json, n, more, config, "first", NULL, &e);
	if (a)
		compare_ids(c->name, a, &m, false);
	else
		test_ok(!json || e.code == ERR_FORMAT, "%s: %s", c->name, json ? e.fact : "no json");
	json_decref(origin);
	close_made(&m);
}

static void
each(struct convert *c)
{
	try_model(c->name, &c->expected);
	come_back(c);
}

static void
each_vocabulary(void)
{
	struct dirent **list;
	char path[4096];
	int i, n;

	snprintf(path, sizeof path, "%s/vocab", data);
	n = scandir(path, &list, NULL, alphasort);
	for (i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		struct err e = ERR_INIT;
		struct load l = { 0 };

		if (strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".gguf") == 0) {
			snprintf(path, sizeof path, "%s/vocab/%s", data, name);
			if (load_open(&l, path, NULL, &e) < 0)
				test_ok(0, "%s: %s", name, e.fact);
			else
				try_model(name, &l);
			load_close(&l);
		}
		free(list[i]);
	}
	free(list);
}

int
main(void)
{
	data = test_data();
	make_text();
	if (data) {
		convert_each(data, each);
		each_vocabulary();
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	buf_free(&text);
	return test_done();
}
