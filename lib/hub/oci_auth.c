/* oci_auth: challenges, tokens and logins. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "hub/oci.h"

/* ---- challenges ---- */

static size_t
token_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && strchr("!#$%&'*+-.^_`|~", s[n])))
		n++;
	return n;
}

/* Reads a value at *p, a token or a quoted text, and moves *p behind it. Too long a value is
 * empty. False if it is malformed. */
static bool
take_value(const char **p, char *to, size_t size)
{
	const char *s = *p;
	size_t n = 0;

	if (*s != '"') {
		n = token_length(s);
		snprintf(to, size, "%.*s", n < size ? (int)n : 0, s);
		*p = s + n;
		return n > 0;
	}
	for (s++; *s && *s != '"'; s++) {
		if (*s == '\\' && s[1])
			s++;
		if (n < size)
			to[n] = *s;
		n++;
	}
	to[n < size ? n : 0] = '\0';
	*p = s + 1;
	return *s == '"';
}

void
oci_challenge_parse(struct oci_challenge *c, const char *text)
{
	char name[32], value[2048];
	const struct {
		const char *name;
		char *to;
		size_t size;
	} members[] = { { "realm", c->realm, sizeof c->realm }, { "service", c->service,
		sizeof c->service }, { "scope", c->scope, sizeof c->scope } };
	size_t n = token_length(text), i;

	*c = (struct oci_challenge){ .bearer = n == 6 && strncasecmp(text, "Bearer", 6) == 0,
		.basic = n == 5 && strncasecmp(text, "Basic", 5) == 0 };
	for (text += n;;) {
		text += strspn(text, " \t,");
		n = token_length(text);
		if (n == 0 || text[n] != '=')
			return;
		snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text);
		text += n + 1;
		if (!take_value(&text, value, sizeof value))
			return;
		for (i = 0; i < sizeof members / sizeof *members; i++)
			if (strcasecmp(name, members[i].name) == 0 && strlen(value) < members[i].size)
				memcpy(members[i].to, value, strlen(value) + 1);
	}
}

/* ---- tokens and logins ---- */

static bool
is_printable(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

int
oci_token_parse(const void *text, size_t n, char *to, size_t size)
{
	struct err unused = ERR_INIT;
	json_t *o = json_parse_wide(text, n, ERR_CORRUPT, "token", &unused);
	const char *token;
	int done = -1;

	if (o && (json_member_text(o, "token", &token) == 0 ||
	          json_member_text(o, "access_token", &token) == 0) &&
	    *token && is_printable(token) && strlen(token) + 8 <= size) {
		snprintf(to, size, "Bearer %s", token);
		done = 0;
	}
	json_decref(o);
	return done;
}

bool
oci_login_parse(const void *text, size_t n, const char *registry, char *to, size_t size)
{
	/* What "docker login" calls its own registry. */
	const char *const names[] = { registry, strcmp(registry, "registry-1.docker.io") == 0
		? "https://index.docker.io/v1/" : NULL };
	struct err unused = ERR_INIT;
	json_t *o = json_parse_wide(text, n, ERR_CORRUPT, "logins", &unused);
	const char *auth;
	bool found = false;
	size_t i;

	for (i = 0; i < 2 && !found; i++)
		if (o && names[i] &&
		    json_member_text(json_object_get(json_object_get(o, "auths"), names[i]), "auth", &auth) == 0 &&
		    *auth && is_printable(auth) && strlen(auth) + 7 <= size) {
			snprintf(to, size, "Basic %s", auth);
			found = true;
		}
	json_decref(o);
	return found;
}
