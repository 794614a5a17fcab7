#include "test.h"

#include "apr2_parts.h"
#include "stream/frame.h"

struct row {
	const char *kind, *head;
	unsigned body;
	bool without_body;  /* announced, but left out */
};

static void
put_rows(struct buf *b, const struct row *rows)
{
	for (; rows->kind; rows++) {
		frame_build(b, rows->kind, rows->head, strlen(rows->head), rows->body);
		if (rows->without_body)
			continue;
		buf_zeros(b, rows->body);
		buf_u32(b, crc32_add(0, b->p + b->n - rows->body, rows->body));
	}
}

/* One empty tensor, a blob of 3 bytes, a licence of 2, a prov. */
static void
make_framed(struct buf *b, const struct row *before, const struct row *after)
{
	static const char json[] = "{" DERIVED "\"apr_stream\":{\"version\":1,\"source\":{},"
		"\"metadata\":[],\"blobs\":[[\"b\",\"file\",3]],\"licence\":2,"
		"\"provenance\":[2],\"signatures\":0}}"
		"                "; /* the frames end where they must */
	static const uint64_t none[] = { 0 };

	buf_clear(b);
	buf_put(b, "APR2\2\0\0\0\x82\0\0\0\x20\0\0\0", 16);
	buf_u32(b, sizeof json - 1);
	buf_u32(b, 32 + sizeof json - 1);
	buf_u32(b, 8 + 41);
	buf_u32(b, 0);
	buf_text(b, json);
	buf_u32(b, 1);
	buf_u32(b, 0);
	put_entry(b, "t", 0, 1, none, 0, 0);
	put_rows(b, before);
	pad_to(b, 64);
	le32_put(b->p + 28, (uint32_t)b->n);
	put_rows(b, after);
	close_file(b);
}

#define BLOB { "blob", "{\"name\":\"b\",\"type\":\"file\"}", 3, false }
#define LICE { "lice", "{}", 2, false }
#define PROV { "prov", "{}", 0, false }
#define SUMS { "sums", APR2_SUMS_HEAD, 4, false }
#define LONG "{\"a\":\"01234567890123456789012345678901234567890123456789\"}"

