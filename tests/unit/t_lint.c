/* Rules of apr-lint, rules about security, chat templates, and policies, on plans made by hand. */
#include "check/lint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/card.h"
#include "check/policy.h"
#include "check/template.h"
#include "core/le.h"
#include "test.h"

/* ---- a model made by hand ---- */

#define MOST 8

/* A key: text, or "u32:N", "ids:N" (a list of N numbers), "texts:N", "json:TEXT". */
struct key {
	const char *name, *value;
};

/* A case: the container, keys, tensors ("NAME TYPE DIMS...", separated by blanks), side files, and
 * the rules that find something, in order of their tables. */
struct lint_case {
	const char *what, *format;
	struct key keys[MOST];
	const char *tensors[MOST];
	struct key files[MOST];
	uint64_t offset;        /* of the first tensor; others follow at once; 0: 64 */
	uint64_t file;          /* bytes of the file; 0: not known */
	struct { enum oddity_kind kind; uint64_t at, bytes; } odd;
	const char *found;      /* IDs with blanks between */
};

/* A source that yields the side files. */
struct fake {
	struct source source;
	struct model plan;
	struct oddities odd;
	const struct key *files;
	size_t at;
	bool sent;
};

static int
fake_next(struct source *s, struct item *item, struct err *e)
{
	struct fake *f = (struct fake *)s;

	(void)e;
	if (f->at >= f->plan.blob_count)
		return 0;
	*item = (struct item){ .kind = ITEM_BLOB, .index = f->at++,
		.bytes = f->plan.blobs[f->at].bytes };
	f->sent = false;
	return 1;
}

static int
fake_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct fake *f = (struct fake *)s;

	(void)e;
	*p = (const uint8_t *)f->files[f->at - 1].value;
	*n = f->sent ? 0 : strlen((const char *)*p);
	f->sent = true;
	return 0;
}

static void
fake_close(struct source *s)
{
	(void)s;
}

static const struct source_ops fake_ops = { .next = fake_next, .read = fake_read,
	.close = fake_close };

static void
add_key(struct model *m, const struct key *k, struct err *e)
{
	struct value_type type = { 0, VALUE_STRING };
	struct buf wire = { 0 };
	uint32_t n = 0, i;

	if (sscanf(k->value, "u32:%" SCNu32, &n) == 1) {
		type.leaf = VALUE_U32;
		buf_u32(&wire, n);
	} else if (sscanf(k->value, "ids:%" SCNu32, &n) == 1 ||
	           sscanf(k->value, "texts:%" SCNu32, &n) == 1) {
		type = (struct value_type){ 1, *k->value == 'i' ? VALUE_U32 : VALUE_STRING };
		buf_u32(&wire, type.leaf);
		buf_u64(&wire, n);
		for (i = 0; i < n; i++)
			type.leaf == VALUE_U32 ? buf_u32(&wire, i) : buf_u64(&wire, 0);
	} else if (strncmp(k->value, "json:", 5) == 0) {
		type.leaf = VALUE_JSON;
		buf_text(&wire, k->value + 5);
	} else {
		buf_u64(&wire, strlen(k->value));
		buf_text(&wire, k->value);
	}
	model_add_meta(m, k->name, strlen(k->name), type, wire.p ? wire.p : (const uint8_t *)"",
	               wire.n, e);
	buf_free(&wire);
}

static void
add_tensor(struct model *m, const char *text, struct err *e)
{
	char name[128], type[32];
	uint64_t dims[4];
	int n = sscanf(text, "%127s %31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, type,
	               &dims[0], &dims[1], &dims[2], &dims[3]);
	const struct dtype *t = dtype_by_name(type);
	struct tensor *new = tensor_new(name, strlen(name), t, (unsigned)(n - 2), dims,
	                                dtype_sized(t) ? TENSOR_OWN_SIZE : 64, "t", e);

	if (new)
		model_add_tensor(m, new, e);
}

