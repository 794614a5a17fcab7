#include "hub/source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"

static bool
has_dangerous(const char *s)
{
	size_t n = strlen(s), length;
	uint32_t cp;

	for (; n > 0; s += length, n -= length) {
		length = text_character(s, n, &cp);
		if (!length || text_dangerous(cp))
			return true;
	}
	return false;
}

bool
hub_path_is_safe(const char *path)
{
	size_t n;

	if (!*path || strlen(path) >= HUB_PATH || strchr(path, '\\') || has_dangerous(path) ||
	    (isalpha((unsigned char)path[0]) && path[1] == ':'))
		return false;
	for (;; path += n + 1) {
		n = strcspn(path, "/");
		if (n == 0 || n > 255 || (n == 1 && *path == '.') ||
		    (n == 2 && memcmp(path, "..", 2) == 0) || (n == 4 && strncasecmp(path, ".git", 4) == 0))
			return false;
		if (!path[n])
			return true;
	}
}

/* Copies the n bytes at s; false if they do not fit. */
static bool
take(char *to, size_t size, const char *s, size_t n)
{
	if (n >= size)
		return false;
	memcpy(to, s, n);
	to[n] = '\0';
	return true;
}

/* As the hub allows it: letters, digits, "-", "_", ".", at most 96; no "--", "..", and neither "-"
 * nor "." at the ends. */
static bool
is_repository_name(const char *s)
{
	size_t i, n = strlen(s);

	if (n == 0 || n > 96 || strstr(s, "--") || strstr(s, "..") || strchr("-.", s[0]) ||
	    strchr("-.", s[n - 1]))
		return false;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i]))
			return false;
	return true;
}

/* The bytes of a revision at s: to the first "/", but refs/pr/N and refs/convert/X have two. */
static size_t
revision_length(const char *s)
{
	size_t n = strcspn(s, "/"), more;

	if (strncmp(s, "refs/pr/", 8) == 0 || strncmp(s, "refs/convert/", 13) == 0) {
		more = s[5] == 'p' ? 8 : 13;
		n = more + strcspn(s + more, "/");
	}
	return n;
}

/* ---- hf:// ---- */

static const char *const other_types[] = { "datasets", "spaces", "kernels", "buckets" };

static const char *
refuse_type(const char *s)
{
	static char text[96];
	size_t i, n = strcspn(s, "/");

	for (i = 0; i < sizeof other_types / sizeof *other_types; i++) {
		size_t all = strlen(other_types[i]);

		if ((n == all || n == all - 1) && strncmp(s, other_types[i], n) == 0 && s[n]) {
			snprintf(text, sizeof text, "names one of the hub's %s; only models can be fetched",
			         other_types[i]);
			return text;
		}
	}
	return n == 5 && strncmp(s, "model", 5) == 0 ? "begins with model/, which is spelled models/"
	                                             : NULL;
}

static const char *
take_revision(struct hub_source *s, const char *text, size_t n)
{
	if (n == 0)
		return "has an empty revision after @";
	if (!take(s->revision, sizeof s->revision, text, n) || !hub_path_is_safe(s->revision))
		return "has a revision that is not valid";
	return NULL;
}

/* [/PATH][@REVISION] */
static const char *
take_path(struct hub_source *s, const char *rest)
{
	const char *at = *s->revision ? NULL : strrchr(rest, '@'), *wrong = NULL;
	const char *slash = *s->revision ? NULL : strstr(rest, "@refs/");
	size_t n;

	at = slash ? slash : at;
	if (at && at[1 + revision_length(at + 1)] != '\0')
		at = NULL;
	n = at ? (size_t)(at - rest) : strlen(rest);
	if (at)
		wrong = take_revision(s, at + 1, strlen(at + 1));
	if (wrong || n <= 1)
		return wrong;
	s->folder = rest[n - 1] == '/';
	if (!take(s->path, sizeof s->path, rest + 1, n - 1 - s->folder) || !hub_path_is_safe(s->path))
		return "has a path that is not valid";
	return NULL;
}

