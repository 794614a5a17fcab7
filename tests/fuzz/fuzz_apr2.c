/* fuzz_apr2: the properties of tests/fuzz/fuzz.h, for APR2 files. */
#include "mutate.h"

#include "formats/apr2/apr2.h"

/* The metadata where it lies is valid JSON exactly if a tree can be made of it, and has the
 * same members in the same order. */
static void
compare(const uint8_t *data, size_t size)
{
	struct members m = { 0 };
	struct spool text = { 0 };
	struct err e = ERR_INIT, said = ERR_INIT;
	size_t at, n, i = 0;
	const char *name;
	json_t *o, *v;
	int r;

	if (size < APR2_HEADER || (at = le32(data + 12)) > size || (n = le32(data + 16)) > size - at)
		return;
	if (spool_put(&text, data, size, &e) < 0) {
		must_say(e.code == ERR_MEMORY, &e);
		spool_free(&text);
		return;
	}
	r = members_scan(&m, &text, at, n, &apr2_rules, "in", at, &e);
	o = json_parse(data + at, n, ERR_CORRUPT, "metadata", &said);
	if (e.code != ERR_MEMORY && said.code != ERR_MEMORY && !strstr(e.fact, "65535 bytes"))
		must_say((r == 0) == (o != NULL), r < 0 ? &e : &said);
	json_object_foreach(r == 0 ? o : NULL, name, v) {
		const struct member *x = members_find(&m, "", name);
		json_t *again;

		must(x == &m.list[i] && strcmp(x->name, name) == 0 && x->at + x->n <= at + n);
		again = json_parse_any(data + x->at, (size_t)x->n, ERR_CORRUPT, "value", &said);
		must_say(again ? json_equal(again, v) : said.code == ERR_MEMORY, &said);
		must_say(members_is_value(&text, x->at, x->n, &apr2_rules, &e) == 1
		         || e.code == ERR_MEMORY, &e);
		json_decref(again);
		i++;
	}
	json_decref(o);
	members_free(&m);
	spool_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	compare(data, size);
	return fuzz_container(&format_apr2, data, size);
}

/* The places of a file's parts: metadata, index, frames, data and what follows. */
struct parts {
	size_t at[4], n[4];
};

static bool
find_parts(const uint8_t *p, size_t size, struct parts *x)
{
	uint64_t meta, index, data;

	if (size < APR2_HEADER + APR2_FOOTER || memcmp(p, "APR2", 4) != 0)
		return false;
	meta = le32(p + 12);
	index = le32(p + 20);
	data = le32(p + 28);
	x->n[0] = le32(p + 16);
	x->n[1] = le32(p + 24);
	if (meta < APR2_HEADER || meta + x->n[0] > index || index + x->n[1] > data ||
	    data > size - APR2_FOOTER)
		return false;
	x->at[0] = (size_t)meta;
	x->at[1] = (size_t)index;
	x->at[2] = (size_t)index + x->n[1];
	x->n[2] = (size_t)data - x->at[2];
	x->at[3] = (size_t)data;
	x->n[3] = size - APR2_FOOTER - x->at[3];
	return true;
}

/* Put the parts together again, with true offsets and a true footer. */
static void
join(struct buf *b, const uint8_t *old, size_t size, struct buf part[4])
{
	size_t i, frames;
	uint32_t crc;

	buf_put(b, old, APR2_HEADER);
	buf_put(b, part[0].p, part[0].n);
	buf_put(b, part[1].p, part[1].n);
	for (frames = part[2].n; frames > 0 && part[2].p[frames - 1] == 0;)
		frames--;
	frames = frames + 4 < part[2].n ? frames + 4 : part[2].n; /* a CRC may be 0 */
	buf_put(b, part[2].p, frames);
	buf_zeros(b, -b->n % APR2_BOUNDARY);
	i = b->n;
	buf_put(b, part[3].p, part[3].n);
	must(buf_ok(b));
	le32_put(b->p + 12, APR2_HEADER);
	le32_put(b->p + 16, (uint32_t)part[0].n);
	le32_put(b->p + 20, (uint32_t)(APR2_HEADER + part[0].n));
	le32_put(b->p + 24, (uint32_t)part[1].n);
	le32_put(b->p + 28, (uint32_t)i);
	crc = crc32_add(0, b->p, b->n);
	buf_put(b, old + size - APR2_FOOTER, APR2_FOOTER);
	must(buf_ok(b));
	le32_put(b->p + b->n - APR2_FOOTER, crc);
	le64_put(b->p + b->n - 8, b->n);
}

/* Change one of the frames that a part begins with. */
static void
change_frame(struct buf *part, unsigned seed)
{
	struct piece list[32];
	size_t n = mutate_frames(part->p, part->n, list, sizeof list / sizeof *list);
	const struct piece *p = &list[n ? seed % n : 0];
	size_t after;
	struct buf b = { 0 };

	if (n == 0) {
		mutate_put_frame(&b, seed & 1 ? "blob" : "xtra", "{}", 2, "abc", seed % 4);
		buf_put(&b, part->p, part->n);
	} else {
		after = p->at + FRAME_OVERHEAD + p->head + p->body;
		buf_put(&b, part->p, p->at);
		mutate_frame(&b, part->p, p, seed / 64);
		buf_put(&b, part->p + after, part->n - after);
	}
	buf_free(part);
	*part = b;
}

/* The frames behind the data begin at some multiple of 64. */
static void
change_tail(struct buf *part, unsigned seed)
{
	struct buf tail = { 0 };
	struct piece one;
	size_t at;

	for (at = 0; at + FRAME_OVERHEAD <= part->n; at += APR2_BOUNDARY)
		if (mutate_frames(part->p + at, part->n - at, &one, 1) &&
		    memcmp(part->p + at, "\0\0\0\0", 4) != 0)
			break;
	if (at >= part->n)
		at = part->n;
	buf_put(&tail, part->p + at, part->n - at);
	change_frame(&tail, seed);
	part->n = at;
	buf_put(part, tail.p, tail.n);
	buf_free(&tail);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const uint8_t choice[16] = { 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 9, 9, 9 };
	unsigned which = choice[seed % 16], i;
	struct buf part[4] = { { 0 } }, b = { 0 };
	struct parts x;

	if (which == 9 || !find_parts(data, size, &x))
		return LLVMFuzzerMutate(data, size, max);
	for (i = 0; i < 4; i++)
		buf_put(&part[i], data + x.at[i], x.n[i]);
	if (which == 2)
		change_frame(&part[2], seed / 16);
	else if (which == 4)
		change_tail(&part[3], seed / 16);
	else
		mutate_piece(&part[which], 0, &x.n[which]);
	join(&b, data, size, part);
	for (i = 0; i < 4; i++)
		buf_free(&part[i]);
	return mutate_done(&b, data, size, max);
}