static int
fake_open(struct fake *f, const struct lint_case *c, struct err *e)
{
	size_t i;

	*f = (struct fake){ .source = { .plan = &f->plan, .ops = &fake_ops, .name = "m",
		.oddities = &f->odd }, .files = c->files };
	model_init(&f->plan, e);
	model_source_set(&f->plan, "format", json_string(c->format), e);
	for (i = 0; i < MOST && c->keys[i].name; i++)
		add_key(&f->plan, &c->keys[i], e);
	for (i = 0; i < MOST && c->tensors[i]; i++)
		add_tensor(&f->plan, c->tensors[i], e);
	for (i = 0; i < MOST && c->files[i].name; i++)
		model_add_blob(&f->plan, c->files[i].name, "text", strlen(c->files[i].value), e);
	if (c->odd.bytes)
		oddities_add(&f->odd, c->odd.kind, "a", c->odd.at, c->odd.bytes);
	return e->code == ERR_NONE ? 0 : -1;
}

static void
fake_free(struct fake *f)
{
	oddities_free(&f->odd);
	model_free(&f->plan);
}

static struct lint_place *
places_of(const struct fake *f, const struct lint_case *c)
{
	size_t n = f->plan.tensor_count, i;
	struct lint_place *p = calloc(n + 1, sizeof *p);
	uint64_t at = c->offset ? c->offset : 64;

	for (i = 0; p && i < n; i++) {
		p[i].offset = at;
		at += tensor_bytes(f->plan.tensors[i]);
		at = c->offset ? at : (at + 63) / 64 * 64;
	}
	return p;
}

/* Judges a case by all rules; the findings are the caller's. facts: of the container, or NULL. */
static int
judge(const struct lint_case *c, const json_t *facts, int fd, const struct policy *policy,
      struct findings *to, struct err *e)
{
	struct fake f;
	struct survey s = { .path = "m.gguf", .format = c->format, .facts = facts,
		.file_bytes = c->file ? c->file : UINT64_MAX };
	struct lint_place *places = NULL;
	json_t *card = NULL;
	struct lint l;
	size_t i;

	if (fake_open(&f, c, e) == 0 && survey_head(&s, &f.source, e) == 0) {
		places = places_of(&f, c);
		card = card_read(&s.subject.w, e);
		l = (struct lint){ .s = &s, .to = to, .card = card, .places = places, .fd = fd,
			.edits = true };
		for (i = 0; !policy && lint_rule(i); i++)
			lint_rule(i)->judge(&l, &lint_rule(i)->rule);
		for (i = 0; !policy && security_rule(i); i++)
			security_rule(i)->judge(&l, &security_rule(i)->rule);
		for (i = 0; policy && policy_rule(i); i++)
			if (!policy_lacks(policy, policy_rule(i)))
				policy_judge(policy, &l, policy_rule(i),
				             &(struct err){ .code = ERR_SIGNATURE, .fact = "unsigned" });
	}
	json_decref(card);
	free(places);
	survey_free(&s);
	fake_free(&f);
	return e->code == ERR_NONE && findings_ok(to) ? 0 : -1;
}

/* The rules of the findings, each once, in the order of their first one. */
static const char *
ids(const struct findings *f, char *to, size_t size)
{
	size_t i, n = 0;

	*to = '\0';
	for (i = 0; i < f->rules; i++)
		if (n < size)
			n += (size_t)snprintf(to + n, size - n, "%s%s", n ? " " : "", f->more[i].rule->id);
	return to;
}

/* What a model needs that the rule of a case is not about. */
#define GOOD { "general.license", "mit" }, { "general.name", "m" }, \
	{ "general.description", "d" }, { "general.source.url", "https://x" }
#define GOOD_APR { "license", "mit" }, { "name", "m" }, { "description", "d" }, \
	{ "source", "https://x" }, { "format_version", "2.0.0" }
#define LLAMA { "general.architecture", "llama" }
#define VOCAB { "tokenizer.ggml.model", "llama" }, { "tokenizer.ggml.tokens", "texts:3" }
#define BIDI "\xe2\x80\xae"

