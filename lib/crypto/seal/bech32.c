#include "crypto/seal/bech32.h"

#include <stdbool.h>
#include <string.h>

#include "crypto/secret.h"

#define GROUPS 52 /* of five bits, for 32 bytes; four bits of the last are padding */
#define SUM 6

static const char letters[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* One step of the checksum: BIP 173's generator polynomial over GF(32). */
static uint32_t
step(uint32_t sum, unsigned group)
{
	static const uint32_t generator[5] = { 0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
		0x2a1462b3 };
	uint32_t top = sum >> 25;
	unsigned i;

	sum = (sum & 0x1ffffff) << 5 ^ group;
	for (i = 0; i < 5; i++)
		sum ^= top >> i & 1 ? generator[i] : 0;
	return sum;
}

static uint32_t
begin(const char *name)
{
	uint32_t sum = 1;
	const char *s;

	for (s = name; *s; s++)
		sum = step(sum, (unsigned char)*s >> 5);
	sum = step(sum, 0);
	for (s = name; *s; s++)
		sum = step(sum, *s & 31);
	return sum;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool
one_case(const char *text, size_t n)
{
	bool up = false, low = false;
	size_t i;

	for (i = 0; i < n; i++) {
		up |= text[i] >= 'A' && text[i] <= 'Z';
		low |= text[i] >= 'a' && text[i] <= 'z';
	}
	return !(up && low);
}

static int
read_groups(const char *text, uint32_t sum, uint8_t group[GROUPS + SUM])
{
	size_t i;

	for (i = 0; i < GROUPS + SUM; i++) {
		char c = lower(text[i]);
		const char *at = c ? strchr(letters, c) : NULL;

		if (!at)
			return -1;
		group[i] = (uint8_t)(at - letters);
		sum = step(sum, group[i]);
	}
	return sum == 1 && (group[GROUPS - 1] & 15) == 0 ? 0 : -1;
}

int
bech32_read(const char *text, size_t n, const char *name, uint8_t out[BECH32_BYTES])
{
	size_t at = strlen(name), i, have = 0;
	uint8_t group[GROUPS + SUM];
	uint32_t bits = 0;
	int r = -1;

	if (n != at + 1 + GROUPS + SUM || !one_case(text, n) || text[at] != '1')
		return -1;
	for (i = 0; i < at; i++)
		if (lower(text[i]) != name[i])
			return -1;
	if (read_groups(text + at + 1, begin(name), group) == 0) {
		for (i = 0, at = 0; i < GROUPS; i++) {
			bits = bits << 5 | group[i];
			have += 5;
			if (have >= 8) {
				have -= 8;
				out[at++] = (uint8_t)(bits >> have);
			}
		}
		r = 0;
	}
	secret_wipe(group, sizeof group);
	secret_wipe(&bits, sizeof bits);
	return r;
}

void
bech32_write(const char *name, const uint8_t in[BECH32_BYTES], char dst[BECH32_TEXT])
{
	uint32_t sum = begin(name), bits = 0;
	size_t i, have = 0, at = 0, n = strlen(name);
	unsigned group;

	memcpy(dst, name, n);
	dst[n++] = '1';
	for (i = 0; i < GROUPS; i++) {
		if (have < 5) {
			bits = bits << 8 | (at < BECH32_BYTES ? in[at] : 0);
			at++;
			have += 8;
		}
		have -= 5;
		group = bits >> have & 31;
		sum = step(sum, group);
		dst[n++] = letters[group];
	}
	for (i = 0; i < SUM; i++)
		sum = step(sum, 0);
	for (i = 0; i < SUM; i++)
		dst[n++] = letters[(sum ^ 1) >> 5 * (SUM - 1 - i) & 31];
	dst[n] = '\0';
	secret_wipe(&bits, sizeof bits);
}
