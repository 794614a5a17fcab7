/* A sealed stream, changed in its structure by somebody who computes checksums and lengths
 * anew but has no key: whatever comes out is the beginning of what was sealed, and all of
 * it if the end comes. APR_MUTATIONS: how many (2000).
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/out.h"
#include "crypto/seal/seal.h"
#include "stream/stream.h"
#include "test.h"

#include "mutations.h"

static const char plan_text[] =
	"{\"version\":1,\"source\":{\"format\":\"gguf\",\"version\":3},\"metadata\":["
	"[\"general.architecture\",\"string\",\"llama\"],[\"general.name\",\"string\",\"m\"],"
	"[\"llama.rope.freq_base\",\"f32\",\"10000\"],[\"i\",\"i64\",-7],"
	"[\"tokens\",\"array:string\",[\"a\",\"b\",\"c\"]],[\"config\",\"json\",\"{\\\"a\\\":1}\"]],"
	"\"blobs\":[[\"README\",\"text\",5],[\"other\",\"text\",5]],\"licence\":4,"
	"\"tensors\":[[\"a\",\"F32\",[2,3]],[\"b\",\"Q8_0\",[1,32]],[\"c\",\"F32\",[6]]],"
	"\"provenance\":[17],\"signatures\":0}";

static void
make_plain(struct gen *g)
{
	struct frames s = { .n = 0 };

	put_frame(&s, "plan", "APRS", plan_text);
	put_text(put_frame(&s, "", "blob", "{\"name\":\"README\",\"type\":\"text\"}"), "hello");
	put_text(put_frame(&s, "", "blob", "{\"name\":\"other\",\"type\":\"text\"}"), "world");
	put_text(put_frame(&s, "", "lice", "{}"), "free");
	put_ramp(put_frame(&s, "", "TENS", "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2,3]}"), 24);
	put_ramp(put_frame(&s, "", "TENS", "{\"name\":\"b\",\"dtype\":\"Q8_0\",\"shape\":[1,32]}"), 34);
	put_ramp(put_frame(&s, "", "TENS", "{\"name\":\"c\",\"dtype\":\"F32\",\"shape\":[6]}"), 24);
	put_frame(&s, "", "prov", "{\"operation\":\"x\"}");
	put_frame(&s, "", "DONE", "{\"tensors\":3}");
	write_frames(g, &s);
	frames_free(&s);
}

static struct sink *
open_stream(int *fd, struct err *e)
{
	struct out out;

	open_memory(&out, fd, e);
	return stream_sink(&out, e);
}

static struct openers with;
static struct skey skey;
static uint8_t data_key[SKEY_DATA];

static void
make_keys(struct err *e)
{
	static const char identity[] =
		"AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
	uint8_t public[AGREE_BYTES], pair[AGREE_BYTES];

	memset(data_key, 1, sizeof data_key);
	memset(pair, 2, sizeof pair);
	memset(skey.salt, 3, sizeof skey.salt);
	identities_parse(&with.identities, (const uint8_t *)identity, strlen(identity), "x", e);
	agree_public(identities_key(&with.identities, 0), public, e);
	skey_add_recipient(&skey, data_key, public, pair, e);
	pair[0] = 5;
	public[0] ^= 1; /* somebody else */
	skey_add_recipient(&skey, data_key, public, pair, e);
}

static int
seal(const struct gen *plain, struct gen *sealed, struct err *e)
{
	static const struct flow straight;
	struct reader r;
	struct source *source;
	struct sink *sink, *outer;
	int fd, n;

	reader_memory(&r, plain->p, plain->n, "in", e);
	source = stream_source(&r, e);
	sink = open_stream(&fd, e);
	outer = seal_sink(sink, &skey, data_key, NULL, e);
	n = source && outer ? flow_run(source, outer, &straight, e) : -1;
	sink_close(outer);
	sink_close(sink);
	source_close(source);
	slurp(fd, sealed);
	return n;
}

/* 0 if all of it opened; what came out, in every case. */
static int
open_sealed(const struct gen *sealed, struct gen *out)
{
	static const struct flow straight;
	struct err e = ERR_INIT;
	struct reader r;
	struct source *source, *opened = NULL;
	struct sink *sink;
	int fd, n = -1;

	reader_memory(&r, sealed->p, sealed->n, "in", &e);
	source = stream_source(&r, &e);
	sink = open_stream(&fd, &e);
	if (source) {
		source->sealed_too = true;
		opened = seal_source(source, &with, NULL, &e);
	}
	if (opened)
		n = flow_run(opened, sink, &straight, &e);
	source_close(opened);
	source_close(source);
	sink_close(sink);
	slurp(fd, out);
	return n;
}

