/* vault: what the small module, which only reads, has instead of lib/crypto/ and lib/stage/ring.c: a file that
 * is signed or sealed itself is left to the module with keys, with which the page opens it (web/worker.js).
 */
#include "crypto/derivation.h"
#include "crypto/digest.h"
#include "crypto/seal/seal.h"
#include "stage/ring.h"

static int
refuse(const char *name, struct err *e)
{
	return err_set(e, ERR_DECRYPT, name, "only a module with keys opens it");
}

static int
digest(struct vault *v, const uint8_t *m, size_t n, uint8_t out[VAULT_DIGEST], struct err *e)
{
	(void)v, (void)m, (void)n, (void)out;
	return refuse(NULL, e);
}

static int
check(struct vault *v, const uint8_t *m, size_t n, const uint8_t signature[VAULT_SIGNATURE],
      const uint8_t key[VAULT_KEY], const char *name, struct err *e)
{
	(void)v, (void)m, (void)n, (void)signature, (void)key;
	return refuse(name, e);
}

static int
open_sealed(struct vault *v, uint8_t mode, const uint8_t *m, size_t n, struct spool *to,
            const char *name, struct err *e)
{
	(void)v, (void)mode, (void)m, (void)n, (void)to;
	return refuse(name, e);
}

void
ring_reads(struct ring *v)
{
	v->vault.digest = digest;
	v->vault.check = check;
	v->vault.open = open_sealed;
}

struct source *
seal_source(struct source *sealed, const struct openers *with, void (*note)(const char *),
            struct err *e)
{
	(void)with, (void)note;
	refuse(sealed->name, e);
	return NULL;
}

void
derivation_limit(uint64_t bytes)
{
	(void)bytes;
}
