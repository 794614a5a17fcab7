/* Random numbers for libsodium, where there is no /dev/urandom. */
#include <sodium.h>
#include <stdlib.h>
#include <sys/random.h>

static const char *
name(void)
{
	return "host";
}

static uint32_t
word(void)
{
	uint32_t v;

	if (getentropy(&v, sizeof v) < 0)
		abort();
	return v;
}

static void
fill(void *p, size_t n)
{
	uint8_t *to = p;
	size_t part;

	for (; n > 0; n -= part, to += part) {
		part = n < 256 ? n : 256; /* the most of one call */
		if (getentropy(to, part) < 0)
			abort();
	}
}

struct randombytes_implementation randombytes_sysrandom_implementation = {
	.implementation_name = name, .random = word, .buf = fill,
};
