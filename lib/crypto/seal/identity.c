#include "crypto/seal/identity.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/out.h"

#define PUBLIC "age"
#define SECRET "age-secret-key-"

/* The next line of text: its length without the end, and where the one after begins.
 * Lines that say nothing are passed over. False at the end. */
static bool
next_line(const char **text, size_t *left, const char **line, size_t *n, size_t *number)
{
	while (*left > 0) {
		const char *end = memchr(*text, '\n', *left);
		size_t taken = end ? (size_t)(end - *text) + 1 : *left;

		*line = *text;
		*n = end ? taken - 1 : taken;
		*text += taken;
		*left -= taken;
		++*number;
		while (*n > 0 && ((*line)[*n - 1] == '\r' || (*line)[*n - 1] == ' '))
			--*n;
		if (*n > 0 && (*line)[0] != '#')
			return true;
	}
	return false;
}

static int
add(struct recipients *r, const uint8_t key[AGREE_BYTES], const char *where, struct err *e)
{
	if (r->n == IDENTITY_MOST)
		return err_set(e, ERR_USAGE, where, "there are more than %d recipients",
		               IDENTITY_MOST);
	memcpy(r->key[r->n++], key, AGREE_BYTES);
	return 0;
}

int
recipients_add(struct recipients *r, const char *text, struct err *e)
{
	uint8_t key[AGREE_BYTES];

	if (bech32_read(text, strlen(text), PUBLIC, key) == 0)
		return add(r, key, NULL, e);
	/* What looks like a secret was given by mistake, and is not repeated. */
	if (strncasecmp(text, SECRET, strlen(SECRET)) == 0)
		return err_set(e, ERR_USAGE, NULL, "-r: that is an identity, which is secret; a "
		               "recipient begins with age1");
	err_set(e, ERR_USAGE, NULL, "-r %.80s: is no recipient", text);
	return err_hint(e, "a recipient begins with age1; age-keygen -y shows that of an "
	                "identity");
}

int
recipients_parse(struct recipients *r, const char *text, size_t n, const char *where,
                 struct err *e)
{
	size_t before = r->n, number = 0, length;
	uint8_t key[AGREE_BYTES];
	const char *line;

	while (next_line(&text, &n, &line, &length, &number)) {
		if (bech32_read(line, length, PUBLIC, key) < 0)
			return err_set(e, ERR_FORMAT, where, "line %zu is no recipient (age1…)", number);
		if (add(r, key, where, e) < 0)
			return -1;
	}
	return r->n > before ? 0 : err_set(e, ERR_FORMAT, where, "holds no recipient");
}

static int
read_file(const char *path, struct secret *s, struct err *e)
{
	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, path, "is standard input, which is not for keys");
	return secret_file(s, path, IDENTITY_FILE, e);
}

int
recipients_read(struct recipients *r, const char *path, struct err *e)
{
	struct secret s = { 0 };
	int status = read_file(path, &s, e);

	if (status == 0)
		status = recipients_parse(r, (char *)s.p, s.n, path, e);
	secret_free(&s);
	return status;
}

char *
recipient_text(const uint8_t key[AGREE_BYTES], char dst[RECIPIENT_TEXT])
{
	bech32_write(PUBLIC, key, dst);
	return dst;
}

static int
no_identity(const char *line, size_t n, size_t number, const char *where, struct err *e)
{
	static const char locked[] = "age-encryption.org/", armor[] = "-----BEGIN AGE";

	if ((n > strlen(locked) && memcmp(line, locked, strlen(locked)) == 0) ||
	    (n > strlen(armor) && memcmp(line, armor, strlen(armor)) == 0)) {
		err_set(e, ERR_FORMAT, where, "is encrypted");
		return err_hint(e, "-i <(age -d FILE) hands on what is in it");
	}
	return err_set(e, ERR_FORMAT, where, "line %zu is no identity (AGE-SECRET-KEY-1…)",
	               number);
}

int
identities_parse(struct identities *i, const uint8_t *text, size_t n, const char *where,
                 struct err *e)
{
	const char *at = (const char *)text, *line;
	size_t number = 0, length, before;

	if (!i->keys.p &&
	    secret_alloc(&i->keys, (size_t)IDENTITY_MOST * AGREE_BYTES, e) < 0)
		return -1;
	before = i->keys.n;
	while (next_line(&at, &n, &line, &length, &number)) {
		if (i->keys.cap - i->keys.n < AGREE_BYTES)
			return err_set(e, ERR_USAGE, where, "there are more than %d identities",
			               IDENTITY_MOST);
		if (bech32_read(line, length, SECRET, i->keys.p + i->keys.n) < 0)
			return no_identity(line, length, number, where, e);
		i->keys.n += AGREE_BYTES;
	}
	return i->keys.n > before ? 0 : err_set(e, ERR_FORMAT, where, "holds no identity");
}

int
identities_read(struct identities *i, const char *path, struct err *e)
{
	struct secret s = { 0 };
	int r = read_file(path, &s, e);

	if (r == 0)
		r = identities_parse(i, s.p, s.n, path, e);
	secret_free(&s);
	return r;
}

/* Two lines: who it is, and the secret. */
static int
identity_write(struct out *o, const char *path, bool force, const uint8_t *secret,
               const uint8_t *public, struct err *e)
{
	struct out_options options = { .path = path, .force = force, .input = -1 };
	char text[BECH32_TEXT], who[BECH32_TEXT], *c;
	int r;

	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, path, "a key is written to a file");
	if (out_open(o, &options, e) < 0)
		return -1;
	if (!o->path)
		return err_set(e, ERR_USAGE, path, "is no regular file");
	if (fchmod(o->fd, 0600) < 0)
		return err_errno(e, path, "cannot be given its mode");
	bech32_write(PUBLIC, public, who);
	bech32_write(SECRET, secret, text);
	for (c = text; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - ('a' - 'A')) : *c;
	r = out_put(o, "# public key: ", 14);
	r |= out_put(o, who, strlen(who));
	r |= out_put(o, "\n", 1);
	r |= out_put(o, text, strlen(text));
	r |= out_put(o, "\n", 1);
	if (r == 0)
		r = out_flush(o);
	secret_wipe(text, sizeof text);
	if (o->window)
		secret_wipe(o->window, 2 * BECH32_TEXT);
	return r == 0 ? out_finish(o) : -1;
}

int
identity_make(const char *path, bool force, uint8_t public[AGREE_BYTES], struct err *e)
{
	struct out o = { .fd = -1 };
	struct secret s = { 0 };
	int r = secret_alloc(&s, AGREE_BYTES, e);

	if (r == 0)
		r = agree_new(s.p, public, e);
	if (r == 0)
		r = identity_write(&o, path, force, s.p, public, e);
	out_abandon(&o);
	secret_free(&s);
	return r;
}

size_t
identities_count(const struct identities *i)
{
	return i->keys.n / AGREE_BYTES;
}

const uint8_t *
identities_key(const struct identities *i, size_t number)
{
	return i->keys.p + number * AGREE_BYTES;
}

void
identities_free(struct identities *i)
{
	secret_free(&i->keys);
}