static const struct lint_case cases[] = {
	{ .what = "a good model", .format = "gguf", .keys = { GOOD, LLAMA, VOCAB },
	  .tensors = { "token_embd.weight F32 8 8" }, .found = "" },
	{ .what = "an empty model", .format = "gguf", .found = "LINT-LICENSE LINT-CARD LINT-PROVENANCE "
	  "LINT-TITLE" },
	{ .what = "names of another framework", .format = "gguf", .keys = { GOOD },
	  .tensors = { "encoder.w F32 8", "encoder.conv.kernel F32 8", "x.weight F32 8" },
	  .found = "LINT-NAME" },
	{ .what = "a name that the architecture lacks", .format = "gguf",
	  .keys = { GOOD, LLAMA, VOCAB }, .tensors = { "token_embd.weight F32 8 8", "blk.0.attn_q.w F32 8 8",
	  "blk.0.other.weight F32 8" }, .found = "LINT-NAME" },
	{ .what = "GGUF with the names of folders", .format = "gguf", .keys = { GOOD, LLAMA },
	  .tensors = { "model.embed_tokens.weight F32 8 8", "model.layers.0.mlp.up_proj.weight F32 8 8" },
	  .found = "LINT-NAME LINT-FORM" },
	{ .what = "an empty text", .format = "gguf", .keys = { GOOD, { "general.author", "" } },
	  .found = "LINT-EMPTY" },
	{ .what = "a key without general.", .format = "gguf", .keys = { GOOD, { "author", "x" } },
	  .found = "LINT-SPELLING" },
	{ .what = "two spellings", .format = "apr2", .keys = { GOOD_APR, { "hidden_size", "u32:8" },
	  { "hidden_dim", "u32:8" } }, .found = "LINT-TWICE" },
	{ .what = "the second spelling", .format = "apr2", .keys = { GOOD_APR,
	  { "hidden_dim", "u32:8" } }, .found = "LINT-SPELLING" },
	{ .what = ".apr without a version", .format = "apr2", .keys = { { "license", "mit" },
	  { "name", "m" }, { "description", "d" }, { "source", "x" } }, .found = "LINT-FORMAT-VERSION" },
	{ .what = "a flat matrix", .format = "apr2", .keys = { GOOD_APR, { "mel_filterbank", "ids:80" } },
	  .found = "LINT-SHAPE LINT-UNITS" },
	{ .what = "a matrix with shape and unit", .format = "apr2", .keys = { GOOD_APR,
	  { "mel", "ids:80" }, { "mel_shape", "json:[8,10]" }, { "mel_units", "none" } }, .found = "" },
	{ .what = "a shape that disagrees", .format = "apr2", .keys = { GOOD_APR, { "mel", "ids:80" },
	  { "mel_shape", "json:[8,11]" }, { "mel_units", "none" } }, .found = "LINT-SHAPE" },
	{ .what = "config.json that is not JSON", .format = "safetensors", .keys = { GOOD },
	  .files = { { "config.json", "{" } }, .found = "LINT-CONFIG" },
	{ .what = "a context of 2^31", .format = "gguf", .keys = { GOOD, LLAMA,
	  { "llama.context_length", "u32:2147483648" } }, .found = "LINT-CONTEXT" },
	{ .what = "no context", .format = "gguf", .keys = { GOOD, LLAMA,
	  { "llama.context_length", "u32:0" } }, .found = "LINT-CONTEXT" },
	{ .what = "eos beyond the vocabulary", .format = "gguf", .keys = { GOOD, VOCAB,
	  { "tokenizer.ggml.eos_token_id", "u32:3" } }, .found = "LINT-SPECIAL" },
	{ .what = "the last token as eos", .format = "gguf", .keys = { GOOD, VOCAB,
	  { "tokenizer.ggml.eos_token_id", "u32:2" } }, .found = "" },
	{ .what = "no tokenizer", .format = "gguf", .keys = { GOOD, LLAMA },
	  .tensors = { "token_embd.weight F32 8 8" }, .found = "LINT-TOKENIZER" },
	{ .what = "a chat model without a template", .format = "gguf",
	  .keys = { { "general.license", "mit" }, { "general.name", "Tiny Chat" },
	  { "general.description", "d" }, { "general.source.url", "x" } }, .found = "LINT-TEMPLATE" },
	{ .what = "a BPE tokenizer without pre", .format = "gguf", .keys = { GOOD,
	  { "tokenizer.ggml.model", "gpt2" } }, .found = "LINT-PRE" },
	{ .what = "the default pre", .format = "gguf", .keys = { GOOD,
	  { "tokenizer.ggml.model", "gpt2" }, { "tokenizer.ggml.pre", "default" } },
	  .found = "LINT-PRE" },
	{ .what = "a pre that is known", .format = "gguf", .keys = { GOOD,
	  { "tokenizer.ggml.model", "gpt2" }, { "tokenizer.ggml.pre", "llama-bpe" } }, .found = "" },
	{ .what = "quantized without a version", .format = "gguf", .keys = { GOOD },
	  .tensors = { "x.weight Q8_0 32" }, .found = "LINT-QUANTIZATION-VERSION" },
	{ .what = "another file type", .format = "gguf", .keys = { GOOD,
	  { "general.file_type", "u32:2" } }, .tensors = { "x.weight F32 32" },
	  .found = "LINT-FILE-TYPE" },
	{ .what = "the file type of its tensors", .format = "gguf", .keys = { GOOD,
	  { "general.file_type", "u32:15" }, { "general.quantization_version", "u32:2" } },
	  .tensors = { "x.weight Q4_K 256", "y.weight Q6_K 256" }, .found = "" },
	{ .what = "a type that GGML has dropped", .format = "gguf", .keys = { GOOD },
	  .tensors = { "x.weight GGML_4 32" }, .found = "LINT-OLD-TYPE" },
	{ .what = "tensors at multiples of 32", .format = "gguf", .keys = { GOOD },
	  .tensors = { "x.weight F32 8", "y.weight F32 8" }, .offset = 96, .found = "LINT-ALIGN" },
	{ .what = "tensors at odd bytes", .format = "safetensors", .keys = { GOOD },
	  .tensors = { "x.weight F32 8" }, .offset = 101, .found = "LINT-ALIGN LINT-UNALIGNED" },
	{ .what = "padding that is not zero", .format = "gguf", .keys = { GOOD },
	  .odd = { ODD_PADDING, 64, 3 }, .found = "LINT-PADDING" },
	{ .what = "a large tensor", .format = "gguf", .keys = { GOOD },
	  .tensors = { "x.weight F32 1000 1000" }, .found = "LINT-COMPRESS" },
	{ .what = "called sparse but dense", .format = "apr2", .keys = { GOOD_APR,
	  { "sparse", "json:true" } }, .tensors = { "x.weight F32 8 8" }, .found = "LINT-SPARSE" },
	{ .what = "not called sparse", .format = "apr2", .keys = { GOOD_APR,
	  { "sparsity", "json:0" } }, .tensors = { "x.weight F32 8 8" }, .found = "" },
	{ .what = "a side file that climbs", .format = "apr2", .keys = { GOOD_APR },
	  .files = { { "../.bashrc", "x" } }, .found = "SEC-PATH" },
	{ .what = "an absolute side file", .format = "apr2", .keys = { GOOD_APR },
	  .files = { { "/etc/passwd", "x" } }, .found = "SEC-PATH" },
	{ .what = "a drive letter", .format = "apr2", .keys = { GOOD_APR },
	  .files = { { "C:boot.txt", "x" } }, .found = "SEC-PATH" },
	{ .what = "a backslash", .format = "apr2", .keys = { GOOD_APR },
	  .files = { { "a\\b", "x" } }, .found = "SEC-PATH" },
	{ .what = "a tensor that climbs", .format = "gguf", .keys = { GOOD },
	  .tensors = { "a/../b.weight F32 8" }, .found = "SEC-PATH" },
	{ .what = "names of graphs", .format = "gguf", .keys = { GOOD },
	  .tensors = { "/model/conv..1/weight F32 8", "..a F32 8" }, .found = "" },
	{ .what = "marks of direction", .format = "gguf", .keys = { GOOD, { "general.author", "a" BIDI } },
	  .tensors = { "x" BIDI ".weight F32 8" }, .found = "SEC-CONTROL" },
	{ .what = "line breaks in a text", .format = "gguf", .keys = { GOOD,
	  { "general.author", "a\n\tb" } }, .found = "" },
	{ .what = "a template that reaches for classes", .format = "gguf", .keys = { GOOD,
	  { "tokenizer.chat_template", "{{ ''.__class__.__mro__ }}" } }, .found = "SEC-TEMPLATE" },
	{ .what = "a template in a list", .format = "safetensors", .keys = { GOOD },
	  .files = { { "tokenizer_config.json", "{\"chat_template\":[{\"name\":\"a\",\"template\":"
	  "\"{{x|attr('y')}}\"}]}" } }, .found = "SEC-TEMPLATE" },
	{ .what = "a template in a file", .format = "safetensors", .keys = { GOOD },
	  .files = { { "chat_template.jinja", "{% include 'x' %}" } }, .found = "SEC-TEMPLATE" },
	{ .what = "bytes after the end", .format = "gguf", .keys = { GOOD },
	  .odd = { ODD_TRAILING, 100, 3 }, .found = "SEC-HIDDEN" },
	{ .what = "a gap", .format = "gguf", .keys = { GOOD }, .odd = { ODD_GAP, 100, 3 },
	  .found = "SEC-HIDDEN" },
	{ .what = "more than the file can hold", .format = "apr2", .keys = { GOOD_APR },
	  .tensors = { "x.weight F32 1000" }, .file = 30, .found = "SEC-SIZE" },
	{ .what = "a licence without commerce", .format = "gguf", .keys = {
	  { "general.license", "cc-by-nc-sa-4.0" }, { "general.name", "m" },
	  { "general.description", "d" }, { "general.source.url", "x" } }, .found = "SEC-LICENSE" },
	{ .what = "code beside the model", .format = "safetensors", .keys = { GOOD },
	  .files = { { "config.json", "{\"auto_map\":{}}" }, { "modeling_x.py", "import os" } },
	  .found = "SEC-CODE" },
};

