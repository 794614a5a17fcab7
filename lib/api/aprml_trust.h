/* aprml_trust: keys, signatures and seals. The manual page is aprml_trust in section 3. aprml.h includes
 * this header.
 *
 * A ring holds keys. The program reads their files, and gives the bytes:
 *
 *	struct aprml_ring *ring = aprml_ring_open(&e);
 *
 *	struct aprml_verdict verdict = { sizeof verdict };
 *
 *	aprml_ring_add(ring, bytes, n, NULL, 0, &e);
 *	if (aprml_verify(m, ring, NULL, NULL, &verdict, &e) == 0)
 *		printf("signed by %s\n", verdict.key);
 *	aprml_ring_close(ring);
 *
 * Secrets are kept apart from other memory, between guard pages, and are wiped. The library does not
 * change limits of the process: a program that fears core files must forbid them itself.
 *
 * Functions that return an int return 0, or -1 with *e filled. Those that return a pointer return NULL
 * with *e filled. A ring may serve several threads once all keys are in it.
 */
#ifndef APRML_TRUST_H
#define APRML_TRUST_H

#ifndef APRML_H
#include "aprml.h"
#endif
#include "aprml_make.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- keys ---- */

struct aprml_ring;

struct aprml_ring *aprml_ring_open(struct aprml_error *e);
void aprml_ring_close(struct aprml_ring *r); /* NULL is harmless */

/* Add the keys in the n bytes of a file: a public key of minisign (it verifies), a secret one (it
 * signs; one in a ring), identities of age (they open), or recipients of age, one a line (it is sealed
 * for them). An encrypted key needs its passphrase of length bytes (E005 if it is wrong). */
int aprml_ring_add(struct aprml_ring *r, const void *p, size_t n, const void *passphrase,
                   size_t length, struct aprml_error *e);

/* Seal and open by a passphrase of n bytes, instead of recipients and identities. */
int aprml_ring_passphrase(struct aprml_ring *r, const void *p, size_t n, struct aprml_error *e);

/* A new pair of signing keys, as apr-keygen(1) writes them to two files: terminated text. The secret key is
 * encrypted by the passphrase, which takes a gigabyte of memory and some seconds; NULL: it is not. */
#define APRML_KEY 512
int aprml_key_new(const void *passphrase, size_t n, char secret[APRML_KEY], char public_key[APRML_KEY],
                  struct aprml_error *e);

/* A new identity of age and its recipient, as age-keygen writes them: terminated text. */
#define APRML_IDENTITY 96
int aprml_identity_new(char identity[APRML_IDENTITY], char recipient[APRML_IDENTITY],
                       struct aprml_error *e);

/* ---- verify and open ---- */

/* What the signer must have stated; NULL members: anything. */
struct aprml_wants {
	size_t bytes;           /* sizeof (struct aprml_wants) */
	int weights;            /* not 0: the signature need not hold for the metadata */
	const char *name;       /* exactly this name of the model */
	const char *not_before; /* this date or a later one: "2026-11-22" */
};

/* A signature that holds. Texts are terminated, empty if the signer did not state them. */
struct aprml_verdict {
	size_t bytes;           /* sizeof (struct aprml_verdict), set by the caller */
	char key[24];           /* the id of the key that signed */
	char root[72];          /* the digest of the content, in hexadecimal */
	int sealed;             /* not 0: the model is sealed, and the outer signature was verified */
	char name[136];
	char version[72];
	char date[24];
	char comment[504];
};

/* Read all of a model, and require a signature over its content by a public key of the ring (E006). wants
 * and work may be NULL. verdict may be NULL. */
int aprml_verify(struct aprml *m, const struct aprml_ring *r, const struct aprml_wants *wants,
                 const struct aprml_work *work, struct aprml_verdict *verdict,
                 struct aprml_error *e);

/* Where a model comes from. One of path, p and ranges is not NULL. */
struct aprml_origin {
	size_t bytes;           /* sizeof (struct aprml_origin) */
	const char *path;       /* as for aprml_open, aprml_open_memory and aprml_open_ranges */
	const void *p;
	size_t n;
	const struct aprml_ranges *ranges;
	const char *from;       /* the format, whatever the content looks like; NULL: it decides */

	/* Opens a sealed model, and files of APR version 1 that are encrypted or signed; its public keys
	 * must then have signed those. It must stay until aprml_close. NULL: none. */
	const struct aprml_ring *ring;

	/* Not 0: open a sealed model without a key. Its metadata can be read, it can be verified, and a
	 * maker stores it unchanged. */
	int sealed;

	/* Limits of time and memory of this call, and its log: a header, and a passphrase. NULL: none. */
	const struct aprml_work *work;
};
struct aprml *aprml_open_origin(const struct aprml_origin *o, struct aprml_error *e);

/* ---- sign and seal ---- */

/* Sign what the maker writes with the secret key of the ring. What the signer states are options of
 * aprml_maker_set: name, model-version, date, comment. */
int aprml_maker_sign(struct aprml_maker *k, const struct aprml_ring *r, struct aprml_error *e);

/* Verify the model before it is written, as aprml_verify does, and leave out what no signature
 * covers. */
int aprml_maker_verify(struct aprml_maker *k, const struct aprml_ring *r,
                       const struct aprml_wants *wants, struct aprml_error *e);

/* Seal what the maker writes for the recipients of the ring, or by its passphrase. If signer is not
 * NULL, its secret key makes an outer signature, for readers without a key. Formats that cannot hold
 * a seal are refused. */
int aprml_maker_seal(struct aprml_maker *k, const struct aprml_ring *r,
                     const struct aprml_ring *signer, struct aprml_error *e);

/* Sign, or encrypt, the bytes of an APR version 1 file (format apr1) with the keys of the ring. All rings of
 * a maker must stay until it has ended. */
int aprml_maker_vault(struct aprml_maker *k, const struct aprml_ring *r, struct aprml_error *e);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
