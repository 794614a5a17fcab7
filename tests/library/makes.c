/* makes: writes, converts, quantizes, judges, signs, verifies, seals and opens models by the public
 * headers alone, one command a line from standard input:
 *
 *     convert IN OUT OPTION ...  OUT: a file; mem:FILE, written through the program; app:FILE, by
 *                                appending. OPTION: NAME, NAME=VALUE of a maker, or
 *                                @sign=KEY @verify=KEY @seal=KEY @outer=KEY @vault=KEY @open=KEY
 *                                @pass=TEXT @openpass=TEXT @sealed @imatrix=FILE @threads=N @stop
 *                                @seconds=N @memory=N @mem @from=FORMAT
 *     verify IN KEY [NAME]       prints what the signer states
 *     check IN OUT               the report as JSON
 *     keys SECRET PUBLIC         new keys, and
 *     identity FILE RECIPIENT
 *     build OUT OPTION ...       a model of the program
 *
 * A command that fails prints "NUMBER TEXT". At the end nothing is left of what the library allocated
 * through this program. Random bytes are those of a counter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aprml/aprml.h>

#define WORDS 24

static struct aprml_error e;

/* ---- the program around the library ---- */

static long blocks;
static uint64_t chance = 1;

static void *
resize(void *ctx, void *p, size_t n)
{
	(void)ctx;
	if (n == 0) {
		blocks -= p != NULL;
		free(p);
		return NULL;
	}
	blocks += p == NULL;
	return realloc(p, n);
}

static int
fill(void *ctx, void *p, size_t n)
{
	size_t i;

	(void)ctx;
	for (i = 0; i < n; i++) {
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		((unsigned char *)p)[i] = (unsigned char)(chance >> 56);
	}
	return 0;
}

/* ---- bytes ---- */

struct bytes {
	unsigned char *p;
	size_t n, cap;
	int ended;
};

static struct bytes
read_file(const char *path)
{
	struct bytes b = { NULL, 0, 0, 0 };
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	b.n = (size_t)ftell(f);
	b.p = (unsigned char *)malloc(b.n + 1);
	rewind(f);
	if (!b.p || fread(b.p, 1, b.n, f) != b.n)
		exit(1);
	fclose(f);
	return b;
}

static void
write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct bytes *b = (struct bytes *)ctx;

	if (at + n > b->cap) {
		b->cap = 2 * (size_t)(at + n);
		b->p = (unsigned char *)realloc(b->p, b->cap);
	}
	if (!b->p)
		return -1;
	memcpy(b->p + at, p, n);
	if (at + n > b->n)
		b->n = (size_t)(at + n);
	return 0;
}

static int
append(void *ctx, uint64_t at, const void *p, size_t n)
{
	return at == ((struct bytes *)ctx)->n ? take(ctx, at, p, n) : -1;
}

static int
complete(void *ctx, uint64_t n)
{
	struct bytes *b = (struct bytes *)ctx;

	b->ended = n == b->n;
	return 0;
}

/* ---- commands ---- */

/* The value of a word "@NAME=VALUE", or of "@NAME" "", or NULL. */
static const char *
is(const char *word, const char *name)
{
	size_t n = strlen(name);

	if (word[0] != '@' || strncmp(word + 1, name, n) != 0)
		return NULL;
	return word[n + 1] == '=' ? word + n + 2 : word[n + 1] ? NULL : word + n + 1;
}

static const char *
option(char **words, int n, const char *name)
{
	const char *value;
	int i;

	for (i = 0; i < n; i++)
		if ((value = is(words[i], name)))
			return value;
	return NULL;
}

/* A ring with the keys of a file and a passphrase, NULL without both. */
static struct aprml_ring *
ring_of(const char *path, const char *passphrase)
{
	struct aprml_ring *r = path || passphrase ? aprml_ring_open(&e) : NULL;
	struct bytes b;
	int bad = 0;

	if (r && path) {
		b = read_file(path);
		bad = aprml_ring_add(r, b.p, b.n, NULL, 0, &e) < 0;
		free(b.p);
	}
	if (r && passphrase && aprml_ring_passphrase(r, passphrase, strlen(passphrase), &e) < 0)
		bad = 1;
	if (bad) {
		printf("%d %s\n", e.code, e.text);
		exit(1);
	}
	return r;
}

static int
stop(void *ctx, uint64_t done, uint64_t all)
{
	(void)ctx;
	return done > all / 2;
}