/* Its length stands in the plan: as somebody would who wants the change to be read. */
static void
restate(struct frames *s)
{
	char *at = strstr(s->list[0].head, "\"sealed\":");
	char number[24];
	struct gen g = { 0 };
	size_t i, n;

	for (i = 1; i < s->n && strcmp(s->list[i].kind, "SKEY") != 0; i++)
		;
	if (!at || i == s->n || chance(8) == 0)
		return;
	snprintf(number, sizeof number, "%zu", s->list[i].head_n);
	at += 9;
	n = (size_t)(at - s->list[0].head);
	put(&g, s->list[0].head, n);
	put_text(&g, number);
	put_text(&g, at + strspn(at, "0123456789"));
	put_u8(&g, 0);
	free(s->list[0].head);
	s->list[0].head = (char *)g.p;
	s->list[0].head_n = g.n - 1;
}

static void
change(struct gen *out, const struct frames *base)
{
	struct frames s = { .n = 0 };
	size_t i, n = 1 + chance(3);

	for (i = 0; i < base->n; i++)
		copy_frame(&s, s.n, &base->list[i]);
	while (n-- > 0) {
		if (chance(3) == 0)
			mutate_head(&s.list[1]); /* SKEY, unless frames were moved */
		else
			mutate_frames(&s);
	}
	restate(&s);
	out->n = 0;
	write_frames(out, &s);
	frames_free(&s);
}

static size_t
first_frame(const struct gen *g)
{
	return g->n < 24 ? g->n : 24 + (size_t)frame_number(g->p + 4, 4);
}

/* Is what came out the beginning of the plain stream, but for what no seal binds? */
static bool
is_beginning(const struct gen *out, const struct gen *plain)
{
	struct lines have = { .n = 0 }, want = { .n = 0 };
	size_t a = first_frame(out), b = first_frame(plain);
	struct gen have_plan = { .p = out->p, .n = a }, want_plan = { .p = plain->p, .n = b };
	bool same;

	if (out->n == 0)
		return true;
	if (out->n < a || out->n - a > plain->n - b ||
	    memcmp(out->p + a, plain->p + b, out->n - a) != 0)
		return false;
	stream_meaning(&have, &have_plan);
	stream_meaning(&want, &want_plan);
	same = same_meaning(&want, &have);
	lines_free(&have);
	lines_free(&want);
	return same;
}

static void
mutate(const struct gen *plain, const struct frames *base, size_t count)
{
	size_t i, opened = 0, some = 0, wrong = 0;
	struct gen changed = { 0 }, out = { 0 };

	for (i = 0; i < count; i++) {
		int r;

		change(&changed, base);
		r = open_sealed(&changed, &out);
		opened += r == 0;
		some += r < 0 && out.n > 0;
		if (!is_beginning(&out, plain) ||
		    (r == 0 && out.n - first_frame(&out) != plain->n - first_frame(plain))) {
			printf("# change %zu: %zu bytes came out, status %d\n", i, out.n, r);
			wrong++;
		}
	}
	test_ok(wrong == 0, "of %zu changed streams %zu open, of %zu a part comes out, and %zu "
	        "give what was not sealed", count, opened, some, wrong);
	test_ok(opened > 0 && some > 0, "what no seal binds was changed too");
	gen_free(&changed);
	gen_free(&out);
}

int
main(void)
{
	const char *text = getenv("APR_MUTATIONS");
	size_t count = text ? strtoul(text, NULL, 10) : 2000;
	struct gen plain = { 0 }, sealed = { 0 }, out = { 0 };
	struct frames base = { .n = 0 };
	struct err e = ERR_INIT;
	FILE *f;

	make_plain(&plain);
	make_keys(&e);
	test_ok(seal(&plain, &sealed, &e) == 0, "a sealed stream");
	f = fmemopen(sealed.p, sealed.n, "rb");
	frames_read(f, &base);
	fclose(f);
	test_ok(open_sealed(&sealed, &out) == 0 && is_beginning(&out, &plain) &&
	        out.n - first_frame(&out) == plain.n - first_frame(&plain),
	        "it opens, and is what it was");
	mutate(&plain, &base, count);
	gen_free(&plain);
	gen_free(&sealed);
	gen_free(&out);
	frames_free(&base);
	openers_free(&with);
	return test_done();
}
