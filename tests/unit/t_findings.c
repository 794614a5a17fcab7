/* Reports of findings: text, JSON lines, and SARIF and JUnit against the facts of their
 * schemas. */
#include "report/findings.h"

#include <ctype.h>
#include <string.h>

#include "test.h"

/* ---- the facts of SARIF 2.1.0 ----
 *
 * Members of the objects that the reports use, from the OASIS standard (section 3.13 on) and
 * GitHub's "SARIF support for code scanning". Each object allows only its own members, except
 * bags. */

enum { MUST = 1, ARRAY = 2 };

static const struct fact {
	const char *object, *member;
	const char *type;  /* string, uri, integer, boolean, bag, or an object of this table */
	unsigned flags;
	const char *words; /* the only values, with spaces around each; NULL: any */
} facts[] = {
	{ "log", "$schema", "uri", 0, NULL },
	{ "log", "version", "string", MUST, " 2.1.0 " },
	{ "log", "runs", "run", MUST | ARRAY, NULL },
	{ "run", "tool", "tool", MUST, NULL },
	{ "run", "automationDetails", "details", 0, NULL },
	{ "run", "invocations", "invocation", ARRAY, NULL },
	{ "run", "artifacts", "artifact", ARRAY, NULL },
	{ "run", "results", "result", MUST | ARRAY, NULL },
	{ "run", "columnKind", "string", 0, " utf16CodeUnits unicodeCodePoints " },
	{ "run", "properties", "bag", 0, NULL },
	{ "tool", "driver", "driver", MUST, NULL },
	{ "driver", "name", "string", MUST, NULL },
	{ "driver", "version", "string", 0, NULL },
	{ "driver", "semanticVersion", "string", 0, NULL },
	{ "driver", "informationUri", "uri", 0, NULL },
	{ "driver", "shortDescription", "text", 0, NULL },
	{ "driver", "rules", "rule", MUST | ARRAY, NULL },
	{ "rule", "id", "string", MUST, NULL },
	{ "rule", "shortDescription", "text", MUST, NULL },
	{ "rule", "fullDescription", "text", MUST, NULL },
	{ "rule", "help", "text", MUST, NULL },
	{ "rule", "defaultConfiguration", "configuration", 0, NULL },
	{ "rule", "properties", "bag", 0, NULL },
	{ "configuration", "level", "string", 0, " none note warning error " },
	{ "text", "text", "string", MUST, NULL },
	{ "details", "id", "string", 0, NULL },
	{ "invocation", "executionSuccessful", "boolean", MUST, NULL },
	{ "invocation", "toolExecutionNotifications", "notification", ARRAY, NULL },
	{ "notification", "level", "string", 0, " none note warning error " },
	{ "notification", "message", "text", MUST, NULL },
	{ "artifact", "location", "file", 0, NULL },
	{ "file", "uri", "uri", MUST, NULL },
	{ "result", "ruleId", "string", MUST, NULL },
	{ "result", "ruleIndex", "integer", 0, NULL },
	{ "result", "level", "string", 0, " none note warning error " },
	{ "result", "message", "text", MUST, NULL },
	{ "result", "locations", "location", MUST | ARRAY, NULL },
	{ "result", "partialFingerprints", "fingerprints", MUST, NULL },
	{ "result", "properties", "bag", 0, NULL },
	{ "fingerprints", "primaryLocationLineHash", "string", MUST, NULL },
	{ "location", "physicalLocation", "place", MUST, NULL },
	{ "location", "logicalLocations", "logical", ARRAY, NULL },
	{ "place", "artifactLocation", "file", MUST, NULL },
	{ "place", "region", "region", MUST, NULL },
	{ "region", "startLine", "integer", MUST, NULL },
	{ "region", "byteOffset", "integer", 0, NULL },
	{ "logical", "name", "string", 0, NULL },
	{ "logical", "fullyQualifiedName", "string", 0, NULL },
	{ "logical", "kind", "string", 0, " tensor key file " },
};
#define FACTS (sizeof facts / sizeof *facts)

static bool is_object(const json_t *v, const char *object, const char **wrong);