static void
each_case(void)
{
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct findings f = { 0 };
		struct err e = ERR_INIT;
		char text[512];

		if (judge(&cases[i], NULL, -1, NULL, &f, &e) < 0)
			printf("# %s: %s\n", e.object, e.fact);
		if (!test_ok(e.code == ERR_NONE && !strcmp(ids(&f, text, sizeof text), cases[i].found),
		             "%s: %s", cases[i].what, *cases[i].found ? cases[i].found : "nothing"))
			printf("# found: %s: %s\n", text, f.count ? f.of[0].fact : "");
		findings_free(&f);
	}
}

/* ---- what a pickle would call ---- */

static void
pickles(void)
{
	static const struct lint_case c = { .format = "pytorch", .keys = { GOOD } };
	json_t *facts = json_pack("{s:[s]}", "would_call", "posix.system('id')");
	struct findings f = { 0 };
	struct err e = ERR_INIT;
	char text[512];

	judge(&c, facts, -1, NULL, &f, &e);
	test_ok(!strcmp(ids(&f, text, sizeof text), "SEC-PICKLE") && f.levels[FINDING_ERROR] == 1 &&
	        !strcmp(f.of[0].fact, "a program that loads the file calls posix.system('id')"),
	        "a call of a pickle is an error");
	findings_free(&f);
	json_decref(facts);
}

