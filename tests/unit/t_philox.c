/* philox: the known answers that its authors published with Random123 (kat_vectors, philox4x32 of
 * 10 rounds), and streams that can begin anywhere. */
#include "core/philox.h"

#include <stdbool.h>
#include <string.h>

#include "test.h"

static const struct {
	uint32_t counter[4];
	uint64_t key;
	uint32_t answer[4];
} known[] = {
	{ { 0, 0, 0, 0 }, 0,
	  { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
	{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, UINT64_MAX,
	  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
	{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, UINT64_C(0x299f31d0a4093822),
	  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

static void
answers(void)
{
	uint32_t to[4];
	size_t i;

	for (i = 0; i < sizeof known / sizeof *known; i++) {
		philox_block(known[i].key, known[i].counter, to);
		test_ok(memcmp(to, known[i].answer, sizeof to) == 0, "known answer %zu", i + 1);
	}
}

static void
streams(void)
{
	uint32_t whole[1000], part[1000], block[4];
	const uint32_t far[4] = { 0, 1, 0, 0 };
	size_t at;
	bool same = true;

	philox_fill(5, 0, whole, 1000);
	for (at = 0; at < 1000; at += 4) {
		philox_fill(5, at, part, 1000 - at);
		same &= memcmp(part, whole + at, (1000 - at) * sizeof *part) == 0;
	}
	test_ok(same, "a stream is the same from any of its blocks on");
	philox_block(5, far, block);
	philox_fill(5, (uint64_t)4 << 32, part, 3);
	test_ok(memcmp(block, part, 3 * sizeof *part) == 0, "index 2^34 takes the second word of the counter");
}

static void
keys(void)
{
	uint64_t key = philox_key(1, "a.weight", 0);

	test_ok(key == philox_key(1, "a.weight", 0) && key != philox_key(2, "a.weight", 0) &&
	        key != philox_key(1, "b.weight", 0) && key != philox_key(1, "a.weight", 1) &&
	        key != philox_key(0, "a.weight", 1), "seed, name and number each change a key");
	test_ok(philox_key(0, "", 0) == UINT64_C(0x68752350ae1d483f), "a key that other programs can check");
}

int
main(void)
{
	answers();
	streams();
	keys();
	return test_done();
}
