/* A vocabulary in any of its forms, by its first bytes: a GGUF file, tokenizer.json,
 * SentencePiece's. It is refused with an error that a terminal can show, or any text can be
 * encoded, each id is that of a token and can be decoded, the same text always has the same
 * ids, and decoding token by token gives the same text as decoding at once. The files of a
 * folder that are made from keys open again (lib/adapt), and a tokenizer.json becomes keys.
 *
 * Besides the fuzzer's own changes, the mutator writes whole tokenizer.json files with
 * patterns of all syntax that PCRE2 has (patterns.h), and vocabularies of Unigram with character
 * maps.
 */
#include "adapt/tokens/tokens.h"
#include "core/base64.h"
#include "mutate.h"
#include "patterns.h"
#include "report/vocab_text.h"
#include "tokenizer/tokenizer.h"

#define TEXT 300 /* bytes of the input that are encoded */

/* ---- files of a folder ---- */

static const struct buf *
made_file(const struct subject_files *files, const char *name)
{
	size_t i;

	for (i = 0; i < files->count; i++)
		if (strcmp(files->file[i].name, name) == 0)
			return &files->file[i].bytes;
	return NULL;
}

/* Files that are made from keys open, unless the tokenizer's kind is one that is only carried,
 * or a token is not found as the steps change it. */
static void
make_files(const struct subject *keys)
{
	struct subject_files files = { 0 };
	struct err e = ERR_INIT;
	const struct buf *json, *config;
	struct tokenizer *t;

	if (tokens_files(keys, NULL, &files, &e) < 0) {
		fuzz_refused(&e, false);
	} else if ((json = made_file(&files, "tokenizer.json")) != NULL) {
		config = made_file(&files, "tokenizer_config.json");
		must(config != NULL);
		t = tokenizer_open_json(json->p, json->n, config->p, config->n, "made", NULL, &e);
		must_say(t || e.code == ERR_FORMAT || e.code == ERR_MEMORY, &e);
		tokenizer_free(t);
	}
	subject_free_files(&files);
}

/* The keys of a GGUF file, whether or not they make a tokenizer. */
static void
files_of_keys(const struct material *m)
{
	struct model plan;
	struct subject s = { .plan = m->plan, .form = ARCH_GGUF, .w = { .name = "in" } };
	struct err e = ERR_INIT;
	size_t i;

	if (model_copy(&plan, m->plan, &e) < 0)
		return;
	s.w.plan = &plan;
	s.w.blobs = calloc(plan.blob_count + 1, sizeof *s.w.blobs);
	for (i = 0; s.w.blobs && i < plan.blob_count; i++) {
		s.w.blobs[i].p = m->blob[i].p;
		s.w.blobs[i].n = m->blob[i].n;
	}
	if (s.w.blobs)
		make_files(&s);
	free(s.w.blobs);
	model_free(&plan);
}

/* A tokenizer.json alone, or a SentencePiece model, as a folder. */
static void
keys_of_file(const char *name, const uint8_t *data, size_t size)
{
	json_t *origin = NULL;
	const struct tokens_options o = { .pre = size % 3 ? NULL : "gpt-2", .origin = &origin };
	struct weights_blob blob = { data, size };
	struct model plan, keys;
	struct subject s = { .plan = &plan, .form = ARCH_FOLDER, .note = fuzz_note,
		.w = { .name = "folder", .plan = &plan, .blobs = &blob } };
	struct err e = ERR_INIT;

	if (model_init(&plan, &e) < 0 || model_init(&keys, &e) < 0)
		abort();
	must(model_add_blob(&plan, name, "", size, &e) == 0);
	if (tokens_put_keys(&s, &o, &keys, &e) < 0) {
		fuzz_refused(&e, false);
	} else {
		struct subject back = { .plan = &keys, .form = ARCH_GGUF,
			.w = { .name = "keys", .plan = &keys } };
		struct subject_files files = { 0 };

		make_files(&back);
		e = (struct err)ERR_INIT;
		if (tokens_files(&back, origin, &files, &e) < 0)
			fuzz_refused(&e, false);
		subject_free_files(&files);
		json_decref(origin);
	}
	model_free(&plan);
	model_free(&keys);
}