/* Whether the text is a URI reference: only characters of RFC 3986, and digits after "%". */
static bool
is_uri(const char *s)
{
	const char *colon = strchr(s, ':'), *slash = strchr(s, '/');

	for (; *s; s++)
		if (*s == '%' ? !isxdigit((unsigned char)s[1]) || !isxdigit((unsigned char)s[2])
		              : !isalnum((unsigned char)*s) && !strchr("-._~:/?#[]@!$&'()*+,;=", *s))
			return false;
	return !colon || !slash || colon < slash;
}

static bool
is_value(const json_t *v, const struct fact *f, const char **wrong)
{
	const char *s = json_string_value(v);
	char word[64];

	if (!strcmp(f->type, "integer"))
		return json_is_integer(v) && json_integer_value(v) >= 0;
	if (!strcmp(f->type, "boolean"))
		return json_is_boolean(v);
	if (!strcmp(f->type, "bag"))
		return json_is_object(v);
	if (strcmp(f->type, "string") != 0 && strcmp(f->type, "uri") != 0)
		return is_object(v, f->type, wrong);
	if (!s || !*s || (!strcmp(f->type, "uri") && !is_uri(s)))
		return false;
	snprintf(word, sizeof word, " %.60s ", s);
	return !f->words || strstr(f->words, word);
}

static bool
is_member(const json_t *v, const struct fact *f, const char **wrong)
{
	size_t i;

	*wrong = f->member;
	if (!(f->flags & ARRAY))
		return is_value(v, f, wrong);
	for (i = 0; i < json_array_size(v); i++)
		if (!is_value(json_array_get(v, i), f, wrong))
			return false;
	return json_is_array(v);
}

static bool
is_object(const json_t *v, const char *object, const char **wrong)
{
	size_t i, known = 0;

	for (i = 0; i < FACTS; i++) {
		json_t *member = json_object_get(v, facts[i].member);

		if (strcmp(facts[i].object, object) != 0)
			continue;
		if (member ? !is_member(member, &facts[i], wrong) : facts[i].flags & MUST) {
			*wrong = facts[i].member;
			return false;
		}
		known += member != NULL;
	}
	return json_is_object(v) && known == json_object_size(v);
}

static bool
is_sarif(const json_t *v)
{
	const char *wrong = "";

	if (v && is_object(v, "log", &wrong))
		return true;
	printf("# not SARIF at the member %s\n", wrong);
	return false;
}

/* ---- the facts of JUnit ----
 *
 * Elements with their parents and attributes, as GitLab documents them ("Unit test reports") and
 * the schema of Jenkins's plugin allows them. */

static const struct element {
	const char *name, *parent, *must, *may; /* attributes, with spaces around each */
} elements[] = {
	{ "testsuites", "", " ", " name tests failures errors skipped time " },
	{ "testsuite", "testsuites", " name tests failures errors skipped time ", " " },
	{ "properties", "testsuite", " ", " " },
	{ "property", "properties", " name value ", " " },
	{ "testcase", "testsuite", " name classname file time ", " " },
	{ "skipped", "testcase", " message ", " " },
	{ "failure", "testcase", " message type ", " " },
	{ "error", "testcase", " message type ", " " },
	{ "system-out", "testcase", " ", " " },
};
#define DEPTH 8

struct xml {
	const char *p;
	const struct element *open[DEPTH];
	unsigned depth;
	size_t of[sizeof elements / sizeof *elements]; /* elements seen */
	long counts[4]; /* tests, failures, errors, skipped of the last test suite */
};

static size_t
word(const char *p)
{
	return strspn(p, "abcdefghijklmnopqrstuvwxyz-");
}

/* Reads text up to the character `end`, in which markup is escaped. */
static bool
text_to(struct xml *x, char end)
{
	for (; *x->p && *x->p != end; x->p++) {
		if (strchr("<>'\"", *x->p) && (end == '"' || *x->p != '\''))
			return false;
		if (*x->p == '&' && !(x->p[1] == '#' && isdigit((unsigned char)x->p[2])))
			return false;
		if ((unsigned char)*x->p < 0x20 && *x->p != '\n')
			return false;
	}
	return *x->p == end;
}

