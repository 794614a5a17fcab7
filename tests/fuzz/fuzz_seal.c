/* fuzz_seal: input of the tools that open seals. Nothing comes out that was not sealed,
 * whatever the input is.
 *
 * An input that begins with "APRM" is a message. One that begins with an upper-case letter
 * or a brace is the text of an identity file, of recipients, or the head of an SKEY frame.
 * Any other is a list of changes, four
 * bytes each, of a genuine sealed stream: an offset, and what is combined with the bytes
 * there by exclusive or. Where that stream still opens, all of it is as it was; where it
 * does not, what had come out until then is.
 */
#include <sys/mman.h>

#include "fuzz.h"

#include "core/le.h"
#include "crypto/seal/message.h"
#include "crypto/seal/seal.h"

static const char identity[] =
	"AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
static const char recipient[] =
	"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

static const uint8_t *genuine;
static size_t genuine_bytes;
static struct openers with;
static struct buf plain;        /* all bodies that stand in it, one after another */
static struct digest root;

/* ---- the genuine stream ---- */

static void
put(struct sink *s, struct item item, const void *body, size_t n, struct err *e)
{
	item.bytes = n;
	must_say(sink_put(s, &item, e) == 0 && sink_write(s, body, n, e) == 0 &&
	         sink_put_end(s, e) == 0, e);
}

static void
make_plan(struct model *m, struct err *e)
{
	static const uint64_t dims[] = { 2, 16 };
	struct value_type text = { .leaf = VALUE_STRING }, list = { .depth = 1,
		.leaf = VALUE_U8 };
	static const uint8_t word[] = "\3\0\0\0\0\0\0\0abc";
	struct tensor *t;
	int i;

	must(model_init(m, e) == 0);
	must(model_add_meta(m, "word", 4, text, word, 11, e) == 0);
	must(model_add_meta_blob(m, "list", 4, list, 14, e) == 0);
	must(model_add_blob(m, "side", "text", 5, e) == 0);
	m->licence = 3;
	for (i = 0; i < 2; i++) {
		t = tensor_new(i ? "b" : "a", 1, dtype_by_name("I8"), 2, dims, TENSOR_OWN_SIZE, "x",
		               e);
		must(t && model_add_tensor(m, t, e) == 0);
	}
	must(model_add_prov(m, 2, e) == 0);
	must(model_check(m, "x", e) == 0);
}

static void
make_stream(struct sink *s, struct model *m, struct err *e)
{
	static const uint8_t list[] = "\0\0\0\0\2\0\0\0\0\0\0\0\7\x08";
	uint8_t body[32];
	size_t i;

	must_say(sink_begin(s, m, e) == 0, e);
	put(s, (struct item){ .kind = ITEM_BLOB }, list, 14, e);
	put(s, (struct item){ .kind = ITEM_BLOB, .index = 1 }, "files", 5, e);
	put(s, (struct item){ .kind = ITEM_LICENCE }, "MIT", 3, e);
	for (i = 0; i < 2; i++) {
		memset(body, 'a' + (int)i, sizeof body);
		put(s, (struct item){ .kind = ITEM_TENSOR, .index = i }, body, sizeof body, e);
	}
	put(s, (struct item){ .kind = ITEM_PROV, .head = "{}", .head_bytes = 2 }, NULL, 0, e);
	must_say(sink_end(s, e) == 0, e);
}

static int opened(const uint8_t *data, size_t size, struct digest *digest, struct buf *b,
                  struct err *e);

static void
make(void)
{
	static struct skey skey;
	static struct recipients to;
	uint8_t data[SKEY_DATA], pair[AGREE_BYTES];
	struct err e = ERR_INIT;
	struct model m;
	struct out out;
	struct sink *stream, *seal;
	int fd = memfd_create("sealed", 0);

	memset(data, 1, sizeof data);
	memset(pair, 2, sizeof pair);
	memset(skey.salt, 3, sizeof skey.salt);
	must(recipients_add(&to, recipient, &e) == 0);
	must(skey_add_recipient(&skey, data, to.key[0], pair, &e) == 0);
	make_plan(&m, &e);
	must(fd >= 0 && out_fd(&out, dup(fd), "sealed", &e) == 0);
	stream = stream_sink(&out, &e);
	seal = seal_sink(stream, &skey, data, NULL, &e);
	make_stream(seal, &m, &e);
	sink_close(seal);
	sink_close(stream);
	model_free(&m);
	genuine = fuzz_map(fd, &genuine_bytes);
	must(identities_parse(&with.identities, (const uint8_t *)identity, strlen(identity),
	                      "x", &e) == 0);
	must_say(opened(genuine, genuine_bytes, &root, &plain, &e) == 0, &e);
	must(plain.n == 14 + 5 + 3 + 64);
}

/* ---- opening ---- */

struct watch {
	struct witness witness;
	struct model plan;
	struct buf *seen;
	bool begun;
};

static int
watch_plan(void *ctx, struct model *out, struct err *e)
{
	struct watch *w = ctx;

	if (model_copy(&w->plan, out, e) < 0)
		return -1;
	w->begun = true;
	return witness_begin(&w->witness, &w->plan, 1, e);
}

static int
watch_item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	(void)out;
	return witness_item(&((struct watch *)ctx)->witness, in, e);
}

