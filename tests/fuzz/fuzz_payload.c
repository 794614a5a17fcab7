/* fuzz_payload: the table of files behind a program (core/payload.h).
 *
 * The first 8 bytes are the size of the executable, the others its end.
 *
 *     1. The table is refused with a message that can be printed, or its files follow each other, and
 *        all lie between the program and the table.
 *     2. Written again, it gives the same bytes, apart from a wrong CRC.
 *
 * The CRC of the input chooses whether the size is right: the offset of the table and all that follows.
 */
#include "fuzz.h"

#include "core/le.h"
#include "core/payload.h"

static void
prove(const struct payload *p, uint64_t table)
{
	uint64_t end = p->program, at;
	size_t i;

	must(p->count >= 1 && p->count <= PAYLOAD_FILES && p->word_count <= PAYLOAD_WORDS && end > 0);
	for (i = 0; i < p->count; i++) {
		const struct payload_file *f = &p->files[i];

		must(payload_next(end, &at) == 0 && f->at == at && f->at % PAYLOAD_ALIGN == 0);
		end = f->at + f->bytes;
		must(end >= f->at && end <= table);
		must(payload_name_ok(f->name, strlen(f->name)) && payload_find(p, f->name) == f);
		fuzz_printable(f->name);
	}
	must(end == table);
}

static void
prove_again(const struct payload *p, const uint8_t *bytes, size_t n)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	must_say(payload_put(&b, p, &e) == 0, &e);
	must(b.n == n && memcmp(b.p, bytes, n - 20) == 0 && memcmp(b.p + n - 16, bytes + n - 16, 16) == 0);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool fits = (fuzz_way < 0 ? crc32_add(0, data, size) : (uint32_t)fuzz_way) & 1;
	struct err e = ERR_INIT;
	struct payload p;
	uint64_t whole;
	size_t n;

	if (size < 8 || size - 8 > PAYLOAD_TABLE)
		return 0;
	n = size - 8;
	whole = fits && n >= PAYLOAD_TRAILER ? le64(data + size - PAYLOAD_TRAILER) + n : le64(data);
	if (payload_parse(&p, data + 8, n, whole, "exe", &e) == 0) {
		prove(&p, whole - n);
		prove_again(&p, data + 8, n);
	} else {
		must(p.count == 0 && !p.text && !p.words);
		fuzz_refused(&e, false);
	}
	payload_free(&p);
	return 0;
}
