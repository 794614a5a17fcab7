#include "crypto/seal/identity.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/out.h"
#include "crypto/kdf.h"

#define PUBLIC "age"
#define SECRET "age-secret-key-"
#define ANSWER "apr-answer-"

/* The next line of text: its length without the newline, and the start of the line after
 * it. Empty lines and comments are skipped. False at the end. */
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
	/* A secret given by mistake is not repeated in the message. */
	if (strncasecmp(text, SECRET, strlen(SECRET)) == 0)
		return err_set(e, ERR_USAGE, NULL, "-r: that is an identity, which is secret; a "
		               "recipient begins with age1");
	err_set(e, ERR_USAGE, NULL, "-r %.80s: is not a recipient", text);
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
			return err_set(e, ERR_FORMAT, where, "line %zu is not a recipient (age1…)", number);
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
	return err_set(e, ERR_FORMAT, where, "line %zu is not an identity (AGE-SECRET-KEY-1…)",
	               number);
}

static int
identities_alloc(struct identities *i, struct err *e)
{
	const size_t n = (size_t)IDENTITY_MOST * AGREE_BYTES;

	if (i->keys.p)
		return 0;
	return secret_alloc(&i->keys, n, e) < 0 ? -1 : secret_alloc(&i->answers, n, e);
}

/* Append the identity in a line, or set the answer secret of this file's last identity if
 * it has none yet. before is the number of identities from other files. False if the line
 * is neither. */
static bool
add_identity(struct identities *i, const char *line, size_t n, size_t before)
{
	size_t count = identities_count(i);

	if (bech32_read(line, n, SECRET, i->keys.p + i->keys.n) == 0) {
		i->has_answer[count] = false;
		i->keys.n += AGREE_BYTES;
		return true;
	}
	if (count == before || i->has_answer[count - 1] ||
	    bech32_read(line, n, ANSWER, i->answers.p + (count - 1) * AGREE_BYTES) < 0)
		return false;
	i->has_answer[count - 1] = true;
	return true;
}

int
identities_parse(struct identities *i, const uint8_t *text, size_t n, const char *where,
                 struct err *e)
{
	const char *at = (const char *)text, *line;
	size_t number = 0, length, before;

	if (identities_alloc(i, e) < 0)
		return -1;
	before = identities_count(i);
	while (next_line(&at, &n, &line, &length, &number)) {
		if (i->keys.cap - i->keys.n < AGREE_BYTES)
			return err_set(e, ERR_USAGE, where, "there are more than %d identities",
			               IDENTITY_MOST);
		if (!add_identity(i, line, length, before))
			return no_identity(line, length, number, where, e);
	}
	return identities_count(i) > before ? 0
	                                    : err_set(e, ERR_FORMAT, where, "holds no identity");
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

/* ---- files with secrets ---- */

/* 32 secret bytes as text in upper case. */
static char *
in_capitals(char text[BECH32_TEXT], const char *name, const uint8_t *p)
{
	char *c;

	bech32_write(name, p, text);
	for (c = text; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - ('a' - 'A')) : *c;
	return text;
}

char *
identity_text(const uint8_t key[AGREE_BYTES], char dst[RECIPIENT_TEXT])
{
	return in_capitals(dst, SECRET, key);
}

/* Append 32 secret bytes as a line. */
static void
put_secret(struct buf *b, const char *name, const uint8_t *p)
{
	char text[BECH32_TEXT];

	buf_text(b, in_capitals(text, name, p));
	buf_text(b, "\n");
	secret_wipe(text, sizeof text);
}

static int
put_secret_file(struct out *o, const char *path, bool force, const struct buf *b,
                struct err *e)
{
	struct out_options options = { .path = path, .force = force, .input = -1,
		.mode = 0600 };
	int r;

	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, path, "a key is written to a file");
	if (out_open(o, &options, e) < 0)
		return -1;
	if (!o->path)
		return err_set(e, ERR_USAGE, path, "is not a regular file");
	r = out_put(o, b->p, b->n);
	if (r == 0)
		r = out_flush(o);
	if (o->window)
		secret_wipe(o->window, b->n);
	return r == 0 ? out_finish(o) : -1;
}

