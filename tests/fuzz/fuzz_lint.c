/* fuzz_lint: chat templates, policies, and reports of findings. The first byte chooses which.
 *
 *     1. The search for signs in a template ends, moves forward, and gives places inside the text
 *        and words that can be printed.
 *     2. A policy is read, or refused as damaged with a message that can be printed.
 *     3. A finding with any object and fact gives text that can be printed, JSON and SARIF that
 *        are JSON, and JUnit without bare markup or control characters.
 */
#include "mutate.h"

#include "check/policy.h"
#include "check/template.h"
#include "report/findings.h"

static void
template(const char *text, size_t n)
{
	struct template_sign sign;
	size_t at = 0, last = 0;

	while (template_next(text, n, &at, &sign)) {
		must(at > last && at <= n && sign.offset < at && sign.what);
		fuzz_printable(sign.text);
		last = at;
	}
	must(at == n);
}

static void
policy(const char *text, size_t n)
{
	struct err e = ERR_INIT;
	struct policy p;
	size_t i;

	if (policy_parse(&p, text, n, "fuzz", &e) < 0) {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_VERSION || e.code == ERR_MEMORY, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
		fuzz_printable(e.hint);
	} else {
		must(p.o && (!json_object_get(p.o, "signers") || p.signers.n > 0));
		for (i = 0; policy_rule(i); i++)
			policy_lacks(&p, policy_rule(i));
	}
	policy_free(&p);
}

static const struct rule rule = { "SEC-1", FINDING_WARN, "a claim", "a reason" };

/* The bytes of a report of this form, terminated. */
static struct buf
report(const struct findings *f, const char *file, enum findings_form form)
{
	const struct findings_rule row = { &rule, NULL };
	const struct findings_report r = { .tool = "fuzz", .about = "about", .file = file,
		.rules = &row, .rule_count = 1, .fails = FINDING_WARN };
	struct buf b = { 0 };

	findings_put(&b, f, &r, form);
	must(buf_string(&b) != NULL);
	return b;
}

static void
is_json(const struct buf *b)
{
	struct err e = ERR_INIT;
	json_t *v = json_parse(b->p, b->n, ERR_CORRUPT, "report", &e);

	must_say(v, &e);
	json_decref(v);
}

/* Object and fact end at a NUL; the file is the object. */
static void
reports(const char *text, size_t n)
{
	char *object = strndup(text, n), *fact = strndup(text + strnlen(text, n / 2), n / 2);
	struct findings f = { 0 };
	struct buf b;
	size_t i;

	must(object && fact);
	findings_add(&f, &rule, object, "%s", fact);
	findings_fix(&f, "%s", fact);
	b = report(&f, object, FINDINGS_TEXT);
	for (i = 0; i < b.n; i++)
		if (b.p[i] == '\n')
			b.p[i] = ' ';
	fuzz_printable((const char *)b.p);
	buf_free(&b);
	b = report(&f, object, FINDINGS_JSON);
	*strchr((char *)b.p, '\n') = '\0';
	b.n = strlen((char *)b.p);
	is_json(&b);
	buf_free(&b);
	b = report(&f, object, FINDINGS_SARIF);
	is_json(&b);
	buf_free(&b);
	b = report(&f, object, FINDINGS_JUNIT);
	must(text_utf8(b.p, b.n, false));
	for (i = 0; i < b.n; i++)
		must(b.p[i] >= 0x20 || b.p[i] == '\n');
	buf_free(&b);
	findings_free(&f);
	free(object);
	free(fact);
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
	if (data[0] % 3 == 0)
		template(text, size - 1);
	else if (data[0] % 3 == 1)
		policy(text, size - 1);
	else
		reports(text, size - 1);
	free(text);
	return 0;
}

/* A piece of a template, or a member of a policy, at any place. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const char *const pieces[] = { "{{ ", " }}", "{% ", " %}", "{#", "#}", "'", "\"", "\\",
		"__class__", "__", ".popen(", "|attr(", "import ", "\\x5f", "{%- from ", "eval (", "a." };
	static const char *const members[] = { "\"licenses\":[\"a*\"]", "\"max_bytes\":\"8K\"",
		"\"max_parameters\":1", "\"templates\":false", "\"signers\":[\"RWQ\"]", "\"version\":1",
		"\"require_signature\":true", "\"required_keys\":[]", "\"types\":[1]" };
	struct buf b = { 0 };
	size_t at;

	if (size < 2 || seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (data[0] % 3 == 1) {
		at = data[1] == '{' ? 2 : 1;
		buf_put(&b, data, at);
		buf_text(&b, members[seed / 3 % (sizeof members / sizeof *members)]);
		buf_text(&b, at < size && data[at] != '}' ? "," : "");
	} else {
		at = 1 + seed / 64 % size;
		at = at < size ? at : size;
		buf_put(&b, data, at);
		buf_text(&b, pieces[seed / 3 % (sizeof pieces / sizeof *pieces)]);
	}
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
