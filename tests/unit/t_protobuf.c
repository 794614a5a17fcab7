/* Fields are written by hand here, from the description, and read back. */
#include "test.h"

#include <string.h>

#include "wire/protobuf.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static int
first(const uint8_t *p, size_t n, struct protobuf_field *f, struct err *e)
{
	struct protobuf m;

	*e = (struct err)ERR_INIT;
	protobuf_open(&m, p, n, "m", e);
	return protobuf_next(&m, f);
}

static const struct {
	const char *name;
	const uint8_t *p;
	size_t n;
	uint32_t number;
	enum protobuf_form form;
	uint64_t value;
} good[] = {
	{ "150, the example of the documentation", BYTES(0x08, 0x96, 0x01), 1,
	  PROTOBUF_VARINT, 150 },
	{ "zero in two bytes", BYTES(0x08, 0x80, 0x00), 1, PROTOBUF_VARINT, 0 },
	{ "-1 in ten bytes",
	  BYTES(0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 2,
	  PROTOBUF_VARINT, UINT64_MAX },
	{ "8 bytes", BYTES(0x19, 1, 2, 3, 4, 5, 6, 7, 8), 3, PROTOBUF_8,
	  UINT64_C(0x0807060504030201) },
	{ "4 bytes", BYTES(0x25, 1, 2, 3, 4), 4, PROTOBUF_4, 0x04030201 },
	{ "text", BYTES(0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'), 2, PROTOBUF_BYTES, 7 },
	{ "no bytes", BYTES(0x2a, 0x00), 5, PROTOBUF_BYTES, 0 },
	{ "the largest field number", BYTES(0xf8, 0xff, 0xff, 0xff, 0x0f, 0x2a), 536870911,
	  PROTOBUF_VARINT, 42 },
};

static const struct {
	const char *name;
	const uint8_t *p;
	size_t n;
	const char *fact;
} bad[] = {
	{ "a key without a value", BYTES(0x08), "ends" },
	{ "a key that ends early", BYTES(0x88), "ends" },
	{ "8 bytes, 7 are left", BYTES(0x19, 1, 2, 3, 4, 5, 6, 7), "" },
	{ "4 bytes, 3 are left", BYTES(0x25, 1, 2, 3), "" },
	{ "a length beyond the end", BYTES(0x12, 0x05, 1, 2, 3, 4), "" },
	{ "a length of 2^64 - 1",
	  BYTES(0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0), "" },
	{ "a number of 11 bytes",
	  BYTES(0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
	  "more than 64 bits" },
	{ "the beginning of a group", BYTES(0x0b, 0x0c), "form 3" },
	{ "the end of a group", BYTES(0x0c), "form 4" },
	{ "form 6", BYTES(0x0e, 0x00), "form 6" },
	{ "form 7", BYTES(0x0f, 0x00), "form 7" },
	{ "field number 0", BYTES(0x00, 0x00), "field numbers" },
	{ "a field number beyond the largest", BYTES(0x80, 0x80, 0x80, 0x80, 0x10, 0x00),
	  "field numbers" },
};

/* Two fields, the second a message with one field. */
static void
test_nested(void)
{
	static const uint8_t p[] = { 0x08, 0x01, 0x1a, 0x03, 0x08, 0x96, 0x01 };
	struct err e = ERR_INIT;
	struct protobuf m, inner;
	struct protobuf_field f;

	protobuf_open(&m, p, sizeof p, "m", &e);
	test_ok(protobuf_next(&m, &f) == 1 && f.number == 1 && f.value == 1 && !f.p,
	        "the first of two fields");
	test_ok(protobuf_next(&m, &f) == 1 && f.number == 3 && f.p == p + 4 && f.value == 3,
	        "the second is a message");
	protobuf_open(&inner, f.p, (size_t)f.value, "m", &e);
	test_ok(protobuf_next(&inner, &f) == 1 && f.number == 1 && f.value == 150,
	        "its field");
	test_ok(protobuf_next(&inner, &f) == 0 && protobuf_next(&inner, &f) == 0 &&
	        protobuf_next(&m, &f) == 0 && e.code == ERR_NONE, "both end");
}

int
main(void)
{
	struct protobuf_field f;
	struct protobuf m;
	struct err e;
	size_t i;

	for (i = 0; i < sizeof good / sizeof *good; i++)
		test_ok(first(good[i].p, good[i].n, &f, &e) == 1 && f.number == good[i].number &&
		        f.form == good[i].form && f.value == good[i].value && e.code == ERR_NONE,
		        "%s", good[i].name);
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		test_ok(first(bad[i].p, bad[i].n, &f, &e) == -1 && e.code == ERR_CORRUPT &&
		        strstr(e.fact, bad[i].fact), "%s: %s", bad[i].name, e.fact);
	test_ok(first(good[0].p, 0, &f, &e) == 0 && e.code == ERR_NONE, "an empty message");
	test_nested();

	e = (struct err)ERR_INIT;
	protobuf_open(&m, bad[7].p, bad[7].n, "m", &e);
	test_ok(protobuf_next(&m, &f) == -1 && protobuf_next(&m, &f) == -1,
	        "after a fault there are no more fields");
	return test_done();
}
