/* fuzz_policy: policies (check/policy.h) that judge a model, and lists of points.
 *
 *     1. A policy is refused as damaged with a message that can be printed, or it judges the model.
 *     2. Only rules that the policy has find something; the same policy finds the same again.
 *     3. A report on what was found can be printed, and is JSON and SARIF.
 *     4. A list of points is refused as wrong usage, or chooses points; written twice, the same.
 *
 * The first byte chooses: even, a policy; odd, a list of points.
 */
#include "mutate.h"

#include "check/points.h"
#include "check/policy.h"
#include "dice.h"
#include "formats/gguf/gguf.h"
#include "report/findings.h"

/* ---- a model ---- */

static void
put_key(struct buf *b, const char *key, const char *value)
{
	buf_u64(b, strlen(key));
	buf_text(b, key);
	buf_u32(b, 8); /* a string */
	buf_u64(b, strlen(value));
	buf_text(b, value);
}

static void
put_tensor(struct buf *b, const char *name, uint32_t type, uint64_t at)
{
	buf_u64(b, strlen(name));
	buf_text(b, name);
	buf_u32(b, 1);
	buf_u64(b, 32);
	buf_u32(b, type);
	buf_u64(b, at);
}

/* A GGUF file of two tensors. */
static void
put_model(struct buf *b)
{
	size_t i;

	buf_text(b, "GGUF");
	buf_u32(b, 3);
	buf_u64(b, 2);
	buf_u64(b, 3);
	put_key(b, "general.architecture", "llama");
	put_key(b, "general.license", "mit");
	put_key(b, "tokenizer.chat_template", "{{ x }}");
	put_tensor(b, "output_norm.weight", 0, 0);
	put_tensor(b, "rope_freqs.weight", 1, 128);
	while (b->n % 32)
		buf_text(b, "0"); /* padding */
	for (i = 0; i < 128 + 64; i++)
		buf_put(b, "\x3c", 1);
}

static struct survey *
model(void)
{
	static struct survey s;
	static struct buf b;
	static struct reader r;
	static struct format_options how;
	static struct err e;

	if (s.source)
		return &s;
	put_model(&b);
	must(buf_ok(&b));
	reader_memory(&r, b.p, b.n, "model", &e);
	s.format = "gguf";
	s.file_bytes = b.n;
	s.jobs = 1;
	s.source = format_gguf.reads->open(&r, &how, fuzz_note, &e);
	must_say(s.source && survey_run(&s, s.source, &e) == 0, &e);
	must_say(s.complete, e.code ? &e : &s.fault);
	return &s;
}

/* ---- properties ---- */

/* The report, as text that can be printed or as JSON. */
static void
report(const struct findings *f, enum findings_form form)
{
	static const struct rule rule = { "POLICY", FINDING_ERROR, "a claim", "a reason" };
	const struct findings_rule row = { &rule, NULL };
	const struct findings_report r = { .tool = "fuzz", .about = "about", .file = "m",
		.rules = &row, .rule_count = 1, .fails = FINDING_WARN };
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	json_t *v;
	size_t i;

	findings_put(&b, f, &r, form);
	must(buf_string(&b) != NULL);
	if (form == FINDINGS_TEXT) {
		for (i = 0; i < b.n; i++)
			b.p[i] = b.p[i] == '\n' ? ' ' : b.p[i];
		fuzz_printable((const char *)b.p);
	} else {
		v = json_parse(b.p, b.n, ERR_CORRUPT, "report", &e);
		must_say(v, &e);
		json_decref(v);
	}
	buf_free(&b);
}

static void
judge(const struct policy *p)
{
	const struct err unsigned_ = { .code = ERR_SIGNATURE, .fact = "the model is not signed" };
	struct findings f = { 0 }, again = { 0 };
	struct err e = ERR_INIT;
	const struct rule *r;
	size_t i;

	must_say(policy_judge_all(p, model(), &f, &unsigned_, &e) == 0, &e);
	must_say(policy_judge_all(p, model(), &again, &unsigned_, &e) == 0, &e);
	must(f.count == again.count);
	for (i = 0; (r = policy_rule(i)); i++)
		must(policy_is_rule(r) && (!policy_lacks(p, r) || findings_of(&f, r) == 0) &&
		     findings_of(&f, r) == findings_of(&again, r));
	for (i = 0; i < f.count; i++)
		must(strcmp(f.of[i].fact, again.of[i].fact) == 0);
	report(&f, FINDINGS_TEXT);
	report(&f, FINDINGS_SARIF);
	findings_free(&f);
	findings_free(&again);
}