static int
stages(struct aprml_maker *k, char **words, int n, struct aprml_ring **rings)
{
	const char *imatrix = option(words, n, "imatrix");
	struct bytes b;
	int i, r;

	for (i = 0; i < n; i++) {
		char *equals = strchr(words[i], '=');

		if (words[i][0] == '@')
			continue;
		if (equals)
			*equals = '\0';
		if (aprml_maker_set(k, words[i], equals ? equals + 1 : NULL, &e) < 0)
			return -1;
	}
	if (imatrix) {
		b = read_file(imatrix);
		r = aprml_maker_importance(k, b.p, b.n, imatrix, &e);
		free(b.p);
		if (r < 0)
			return -1;
	}
	if ((rings[0] && aprml_maker_sign(k, rings[0], &e) < 0) ||
	    (rings[1] && aprml_maker_verify(k, rings[1], NULL, &e) < 0) ||
	    (rings[2] && aprml_maker_seal(k, rings[2], rings[3], &e) < 0) ||
	    (rings[4] && aprml_maker_vault(k, rings[4], &e) < 0))
		return -1;
	return 0;
}

/* A small model: what 0, 1, 2, … look like in each kind. */
static int
build(struct aprml_maker *k)
{
	static const char *const words[] = { "one", "two", "" };
	static const uint64_t dims[] = { 3, 32 }, none[] = { 0, 4 };
	static int32_t many[3000];
	uint32_t u = 7;
	float x[96], y = 0.5f;
	size_t i;

	for (i = 0; i < 96; i++)
		x[i] = (float)i - 40;
	for (i = 0; i < 3000; i++)
		many[i] = (int32_t)i - 1500;
	if (aprml_maker_key(k, "general.architecture", "string", "llama", 5, &e) < 0 ||
	    aprml_maker_key(k, "u", "u32", &u, 1, &e) < 0 ||
	    aprml_maker_key(k, "y", "f32", &y, 1, &e) < 0 ||
	    aprml_maker_key(k, "words", "array:string", words, 3, &e) < 0 ||
	    aprml_maker_key(k, "many", "array:i32", many, 3000, &e) < 0 ||
	    aprml_maker_file(k, "notes.txt", "text", "hello", 5, &e) < 0 ||
	    aprml_maker_tensor(k, "a.weight", "F32", 2, dims, &e) < 0 ||
	    aprml_maker_tensor(k, "empty", "F32", 2, none, &e) < 0 ||
	    aprml_maker_tensor(k, "b", "F32", 1, dims + 1, &e) < 0)
		return -1;
	/* In pieces that end inside of a value. */
	if (aprml_maker_data(k, x, 101, &e) < 0 ||
	    aprml_maker_data(k, (const char *)x + 101, sizeof x - 101, &e) < 0 ||
	    aprml_maker_data(k, x, 32 * sizeof *x, &e) < 0)
		return -1;
	return aprml_maker_end(k, &e);
}

/* The model opened, from memory if that is asked for; in: its bytes then. */
static struct aprml *
open_in(const char *path, char **words, int n, const struct aprml_ring *ring, struct bytes *in)
{
	struct aprml_origin o = { sizeof o, NULL, NULL, 0, NULL, NULL, NULL, 0, NULL };

	if (option(words, n, "mem")) {
		*in = read_file(path);
		o.p = in->p;
		o.n = in->n;
	} else {
		o.path = path;
	}
	o.from = option(words, n, "from");
	o.ring = ring;
	o.sealed = option(words, n, "sealed") != NULL;
	return aprml_open_origin(&o, &e);
}

static int
make(const char *from, const char *to, char **words, int n)
{
	struct aprml_work work = { sizeof work, 0, 0, 0, NULL, NULL, NULL };
	struct aprml_output out = { sizeof out, NULL, 1, NULL, NULL, NULL, 0 };
	struct bytes in = { NULL, 0, 0, 0 }, b = { NULL, 0, 0, 0 };
	const char *text;
	struct aprml_ring *rings[] = { ring_of(option(words, n, "sign"), NULL),
		ring_of(option(words, n, "verify"), NULL),
		ring_of(option(words, n, "seal"), option(words, n, "pass")),
		ring_of(option(words, n, "outer"), NULL), ring_of(option(words, n, "vault"), NULL),
		ring_of(option(words, n, "open"), option(words, n, "openpass")) };
	struct aprml *m = NULL;
	struct aprml_maker *k;
	int r = -1, i;

	if ((text = option(words, n, "threads")))
		work.threads = (unsigned)atoi(text);
	if ((text = option(words, n, "seconds")))
		work.seconds = atof(text);
	if ((text = option(words, n, "memory")))
		work.memory = strtoull(text, NULL, 10);
	work.progress = option(words, n, "stop") ? stop : NULL;
	out.path = strncmp(to, "mem:", 4) && strncmp(to, "app:", 4) ? to : NULL;
	if (!out.path) {
		out.write = *to == 'a' ? append : take;
		out.end = complete;
		out.ctx = &b;
		out.appends = *to == 'a';
	}
	k = aprml_maker_open(&out, &work, &e);
	if (k && stages(k, words, n, rings) == 0) {
		if (from && (m = open_in(from, words, n, rings[5], &in)))
			r = aprml_maker_model(k, m, &e);
		else if (!from)
			r = build(k);
	}
	aprml_maker_close(k);
	aprml_close(m);
	if (b.ended)
		write_file(to + 4, b.p, b.n);
	if (r == 0 && !out.path && !b.ended)
		exit(1);
	for (i = 0; i < 6; i++)
		aprml_ring_close(rings[i]);
	free(b.p);
	free(in.p);
	return r;
}