/* ---- templates ---- */

static void
templates(void)
{
	static const struct {
		const char *text, *sign; /* "" : none */
	} rows[] = {
		{ "{% for m in messages %}{{ m['role'] }}: {{ m.content|trim }}{% endfor %}", "" },
		{ "__class__ import os {# __class__ #} os.system('x')", "" },
		{ "{{ 'Environment: ipython, from import to system' }}", "" },
		{ "{% if m.role == 'system' %}{{ raise_exception('no __ here') }}{% endif %}", "" },
		{ "{{ x.replace('_', ' ') }}", "" },
		{ "{{ x.__class__ }}", "__class__" },
		{ "{%- set a = x['__globals__'] -%}", "__globals__" },
		{ "{{ x | attr ('a') }}", "attr" },
		{ "{{ x.attr }}", "" },
		{ "{{ os.popen('id').read() }}", "popen" },
		{ "{{ cycler.mro() }}", "mro" },
		{ "{% from 'x' import y %}", "from" },
		{ "{%- import 'x' as y %}", "import" },
		{ "{% for import in x %}", "" },
		{ "{{ x['\\x5f\\x5fclass'] }}", "\\\\x5f\\\\x5fclass" },
		{ "{{ x['__' ~ 'class' ~ '__'] }}", "__" },
		{ "{{ eval ( 'x' ) }}", "eval" },
		{ "{{ \"'\" }}{{ x.__init__ }}", "__init__" },
		{ "{{ 'unclosed", "" },
		{ "{{", "" }, { "{%", "" }, { "{#", "" }, { "{", "" }, { "", "" },
		{ "{# a {{ x.__class__ }} #}{{ y.__mro__ }}", "__mro__" },
	};
	struct template_sign sign;
	size_t i, at;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		at = 0;
		sign.text[0] = '\0';
		template_next(rows[i].text, strlen(rows[i].text), &at, &sign);
		if (!test_ok(!strcmp(sign.text, rows[i].sign), "template %s: %s", rows[i].text,
		             *rows[i].sign ? rows[i].sign : "no sign"))
			printf("# found: %s\n", sign.text);
	}
}