/* ---- opening ---- */

static struct tokenizer *
open_gguf(const uint8_t *data, size_t size, const struct tokenizer_options *o,
          struct err *e)
{
	const struct format_options none = { 0 };
	struct tokenizer *t = NULL;
	struct source *s;
	struct material m;
	struct reader r;

	reader_memory(&r, data, size, "in", e);
	s = format_gguf.reads->open(&r, &none, fuzz_note, e);
	if (!s)
		return NULL;
	if (material_open(&m, s->plan, e) == 0 && material_read(&m, s, e) == 0)
		t = tokenizer_open(&m, "in", o, e);
	if (m.blob)
		files_of_keys(&m);
	material_free(&m);
	source_close(s);
	return t;
}

/* What the steps of a file may cost is limited (core/work.h). */
static bool
is_too_much(const struct err *e)
{
	return e->code == ERR_MEMORY &&
	       (strstr(e->fact, "takes too") || strstr(e->fact, "times as long"));
}

/* The same text has the same ids again. */
static void
encode_again(struct tokenizer *t, const uint8_t *text, size_t n, unsigned flags,
             const struct tokens *first)
{
	struct tokens second = { 0 };
	struct err e = ERR_INIT;

	must(tokenizer_encode(t, text, n, flags, &second, &e) == 0);
	must(first->n == second.n &&
	     (first->n == 0 || memcmp(first->id, second.id, first->n * sizeof *first->id) == 0));
	tokens_free(&second);
}

static void
encode(struct tokenizer *t, const uint8_t *text, size_t n, unsigned flags)
{
	struct tokens first = { 0 };
	struct buf whole = { 0 }, pieces = { 0 };
	struct err e = ERR_INIT;
	bool begun = false;
	size_t i;

	if (tokenizer_encode(t, text, n, flags, &first, &e) < 0) {
		must_say(is_too_much(&e), &e);
		fuzz_printable(e.object);
		goto end;
	}
	/* A character map makes a text longer. */
	must(tokenizer_lost(t) <= n + 8 || strchr("BU", tokenizer_kind(t)[0]));
	if (crc32_add(0, text, n) % 4 == 0) /* encoding takes most of a run's time */
		encode_again(t, text, n, flags, &first);
	must(tokenizer_decode(t, first.id, first.n, flags, &whole, &e) == 0);
	for (i = 0; i < first.n; i++) {
		must(first.id[i] < tokenizer_count(t));
		tokenizer_piece(t, first.id[i], !begun, flags, &pieces);
		begun = begun || !tokenizer_is_control(t, first.id[i]);
	}
	must(whole.n == pieces.n && (whole.n == 0 || memcmp(whole.p, pieces.p, whole.n) == 0));
end:
	tokens_free(&first);
	buf_free(&whole);
	buf_free(&pieces);
}

static void
look(const struct tokenizer *t)
{
	uint32_t i;
	size_t n;

	for (i = 0; i < TOKENIZER_ROLES; i++) {
		uint32_t id = tokenizer_role(t, (enum tokenizer_role)i);

		must(id == TOKEN_NONE || id < tokenizer_count(t));
	}
	for (i = 0; i < tokenizer_count(t); i++) {
		const char *text = tokenizer_text(t, i, &n);

		must(n == 0 || tokenizer_find(t, text, n) == i);
	}
}

static struct tokenizer *
open_any(const uint8_t *data, size_t size, const struct tokenizer_options *o, struct err *e)
{
	if (size >= 4 && memcmp(data, "GGUF", 4) == 0)
		return open_gguf(data, size, o, e);
	if (size > 0 && data[0] == '{')
		return tokenizer_open_json(data, size, NULL, 0, "in", o, e);
	return tokenizer_open_sentencepiece(data, size, "in", o, e);
}