static int
verify(char **words, int n)
{
	struct aprml_wants wants = { sizeof wants, 0, n > 3 ? words[3] : NULL, NULL };
	struct aprml_origin o = { sizeof o, words[1], NULL, 0, NULL, NULL, NULL, 1, NULL };
	struct aprml *m = aprml_open_origin(&o, &e);
	struct aprml_ring *ring = ring_of(words[2], NULL);
	struct aprml_verdict v = { sizeof v, "", "", 0, "", "", "", "" };
	int r = m ? aprml_verify(m, ring, &wants, NULL, &v, &e) : -1;

	if (r == 0)
		printf("%s %s%s name=%s version=%s date=%s comment=%s\n", v.key, v.root,
		       v.sealed ? " sealed" : "", v.name, v.version, v.date, v.comment);
	aprml_ring_close(ring);
	aprml_close(m);
	return r;
}

static int
check(const char *from, const char *to)
{
	struct aprml *m = aprml_open(from, &e);
	struct aprml_report *report = m ? aprml_check(m, NULL, NULL, &e) : NULL;
	struct aprml_finding f = { sizeof f, APRML_INFO, NULL, NULL, NULL, NULL };
	const char *json;
	size_t n, i;

	if (report) {
		json = aprml_report_json(report, &n);
		write_file(to, json, n);
		for (i = 0; aprml_report_finding(report, i, &f) == 0; i++)
			if (f.level == APRML_ERROR)
				printf("%s %s\n", f.id, f.fact);
		printf("%u %s, %lu errors\n", aprml_report_score(report), aprml_report_word(report),
		       (unsigned long)aprml_report_count(report, APRML_ERROR));
	}
	aprml_report_close(report);
	aprml_close(m);
	return report ? 0 : -1;
}

static int
keys(const char *secret, const char *public_path)
{
	char a[APRML_KEY], b[APRML_KEY];

	if (aprml_key_new(NULL, 0, a, b, &e) < 0)
		return -1;
	write_file(secret, a, strlen(a));
	write_file(public_path, b, strlen(b));
	return 0;
}

static int
identity(const char *path, const char *recipient)
{
	char a[APRML_IDENTITY], b[APRML_IDENTITY];

	if (aprml_identity_new(a, b, &e) < 0)
		return -1;
	write_file(path, a, strlen(a));
	write_file(recipient, b, strlen(b));
	return 0;
}

static int
command(char **words, int n)
{
	if (strcmp(words[0], "convert") == 0 && n >= 3)
		return make(words[1], words[2], words + 3, n - 3);
	if (strcmp(words[0], "build") == 0 && n >= 2)
		return make(NULL, words[1], words + 2, n - 2);
	if (strcmp(words[0], "verify") == 0 && n >= 3)
		return verify(words, n);
	if (strcmp(words[0], "check") == 0 && n == 3)
		return check(words[1], words[2]);
	if (strcmp(words[0], "keys") == 0 && n == 3)
		return keys(words[1], words[2]);
	if (strcmp(words[0], "identity") == 0 && n == 3)
		return identity(words[1], words[2]);
	exit(2);
}

int
main(void)
{
	const struct aprml_host host = { sizeof host, resize, fill, NULL };
	char line[4096], *words[WORDS], *word;
	int n;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (getenv("PLAIN") == NULL && aprml_set_host(&host, &e) < 0)
		return 1;
	while (fgets(line, sizeof line, stdin)) {
		for (n = 0, word = strtok(line, " \n"); word && n < WORDS; word = strtok(NULL, " \n"))
			words[n++] = word;
		if (n > 0 && command(words, n) < 0)
			printf("%d %s\n", e.code, e.text);
	}
	if (blocks != 0)
		printf("%ld blocks are left\n", blocks);
	return blocks != 0;
}
