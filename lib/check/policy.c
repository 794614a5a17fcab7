#include "check/policy.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "check/lint_parts.h"
#include "core/mem.h"
#include "core/near.h"
#include "core/reader.h"
#include "core/text.h"

/* ---- the file ---- */

enum member_kind { LIST, NUMBER, TRUTH };

static const struct member {
	const char *name;
	enum member_kind kind;
	struct rule rule; /* without an id: the rule of another member */
} members[] = {
	{ "licenses", LIST, { "POLICY-LICENSE", FINDING_ERROR, "the licence is one of the policy's",
	  "The policy lists the licences that may be used." } },
	{ "denied_licenses", LIST, { "POLICY-DENIED-LICENSE", FINDING_ERROR,
	  "the policy does not deny the licence", "The policy lists licences that must not be "
	  "used." } },
	{ "architectures", LIST, { "POLICY-ARCHITECTURE", FINDING_ERROR,
	  "the architecture is one of the policy's", "The policy lists the architectures that may "
	  "be used." } },
	{ "types", LIST, { "POLICY-TYPE", FINDING_ERROR, "tensors have types of the policy",
	  "The policy lists the types that tensors may have." } },
	{ "formats", LIST, { "POLICY-FORMAT", FINDING_ERROR, "the container is one of the policy's",
	  "The policy lists the containers that may be used." } },
	{ "signers", LIST, { "POLICY-SIGNATURE", FINDING_ERROR,
	  "a signature by a signer of the policy holds", "The policy accepts only models that are "
	  "signed by keys that it trusts." } },
	{ "require_signature", TRUTH, { NULL, FINDING_ERROR, NULL, NULL } },
	{ "max_bytes", NUMBER, { "POLICY-BYTES", FINDING_ERROR, "the file is not larger than the "
	  "policy allows", "The policy limits the size of files." } },
	{ "max_parameters", NUMBER, { "POLICY-PARAMETERS", FINDING_ERROR,
	  "the model has not more parameters than the policy allows",
	  "The policy limits the number of parameters." } },
	{ "required_keys", LIST, { "POLICY-KEY", FINDING_ERROR,
	  "the model has the keys that the policy requires", "The policy lists keys that must be "
	  "in the metadata." } },
	{ "templates", TRUTH, { "POLICY-TEMPLATE", FINDING_ERROR, "the model has no chat template",
	  "The policy does not accept programs inside models." } },
	{ "version", NUMBER, { NULL, FINDING_ERROR, NULL, NULL } },
};
#define MEMBERS (sizeof members / sizeof *members)
enum { LICENSES, DENIED, ARCHITECTURES, TYPES, FORMATS, SIGNERS, REQUIRE, BYTES, PARAMETERS, KEYS,
	TEMPLATES, VERSION };

static bool
has_kind(const json_t *v, enum member_kind kind)
{
	json_t *one;
	size_t i;

	switch (kind) {
	case TRUTH:
		return json_is_boolean(v);
	case NUMBER:
		return (json_is_integer(v) && json_integer_value(v) >= 0) || json_is_string(v);
	case LIST:
		json_array_foreach((json_t *)(uintptr_t)v, i, one)
			if (!json_is_string(one))
				return false;
		return json_is_array(v);
	}
	return false;
}

static int
check_member(const char *name, const json_t *v, const char *where, struct err *e)
{
	static const char *const kinds[] = { [LIST] = "a list of texts", [NUMBER] = "a number",
		[TRUTH] = "true or false" };
	struct near near = { 0 };
	size_t i;

	for (i = 0; i < MEMBERS; i++) {
		if (strcmp(members[i].name, name) == 0)
			return has_kind(v, members[i].kind)
			           ? 0 : err_set(e, ERR_CORRUPT, where, "%s is not %s", name,
			                         kinds[members[i].kind]);
		near_consider(&near, members[i].name, text_distance(name, members[i].name));
	}
	err_set(e, ERR_CORRUPT, where, "%.80s is not a member of a policy", name);
	near_hint(&near, e);
	return -1;
}

static int
read_number(const struct policy *p, size_t member, uint64_t *to, const char *where, struct err *e)
{
	const json_t *v = json_object_get(p->o, members[member].name);
	const char *text = json_string_value(v);

	*to = UINT64_MAX;
	if (!v || (text ? text_bytes(text, 0, UINT64_MAX - 1, to) == 0 : json_value_u64(v, to) == 0))
		return 0;
	return err_set(e, ERR_CORRUPT, where, "%s is not a number", members[member].name);
}