static bool
attributes(struct xml *x, const struct element *el)
{
	static const char *const counts[] = { "tests", "failures", "errors", "skipped" };
	size_t musts = 0, n, i;
	char name[64];
	const char *s;

	for (s = el->must; (s = strchr(s + 1, ' ')) != NULL;)
		musts++;
	for (; *x->p == ' '; x->p++) {
		n = word(++x->p);
		snprintf(name, sizeof name, " %.*s ", (int)n, x->p);
		x->p += n;
		if (strncmp(x->p, "=\"", 2) != 0 || (!strstr(el->must, name) && !strstr(el->may, name)))
			return false;
		musts -= strstr(el->must, name) != NULL;
		for (x->p += 2, i = 0; i < 4; i++)
			if (!strncmp(name + 1, counts[i], strlen(counts[i])))
				x->counts[i] = strtol(x->p, NULL, 10);
		if (!text_to(x, '"'))
			return false;
	}
	return musts == 0;
}

static bool
tag(struct xml *x)
{
	size_t n, i;

	if (x->p[1] == '/') {
		const char *name = x->depth ? x->open[--x->depth]->name : "";

		n = strlen(name);
		x->p += 2 + n;
		return n && !strncmp(x->p - n, name, n) && *x->p++ == '>';
	}
	n = word(++x->p);
	for (i = 0; i < sizeof elements / sizeof *elements; i++)
		if (strlen(elements[i].name) == n && !strncmp(elements[i].name, x->p, n))
			break;
	if (i == sizeof elements / sizeof *elements || x->depth == DEPTH ||
	    strcmp(elements[i].parent, x->depth ? x->open[x->depth - 1]->name : "") != 0)
		return false;
	x->p += n;
	x->of[i]++;
	if (!attributes(x, &elements[i]))
		return false;
	if (*x->p == '/')
		x->p++;
	else
		x->open[x->depth++] = &elements[i];
	return *x->p++ == '>';
}

static size_t
seen(const struct xml *x, const char *name)
{
	size_t i = 0;

	while (strcmp(elements[i].name, name) != 0)
		i++;
	return x->of[i];
}

static bool
is_junit(const char *text)
{
	static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
	struct xml x = { .p = text + sizeof head - 1 };

	if (strncmp(text, head, sizeof head - 1) != 0)
		return false;
	while (*x.p)
		if (*x.p == '<' ? !tag(&x) : *x.p == '\n' && x.depth == 0 ? !x.p++ : !text_to(&x, '<')) {
			printf("# not JUnit at: %.40s\n", x.p);
			return false;
		}
	return x.depth == 0 && seen(&x, "testsuites") == 1 &&
	       x.counts[0] == (long)seen(&x, "testcase") &&
	       x.counts[1] == (long)seen(&x, "failure") &&
	       x.counts[2] == (long)seen(&x, "error") &&
	       x.counts[3] == (long)seen(&x, "skipped");
}

/* ---- reports ---- */

static const struct rule finite = { "T-1", FINDING_ERROR, "values are finite", "NaN spreads" };
static const struct rule licence = { "T-2", FINDING_WARN, "a licence is stated", "" };
static const struct rule aligned = { "T-3", FINDING_INFO, "tensors are aligned", "slow" };
static const struct rule hidden = { "SEC-9", FINDING_ERROR, "nothing is hidden", "a & b" };
static const struct findings_rule rules[] = {
	{ &finite, NULL }, { &licence, NULL }, { &aligned, NULL },
	{ &hidden, "the <model> has no \"file\"" },
};

#define HOSTILE "a\x1b[2J\n<b>&\"'\xff\xe2\x80\xae]]>\xef\xbf\xbe\\"

static struct buf
report(const struct findings *f, const struct findings_report *extra, enum findings_form form)
{
	struct findings_report r = *extra;
	struct buf b = { 0 };

	r.tool = "apr-lint";
	r.about = "Find what is unusual.";
	r.rules = rules;
	r.rule_count = 4;
	r.fails = FINDING_WARN;
	findings_put(&b, f, &r, form);
	test_ok(buf_string(&b) != NULL, "form %d is written", (int)form);
	return b;
}

static void
fill(struct findings *f)
{
	size_t i;

	for (i = 0; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof name, "blk.%zu.weight", i);
		findings_add(f, &aligned, name, "starts at byte 32");
	}
	findings_add(f, &finite, "w", "value 3 is NaN");
	findings_offset(f, 4096);
	findings_add(f, &finite, HOSTILE, "is %s", HOSTILE);
	findings_fix(f, "apr-rename '%s'", HOSTILE);
	findings_add(f, &licence, "general.license", "is missing");
	findings_fix(f, "apr-meta set general.license=… --in-place m.gguf");
	findings_sort(f);
}