static const char *
parse_hf(struct hub_source *s, const char *text)
{
	const char *wrong, *rest;
	size_t n;

	s->kind = HUB_HF;
	if (strncmp(text, "models/", 7) == 0)
		text += 7;
	wrong = refuse_type(text);
	if (wrong)
		return wrong;
	n = strcspn(text, "/");
	if (!text[n] || !take(s->org, sizeof s->org, text, n))
		return "is not of the form hf://ORG/REPO";
	rest = text + n + 1;
	n = strcspn(rest, "/@:");
	if (!take(s->repo, sizeof s->repo, rest, n) || !is_repository_name(s->org) ||
	    !is_repository_name(s->repo))
		return "is not of the form hf://ORG/REPO";
	rest += n;
	if (*rest == ':') {
		n = strcspn(rest + 1, "/@");
		if (n == 0 || !take(s->tag, sizeof s->tag, rest + 1, n) || has_dangerous(s->tag))
			return "has a tag that is not valid";
		rest += n + 1;
	}
	if (*rest == '@') {
		n = revision_length(rest + 1);
		wrong = take_revision(s, rest + 1, n);
		rest += n + 1;
	}
	if (!wrong)
		wrong = take_path(s, rest);
	return wrong ? wrong : *s->tag && *s->path ? "has a tag and a path" : NULL;
}

/* ---- http:// ---- */

/* Pages of the hub that are not repositories. */
static const char *const pages[] = { "api", "docs", "blog", "login", "join", "settings", "models",
	"collections", "papers", "pricing", "tasks", "learn", "organizations", "new", "chat" };

/* Whether the address is a page of the hub about a repository: then it is taken. */
static bool
take_page(struct hub_source *s, const char *endpoint, const char **wrong)
{
	static const char *const verbs[] = { "resolve", "blob", "raw", "tree" };
	const char *path = s->url.text + s->url.path + 1;
	char made[URL_TEXT];
	struct buf b = { 0 };
	struct url hub;
	size_t i, n = strcspn(path, "/?"), verb;
	const char *rest;

	if (url_parse(&hub, endpoint, &(struct err)ERR_INIT) == 0 && url_same_origin(&hub, &s->url))
		;
	else if (strcmp(s->url.host, "huggingface.co") != 0 && strcmp(s->url.host, "hf.co") != 0)
		return false;
	for (i = 0; i < sizeof pages / sizeof *pages; i++)
		if (strlen(pages[i]) == n && strncmp(pages[i], path, n) == 0)
			return false;
	*wrong = refuse_type(path);
	if (*wrong)
		return true;
	if (path[n] != '/')
		return false;
	rest = path + n + 1;
	rest += strcspn(rest, "/?");
	if (*rest != '/') {
		snprintf(made, sizeof made, "%.*s", (int)(rest - path), path);
		*wrong = parse_hf(s, made);
		return true;
	}
	verb = strcspn(rest + 1, "/?");
	for (i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strlen(verbs[i]) == verb && strncmp(verbs[i], rest + 1, verb) == 0)
			break;
	if (i == sizeof verbs / sizeof *verbs || rest[1 + verb] != '/')
		return false;
	/* A revision with a "/" is percent-encoded in an address. */
	snprintf(made, sizeof made, "%.*s", (int)(rest - path), path);
	*wrong = parse_hf(s, made);
	rest += verb + 2;
	n = strcspn(rest, "/?");
	if (!*wrong && (url_decode(&b, rest, n) < 0 || !buf_string(&b)))
		*wrong = "has a revision that is not valid";
	if (!*wrong)
		*wrong = take_revision(s, (char *)b.p, b.n);
	buf_clear(&b);
	rest += n;
	n = strcspn(rest, "?");
	if (!*wrong && n > 1 && (url_decode(&b, rest, n) < 0 || !buf_string(&b)))
		*wrong = "has a path that is not valid";
	if (!*wrong && n > 1)
		*wrong = take_path(s, (char *)b.p);
	buf_free(&b);
	return true;
}

/* ---- registries ---- */

static bool
is_image_name(const char *s)
{
	size_t i, n = strlen(s);

	if (n == 0 || !isalnum((unsigned char)s[0]) || strstr(s, "//") || strstr(s, ".."))
		return false;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("-_./", s[i]))
			return false;
	return isalnum((unsigned char)s[n - 1]);
}

static bool
is_digest(const char *s)
{
	return strncmp(s, "sha256:", 7) == 0 && strlen(s) == 71 &&
	       strspn(s + 7, "0123456789abcdef") == 64;
}

