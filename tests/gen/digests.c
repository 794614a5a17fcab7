/* digests: a line for each tensor of the stream on standard input:
 *
 *     NAME DTYPE SHA256
 *
 * the digest over its plain bytes, as sha256sum would print it. It knows
 * only the shape of frames, so that its result is independent of lib/.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/evp.h>

_Noreturn static void
stop(const char *why)
{
	fprintf(stderr, "digests: %s\n", why);
	exit(1);
}

static void
take(void *p, size_t n)
{
	if (fread(p, 1, n, stdin) != n)
		stop("the stream is cut short");
}

static uint64_t
number(const uint8_t *p, unsigned width)
{
	return width ? number(p + 1, width - 1) << 8 | *p : 0;
}

static void
print_row(const char *head, const uint8_t *digest)
{
	json_t *o = json_loads(head, 0, NULL);
	const char *name, *dtype;
	unsigned i;

	if (json_unpack(o, "{s:s,s:s}", "name", &name, "dtype", &dtype) < 0)
		stop("a TENS frame has no name or dtype");
	printf("%s %s ", name, dtype);
	for (i = 0; i < 32; i++)
		printf("%02x", digest[i]);
	putchar('\n');
	json_decref(o);
}

int
main(void)
{
	static uint8_t part[1 << 16];
	EVP_MD_CTX *sha = EVP_MD_CTX_new();
	uint8_t prefix[16], digest[32];
	char *head = NULL;

	do {
		size_t head_n, n;
		uint64_t left;

		take(prefix, sizeof prefix);
		head_n = (size_t)number(prefix + 4, 4);
		head = realloc(head, head_n + 1);
		if (!sha || !head)
			stop("out of memory");
		take(head, head_n);
		head[head_n] = '\0';
		take(part, 4);
		EVP_DigestInit_ex(sha, EVP_sha256(), NULL);
		for (left = number(prefix + 8, 8); left > 0; left -= n) {
			n = left < sizeof part ? (size_t)left : sizeof part;
			take(part, n);
			EVP_DigestUpdate(sha, part, n);
		}
		EVP_DigestFinal_ex(sha, digest, NULL);
		take(part, 4);
		if (memcmp(prefix, "TENS", 4) == 0)
			print_row(head, digest);
	} while (memcmp(prefix, "DONE", 4) != 0);
	EVP_MD_CTX_free(sha);
	free(head);
	return 0;
}
