#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/keys.h"
#include "crypto/secret.h"
#include "test.h"

/* The key of RFC 8032's test 2 in minisign's clothes, made by another program:
 * id 1 2 3 4 5 6 7 8. The encrypted one is under "correct horse". */
#define SAID "untrusted comment: anything at all\n"
#define PUBLIC "RWQBAgMEBQYHCD1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM"
#define ZEROS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define BOX "AQIDBAUGBwhMzQibKP+W2p22w0bsEU4PW4oxnzWrpiTajPbtT7im+z1AF8PoQ4lakrcKp00b" \
	"frycmCzPLsSWjMDNVfEq9GYM"
#define SUM "M6mxIE8iHuwNOyY96EEHHjKQwoI3Z79how/7wsBstcs="
#define SALT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh"
#define PLAIN "RWQAAEIy" ZEROS BOX SUM

static const uint8_t rfc_public[] = {
	0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a, 0xa7, 0x4d, 0x1b,
	0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1,
	0x2a, 0xf4, 0x66, 0x0c
};
static const uint8_t rfc_signature[] = {
	0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64,
	0x25, 0x40, 0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76, 0x22, 0x23,
	0xeb, 0xdb, 0x69, 0xda, 0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99, 0x6e, 0x45, 0x8f,
	0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c, 0x38, 0x7b, 0x2e, 0xae, 0xb4, 0x30, 0x2a, 0xee,
	0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00
};
static const char encrypted[] = SAID
	"RWRTY0IyAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AgAAAAAAAAAAAAAEAAAAAHqM3jFGHjZYC"
	"XT9LabdBQWW4JIokhCoWwt2TOLb4iaRnt2GAlp0jP1I3iomytW0dBO0+mdMMQNZTjBkI4NWgQlzQG8OGLiUn"
	"sGN3NtdnSQu538LjpF0BlcD80QXRYr1dZEsnZpyHDAA=\n";

static struct key_secret *
secret(const char *text, struct err *e)
{
	*e = (struct err)ERR_INIT;
	return key_secret_parse((const uint8_t *)text, strlen(text), e);
}

static int
public(const char *text, struct key_public *k, struct err *e)
{
	*e = (struct err)ERR_INIT;
	return key_public_parse((const uint8_t *)text, strlen(text), k, e);
}

