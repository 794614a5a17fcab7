/* fuzz_card: what is asked of a model card. The input is a README.md, or, if it begins with a
 * brace, a generation_config.json that is also the key model_card.
 *
 *     1. Front matter is read or refused; written again it is the same value.
 *     2. Keys are made of it or it is refused; notes and errors can be printed. The files that
 *        are made from the keys give the same keys.
 *     3. The card is made or refused in bounded time; as text, Markdown and JSON it has nothing
 *        that moves the cursor.
 *
 * The mutator writes whole members, with anchors and aliases, between the lines of the input.
 */
#include "mutate.h"

#include "adapt/keys/general.h"
#include "report/card.h"
#include "wire/yaml.h"

/* A folder with the files, or a GGUF file with the keys of plan. */
static void
subject_of(struct subject *s, struct model *plan, const struct subject_files *files,
           struct weights_blob *blobs)
{
	struct err e = ERR_INIT;
	size_t i;

	*s = (struct subject){ .plan = plan, .form = ARCH_FOLDER, .note = fuzz_note,
		.w = { .name = "in", .plan = plan, .blobs = blobs } };
	for (i = 0; i < files->count; i++) {
		blobs[i].p = files->file[i].bytes.p;
		blobs[i].n = files->file[i].bytes.n;
		must(model_add_blob(plan, files->file[i].name, "text", blobs[i].n, &e) == 0);
	}
}

/* The keys of a folder with these files. */
static bool
put(const struct subject_files *files, struct model *out, struct err *e)
{
	const struct arch_sizes sizes = { 0 };
	struct weights_blob blobs[4];
	struct model plan;
	struct subject s;
	bool good;

	must(model_init(&plan, e) == 0 && model_init(out, e) == 0);
	subject_of(&s, &plan, files, blobs);
	good = general_put(&s, NULL, &sizes, out, e) == 0;
	must_say(good == (e->code == ERR_NONE), e);
	must_say(!good || model_check(out, "out", e) == 0, e);
	model_free(&plan);
	return good;
}

static void
same_keys(const struct model *a, const struct model *b)
{
	size_t i;

	for (i = 0; i < a->meta_count && i < b->meta_count; i++) {
		const struct meta *x = &a->meta[i], *y = &b->meta[i];

		if (strcmp(x->key, y->key) != 0 || x->wire_bytes != y->wire_bytes ||
		    memcmp(x->wire, y->wire, x->wire_bytes) != 0)
			fprintf(stderr, "%s and %s\n", x->key, y->key);
		must(strcmp(x->key, y->key) == 0 && x->wire_bytes == y->wire_bytes &&
		     memcmp(x->wire, y->wire, x->wire_bytes) == 0);
	}
	must(a->meta_count == b->meta_count);
}

static void
refused(const struct err *e)
{
	must_say(e->code == ERR_CORRUPT || e->code == ERR_MEMORY, e);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
}

static void
convert(const struct subject_files *files)
{
	struct subject_files made = { 0 };
	struct err e = ERR_INIT;
	struct model out, again;
	struct subject s;
	struct weights_blob blobs[1];

	if (!put(files, &out, &e)) {
		refused(&e);
	} else {
		subject_of(&s, &out, &made, blobs);
		must_say(general_files(&s, &made, &e) == 0, &e);
		must_say(put(&made, &again, &e), &e);
		same_keys(&out, &again);
		model_free(&again);
	}
	model_free(&out);
	subject_free_files(&made);
}

static void
front(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	json_t *v = yaml_front_parse((const char *)data, size, "in", &e), *back = NULL;

	if (!v) {
		refused(&e);
		return;
	}
	if (yaml_write(v, &b, &e) == 0) {
		back = b.n ? yaml_parse((char *)b.p, b.n, "again", 1, &e) : json_object();
		must_say(back || e.code == ERR_MEMORY, &e);
		must(!back || json_equal(v, back));
	}
	json_decref(v);
	json_decref(back);
	buf_free(&b);
}

static void
calm(struct buf *b)
{
	size_t i;

	must(buf_string(b) && text_utf8(b->p, b->n, false));
	for (i = 0; i < b->n; i++)
		must(b->p[i] >= 0x20 || b->p[i] == '\n');
	buf_clear(b);
}

static void
card(const struct subject_files *files, const uint8_t *data, size_t size)
{
	const struct value_type type = { 0, VALUE_JSON };
	struct weights_blob blobs[4];
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct subject s;
	struct model plan;
	json_t *v;

	must(model_init(&plan, &e) == 0);
	subject_of(&s, &plan, files, blobs);
	if (size > 0 && *data == '{')
		must(model_add_meta(&plan, "model_card", 10, type, data, size, &e) == 0);
	v = card_read(&s.w, &e);
	if (v) {
		card_text(&b, v);
		calm(&b);
		card_markdown(&b, v);
		calm(&b);
		card_json(&b, v, "in");
		calm(&b);
		json_decref(v);
	} else {
		refused(&e);
	}
	buf_free(&b);
	model_free(&plan);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct subject_files files = { 0 };
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	buf_put(&b, data, size);
	must(subject_add_file(&files, size > 0 && *data == '{' ? "generation_config.json"
	                      : "README.md", &b, &e) == 0);
	front(data, size);
	convert(&files);
	card(&files, data, size);
	subject_free_files(&files);
	return 0;
}

/* ---- mutator ---- */

static const char *const names[] = { "license", "license_name", "language", "languages", "tags",
	"pipeline_tag", "base_model", "datasets", "name", "model_name", "version", "model_type",
	"url", "author", "model_creator", "description", "size_label", "metrics", "compliance",
	"hyperparameters", "intended_users", "model-index", "created_at", "bias_risks" };

static const char *const values[] = { "mit", "[en, no, \"fr\"]", "org/Name-7B-chat-v2", "~", "",
	"&a [x, y]", "*a", "&b {name: n, repo_url: u, *a : z}", "[*a, *b, *a]", "{k: v}",
	"\n- https://huggingface.co/org/Name-7B\n- ssh://x\n- name: n\n  doi: d\n",
	"|\n  two\n  lines\n", ">-\n  folded\n  text\n", "'quoted ''text'", "\"\\e[1m\\u2028\\x85\"",
	"1.10", "2024-01-02", "!!str 3", "[[[[[[x]]]]]]", "\t- t", "a,b", "text-generation",
	"\xf0\x9f\x98\x80 \xc3\xbc", "0.00K", "1764278947" };

#define COUNT(a) (sizeof (a) / sizeof *(a))

/* One member between two lines of the front matter. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	unsigned line = seed / 4 % 16;
	struct buf b = { 0 };
	size_t at = 0;

	if (seed & 1)
		return LLVMFuzzerMutate(data, size, max);
	if (size < 4 || memcmp(data, "---\n", 4) != 0)
		buf_text(&b, "---\n");
	while (at < size && line > 0)
		line -= data[at++] == '\n';
	if (at < 4 && b.n == 0)
		at = 4;
	buf_put(&b, data, at);
	buf_printf(&b, "%s: %s\n", names[seed / 64 % COUNT(names)],
	           values[seed / 64 / COUNT(names) % COUNT(values)]);
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
