/* fuzz_keras: the properties of tests/fuzz/fuzz.h, for files of Keras.
 *
 * The mutator collects the references in an HDF5 file, numbers that are the address of a
 * structure, and the beginnings of structures and of messages. It then lets a reference lead to
 * where another one leads, or changes a number near the beginning of a structure to a critical
 * one, or gives a message another type. Checksums are not compared under a fuzzer.
 */
#include "imports/keras/keras.h"
#include "mutate.h"

#define PLACES 512

struct places {
	size_t reference[PLACES], structure[PLACES];
	unsigned references, structures;
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_keras, data, size);
}

/* True if a structure can begin here: one with a signature, or a header of version 1. */
static bool
begins(const uint8_t *p, size_t left)
{
	static const char signatures[][5] = { "TREE", "SNOD", "HEAP", "GCOL", "OHDR", "OCHK" };
	size_t i;

	if (left < 16)
		return false;
	if (p[0] == 1)
		return p[1] == 0 && p[3] == 0 && p[4] == 1 && p[5] == 0;
	if (!strchr("TSHGO", p[0]))
		return false;
	for (i = 0; i < sizeof signatures / sizeof *signatures; i++)
		if (memcmp(p, signatures[i], 4) == 0)
			return true;
	return false;
}

static void
collect(struct places *x, const uint8_t *data, size_t size)
{
	size_t i;
	uint64_t v;

	for (i = 0; i + 16 <= size; i++) {
		v = le64(data + i);
		if (v >= 8 && v < size && begins(data + v, size - (size_t)v) && x->references < PLACES)
			x->reference[x->references++] = i;
		if (begins(data + i, size - i) && x->structures < PLACES)
			x->structure[x->structures++] = i;
	}
}

/* Change a number of 1, 2, 4 or 8 bytes at a place within 64 bytes behind the beginning. */
static void
change_number(uint8_t *data, size_t size, size_t at, unsigned seed)
{
	static const uint64_t critical[] = { 0, 1, 2, 3, 4, 6, 8, 9, 16, 17, 32, 255, 65535, 1u << 31,
		UINT32_MAX, UINT64_MAX };
	const unsigned width = 1u << seed % 4;
	const size_t to = at + seed / 4 % 64;
	const uint64_t v = critical[seed / 256 % 16];
	unsigned i;

	for (i = 0; i < width && to + i < size; i++)
		data[to + i] = (uint8_t)(v >> 8 * i);
}

/* Give a message another type: the first of a header of version 1, or one that follows. */
static void
change_message(uint8_t *data, size_t size, size_t at, unsigned seed)
{
	static const uint8_t types[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 17, 21 };
	unsigned skip = seed % 6;

	for (at += 16; skip > 0 && at + 8 <= size; skip--)
		at += 8 + (size_t)le16(data + at + 2);
	if (at + 8 <= size)
		data[at] = types[seed / 6 % sizeof types];
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct places x = { .references = 0 };
	size_t from, to;

	if (seed % 4 == 0)
		return LLVMFuzzerMutate(data, size, max);
	collect(&x, data, size);
	if (seed % 4 == 1 && x.references > 1) {
		from = x.reference[seed / 4 % x.references];
		to = x.reference[seed / 2048 % x.references];
		le64_put(data + from, le64(data + to));
		return size;
	}
	if (x.structures == 0)
		return LLVMFuzzerMutate(data, size, max);
	to = x.structure[seed / 4 % x.structures];
	if (seed % 4 == 2)
		change_number(data, size, to, seed / 2048);
	else
		change_message(data, size, to, seed / 2048);
	return size;
}