static void
rfc8032(void)
{
	struct err e;
	struct key_public p;
	struct key_secret *k = secret(SAID PLAIN "\n", &e);
	uint8_t sig[KEY_SIGNATURE_BYTES], id[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	char text[KEY_ID_TEXT];

	test_ok(k && !key_secret_is_encrypted(k), "a secret key that is not encrypted");
	test_ok(public(SAID PUBLIC "\n", &p, &e) == 0 && memcmp(p.key, rfc_public, 32) == 0 &&
	        memcmp(p.id, id, 8) == 0, "a public key");
	test_ok(strcmp(key_id_text(text, p.id), "0807060504030201") == 0, "key id as text");
	if (!k)
		return;
	test_ok(memcmp(key_secret_public(k), &p, sizeof p) == 0, "they belong together");
	key_sign(k, "\x72", 1, sig);
	test_ok(memcmp(sig, rfc_signature, sizeof sig) == 0, "RFC 8032 test 2: signature");
	test_ok(key_verify(&p, "\x72", 1, sig), "RFC 8032 test 2: verified");
	test_ok(!key_verify(&p, "\x73", 1, sig), "another message is not");
	sig[0] ^= 1;
	test_ok(!key_verify(&p, "\x72", 1, sig), "another signature is not");
	key_secret_free(k);
}

static void
unlock(void)
{
	static const uint8_t good[] = "correct horse";
	struct err e, f = ERR_INIT;
	struct key_secret *k = secret(encrypted, &e);
	uint8_t sig[KEY_SIGNATURE_BYTES];

	test_ok(k && key_secret_is_encrypted(k), "an encrypted key says so");
	if (!k)
		return;
	test_ok(key_secret_unlock(k, good, 12, &f) < 0 && f.code == ERR_DECRYPT &&
	        key_secret_is_encrypted(k), "a wrong passphrase is E005");
	f = (struct err)ERR_INIT;
	test_ok(key_secret_unlock(k, good, 0, &f) < 0 && f.code == ERR_DECRYPT,
	        "so is an empty one");
	f = (struct err)ERR_INIT;
	test_ok(key_secret_unlock(k, good, 13, &f) == 0 && !key_secret_is_encrypted(k),
	        "the right one opens it after that");
	key_sign(k, "\x72", 1, sig);
	test_ok(memcmp(sig, rfc_signature, sizeof sig) == 0, "it is the same key");
	test_ok(key_secret_unlock(k, good, 1, &f) == 0, "an open key needs none");
	key_secret_free(k);
}

static void
secret_faults(void)
{
	static const struct {
		const char *name, *text;
		enum err_code code;
	} t[] = {
		{ "empty", "", ERR_FORMAT },
		{ "no comment", PLAIN "\n", ERR_FORMAT },
		{ "only a comment", SAID, ERR_CORRUPT },
		{ "a comment that does not end", "untrusted comment: x", ERR_CORRUPT },
		{ "a public key", SAID PUBLIC "\n", ERR_FORMAT },
		{ "not base64", SAID "RWQ*\n", ERR_CORRUPT },
		{ "base64 without its padding", SAID "RWQAAEIy" ZEROS BOX
		  "M6mxIE8iHuwNOyY96EEHHjKQwoI3Z79how/7wsBstcs\n", ERR_CORRUPT },
		{ "too short", SAID "RWQA\n", ERR_CORRUPT },
		{ "too long", SAID "AAAA" "RWQAAEIy" ZEROS BOX SUM "\n", ERR_CORRUPT },
		{ "a third line", SAID PLAIN "\nx\n", ERR_CORRUPT },
		{ "another algorithm", SAID "RUQAAEIy" ZEROS BOX SUM "\n", ERR_FORMAT },
		{ "another KDF", SAID "RWRBckIy" ZEROS BOX SUM "\n", ERR_FORMAT },
		{ "another checksum", SAID "RWQAAEIz" ZEROS BOX SUM "\n", ERR_FORMAT },
		{ "a wrong checksum", SAID "RWQAAEIy" ZEROS BOX
		  "MqmxIE8iHuwNOyY96EEHHjKQwoI3Z79how/7wsBstcs=\n", ERR_CHECKSUM },
		{ "another key's public half", SAID "RWQAAEIy" ZEROS
		  "AQIDBAUGBwhMzQibKP+W2p22w0bsEU4PW4oxnzWrpiTajPbtT7im+z1AF8PoQ4lakrcKp00b"
		  "frycmCzPLsSWjMDNVfEq9GYNuldwIG+5O7ev3o2PNHyrhzrqnbhXos5+SoF4CBvDUKA=\n",
		  ERR_CORRUPT },
		{ "too much time", SAID "RWRTY0Iy" SALT "8BAAACAAAAAAAAAAEAAAAA" BOX SUM "\n",
		  ERR_MEMORY },
		{ "too much memory", SAID "RWRTY0Iy" SALT "8AAAACAAAAAAEAAEAAAAAA" BOX SUM "\n",
		  ERR_MEMORY },
		{ "too little time", SAID "RWRTY0Iy" SALT "//fwAAAAAAAAAAAAEAAAAA" BOX SUM "\n",
		  ERR_CORRUPT }
	};
	struct err e;
	size_t i;

	for (i = 0; i < sizeof t / sizeof *t; i++) {
		struct key_secret *k = secret(t[i].text, &e);

		test_ok(!k && e.code == t[i].code, "secret key, %s: E%03d %s", t[i].name,
		        (int)e.code, e.fact);
		key_secret_free(k);
	}
}

static void
lenience(void)
{
	struct err e;
	struct key_public p;
	struct key_secret *k;

	k = secret(SAID "RWQAAEIy" ZEROS BOX
	           "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", &e);
	test_ok(k != NULL, "minisign 0.11 leaves the checksum of an open key zero");
	key_secret_free(k);
	test_ok(public(SAID PUBLIC, &p, &e) == 0, "no newline at the end");
	test_ok(public("untrusted comment: \r\n" PUBLIC "\r\n\r\n", &p, &e) == 0,
	        "carriage returns and an empty line");
	test_ok(public(SAID PLAIN "\n", &p, &e) < 0 && e.code == ERR_FORMAT &&
	        strstr(e.fact, "secret"), "a secret key is not taken for a public one");
	test_ok(public(SAID "RUQBAgMEBQYHCD1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM\n",
	               &p, &e) < 0 && e.code == ERR_FORMAT, "public key, another algorithm");
}

/* No cut or changed byte of a secret key gives a key that signs otherwise. */
static void
damage(void)
{
	static const char whole[] = SAID PLAIN "\n";
	char text[sizeof whole];
	size_t i, from = strlen(SAID), n = sizeof whole - 1, wrong = 0;
	struct err e;

	for (i = 0; i < n - 1; i++) {
		struct key_secret *k;

		memcpy(text, whole, i);
		text[i] = '\0';
		k = secret(text, &e);
		wrong += k != NULL || e.code == ERR_NONE;
		key_secret_free(k);
	}
	test_ok(wrong == 0, "cut at every byte");
	for (wrong = 0, i = from; i < n - 1; i++) {
		struct key_secret *k;
		uint8_t sig[KEY_SIGNATURE_BYTES];

		memcpy(text, whole, sizeof whole);
		text[i] = text[i] == 'A' ? 'B' : 'A';
		k = secret(text, &e);
		if (k) {
			key_sign(k, "\x72", 1, sig);
			wrong += memcmp(sig, rfc_signature, sizeof sig) != 0;
		}
		key_secret_free(k);
	}
	test_ok(wrong == 0, "changed at every byte");
}

static char folder[] = "/tmp/apr-t_keys-XXXXXX";
static char file[64];

static unsigned
mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static int
same_key(const char *path, const struct key_secret *k, const uint8_t *passphrase, size_t n)
{
	struct err e = ERR_INIT;
	struct key_secret *r = key_secret_read(path, &e);
	int same = r && key_secret_is_encrypted(r) == (passphrase != NULL) &&
	           key_secret_unlock(r, passphrase, n, &e) == 0 &&
	           memcmp(key_secret_public(r), key_secret_public(k),
	                  sizeof(struct key_public)) == 0;

	key_secret_free(r);
	return same;
}

static void
files(void)
{
	static const uint8_t pass[] = "p\xc3\xa4ss";
	struct err e = ERR_INIT, f = ERR_INIT;
	struct key_secret *k = key_secret_new(&e), *other = key_secret_new(&e);
	struct key_public p;

	snprintf(file, sizeof file, "%s/key", folder);
	umask(0);
	test_ok(key_secret_write(k, file, NULL, 0, KEY_COST_FULL, false, &e) == 0 &&
	        same_key(file, k, NULL, 0), "an open key written and read");
	test_ok(mode_of(file) == 0600, "nobody else can read it");
	test_ok(key_secret_write(other, file, pass, 5, KEY_COST_LEAST, false, &f) < 0 &&
	        f.code == ERR_USAGE && same_key(file, k, NULL, 0),
	        "an existing file stays: %s", f.fact);
	test_ok(key_secret_write(other, file, pass, 5, KEY_COST_LEAST, true, &e) == 0 &&
	        same_key(file, other, pass, 5), "force replaces it, encrypted");
	test_ok(mode_of(file) == 0600, "nobody else can read this one either");
	f = (struct err)ERR_INIT;
	test_ok(key_public_read(file, &p, &f) < 0 && f.code == ERR_FORMAT &&
	        strcmp(f.object, file) == 0, "read as a public key, the fault names the file");
	umask(022);
	snprintf(file, sizeof file, "%s/key.pub", folder);
	test_ok(key_public_write(key_secret_public(k), file, false, &e) == 0 &&
	        key_public_read(file, &p, &e) == 0 &&
	        memcmp(&p, key_secret_public(k), sizeof p) == 0 && mode_of(file) == 0644,
	        "a public key written and read");
	f = (struct err)ERR_INIT;
	test_ok(key_secret_write(k, "/dev/null", NULL, 0, KEY_COST_FULL, true, &f) < 0 &&
	        f.code == ERR_USAGE && mode_of("/dev/null") != 0600,
	        "a device is not a place for a key");
	f = (struct err)ERR_INIT;
	test_ok(key_public_write(&p, "-", true, &f) < 0 && f.code == ERR_USAGE,
	        "nor is standard output");
	f = (struct err)ERR_INIT;
	test_ok(key_secret_write(k, "/nowhere/key", NULL, 0, KEY_COST_FULL, true, &f) < 0 &&
	        f.code == ERR_IO && f.missing, "nor a folder that does not exist");
	f = (struct err)ERR_INIT;
	test_ok(key_secret_write(k, file, pass, 5, (struct key_cost){ 1, 1 }, true, &f) < 0 &&
	        f.code != ERR_NONE && key_public_read(file, &p, &e) == 0,
	        "a cost no reader accepts is not written");
	key_secret_free(k);
	key_secret_free(other);
}

static void
reading(void)
{
	struct err e = ERR_INIT;
	struct key_public p;
	char text[KEY_FILE_BYTES + 1];
	int fd;

	test_ok(key_public_read("/nowhere", &p, &e) < 0 && e.code == ERR_IO && e.missing,
	        "a missing file");
	e = (struct err)ERR_INIT;
	test_ok(key_public_read(folder, &p, &e) < 0 && e.code == ERR_IO && !e.missing,
	        "a directory");
	snprintf(file, sizeof file, "%s/long.pub", folder);
	memset(text, '\n', sizeof text);
	memcpy(text, SAID PUBLIC "\n", strlen(SAID PUBLIC) + 1);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	e = (struct err)ERR_INIT;
	test_ok(write(fd, text, KEY_FILE_BYTES) == KEY_FILE_BYTES &&
	        key_public_read(file, &p, &e) == 0, "a file of %d bytes", KEY_FILE_BYTES);
	test_ok(write(fd, text + KEY_FILE_BYTES, 1) == 1 && key_public_read(file, &p, &e) < 0 &&
	        e.code == ERR_FORMAT, "one more is refused");
	close(fd);
}

static void
clean(void)
{
	static const char *const name[] = { "key", "key.pub", "long.pub" };
	size_t i;

	for (i = 0; i < sizeof name / sizeof *name; i++) {
		snprintf(file, sizeof file, "%s/%s", folder, name[i]);
		unlink(file);
	}
	test_ok(rmdir(folder) == 0, "no other file is left behind");
}

int
main(void)
{
	rfc8032();
	unlock();
	secret_faults();
	lenience();
	damage();
	if (!mkdtemp(folder))
		return 1;
	files();
	reading();
	clean();
	return test_done();
}