static int
watch_data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
           struct err *e)
{
	struct watch *w = ctx;

	(void)sink;
	buf_put(w->seen, p, n);
	return witness_data(&w->witness, in, p, n, e);
}

static int
watch_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	(void)sink;
	return witness_item_end(&((struct watch *)ctx)->witness, in, e);
}

static int
watch_finish(void *ctx, struct sink *sink, struct err *e)
{
	(void)sink;
	return witness_finish(&((struct watch *)ctx)->witness, e);
}

/* All bodies that come out into b, and the root of the content. 0 or -1. */
static int
opened(const uint8_t *data, size_t size, struct digest *digest, struct buf *b, struct err *e)
{
	struct watch w = { .seen = b };
	struct flow f = { .plan = watch_plan, .item = watch_item, .data = watch_data,
		.item_end = watch_end, .finish = watch_finish, .ctx = &w };
	struct source *inner, *source = NULL;
	struct reader r;
	int status = -1;

	reader_memory(&r, data, size, "input", e);
	inner = stream_source(&r, e);
	if (inner)
		source = seal_source(inner, &with, NULL, e);
	if (source)
		status = flow_run(source, NULL, &f, e);
	if (status == 0)
		*digest = w.witness.content.root;
	if (w.begun) {
		witness_free(&w.witness);
		model_free(&w.plan);
	}
	source_close(source);
	source_close(inner);
	return status;
}

static void
changed(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(genuine_bytes);
	struct buf seen = { 0 };
	struct err e = ERR_INIT;
	struct digest got;
	int r;

	must(p);
	memcpy(p, genuine, genuine_bytes);
	for (; size >= 4; data += 4, size -= 4) {
		size_t at = le16(data) % (genuine_bytes - 1);

		p[at] ^= data[2];
		p[at + 1] ^= data[3];
	}
	/* What is left over of the list cuts the stream. */
	r = opened(p, genuine_bytes - (size && data[0] < genuine_bytes ? data[0] : 0), &got,
	           &seen, &e);
	must(buf_ok(&seen) && seen.n <= plain.n &&
	     (!seen.n || memcmp(seen.p, plain.p, seen.n) == 0));
	if (r == 0) {
		must(digest_equal(&got, &root) && seen.n == plain.n);
	} else {
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
		must(e.code != ERR_NONE);
	}
	buf_free(&seen);
	free(p);
}

/* ---- texts ---- */

static void
head(const uint8_t *data, size_t size)
{
	static struct skey s, again;
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	uint8_t key[SKEY_DATA];

	if (skey_parse(data, size, &s, "input", &e) < 0) {
		if (e.code != ERR_MEMORY || !strstr(e.fact, "this tool spends"))
			fuzz_refused(&e, true);
		return;
	}
	if (s.n == 0) {
		must(s.unknown > 0 && skey_open(&s, &with, key, "input", &e) < 0);
		return;
	}
	must(skey_write(&s, &b, &e) == 0);
	must_say(skey_parse(b.p, b.n, &again, "again", &e) == 0, &e);
	/* Only the stanzas of known types are written. */
	must(s.n == again.n && memcmp(s.stanzas, again.stanzas, sizeof s.stanzas) == 0);
	/* A passphrase would take its time. */
	if (!s.stanzas[0].password && skey_open(&s, &with, key, "input", &e) < 0)
		must_say(e.code == ERR_DECRYPT, &e);
	buf_free(&b);
}

/* Nobody has sealed it: a message that opens is one of the corpus, of these words. */
static void
message(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct secret words;
	struct addressee reply;
	bool asks;

	if (message_open(&with.identities, data, size, &words, &asks, &reply, "input", &e) < 0)
		must(e.code == ERR_DECRYPT || e.code == ERR_CORRUPT || e.code == ERR_VERSION ||
		     e.code == ERR_FORMAT);
	else
		must_say(words.n == 6 && memcmp(words.p, "words\n", 6) == 0, &e);
	secret_free(&words);
	addressee_free(&reply);
}

static void
texts(const uint8_t *data, size_t size)
{
	static struct recipients to;
	struct identities i = { .keys = { 0 } };
	struct err e = ERR_INIT, f = ERR_INIT, g = ERR_INIT;
	struct addressee a;

	if (identities_parse(&i, data, size, "input", &e) == 0) {
		must(identities_count(&i) > 0);
	} else {
		must(e.code == ERR_FORMAT || e.code == ERR_USAGE);
		fuzz_printable(e.fact);
	}
	identities_free(&i);
	if (addressee_parse(&a, data, size, "input", &g) < 0)
		must(g.code == ERR_FORMAT);
	addressee_free(&a);
	to.n = 0;
	if (recipients_parse(&to, (const char *)data, size, "input", &f) == 0)
		must(to.n > 0);
	else
		must(f.code == ERR_FORMAT || f.code == ERR_USAGE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!genuine)
		make();
	if (size >= 4 && memcmp(data, "APRM", 4) == 0)
		message(data, size);
	else if (size > 0 && data[0] == '{')
		head(data, size);
	else if (size > 0 && ((data[0] >= 'A' && data[0] <= 'Z') || data[0] == '#'))
		texts(data, size);
	else
		changed(data, size);
	return 0;
}