/* A public key as text: the second line of minisign's file, or both lines. */
static int
add_signer(struct policy *p, const char *text, const char *where, struct err *e)
{
	struct trusted *t = &p->signers;
	struct err why = ERR_INIT;
	struct buf b = { 0 };
	struct trusted_key *key;
	int r;

	if (mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item) < 0)
		return err_memory(e);
	key = &t->item[t->n];
	*key = (struct trusted_key){ .path = strdup(where) };
	if (!key->path)
		return err_memory(e);
	t->n++;
	if (!strchr(text, '\n'))
		buf_text(&b, "untrusted comment: of a policy\n");
	buf_printf(&b, "%s\n", text);
	r = buf_ok(&b) ? key_public_parse(b.p, b.n, &key->key, &why) : err_memory(e);
	buf_free(&b);
	if (why.code != ERR_NONE)
		return err_set(e, ERR_CORRUPT, where, "signer %zu is not a public key: %s", t->n, why.fact);
	return r;
}

static int
read_members(struct policy *p, const char *where, struct err *e)
{
	const char *name;
	json_t *v;
	uint64_t version;
	size_t i;

	json_object_foreach(p->o, name, v)
		if (check_member(name, v, where, e) < 0)
			return -1;
	if (read_number(p, BYTES, &p->max_bytes, where, e) < 0 ||
	    read_number(p, PARAMETERS, &p->max_parameters, where, e) < 0 ||
	    read_number(p, VERSION, &version, where, e) < 0)
		return -1;
	if (version != UINT64_MAX && version != 1)
		return err_set(e, ERR_VERSION, where, "the policy has version %" PRIu64 ", not 1", version);
	p->require_signature = json_is_true(json_object_get(p->o, "require_signature"));
	p->no_templates = json_is_false(json_object_get(p->o, "templates"));
	json_array_foreach(json_object_get(p->o, "signers"), i, v)
		if (add_signer(p, json_string_value(v), where, e) < 0)
			return -1;
	if (json_object_get(p->o, "signers") && p->signers.n == 0)
		return err_set(e, ERR_CORRUPT, where, "signers is an empty list");
	return 0;
}

int
policy_parse(struct policy *p, const void *text, size_t n, const char *name, struct err *e)
{
	*p = (struct policy){ .o = json_parse(text, n, ERR_CORRUPT, name, e) };
	return p->o ? read_members(p, name, e) : -1;
}

int
policy_read(struct policy *p, const char *path, struct err *e)
{
	struct buf b = { 0 };

	if (reader_file(path, POLICY_BYTES, &b, e) == 0)
		policy_parse(p, b.p, b.n, path, e);
	buf_free(&b);
	return e->code == ERR_NONE ? 0 : -1;
}

void
policy_free(struct policy *p)
{
	json_decref(p->o);
	trusted_free(&p->signers);
	*p = (struct policy){ 0 };
}

const struct trusted *
policy_keys(const struct policy *p, const struct trusted *others)
{
	return p->signers.n > 0 ? &p->signers : p->require_signature ? others : NULL;
}

/* ---- rules ---- */

const struct rule *
policy_rule(size_t index)
{
	size_t i;

	for (i = 0; i < MEMBERS; i++)
		if (members[i].rule.id && index-- == 0)
			return &members[i].rule;
	return NULL;
}

static bool
has(const struct policy *p, size_t member)
{
	switch (member) {
	case SIGNERS:
		return p->require_signature || p->signers.n > 0;
	case TEMPLATES:
		return p->no_templates;
	default:
		return json_object_get(p->o, members[member].name) != NULL;
	}
}

const char *
policy_lacks(const struct policy *p, const struct rule *r)
{
	size_t i;

	for (i = 0; i < MEMBERS; i++)
		if (&members[i].rule == r)
			return p->o && has(p, i) ? NULL : "the policy does not say anything about it";
	return NULL;
}

bool
policy_is_rule(const struct rule *r)
{
	size_t i;

	for (i = 0; i < MEMBERS; i++)
		if (&members[i].rule == r)
			return true;
	return false;
}

/* ---- judging ---- */