/* Whether the first part of NAME/... is a host: it has a dot or a port, or is localhost. */
static bool
begins_with_host(const char *s)
{
	size_t n = strcspn(s, "/");

	return s[n] && (memchr(s, '.', n) || memchr(s, ':', n) ||
	                (n == 9 && memcmp(s, "localhost", 9) == 0));
}

static const char *
parse_registry(struct hub_source *s, const char *text, enum hub_kind kind)
{
	const char *at, *colon;
	size_t n = strcspn(text, "/");
	char host[URL_HOST + 32];
	struct url u;

	s->kind = kind;
	if (kind == HUB_OCI ? text[n] == '/' : begins_with_host(text)) {
		snprintf(host, sizeof host, "https://%.*s", (int)(n < URL_HOST + 8 ? n : URL_HOST + 8),
		         text);
		if (!take(s->registry, sizeof s->registry, text, n) ||
		    url_parse(&u, host, &(struct err)ERR_INIT) < 0)
			return "has a registry that is not a host name";
		text += n + 1;
	} else if (kind == HUB_OCI) {
		return "is not of the form oci://HOST/NAME[:TAG]";
	}
	at = strchr(text, '@');
	n = at ? (size_t)(at - text) : strlen(text);
	if (at && (!take(s->digest, sizeof s->digest, at + 1, strlen(at + 1)) ||
	           !is_digest(s->digest)))
		return "has a digest that is not sha256: and 64 hexadecimal digits";
	colon = memchr(text, ':', n);
	if (colon && (!take(s->tag, sizeof s->tag, colon + 1, n - (size_t)(colon - text) - 1) ||
	              !is_image_name(s->tag) || strchr(s->tag, '/')))
		return "has a tag that is not valid";
	n = colon ? (size_t)(colon - text) : n;
	if (!take(s->name, sizeof s->name, text, n) || !is_image_name(s->name))
		return "has a name that is not valid";
	return NULL;
}

/* ---- all ---- */

static const char *
parse_file(struct hub_source *s, const char *text)
{
	struct buf b = { 0 };
	const char *wrong = NULL;

	s->kind = HUB_FILE;
	if (strncmp(text, "file://", 7) != 0)
		return take(s->path, sizeof s->path, text, strlen(text)) ? NULL : "is too long";
	text += 7;
	if (strncmp(text, "localhost/", 10) == 0)
		text += 9;
	if (url_decode(&b, text, strlen(text)) < 0 || !buf_string(&b) || b.n == 0 ||
	    !take(s->path, sizeof s->path, (char *)b.p, b.n))
		wrong = "is not a path";
	buf_free(&b);
	return wrong;
}

static bool
begins(const char *s, const char *with)
{
	return strncasecmp(s, with, strlen(with)) == 0;
}

bool
hub_is_source(const char *s)
{
	return begins(s, "hf://") || begins(s, "https://") || begins(s, "http://") ||
	       begins(s, "file://") || begins(s, "ollama://") || begins(s, "oci://");
}

int
hub_source_parse(struct hub_source *s, const char *text, const char *endpoint, struct err *e)
{
	const char *wrong = NULL, *colon = strstr(text, "://");

	*s = (struct hub_source){ .kind = HUB_FILE };
	if (begins(text, "https://") || begins(text, "http://")) {
		s->kind = HUB_HTTP;
		if (url_parse(&s->url, text, e) < 0)
			return -1;
		snprintf(s->label, sizeof s->label, "%s", url_label(&s->url).text);
		take_page(s, endpoint, &wrong);
	} else {
		snprintf(s->label, sizeof s->label, "%.300s", text);
		wrong = !*text ? "is empty"
		        : begins(text, "hf://") ? parse_hf(s, text + 5)
		        : begins(text, "ollama://") ? parse_registry(s, text + 9, HUB_OLLAMA)
		        : begins(text, "oci://") ? parse_registry(s, text + 6, HUB_OCI)
		        : begins(text, "s3://") ? "needs a signed https:// address"
		        : colon && !begins(text, "file://") && !memchr(text, '/', (size_t)(colon - text))
		            ? "has a scheme that is not one of hf, https, file, ollama, oci"
		            : parse_file(s, text);
	}
	return wrong ? err_set(e, ERR_USAGE, s->label, "%s", wrong) : 0;
}