/* Texts on which a search that looks back or ahead takes quadratic time. */
static void
long_templates(void)
{
	static const char *const parts[] = { "{{ a", "{{ '", "{#", "{% ", "{{ 'a\\", "{{ __a", "{" };
	size_t n = (size_t)16 << 20, i, k;
	char *text = malloc(n);

	for (i = 0; text && i < sizeof parts / sizeof *parts; i++) {
		struct template_sign sign;
		clock_t began = clock();
		size_t at = 0, found = 0, len = strlen(parts[i]);

		for (k = 0; k + len <= n; k += len)
			memcpy(text + k, parts[i], len);
		memset(text + k, ' ', n - k);
		if (i == 3)
			memset(text + 3, ' ', n - 3);
		while (template_next(text, n, &at, &sign))
			found++;
		printf("# %.2f s\n", (double)(clock() - began) / CLOCKS_PER_SEC);
		test_ok(at == n && (clock() - began) / CLOCKS_PER_SEC < 20,
		        "16 MiB of %s are read in linear time", parts[i]);
	}
	test_ok(text != NULL, "memory for a template");
	free(text);
}

/* ---- files of two formats ---- */

static void
polyglots(void)
{
	static const uint8_t end[22] = { 'P', 'K', 5, 6, [10] = 3, [12] = 40 };
	static const struct {
		const char *what, *text;
		size_t at;
		bool zip;
		const char *found;
	} rows[] = {
		{ "zeros", "", 0, false, "" },
		{ "an end record without its list", "x", 0, true, "SEC-POLYGLOT" },
		{ "a document", "%PDF-1.4", 500, false, "SEC-POLYGLOT" },
		{ "a document far behind", "%PDF-1.4", 3000, false, "" },
		{ "a page", "<script>", 20, false, "SEC-POLYGLOT" },
		{ "a program in a gap", "\x7f" "ELF", 2000, false, "SEC-HIDDEN SEC-POLYGLOT" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct lint_case c = { .format = "gguf", .keys = { GOOD }, .file = 4096 };
		struct findings f = { 0 };
		struct err e = ERR_INIT;
		FILE *file = tmpfile();
		char text[512];

		if (!file || ftruncate(fileno(file), 4096) < 0 ||
		    pwrite(fileno(file), rows[i].text, strlen(rows[i].text), (off_t)rows[i].at) < 0 ||
		    (rows[i].zip && pwrite(fileno(file), end, sizeof end, 4096 - 22) < 0))
			test_ok(0, "a temporary file");
		if (strcmp(rows[i].found, "SEC-HIDDEN SEC-POLYGLOT") == 0)
			c.odd.kind = ODD_GAP, c.odd.at = rows[i].at, c.odd.bytes = 9;
		judge(&c, NULL, fileno(file), NULL, &f, &e);
		test_ok(!strcmp(ids(&f, text, sizeof text), rows[i].found), "%s: %s", rows[i].what, text);
		findings_free(&f);
		fclose(file);
	}
}

/* ---- licences ---- */

static void
licences(void)
{
	static const char *const no[] = { "cc-by-nc-4.0", "CC BY-NC-SA 3.0", "Non-Commercial",
		"noncommercial", "fair-noncommercial-research-license", "mrl", "research only" };
	static const char *const yes[] = { "mit", "apache-2.0", "CC0-1.0", "cc-by-sa-4.0", "llama3.1",
		"ncsa", "gemma", "openrail", "", "bsd-3-clause" };
	size_t i;

	for (i = 0; i < sizeof no / sizeof *no; i++)
		test_ok(licence_noncommercial(no[i]), "%s is not commercial", no[i]);
	for (i = 0; i < sizeof yes / sizeof *yes; i++)
		test_ok(!licence_noncommercial(yes[i]), "%s is", yes[i]);
}

/* ---- policies ---- */

static void
policies(void)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{ "{}", "" },
		{ "{\"licenses\":[\"MIT\"],\"types\":[\"F*\"],\"formats\":[\"gguf\"],\"templates\":true}", "" },
		{ "{\"licenses\":[]}", "POLICY-LICENSE" },
		{ "{\"denied_licenses\":[\"m?t\"]}", "POLICY-DENIED-LICENSE" },
		{ "{\"architectures\":[\"llama\"]}", "POLICY-ARCHITECTURE" },
		{ "{\"types\":[\"Q*\"]}", "POLICY-TYPE" },
		{ "{\"max_bytes\":\"1K\"}", "POLICY-BYTES" },
		{ "{\"max_bytes\":5000,\"max_parameters\":8}", "" },
		{ "{\"max_parameters\":7}", "POLICY-PARAMETERS" },
		{ "{\"required_keys\":[\"general.name\",\"x\"]}", "POLICY-KEY" },
		{ "{\"templates\":false}", "POLICY-TEMPLATE" },
		{ "{\"require_signature\":true}", "POLICY-SIGNATURE" },
	};
	const struct lint_case c = { .format = "gguf", .keys = { GOOD,
		{ "tokenizer.chat_template", "x" } }, .tensors = { "x.weight F32 8" }, .file = 5000 };
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct findings f = { 0 };
		struct err e = ERR_INIT;
		struct policy p;
		char text[512];

		if (policy_parse(&p, rows[i].text, strlen(rows[i].text), "p", &e) == 0)
			judge(&c, NULL, -1, &p, &f, &e);
		test_ok(e.code == ERR_NONE && !strcmp(ids(&f, text, sizeof text), rows[i].found),
		        "policy %s: %s", rows[i].text, text);
		policy_free(&p);
		findings_free(&f);
	}
}