static bool
has(const struct buf *b, const char *text)
{
	return strstr((const char *)b->p, text) != NULL;
}

static void
as_text(const struct findings *f)
{
	struct buf b = report(f, &(struct findings_report){ .shown = 1 }, FINDINGS_TEXT);

	test_ok(!strncmp((char *)b.p, "error: w: value 3 is NaN [T-1]\n", 31),
	        "a finding is a line with its id");
	test_ok(has(&b, "warning: general.license: is missing [T-2]\n  fix: apr-meta set "),
	        "a fix is a line below it");
	test_ok(has(&b, "info: blk.0.weight: starts at byte 32, and 99 more [T-3]\n"
	            "2 errors, 1 warning, 100 info\n"), "INFO is folded into a count");
	test_ok(!has(&b, "\x1b") && !has(&b, "\xff") && !has(&b, "\xe2\x80\xae") &&
	        has(&b, "error: a\\x1b[2J\\x0a<b>"), "hostile names are escaped");
	buf_free(&b);
	b = report(f, &(struct findings_report){ 0 }, FINDINGS_TEXT);
	test_ok(has(&b, "blk.62.weight: starts at byte 32 [T-3]\n") &&
	        has(&b, "blk.63.weight: starts at byte 32, and 36 more [T-3]\n"),
	        "all that are kept are shown on request, and the others counted");
	buf_free(&b);
}

static void
as_json(const struct findings *f)
{
	struct buf b = report(f, &(struct findings_report){ .file = "m", .several = true },
	                      FINDINGS_JSON);
	char *line, *next, *text = (char *)b.p;
	size_t lines = 0, more = 0, errors = 9;

	for (line = text; *line; line = next, lines++) {
		json_t *o;

		next = strchr(line, '\n') + 1;
		o = json_loadb(line, (size_t)(next - line), 0, NULL);
		more += (size_t)json_integer_value(json_object_get(o, "more"));
		if (json_object_get(o, "errors"))
			errors = (size_t)json_integer_value(json_object_get(o, "errors"));
		if (!o || strcmp(json_string_value(json_object_get(o, "model")), "m") != 0)
			break;
		json_decref(o);
	}
	test_ok(!*line && lines == 68 && more == 36 && errors == 2,
	        "JSON has a line for each finding that is kept, and one of counts");
	buf_free(&b);
}

static json_t *
sarif_of(const struct findings *f, const struct findings_report *extra)
{
	struct buf b = report(f, extra, FINDINGS_SARIF);
	json_t *v = json_loadb((char *)b.p, b.n, 0, NULL);

	buf_free(&b);
	return v;
}

static const char *
text_at(const json_t *v, const char *a, const char *b, const char *c)
{
	v = json_object_get(json_object_get(v, a), b);
	return json_string_value(c ? json_object_get(v, c) : v);
}

static void
as_sarif(const struct findings *f, const struct model *plan)
{
	json_t *extra = json_pack("{s:i}", "score", 97);
	json_t *v = sarif_of(f, &(struct findings_report){ .plan = plan, .properties = extra,
		.file = "./a b/c:d\xff%.gguf" });
	json_t *run = json_array_get(json_object_get(v, "runs"), 0);
	json_t *results = json_object_get(run, "results"), *first = json_array_get(results, 0);
	json_t *place = json_array_get(json_object_get(first, "locations"), 0);
	json_t *logical = json_array_get(json_object_get(place, "logicalLocations"), 0);
	json_t *again;

	test_ok(is_sarif(v), "SARIF has the members, types and values of its schema");
	test_ok(json_array_size(results) == 67 &&
	        !strcmp(text_at(first, "message", "text", NULL), "w: value 3 is NaN") &&
	        json_integer_value(json_object_get(first, "ruleIndex")) == 0,
	        "each finding that is kept is a result");
	test_ok(!strcmp(text_at(place, "physicalLocation", "artifactLocation", "uri"),
	                "a%20b/c%3Ad%FF%25.gguf"), "the file is a relative URI");
	test_ok(json_integer_value(json_object_get(json_object_get(json_object_get(place,
	        "physicalLocation"), "region"), "byteOffset")) == 4096, "a place is a byte offset");
	test_ok(!strcmp(json_string_value(json_object_get(logical, "kind")), "tensor"),
	        "a tensor is a logical location");
	test_ok(json_integer_value(json_object_get(json_object_get(run, "properties"), "score")) ==
	        97 && !strcmp(text_at(run, "automationDetails", "id", NULL),
	        "apr-lint/a%20b/c%3Ad%FF%25.gguf/"), "the run has properties and a category");
	again = sarif_of(f, &(struct findings_report){ .file = "other" });
	test_ok(json_equal(json_object_get(first, "partialFingerprints"), json_object_get(
	        json_array_get(json_object_get(json_array_get(json_object_get(again, "runs"), 0),
	        "results"), 0), "partialFingerprints")), "a fingerprint does not depend on the file");
	test_ok(!json_equal(json_object_get(first, "partialFingerprints"), json_object_get(
	        json_array_get(results, 1), "partialFingerprints")), "but on the object");
	json_decref(again);
	json_decref(v);
	json_decref(extra);
}

