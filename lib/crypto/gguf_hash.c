#include "crypto/gguf_hash.h"

#include "core/thread.h"

#define SHARED (64u << 10) /* fewer bytes are not worth waking threads for */

static const uint8_t namespace[16] = {
	0xef, 0x00, 0x12, 0x06, 0xda, 0xdc, 0x5f, 0x6d,
	0xa1, 0x5f, 0x33, 0x59, 0xe5, 0x77, 0xd4, 0xe5,
};

void
gguf_hash_start(struct gguf_hash *h, unsigned jobs)
{
	*h = (struct gguf_hash){ .jobs = jobs };
	sha256_start(&h->model);
	sha1_start(&h->uuid);
	sha1_add(&h->uuid, namespace, sizeof namespace);
}

void
gguf_hash_tensor(struct gguf_hash *h)
{
	sha256_start(&h->tensor);
}

struct piece {
	struct gguf_hash *h;
	const uint8_t *p;
	size_t n;
};

static void
hash(void *ctx, size_t i)
{
	struct piece *x = ctx;

	if (i == 0)
		sha256_add(&x->h->tensor, x->p, x->n);
	else if (i == 1)
		sha256_add(&x->h->model, x->p, x->n);
	else
		sha1_add(&x->h->uuid, x->p, x->n);
}

void
gguf_hash_add(struct gguf_hash *h, const uint8_t *p, size_t n)
{
	struct piece x = { h, p, n };

	thread_for(n < SHARED ? 1 : h->jobs, 3, hash, &x);
}

int
gguf_hash_tensor_end(struct gguf_hash *h, struct digest *tensor, struct err *e)
{
	return sha256_finish(&h->tensor, tensor, e);
}

static void
uuid_text(char uuid[GGUF_HASH_UUID], const uint8_t *b)
{
	static const char hex[] = "0123456789abcdef";
	int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*uuid++ = '-';
		*uuid++ = hex[b[i] >> 4];
		*uuid++ = hex[b[i] & 15];
	}
	*uuid = '\0';
}

int
gguf_hash_finish(struct gguf_hash *h, struct digest *model, char uuid[GGUF_HASH_UUID],
                 struct err *e)
{
	uint8_t b[SHA1_BYTES];

	if (sha256_finish(&h->model, model, e) < 0 || sha1_finish(&h->uuid, b, e) < 0)
		return -1;
	b[6] = (uint8_t)(0x50 | (b[6] & 0x0f)); /* version 5 */
	b[8] = (uint8_t)(0x80 | (b[8] & 0x3f)); /* the variant of RFC 9562 */
	uuid_text(uuid, b);
	return 0;
}

void
gguf_hash_abandon(struct gguf_hash *h)
{
	sha256_abandon(&h->tensor);
	sha256_abandon(&h->model);
	sha1_abandon(&h->uuid);
}