/* ---- many tensors ---- */

static void
many(void)
{
	static const struct lint_case c = { .format = "gguf", .keys = { GOOD, LLAMA, VOCAB } };
	struct survey s = { .path = "m", .format = "gguf", .file_bytes = UINT64_MAX };
	struct findings f = { 0 };
	struct err e = ERR_INIT;
	clock_t began = clock();
	struct fake fake;
	uint64_t dims[] = { 1 };
	size_t i;

	fake_open(&fake, &c, &e);
	for (i = 0; i < 200000 && e.code == ERR_NONE; i++) {
		char name[64];

		snprintf(name, sizeof name, "blk.%zu.../attn_q.w\x1b[2J", i);
		model_add_tensor(&fake.plan, tensor_new(name, strlen(name), dtype_by_name("F32"), 1, dims,
		                                        TENSOR_OWN_SIZE, "t", &e), &e);
	}
	if (survey_head(&s, &fake.source, &e) == 0) {
		const struct lint l = { .s = &s, .to = &f, .fd = -1 };

		for (i = 0; lint_rule(i); i++)
			lint_rule(i)->judge(&l, &lint_rule(i)->rule);
		for (i = 0; security_rule(i); i++)
			security_rule(i)->judge(&l, &security_rule(i)->rule);
	}
	test_ok(e.code == ERR_NONE && f.levels[FINDING_WARN] >= 200000 && f.count < 1000,
	        "200000 bad names are counted, not kept");
	test_ok((clock() - began) / CLOCKS_PER_SEC < 60, "in time");
	printf("# %.2f s\n", (double)(clock() - began) / CLOCKS_PER_SEC);
	findings_free(&f);
	survey_free(&s);
	fake_free(&fake);
}

int
main(void)
{
	each_case();
	pickles();
	templates();
	long_templates();
	polyglots();
	licences();
	policies();
	many();
	return test_done();
}