#define FILE_TEXT (4 * BECH32_TEXT) /* room for the text of such a file */

/* Allocate all room at once: a buffer that grew would leave copies behind. */
static int
secret_text(struct buf *b, struct err *e)
{
	return buf_room(b, FILE_TEXT) ? 0 : err_memory(e);
}

static int
end_secret_file(const char *path, bool force, struct buf *b, struct err *e)
{
	struct out o = { .fd = -1 };
	int r = buf_ok(b) ? put_secret_file(&o, path, force, b, e) : err_memory(e);

	out_abandon(&o);
	if (b->p)
		secret_wipe(b->p, b->n);
	buf_free(b);
	return r;
}

int
addressee_write(const struct addressee *a, const char *path, bool force, struct err *e)
{
	struct buf b = { 0 };
	char who[BECH32_TEXT];

	if (secret_text(&b, e) < 0)
		return -1;
	bech32_write(PUBLIC, a->key, who);
	buf_printf(&b, "# an answer goes to: keep this file secret\n%s\n", who);
	if (a->answers)
		put_secret(&b, ANSWER, a->secret.p);
	return end_secret_file(path, force, &b, e);
}

static int
identity_write(const char *path, bool force, const uint8_t *secret,
               const struct addressee *reply, struct err *e)
{
	struct buf b = { 0 };
	char who[BECH32_TEXT];

	if (secret_text(&b, e) < 0)
		return -1;
	bech32_write(PUBLIC, reply->key, who);
	buf_printf(&b, "# public key: %s\n", who);
	put_secret(&b, SECRET, secret);
	put_secret(&b, ANSWER, reply->secret.p);
	return end_secret_file(path, force, &b, e);
}

int
identity_make(const char *path, bool force, struct addressee *reply, struct err *e)
{
	struct secret s = { 0 };
	int r = secret_alloc(&s, AGREE_BYTES, e);

	*reply = (struct addressee){ .answers = true };
	if (r == 0)
		r = secret_alloc(&reply->secret, AGREE_BYTES, e);
	if (r == 0)
		r = random_bytes(reply->secret.p, AGREE_BYTES, e);
	if (r == 0)
		r = agree_new(s.p, reply->key, e);
	if (r == 0)
		r = identity_write(path, force, s.p, reply, e);
	secret_free(&s);
	return r;
}

int
addressee_parse(struct addressee *a, const uint8_t *text, size_t n, const char *where,
                struct err *e)
{
	const char *at = (const char *)text, *line;
	size_t number = 0, length, keys = 0;

	*a = (struct addressee){ .answers = false };
	if (secret_alloc(&a->secret, AGREE_BYTES, e) < 0)
		return -1;
	while (next_line(&at, &n, &line, &length, &number)) {
		if (keys == 1 && !a->answers &&
		    bech32_read(line, length, ANSWER, a->secret.p) == 0)
			a->answers = true;
		else if (keys++ > 0)
			return err_set(e, ERR_FORMAT, where, "line %zu: a message has one recipient",
			               number);
		else if (bech32_read(line, length, PUBLIC, a->key) < 0)
			return err_set(e, ERR_FORMAT, where, "line %zu is not a recipient (age1…)",
			               number);
	}
	return keys ? 0 : err_set(e, ERR_FORMAT, where, "holds no recipient");
}

int
addressee_read(struct addressee *a, const char *path, struct err *e)
{
	struct secret s = { 0 };
	int r = read_file(path, &s, e);

	*a = (struct addressee){ .answers = false };
	if (r == 0)
		r = addressee_parse(a, s.p, s.n, path, e);
	secret_free(&s);
	return r;
}

void
addressee_free(struct addressee *a)
{
	secret_free(&a->secret);
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

const uint8_t *
identities_answer(const struct identities *i, size_t number)
{
	return i->has_answer[number] ? i->answers.p + number * AGREE_BYTES : NULL;
}

void
identities_free(struct identities *i)
{
	secret_free(&i->answers);
	secret_free(&i->keys);
}
