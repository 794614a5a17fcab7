/* stock_choose: what a name refers to. */
#include <string.h>

#include "hub/stock.h"

#define COMMIT_MIN 7 /* digits of a commit that stand for it */

/* Whether `word` is one of the words of a text with spaces between. */
static bool
has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (; text && n; text = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL)
		if (strncmp(text, word, n) == 0 && (text[n] == ' ' || !text[n]))
			return true;
	return false;
}

static bool
is_revision(const struct stock_revision *v, const char *word)
{
	return has_word(v->refs, word) || strcmp(v->commit, word) == 0 ||
	       (strlen(word) >= COMMIT_MIN && strncmp(v->commit, word, strlen(word)) == 0);
}

/* A repository of the hub: NAME or NAME@REVISION. */
static size_t
choose_repo(struct stock_repo *r, const char *name)
{
	size_t n = strlen(r->name), count = 0, i;
	const char *revision = NULL;

	if (name && (strncmp(name, r->name, n) != 0 || (name[n] && name[n] != '@')))
		return 0;
	if (name && name[n] == '@')
		revision = name + n + 1;
	for (i = 0; i < r->revision_count; i++) {
		struct stock_revision *v = &r->revisions[i];

		if (!revision || is_revision(v, revision)) {
			v->chosen = true;
			count++;
		}
	}
	if (!revision) {
		r->chosen = true;
		count++;
	}
	return count;
}

/* ollama://[ORG/]NAME[:TAG] as oci://HOST/ORG/NAME:TAG. */
static bool
is_ollama(const char *name, const char *artifact)
{
	static const char host[] = "oci://registry.ollama.ai/";
	size_t n;

	if (strncmp(name, "ollama://", 9) != 0 || strncmp(artifact, host, sizeof host - 1) != 0)
		return false;
	name += 9;
	artifact += sizeof host - 1;
	if (!strchr(name, '/') && strncmp(artifact, "library/", 8) == 0)
		artifact += 8;
	n = strlen(name);
	return strcmp(name, artifact) == 0 ||
	       (!strchr(name, ':') && strncmp(name, artifact, n) == 0 &&
	        strcmp(artifact + n, ":latest") == 0);
}

/* An entry of the cache of these tools; "oci://HOST/NAME" without a tag is all of its tags, and "upload:"
 * all uploads. */
static size_t
choose_entries(struct stock_repo *r, const char *name)
{
	size_t n = name ? strlen(name) : 0, count = 0, i;

	for (i = 0; i < r->revision_count; i++) {
		struct stock_revision *v = &r->revisions[i];
		bool all = name && strncmp(name, "oci://", 6) == 0 && strncmp(v->name, name, n) == 0 &&
			((v->name[n] == ':' && !strchr(v->name + n, '/')) || v->name[n] == '@');

		all |= name && v->upload && strncmp(name, "upload:", 7) == 0 && strncmp(v->name, name, n) == 0;
		if (!name || all || strcmp(v->name, name) == 0 || is_ollama(name, v->name)) {
			v->chosen = true;
			count++;
		}
	}
	r->chosen |= !name;
	return count;
}

size_t
stock_choose(struct stock *s, const char *name)
{
	const char *at = name;
	size_t count = 0, i;

	if (at && strncmp(at, "hf://", 5) == 0)
		at += 5;
	if (at && strncmp(at, "models/", 7) == 0)
		at += 7;
	for (i = 0; i < s->hub.n; i++)
		count += choose_repo(&s->hub.repos[i], at);
	for (i = 0; i < s->apr.n; i++)
		count += choose_entries(&s->apr.repos[i], name);
	return count;
}

static void
choose_older(struct stock_cache *c, int64_t before)
{
	size_t i, j;

	for (i = 0; i < c->n; i++)
		for (j = 0; j < c->repos[i].revision_count; j++)
			if (c->repos[i].revisions[j].used >= before)
				c->repos[i].revisions[j].chosen = false;
}

/* What no revision needs is old if all of it is. */
static void
choose_older_rest(struct stock_cache *c, int64_t before)
{
	size_t i, j;

	for (i = 0; i < c->n; i++)
		for (j = 0; j < c->repos[i].blob_count; j++)
			if (c->repos[i].blobs[j].links == 0 && c->repos[i].blobs[j].used >= before)
				c->repos[i].chosen = false;
}

void
stock_choose_older(struct stock *s, int64_t before)
{
	choose_older(&s->hub, before);
	choose_older(&s->apr, before);
	choose_older_rest(&s->hub, before);
	choose_older_rest(&s->apr, before);
}
