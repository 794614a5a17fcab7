#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/version.h"
#include "crypto/digest.h"
#include "report/findings_parts.h"

#define FINGERPRINT 16 /* hexadecimal digits, as many as GitHub's own has */

/* The state of a report: members of the plan by name, and the positions of rules. */
struct sarif {
	const struct findings *f;
	const struct findings_report *r;
	size_t *by_name;  /* indexes of tensors, sorted; NULL: none */
};

static const char *const levels[FINDING_LEVELS] = {
	[FINDING_INFO] = "note", [FINDING_WARN] = "warning", [FINDING_ERROR] = "error",
};
/* GitHub's words, and its score for security, where 7.0 is the lowest "high". */
static const char *const severities[FINDING_LEVELS] = {
	[FINDING_INFO] = "recommendation", [FINDING_WARN] = "warning", [FINDING_ERROR] = "error",
};
static const char *const scores[FINDING_LEVELS] = {
	[FINDING_INFO] = "2.0", [FINDING_WARN] = "5.0", [FINDING_ERROR] = "8.0",
};

/* Appends the path as a URI reference (RFC 3986): relative, or file:// if it is absolute. A
 * colon is encoded, since it would end a scheme. */
static void
put_uri(struct buf *b, const char *path)
{
	static const char plain[] = "-._~/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789";

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (path[0] == '/')
		buf_text(b, "file://");
	for (; *path; path++)
		if (strchr(plain, *path))
			buf_put(b, path, 1);
		else
			buf_printf(b, "%%%02X", (unsigned char)*path);
}

static json_t *
uri(const struct findings_report *r)
{
	struct buf b = { 0 };
	json_t *v;

	put_uri(&b, r->file ? r->file : "stdin");
	v = buf_string(&b) ? json_string((const char *)b.p) : NULL;
	buf_free(&b);
	return v;
}

/* ---- the tool ---- */

static json_t *
properties_of(const struct rule *rule)
{
	bool security = strncmp(rule->id, "SEC-", 4) == 0;
	json_t *o = json_pack("{s:[s],s:s,s:s}", "tags", security ? "security" : "model",
	                      "precision", "high", "problem.severity", severities[rule->level]);

	if (security)
		json_object_set_new(o, "security-severity", json_string(scores[rule->level]));
	return o;
}

static json_t *
rule_of(const struct rule *rule)
{
	return json_pack("{s:s,s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:o}", "id", rule->id,
	                 "shortDescription", "text", rule->claim, "fullDescription", "text",
	                 rule->claim, "help", "text", *rule->why ? rule->why : rule->claim,
	                 "defaultConfiguration", "level", levels[rule->level], "properties",
	                 properties_of(rule));
}

static json_t *
driver(const struct findings_report *r)
{
	json_t *rules = json_array();
	char page[64];
	size_t i;

	for (i = 0; i < r->rule_count; i++)
		json_array_append_new(rules, rule_of(findings_rule_at(r, i)->rule));
	snprintf(page, sizeof page, "man:%s(1)", r->tool);
	return json_pack("{s:s,s:s,s:s,s:s,s:{s:s},s:o}", "name", r->tool, "version", APR_VERSION,
	                 "semanticVersion", APR_VERSION, "informationUri", page,
	                 "shortDescription", "text", r->about, "rules", rules);
}

/* ---- results ---- */

static int
by_name(const void *name, const void *index, void *plan)
{
	return strcmp(name, tensor_name(((const struct model *)plan)->tensors[*(const size_t *)index]));
}

/* What an object is in the plan, in the words of the apr tools. NULL: not known. */
static const char *
kind_of(const struct sarif *s, const char *object)
{
	const struct model *m = s->r->plan;
	size_t lo = 0, hi = s->by_name ? m->tensor_count : 0, i;

	while (lo < hi) {
		int c = by_name(object, &s->by_name[i = lo + (hi - lo) / 2], (void *)m);

		if (c == 0)
			return "tensor";
		if (c < 0)
			hi = i;
		else
			lo = i + 1;
	}
	if (m && model_find(m, object))
		return "key";
	for (i = 0; m && i < m->blob_count; i++)
		if (strcmp(m->blobs[i].name, object) == 0)
			return "file";
	return NULL;
}

/* The line hash of a file without lines: a digest of rule and object, then the number of such
 * a finding, in GitHub's form "DIGITS:1". The same finding has it in the next version of the
 * file too. */
static json_t *
fingerprint(const struct sarif *s, size_t n)
{
	const struct finding *x = &s->f->of[n];
	struct sha256 h;
	struct digest d = { { 0 } };
	struct err e = ERR_INIT;
	char digits[DIGEST_TEXT], text[64];
	size_t i, nth = 1;

	for (i = 0; i < n; i++)
		nth += s->f->of[i].rule == x->rule &&
		       !strcmp(s->f->of[i].object ? s->f->of[i].object : "",
		               x->object ? x->object : "");
	sha256_start(&h);
	sha256_add_domain(&h, "apr-finding-1");
	sha256_add_text(&h, x->rule->id);
	sha256_add_text(&h, x->object ? x->object : "");
	if (sha256_finish(&h, &d, &e) < 0)
		return NULL;
	snprintf(text, sizeof text, "%.*s:%zu", FINGERPRINT, digest_text(digits, &d), nth);
	return json_string(text);
}

