/* Multiples of Ed25519's base point for libsodium, in time that does not depend on the secret: its general
 * multiplication takes the place of the one with a table of 30 KB, which is faster but nothing compresses. */
#include <private/ed25519_ref10.h>

void
ge25519_scalarmult_base(ge25519_p3 *h, const unsigned char *a)
{
	/* y = 4/5, and x is even (RFC 8032, section 5.1). */
	static const unsigned char encoded[32] = {
		0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
	};
	ge25519_p3 base;

	ge25519_frombytes(&base, encoded);
	ge25519_scalarmult(h, a, &base);
}
