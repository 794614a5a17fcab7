#include "crypto/content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "crypto/body.h"

#define DOMAIN(part) "apr content 1 " part

static int
append(struct content_list *l, const struct content_item *item, struct err *e)
{
	if (mem_grow(&l->item, &l->cap, l->n + 1, sizeof *l->item) < 0)
		return err_memory(e);
	l->item[l->n++] = *item;
	return 0;
}

int
content_add_value(struct content *c, const char *key, const char *type,
                  uint64_t bytes, const struct digest *sha256, struct err *e)
{
	struct content_item i = { .name = key, .type = type, .bytes = bytes,
		.digest = *sha256 };

	return append(&c->metadata, &i, e);
}

int
content_add_blob(struct content *c, const char *name, const char *type,
                 const struct digest *body, struct err *e)
{
	struct content_item i = { .name = name, .type = type, .kind = "blob",
		.digest = *body };

	return append(&c->blobs, &i, e);
}

int
content_add_prov(struct content *c, const char *head, size_t n, struct err *e)
{
	struct content_item i = { .type = "prov", .kind = "prov" };
	char name[32];

	if (body_digest_of(head, n, &i.digest, e) < 0)
		return -1;
	snprintf(name, sizeof name, "prov.%zu", c->provs);
	i.name = i.owned = mem_text(name, strlen(name));
	if (!i.owned)
		return err_memory(e);
	if (append(&c->blobs, &i, e) < 0) {
		free(i.owned);
		return -1;
	}
	c->provs++;
	return 0;
}

int
content_add_tensor(struct content *c, const char *name, const char *dtype,
                   unsigned ndim, const uint64_t *dims,
                   const struct digest *body, struct err *e)
{
	struct content_item i = { .name = name, .type = dtype, .ndim = ndim,
		.dims = dims, .digest = *body };

	return append(&c->tensors, &i, e);
}

void
content_set_licence(struct content *c, uint64_t bytes, const struct digest *sha256)
{
	c->has_licence = true;
	c->licence_bytes = bytes;
	c->licence = *sha256;
}

/* Compare by name. A side file with the name of a prov frame comes before it. */
static int
by_name(const void *a, const void *b)
{
	const struct content_item *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r != 0 || !x->kind ? r : strcmp(x->kind, y->kind);
}

static int
sort(struct content_list *l, const char *what, struct err *e)
{
	size_t i;

	if (l->n > 1)
		qsort(l->item, l->n, sizeof *l->item, by_name);
	for (i = 1; i < l->n; i++)
		if (by_name(&l->item[i - 1], &l->item[i]) == 0)
			return err_set(e, ERR_CORRUPT, l->item[i].name,
			               "two %s of this name cannot be signed", what);
	return 0;
}

static int
hash_metadata(const struct content_list *l, struct digest *out, struct err *e)
{
	struct sha256 h;
	size_t i;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN("metadata"));
	sha256_add_u64(&h, l->n);
	for (i = 0; i < l->n; i++) {
		sha256_add_text(&h, l->item[i].name);
		sha256_add_text(&h, l->item[i].type);
		sha256_add_u64(&h, l->item[i].bytes);
		sha256_add(&h, l->item[i].digest.b, DIGEST_BYTES);
	}
	return sha256_finish(&h, out, e);
}

/* The body digest of item i: its own, or the one in a given list. */
static const uint8_t *
body_of(const struct content_list *l, size_t i, const uint8_t *digests)
{
	return digests ? digests + i * DIGEST_BYTES : l->item[i].digest.b;
}

static int
hash_blobs(const struct content_list *l, const uint8_t *digests, struct digest *out,
           struct err *e)
{
	struct sha256 h;
	size_t i;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN("blobs"));
	sha256_add_u64(&h, l->n);
	for (i = 0; i < l->n; i++) {
		sha256_add(&h, l->item[i].kind, 4);
		sha256_add_text(&h, l->item[i].name);
		sha256_add_text(&h, l->item[i].type);
		sha256_add(&h, body_of(l, i, digests), DIGEST_BYTES);
	}
	return sha256_finish(&h, out, e);
}

static int
hash_licence(const struct content *c, struct digest *out, struct err *e)
{
	struct sha256 h;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN("licence"));
	if (c->has_licence) {
		sha256_add_u64(&h, c->licence_bytes);
		sha256_add(&h, c->licence.b, DIGEST_BYTES);
	}
	return sha256_finish(&h, out, e);
}

static int
hash_tensors(const struct content_list *l, const uint8_t *digests, struct digest *out,
             struct err *e)
{
	struct sha256 h;
	size_t i, k;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN("tensors"));
	sha256_add_u64(&h, l->n);
	for (i = 0; i < l->n; i++) {
		sha256_add_text(&h, l->item[i].name);
		sha256_add_text(&h, l->item[i].type);
		sha256_add_u64(&h, l->item[i].ndim);
		for (k = 0; k < l->item[i].ndim; k++)
			sha256_add_u64(&h, l->item[i].dims[k]);
		sha256_add(&h, body_of(l, i, digests), DIGEST_BYTES);
	}
	return sha256_finish(&h, out, e);
}

int
content_root(const struct components *c, struct digest *root, struct err *e)
{
	struct sha256 h;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN("root"));
	sha256_add(&h, c->metadata.b, DIGEST_BYTES);
	sha256_add(&h, c->blobs.b, DIGEST_BYTES);
	sha256_add(&h, c->licence.b, DIGEST_BYTES);
	sha256_add(&h, c->tensors.b, DIGEST_BYTES);
	return sha256_finish(&h, root, e);
}

int
content_finish(struct content *c, struct err *e)
{
	if (sort(&c->metadata, "keys", e) < 0 || sort(&c->blobs, "side files", e) < 0 ||
	    sort(&c->tensors, "tensors", e) < 0)
		return -1;
	if (hash_metadata(&c->metadata, &c->components.metadata, e) < 0 ||
	    hash_blobs(&c->blobs, NULL, &c->components.blobs, e) < 0 ||
	    hash_licence(c, &c->components.licence, e) < 0 ||
	    hash_tensors(&c->tensors, NULL, &c->components.tensors, e) < 0)
		return -1;
	return content_root(&c->components, &c->root, e);
}

void
content_free(struct content *c)
{
	size_t i;

	for (i = 0; i < c->blobs.n; i++)
		free(c->blobs.item[i].owned);
	free(c->metadata.item);
	free(c->blobs.item);
	free(c->tensors.item);
	*c = (struct content){ 0 };
}

int
content_blobs_with(const struct content *c, const uint8_t *digests,
                   struct digest *out, struct err *e)
{
	return hash_blobs(&c->blobs, digests, out, e);
}

int
content_tensors_with(const struct content *c, const uint8_t *digests,
                     struct digest *out, struct err *e)
{
	return hash_tensors(&c->tensors, digests, out, e);
}