/* Print the tokens, also those of kinds that are not supported. */
static void
list(const uint8_t *data, size_t size)
{
	const struct tokenizer_options only = { .list = true };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	struct tokenizer *t = open_any(data, size, &only, &e);
	uint32_t i;

	must_say((t != NULL) == (e.code == ERR_NONE), &e);
	for (i = 0; t && i < tokenizer_count(t); i++) {
		buf_clear(&b);
		vocab_put(&b, t, i, i & 1, NULL);
		must(!b.n || b.p[b.n - 1] == '\n');
	}
	buf_free(&b);
	tokenizer_free(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tokenizer_options o = { .any = size & 1, .note = fuzz_note };
	struct tokenizer *t;
	struct err e = ERR_INIT;
	size_t n = size < TEXT ? size : TEXT;

	list(data, size);
	if (size < 4 || memcmp(data, "GGUF", 4) != 0)
		keys_of_file(size > 0 && data[0] == '{' ? "tokenizer.json" : "tokenizer.model", data,
		             size);
	t = open_any(data, size, &o, &e);
	must_say((t != NULL) == (e.code == ERR_NONE), &e);
	if (!t) {
		fuzz_refused(&e, false);
		return 0;
	}
	look(t);
	encode(t, data + size - n, n, TOKENIZER_SPECIAL);
	encode(t, data, n, TOKENIZER_BARE);
	encode(t, (const uint8_t *)"ab  \n12 \xc3\xa9", 10, 0);
	tokenizer_free(t);
	return 0;
}

static const char model[] = "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,"
	"\"ab\":2,\" \":3,\"x\":4,\"1\":5,\"aa\":6,\"\xe2\x96\x81\":7,\"\xc4\xa0\":8},"
	"\"merges\":[\"a b\",\"a a\"]}";

/* A map with a few rules for texts of these letters, some of them wrong. */
static void
put_map(struct dice *d, struct buf *b)
{
	static const char letters[] = "abxAB1 \xc3\xa9\xe2\x96\x81";
	enum { UNITS = 1024, TEXTS = 32 };
	uint8_t map[4 + 4 * UNITS + TEXTS];
	unsigned rules = roll(d, 12), node = 0, i;

	le32_put(map, 4 * UNITS);
	for (i = 0; i < UNITS; i++)
		le32_put(map + 4 + 4 * i, 0);
	for (i = 0; i < TEXTS; i++)
		map[4 + 4 * UNITS + i] = roll(d, 4) && i < TEXTS - 1 ? (uint8_t)ONE_OF(d, letters) : 0;
	le32_put(map + 4, 256 << 10);
	for (i = 0; i < rules; i++) {
		uint8_t c = (uint8_t)letters[roll(d, sizeof letters - 1)];
		unsigned at = (node ? 256 * (1 + roll(d, 3)) : 256) ^ c, to = 256 * (1 + roll(d, 3));
		bool ends = roll(d, 3);

		le32_put(map + 4 + 4 * at, c | (ends ? 0x100u : 0) | (at ^ to) << 10);
		if (ends)
			le32_put(map + 4 + 4 * to, 0x80000000u | roll(d, roll(d, 30) ? TEXTS : 99));
		node = roll(d, 2) ? at : 0;
	}
	if (roll(d, 10) == 0)
		map[roll(d, sizeof map)] = (uint8_t)roll(d, 256);
	buf_text(b, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
	base64_put(b, map, sizeof map - (roll(d, 20) ? 0 : roll(d, 40)));
	buf_text(b, "\"}");
}

static void
put_score(struct dice *d, struct buf *b)
{
	static const char *const odd[] = { "0", "-0.0", "1e308", "-1e308", "5", "-1e-320", "\"0\"" };

	if (roll(d, 20))
		buf_printf(b, "-%u.%u", roll(d, 12), roll(d, 4) * 25);
	else
		buf_text(b, ONE_OF(d, odd));
}

static void
put_unigram(struct dice *d, struct buf *b)
{
	static const char *const pieces[] = { "<unk>", "\xe2\x96\x81", "a", "b", "ab", "aa", "ba", "abab",
		"\xe2\x96\x81" "a", "\xe2\x96\x81" "ab", " ", "1", "12", "x", "\xc3\xa9", "<0x41>", "<0xC3>",
		"<0xA9>", "aaaa", "a\xe2\x96\x81" "b", "\xe2\x96\x81\xe2\x96\x81", "\\n", "" };
	unsigned first = 1, i;

	buf_printf(b, "\"model\":{\"type\":\"Unigram\",\"byte_fallback\":%s,\"vocab\":[",
	           roll(d, 3) ? "false" : "true");
	for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		if (roll(d, 3) == 0)
			continue;
		buf_printf(b, "%s[\"%s\",", first ? "" : ",", pieces[i]);
		put_score(d, b);
		buf_u8(b, ']');
		first = 0;
	}
	buf_text(b, "]");
	if (roll(d, 5))
		buf_printf(b, ",\"unk_id\":%u", roll(d, 30) ? 0 : roll(d, 40));
	buf_text(b, "}");
}

/* The last text is what is encoded (TEXT). */
static void
put_file(struct dice *d, struct buf *b)
{
	bool unigram = roll(d, 3) == 0;

	buf_text(b, "{\"normalizer\":");
	if (unigram && roll(d, 3))
		put_map(d, b);
	else
		put_steps(d, "normalizers", roll(d, 2) ? 0 : 3, put_normalizer, b);
	buf_text(b, ",\"pre_tokenizer\":");
	put_steps(d, "pretokenizers", 3, put_cut, b);
	buf_u8(b, ',');
	if (unigram)
		put_unigram(d, b);
	else
		buf_text(b, model);
	buf_text(b, ",\"text\":");
	put_text(d, b);
	buf_text(b, "}");
}

/* One of the file's patterns becomes another, or has something put into it. */
static int
change_pattern(struct dice *d, json_t *list, struct buf *b)
{
	json_t *step = json_array_get(list, roll(d, (unsigned)json_array_size(list) + 1));
	json_t *pattern = json_object_get(step, "pattern");
	const char *old = json_string_value(json_object_get(pattern, "Regex"));
	size_t at = old ? roll(d, (unsigned)strlen(old) + 1) : 0;

	if (!old)
		return -1;
	buf_put(b, old, at);
	d->odd = roll(d, 4) == 0;
	if (roll(d, 2))
		put_item(d, 2, b);
	else
		at += roll(d, 3);
	buf_text(b, at < strlen(old) ? old + at : "");
	return json_object_set_new(pattern, "Regex", json_stringn((char *)b->p, b->n));
}

static int
change_file(struct dice *d, const uint8_t *data, size_t size, struct buf *b)
{
	struct err e = ERR_INIT;
	json_t *root = json_parse(data, size, ERR_CORRUPT, "in", &e);
	bool cuts = roll(d, 3);
	json_t *steps = json_object_get(root, cuts ? "pre_tokenizer" : "normalizer");
	json_t *list = json_object_get(steps, cuts ? "pretokenizers" : "normalizers");
	struct buf text = { 0 };
	int r = -1;

	if (json_is_array(list) && roll(d, 3) == 0) {
		(cuts ? put_cut : put_normalizer)(d, &text);
		r = json_array_insert_new(list, roll(d, (unsigned)json_array_size(list) + 1),
		                          json_loadb((char *)text.p, text.n, 0, NULL));
	} else if (json_is_array(list)) {
		r = change_pattern(d, list, &text);
	}
	if (r == 0)
		r = json_write(root, b);
	json_decref(root);
	buf_free(&text);
	return r;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	unsigned way = roll(&d, 8);
	struct buf b = { 0 };

	if (way == 0 || (way < 5 && change_file(&d, data, size, &b) < 0 && way < 3)) {
		buf_free(&b);
		return LLVMFuzzerMutate(data, size, max);
	}
	if (b.n == 0)
		put_file(&d, &b);
	return mutate_done(&b, data, size, max);
}