static bool
matches(const struct policy *p, size_t member, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(p->o, members[member].name), i, one)
		if (fnmatch(json_string_value(one), text, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

/* A text of the model must match a list, or must not. */
static void
judge_text(const struct policy *p, const struct lint *l, size_t member, const char *what,
           const char *text)
{
	char quoted[128];

	if (!text && member != DENIED)
		findings_add(l->to, &members[member].rule, NULL, "the model does not state its %s", what);
	else if (text && matches(p, member, text) == (member == DENIED))
		findings_add(l->to, &members[member].rule, NULL, "the %s %s is %s", what,
		             text_quote(quoted, sizeof quoted, text, strlen(text)),
		             member == DENIED ? "denied" : "not in the list");
}

static const char *
licence_of(const struct lint *l)
{
	const char *name = lint_card_text(l, "license");
	const char *other = lint_card_text(l, "license_name");

	return name && other && strcasecmp(name, "other") == 0 ? other : name ? name : other;
}

static void
judge_types(const struct policy *p, const struct lint *l)
{
	const struct dtype *last = NULL;
	bool good = true;
	size_t i;

	for (i = 0; i < l->s->count; i++) {
		const struct dtype *t = tensor_type(l->s->tensors[i].t);

		if (t != last)
			good = matches(p, TYPES, t->name);
		last = t;
		if (!good)
			findings_add(l->to, &members[TYPES].rule, tensor_name(l->s->tensors[i].t),
			             "has the type %s, which is not in the list", t->name);
	}
}

static void
judge_limit(const struct policy *p, const struct lint *l, size_t member)
{
	uint64_t most = member == BYTES ? p->max_bytes : p->max_parameters;
	uint64_t n = member == PARAMETERS                ? model_parameters(l->s->source->plan)
	             : l->s->file_bytes != UINT64_MAX ? l->s->file_bytes
	                                              : model_tensor_bytes(l->s->source->plan);

	/* From a pipe the size of the file is not known; that of its tensors is a lower bound. */
	if (n > most)
		findings_add(l->to, &members[member].rule, NULL, "the model has %" PRIu64 " %s, more than %"
		             PRIu64, n, member == BYTES ? "bytes" : "parameters", most);
}

static void
judge_keys(const struct policy *p, const struct lint *l)
{
	json_t *key;
	size_t i;

	json_array_foreach(json_object_get(p->o, members[KEYS].name), i, key)
		if (!lint_has(l, json_string_value(key)))
			findings_add(l->to, &members[KEYS].rule, json_string_value(key), "is missing");
}

static void
judge_template_use(const struct lint *l)
{
	const struct model *m = l->s->source->plan;
	const uint8_t *config;
	size_t i, n;

	for (i = 0; i < m->meta_count; i++)
		if (strstr(m->meta[i].key, "chat_template"))
			findings_add(l->to, &members[TEMPLATES].rule, m->meta[i].key, "is a chat template");
	for (i = 0; i < m->blob_count; i++)
		if (strstr(m->blobs[i].name, ".jinja") || !strcmp(m->blobs[i].name, "chat_template.json"))
			findings_add(l->to, &members[TEMPLATES].rule, m->blobs[i].name, "is a chat template");
	config = weights_file(&l->s->subject.w, "tokenizer_config.json", &n);
	if (config && memmem(config, n, "\"chat_template\"", 15))
		findings_add(l->to, &members[TEMPLATES].rule, "tokenizer_config.json",
		             "has a chat template");
}

static void
judge_architecture(const struct policy *p, const struct lint *l)
{
	const struct arch *known = l->s->subject.arch;
	char arch[ARCH_NAME];

	if (arch_said_text(l->s->source->plan, arch))
		judge_text(p, l, ARCHITECTURES, "architecture", arch);
	else
		judge_text(p, l, ARCHITECTURES, "architecture",
		           !known ? NULL : known->name ? known->name : known->folder);
}

void
policy_judge(const struct policy *p, const struct lint *l, const struct rule *r,
             const struct err *verdict)
{
	size_t i = 0;

	while (&members[i].rule != r)
		i++;
	switch (i) {
	case LICENSES: case DENIED:
		judge_text(p, l, i, "licence", licence_of(l));
		break;
	case ARCHITECTURES:
		judge_architecture(p, l);
		break;
	case TYPES:
		judge_types(p, l);
		break;
	case FORMATS:
		judge_text(p, l, i, "container", l->s->format);
		break;
	case SIGNERS:
		if (verdict->code != ERR_NONE)
			findings_add(l->to, r, NULL, "%s", verdict->fact);
		break;
	case BYTES: case PARAMETERS:
		judge_limit(p, l, i);
		break;
	case KEYS:
		judge_keys(p, l);
		break;
	case TEMPLATES:
		judge_template_use(l);
		break;
	}
}

int
policy_judge_all(const struct policy *p, const struct survey *s, struct findings *f,
                 const struct err *verdict, struct err *e)
{
	struct lint l = { .s = s, .to = f, .fd = -1 };
	const struct rule *r;
	json_t *card;
	size_t i;

	if (survey_card(s, &card, e) < 0)
		return -1;
	l.card = card;
	for (i = 0; (r = policy_rule(i)); i++)
		if (!policy_lacks(p, r))
			policy_judge(p, &l, r, verdict);
	json_decref(card);
	return findings_ok(f) ? 0 : err_memory(e);
}