static void
test_frames(void)
{
	static const struct {
		const char *name;
		struct row before[4], after[4];
		enum err_code code;
		const char *fact;
	} rows[] = {
		{ "all frames", { BLOB, LICE }, { SUMS, PROV }, ERR_NONE, "" },
		{ "no sums", { BLOB, LICE }, { PROV }, ERR_NONE, "" },
		{ "a head spelled otherwise", { { "blob", "{\"type\": \"file\", \"name\": \"b\"}",
		  3, false }, LICE }, { SUMS, PROV }, ERR_NONE, "" },
		{ "unknown frames in lower case", { BLOB, { "note", "{}", 5, false }, LICE },
		  { { "note", "{}", 5, false }, SUMS, PROV }, ERR_NONE, "" },
		{ "no blob", { LICE }, { PROV }, ERR_CORRUPT, "is not there" },
		{ "no licence", { BLOB }, { PROV }, ERR_CORRUPT, "is not there" },
		{ "two blobs", { BLOB, BLOB, LICE }, { PROV }, ERR_CORRUPT, "one more" },
		{ "two licences", { BLOB, LICE, LICE }, { PROV }, ERR_CORRUPT, "one more" },
		{ "a blob after the licence", { LICE, BLOB }, { PROV }, ERR_CORRUPT,
		  "out of order" },
		{ "a blob of 4 bytes", { { "blob", "{\"name\":\"b\",\"type\":\"file\"}", 4, false },
		  LICE }, { PROV }, ERR_CORRUPT, "a body of 4 bytes" },
		{ "another blob", { { "blob", "{\"name\":\"c\",\"type\":\"file\"}", 3, false },
		  LICE }, { PROV }, ERR_CORRUPT, "contradicts" },
		{ "a blob whose head is not JSON", { { "blob", "{", 3, false }, LICE }, { PROV },
		  ERR_CORRUPT, "not valid JSON" },
		{ "a licence of 3 bytes", { BLOB, { "lice", "{}", 3, false } }, { PROV },
		  ERR_CORRUPT, "a body of 3 bytes" },
		{ "a frame over the data", { BLOB, { "lice", "{}", 100, true } },
		  { PROV, PROV, PROV }, ERR_CORRUPT, "reaches into" },
		{ "a licence of no bytes", { BLOB, { "lice", LONG, 0, true } }, { PROV }, ERR_CORRUPT,
		  "a body of 0 bytes" },
		{ "an unknown frame in upper case", { BLOB, { "SPAR", "{}", 2, false } }, { PROV },
		  ERR_FORMAT, "must not pass" },
		{ "a prov before the data", { BLOB, LICE, PROV }, { PROV }, ERR_CORRUPT,
		  "out of order" },
		{ "no prov", { BLOB, LICE }, { SUMS }, ERR_CORRUPT, "is not there" },
		{ "two provs", { BLOB, LICE }, { SUMS, PROV, PROV }, ERR_CORRUPT, "one more" },
		{ "a prov of 1 byte more", { BLOB, LICE }, { { "prov", "{ }", 0, false } },
		  ERR_CORRUPT, "a head of 3 bytes" },
		{ "a prov with a body", { BLOB, LICE }, { { "prov", "{}", 1, false } }, ERR_CORRUPT,
		  "a body of 1 bytes" },
		{ "a sign that is not announced", { BLOB, LICE }, { PROV, { "sign", "{}", 0, false } },
		  ERR_CORRUPT, "one more" },
		{ "a prov after a sign", { BLOB, LICE }, { { "sign", "{}", 0, false }, PROV },
		  ERR_CORRUPT, "one more" },
		{ "sums of 8 bytes", { BLOB, LICE }, { { "sums", "{}", 8, false }, PROV },
		  ERR_CORRUPT, "for 1 tensors" },
		{ "sums twice", { BLOB, LICE }, { SUMS, SUMS, PROV }, ERR_CORRUPT, "out of order" },
		{ "sums after prov", { BLOB, LICE }, { PROV, SUMS }, ERR_CORRUPT, "out of order" },
		{ "a blob after the data", { BLOB, LICE }, { PROV, BLOB }, ERR_CORRUPT,
		  "out of order" },
	};
	struct buf file = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_framed(&file, rows[i].before, rows[i].after);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s: E00%d %s: %s",
		        rows[i].name, e.code, e.object, e.fact);
		test_ok(outcome(&file, true, &no_options, &e) == rows[i].code, "%s, from a pipe: %s",
		        rows[i].name, e.fact);
	}
	make_framed(&file, (struct row[4]){ BLOB, { "lice", LONG, 2, false } },
	            (struct row[4]){ PROV });
	le32_put(file.p + 28, le32(file.p + 28) - 64);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "reaches into"), "a head over the data: %s", e.fact);
	/* A hole that is neither frame nor padding. */
	make_framed(&file, (struct row[4]){ BLOB, LICE, { "\1\1\1\1", LONG, 40, false } },
	            (struct row[4]){ PROV });
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "a hole"), "a hole before the data: %s", e.fact);
	buf_free(&file);
}

/* The sums name the damaged tensor. */
static void
test_sums(void)
{
	struct buf stream = { 0 }, file = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	size_t sums;

	begin_model(&m, "gguf");
	add_tensor(&m, "second", "F32", 1, row, TENSOR_OWN_SIZE);
	add_tensor(&m, "first", "F32", 1, row, TENSOR_OWN_SIZE);
	m.signatures = 1;
	make_stream(&m, NULL, &stream);
	convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &file, &e);
	at.foot = file.n - 16;
	sums = le32(file.p + 28) + 2048;
	test_ok(memcmp(file.p + sums, "sums", 4) == 0, "sums after the data");
	file.p[le32(file.p + 28) + 1500] ^= 1;
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM &&
	        strcmp(e.object, "first") == 0, "%s: %s", e.object, e.fact);
	file.p[le32(file.p + 28) + 1500] ^= 1;
	file.p[sums] = 'S';
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM, "its head: %s",
	        e.fact);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_FORMAT &&
	        strstr(e.fact, "Sums"), "an unknown frame in upper case: %s", e.fact);
	memcpy(file.p + sums, "note", 4);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	buf_clear(&stream);
	convert(open_memory(&file, true, &no_options, &e), true, &no_options, &stream, &e);
	test_ok(e.code == ERR_FORMAT || e.code == ERR_NONE, "one in lower case is passed on");
	e = (struct err)ERR_INIT;
	convert(open_memory(&file, true, &no_options, &e), true, &no_options, &stream, &e);
	test_ok(e.code == ERR_NONE && stream.n > file.n, "and kept beside the new sums: %s",
	        e.fact);
	memcpy(file.p + sums, "blob", 4);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "out of order"), "a blob after the data: %s", e.fact);
	model_free(&m);
	buf_free(&stream);
	buf_free(&file);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_frames();
	test_sums();
	return test_done();
}