static void
policy(const char *text, size_t n)
{
	struct err e = ERR_INIT;
	struct policy p;

	if (policy_parse(&p, text, n, "fuzz", &e) == 0) {
		judge(&p);
	} else {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_VERSION || e.code == ERR_MEMORY, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
		fuzz_printable(e.hint);
	}
	policy_free(&p);
}

static void
list(const char *text, size_t n)
{
	bool set[POINTS + 1] = { false }, twice[POINTS + 1] = { false };
	char *copy = strndup(text, n);
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	must(copy);
	if (points_pick(copy, set, &e) == 0) {
		buf_printf(&b, "%s,%s", copy, copy);
		must_say(buf_string(&b) && points_pick((char *)b.p, twice, &e) == 0, &e);
		must(memcmp(set, twice, sizeof set) == 0 && !set[0]);
	} else {
		must_say(e.code == ERR_USAGE, &e);
		fuzz_printable(e.fact);
		fuzz_printable(e.hint);
	}
	buf_free(&b);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	/* Exactly as many bytes as there are, so that reading beyond them is found. */
	text = malloc(size > 1 ? size - 1 : 1);
	must(text);
	memcpy(text, data + 1, size - 1);
	(data[0] % 2 ? list : policy)(text, size - 1);
	free(text);
	return 0;
}

/* ---- whole policies and lists ---- */

static const char *const lists[] = { "licenses", "denied_licenses", "architectures", "types",
	"formats", "required_keys" };
static const char *const patterns[] = { "mit", "*", "MIT", "l?ama", "F32", "f1*", "gguf", "apr2",
	"[a-z]*", "[!", "\\\\*", "general.license", "no.such", "\\u001b[31m", "\\ud83d\\ude00", "" };
/* A member that is right, or nearly. */
static const char *const others[] = { "\"max_bytes\": 100", "\"max_bytes\": \"1KiB\"",
	"\"max_bytes\": 18446744073709551615", "\"max_parameters\": \"0\"", "\"max_parameters\": 64",
	"\"require_signature\": true", "\"require_signature\": false", "\"templates\": false",
	"\"templates\": true", "\"version\": 1", "\"version\": 2", "\"signers\": []",
	"\"signers\": [\"RWQEnsB29dcGmYZnOaV26VV6WQrSkHRBTJzODIu+M2WG1mUzPzAtdqXD\"]",
	"\"signers\": [\"RWQ=\"]", "\"max_bytes\": -1", "\"max_bytes\": 1e3", "\"types\": [1]",
	"\"license\": [\"mit\"]", "\"templates\": null" };

static void
put_list(struct buf *b, struct dice *d)
{
	unsigned n = roll(d, 4);

	buf_printf(b, "\"%s\": [", ONE_OF(d, lists));
	for (; n > 0; n--)
		buf_printf(b, "\"%s\"%s", ONE_OF(d, patterns), n > 1 ? ", " : "");
	buf_text(b, "]");
}

static void
put_policy(struct buf *b, struct dice *d)
{
	unsigned n = roll(d, 6);

	buf_text(b, "{");
	for (; n > 0; n--) {
		if (roll(d, 3))
			put_list(b, d);
		else
			buf_text(b, ONE_OF(d, others));
		buf_text(b, n > 1 ? ", " : "");
	}
	buf_text(b, "}");
}

static void
put_points(struct buf *b, struct dice *d)
{
	static const char *const words[] = { "nan", "26", "1-25", "CHECK-026", "CHECK-100", "norm-mean",
		"100", "0", "101", "30-20", "1-", "-1", "nobody", "99999999999999999999", "026" };
	unsigned n = 1 + roll(d, 5);

	for (; n > 0; n--)
		buf_printf(b, "%s%s", ONE_OF(d, words), n > 1 ? "," : "");
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	struct buf b = { 0 };

	if (size < 1 || seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, 1);
	if (data[0] % 2)
		put_points(&b, &d);
	else
		put_policy(&b, &d);
	return mutate_done(&b, data, size, max);
}
