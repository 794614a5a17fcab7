#include "cli/pull/told.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool.h"
#include "core/json.h"
#include "core/text.h"
#include "check/policy.h"

/* ---- notes ---- */

void
told_before(const struct pull *p)
{
	const char *license = p->info.license;

	if (*license)
		tool_notef("%s: licence %s%s", p->source->label, license, !pull_is_noncommercial(license)
		           ? "" : " (warning: it does not allow commercial use)");
	else if (p->source->kind == HUB_HF && *p->info.commit && !p->o->offline)
		tool_notef("%s: names no licence", p->source->label);
	if (p->left_out)
		tool_notef("%zu file%s with the same weights in other forms %s left out, as %s; "
		           "--include '*' fetches all", p->left_out, p->left_out == 1 ? "" : "s",
		           p->left_out == 1 ? "is" : "are", p->left_out_name);
}

/* ---- policy ---- */

static bool
has_match(const json_t *list, const char *license)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (fnmatch(json_string_value(json_array_get(list, i)), license, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

int
told_policy(const struct pull *p, const char *path, struct err *e)
{
	struct policy policy;
	const json_t *allowed, *denied;
	const char *license = *p->info.license ? p->info.license : "unknown";
	int r = policy_read(&policy, path, e);

	allowed = r == 0 ? json_object_get(policy.o, "licenses") : NULL;
	denied = r == 0 ? json_object_get(policy.o, "denied_licenses") : NULL;
	if ((allowed && !has_match(allowed, license)) || has_match(denied, license)) {
		r = err_set(e, ERR_ACCESS, p->source->label, "has the licence %s, which %s does not allow",
		            license, path);
		err_hint(e, "--accept-license fetches it all the same");
	}
	policy_free(&policy);
	return r;
}

/* ---- lists ---- */

static void
put_shown(struct buf *b, const char *s)
{
	char text[2 * HUB_PATH];

	buf_text(b, text_quote(text, sizeof text, s, strlen(s)));
}

void
told_list(struct buf *b, const struct pull *p)
{
	char size[32];
	size_t i, have = 0;

	for (i = 0; i < p->n; i++) {
		const struct pull_file *f = &p->files[i];

		have += f->cached;
		buf_printf(b, "%-10s %-7s ", f->size == HTTP_UNKNOWN
		           ? "?" : text_size(size, sizeof size, f->size), f->cached ? "cached" : "fetch");
		put_shown(b, f->path);
		buf_text(b, "\n");
	}
	buf_printf(b, "%zu file%s, %s, %zu cached\n", p->n, p->n == 1 ? "" : "s",
	           text_size(size, sizeof size, p->bytes), have);
}

static void
put_member(struct buf *b, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_printf(b, ",\"%s\":", name);
	json_show_text(b, value, strlen(value));
}

static void
put_file(struct buf *b, const struct pull *p, const struct pull_file *f, bool plan)
{
	buf_text(b, "{\"path\":");
	json_show_text(b, f->path, strlen(f->path));
	if (f->size != HTTP_UNKNOWN)
		buf_printf(b, ",\"bytes\":%llu", (unsigned long long)f->size);
	put_member(b, f->kind == DOWNLOAD_GIT ? "git_sha1" : "sha256", f->digest);
	buf_printf(b, ",\"cached\":%s", f->cached ? "true" : "false");
	if (!plan)
		buf_printf(b, ",\"fetched\":%llu", (unsigned long long)f->fetched);
	if (!plan && f->at && !p->o->no_cache)
		put_member(b, "file", f->at);
	buf_text(b, "}");
}

void
told_json(struct buf *b, const struct pull *p, bool plan)
{
	size_t i;

	buf_text(b, "{\"source\":");
	json_show_text(b, p->source->label, strlen(p->source->label));
	put_member(b, "commit", p->info.commit);
	put_member(b, "license", p->info.license);
	if (p->info.gated)
		buf_text(b, ",\"gated\":true");
	if (!plan && !p->o->no_cache)
		put_member(b, "root", p->root);
	buf_text(b, ",\"files\":[");
	for (i = 0; i < p->n; i++) {
		buf_text(b, i ? "," : "");
		put_file(b, p, &p->files[i], plan);
	}
	buf_text(b, "]}\n");
}