static json_t *
location(const struct sarif *s, const struct finding *x)
{
	json_t *region = json_pack("{s:i}", "startLine", 1), *place, *logical, *at;
	const char *kind = x->object ? kind_of(s, x->object) : NULL;

	if (x->has_offset && x->offset <= INT64_MAX)
		json_object_set_new(region, "byteOffset", json_integer((json_int_t)x->offset));
	place = json_pack("{s:{s:o},s:o}", "artifactLocation", "uri", uri(s->r), "region", region);
	at = json_pack("{s:o}", "physicalLocation", place);
	if (at && x->object) {
		logical = json_pack("{s:o,s:o,s:s*}", "name", findings_json_text(x->object),
		                    "fullyQualifiedName", findings_json_text(x->object), "kind", kind);
		json_object_set_new(at, "logicalLocations", json_pack("[o]", logical));
	}
	return at;
}

static size_t
index_of(const struct findings_report *r, const struct rule *rule)
{
	size_t i;

	for (i = 0; i < r->rule_count; i++)
		if (findings_rule_at(r, i)->rule == rule)
			return i;
	return SIZE_MAX;
}

static json_t *
result(const struct sarif *s, size_t n)
{
	const struct finding *x = &s->f->of[n];
	size_t at = index_of(s->r, x->rule);
	struct buf text = { 0 };
	json_t *o;

	findings_line(&text, x);
	if (x->fix)
		buf_printf(&text, "\nfix: %s", x->fix);
	o = json_pack("{s:s,s:s,s:{s:o},s:[o],s:{s:o}}", "ruleId", x->rule->id, "level",
	              levels[x->level], "message", "text",
	              findings_json_text(buf_string(&text) ? (const char *)text.p : ""),
	              "locations", location(s, x), "partialFingerprints",
	              "primaryLocationLineHash", fingerprint(s, n));
	if (o && at != SIZE_MAX)
		json_object_set_new(o, "ruleIndex", json_from_u64(at));
	if (o && x->fix)
		json_object_set_new(o, "properties",
		                    json_pack("{s:o}", "fix", findings_json_text(x->fix)));
	buf_free(&text);
	return o;
}

/* ---- the run ---- */

/* The name of the run: GitHub takes what stands before the last slash as its category, so that
 * reports on several models do not replace each other. */
static json_t *
automation(const struct findings_report *r)
{
	struct buf b = { 0 };
	json_t *v;

	buf_printf(&b, "%s/", r->tool);
	put_uri(&b, r->file ? r->file : "stdin");
	buf_text(&b, "/");
	v = buf_string(&b) ? json_pack("{s:s}", "id", (const char *)b.p) : NULL;
	buf_free(&b);
	return v;
}

/* Whether the tool could read the model, and else why not. */
static json_t *
invocation(const struct findings_report *r)
{
	struct buf b = { 0 };
	json_t *o, *text;

	if (!r->error)
		return json_pack("{s:b}", "executionSuccessful", 1);
	if (r->error->object[0])
		buf_printf(&b, "%s: ", r->error->object);
	buf_text(&b, r->error->fact);
	text = findings_json_text(buf_string(&b) ? (const char *)b.p : "");
	buf_free(&b);
	o = json_pack("{s:s,s:{s:o}}", "level", "error", "message", "text", text);
	return json_pack("{s:b,s:[o]}", "executionSuccessful", 0, "toolExecutionNotifications", o);
}

/* The number of findings of each rule that the results leave out. */
static json_t *
folded(const struct findings *f)
{
	json_t *o = json_object();
	size_t i, j, left;

	for (i = 0; i < f->rules; i++) {
		left = findings_of(f, f->more[i].rule);
		for (j = 0; j < f->count; j++)
			left -= f->of[j].rule == f->more[i].rule;
		if (left > 0)
			json_object_set_new(o, f->more[i].rule->id, json_from_u64(left));
	}
	return o;
}

static json_t *
run(const struct sarif *s)
{
	json_t *results = json_array(), *more = folded(s->f), *o;
	json_t *properties = s->r->properties ? json_copy(s->r->properties) : json_object();
	size_t i;

	for (i = 0; i < s->f->count; i++)
		json_array_append_new(results, result(s, i));
	if (json_object_size(more))
		json_object_set(properties, "notListed", more);
	json_decref(more);
	o = json_pack("{s:{s:o},s:o,s:[o],s:[{s:{s:o}}],s:o,s:s}", "tool", "driver", driver(s->r),
	              "automationDetails", automation(s->r), "invocations", invocation(s->r),
	              "artifacts", "location", "uri", uri(s->r), "results", results, "columnKind",
	              "utf16CodeUnits");
	if (o && json_object_size(properties))
		json_object_set(o, "properties", properties);
	json_decref(properties);
	/* A result that could not be made would be missing. */
	if (o && json_array_size(json_object_get(o, "results")) != s->f->count) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

void
findings_put_sarif(struct buf *b, const struct findings *f, const struct findings_report *r)
{
	struct sarif s = { .f = f, .r = r };
	struct err e = ERR_INIT;
	json_t *o;

	if (r->plan && r->plan->tensor_count && f->count)
		s.by_name = model_tensors_by_name(r->plan, &e);
	o = e.code == ERR_NONE ? run(&s) : NULL;
	if (!r->several)
		buf_text(b, findings_begin(FINDINGS_SARIF));
	if (!o || json_show(o, b) < 0)
		b->failed = true;
	if (!r->several)
		buf_text(b, findings_end(FINDINGS_SARIF));
	json_decref(o);
	free(s.by_name);
}