static void
as_junit(const struct findings *f)
{
	json_t *extra = json_pack("{s:i,s:s}", "score", 97, "word", &HOSTILE[13]);
	struct buf b = report(f, &(struct findings_report){ .file = HOSTILE, .properties = extra },
	                      FINDINGS_JUNIT);

	test_ok(is_junit((char *)b.p), "JUnit has the elements and attributes of its schema");
	test_ok(has(&b, " tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\"") &&
	        has(&b, "<failure message=\"w: value 3 is NaN\" type=\"error\">") &&
	        has(&b, "<system-out>info: blk.0.weight: starts at byte 32\n") &&
	        has(&b, "and 36 more\n"), "rules are test cases: failed, skipped, or with output");
	buf_free(&b);
	json_decref(extra);
}

/* Reports on several files, one of which could not be read. */
static void
together(const struct findings *f)
{
	struct err e = { .code = ERR_CORRUPT, .object = "b", .fact = "ends <early>" };
	struct findings none = { 0 };
	const struct findings_report a = { .file = "a", .several = true },
		bad = { .file = "b", .several = true, .error = &e };
	static const enum findings_form forms[] = { FINDINGS_SARIF, FINDINGS_JUNIT };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct buf all = { 0 }, one = report(f, &a, forms[i]), two = report(&none, &bad, forms[i]);
		json_t *v;

		buf_printf(&all, "%s%s%s%s%s", findings_begin(forms[i]), one.p,
		           findings_between(forms[i]), two.p, findings_end(forms[i]));
		buf_string(&all);
		if (forms[i] == FINDINGS_SARIF) {
			v = json_loadb((char *)all.p, all.n, 0, NULL);
			test_ok(is_sarif(v) && json_array_size(json_object_get(v, "runs")) == 2,
			        "SARIF has a run for each file");
			json_decref(v);
		} else {
			test_ok(has(&all, "<error message=\"ends &#60;early&#62;\" type=\"error\">b</error>") &&
			        has(&all, "<testsuite name=\"b\" tests=\"1\" failures=\"0\" errors=\"1\""),
			        "a file that cannot be read is an error");
		}
		buf_free(&all);
		buf_free(&one);
		buf_free(&two);
	}
}

/* The validators must refuse what the schemas refuse. */
static void
validators(void)
{
	static const char *const bad[] = {
		"{\"version\":\"2.1.0\"}", "{\"version\":\"2.0.0\",\"runs\":[]}",
		"{\"version\":\"2.1.0\",\"runs\":[],\"other\":1}",
		"{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"rules\":[]}},\"results\":[]}]}",
	};
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_t *v = json_loads(bad[i], 0, NULL);

		test_ok(!is_sarif(v), "the test refuses wrong SARIF %zu", i);
		json_decref(v);
	}
	test_ok(!is_junit("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite "
	                  "name=\"a\"></testsuite></testsuites>\n"), "and JUnit without counts");
}

int
main(void)
{
	struct findings f = { 0 };
	struct model plan;
	struct err e = ERR_INIT;
	uint64_t dims[] = { 4 };

	if (model_init(&plan, &e) < 0 ||
	    model_add_tensor(&plan, tensor_new("w", 1, dtype_by_name("F32"), 1, dims,
	                                       TENSOR_OWN_SIZE, "t", &e), &e) < 0)
		return 1;
	fill(&f);
	validators();
	as_text(&f);
	as_json(&f);
	as_sarif(&f, &plan);
	as_junit(&f);
	together(&f);
	findings_free(&f);
	model_free(&plan);
	return test_done();
}
