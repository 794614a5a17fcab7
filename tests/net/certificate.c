/* A CA and a certificate that live as long as the server; private keys are never written. */
#include "server.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

static void
extend(X509 *made, X509 *issuer, int kind, const char *value)
{
	X509_EXTENSION *e;
	X509V3_CTX context;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, made, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &context, kind, value);
	if (e == NULL || X509_add_ext(made, e, -1) != 1)
		abort();
	X509_EXTENSION_free(e);
}

/* A certificate for a key, signed by the issuer, or by itself without one. */
static X509 *
issue(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *by, long serial)
{
	X509 *made = X509_new();
	X509_NAME *subject = X509_get_subject_name(made);

	X509_set_version(made, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
	X509_gmtime_adj(X509_getm_notBefore(made), -86400);
	X509_gmtime_adj(X509_getm_notAfter(made), 30 * 86400L);
	X509_set_pubkey(made, key);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(made, issuer != NULL ? X509_get_subject_name(issuer) : subject);
	if (issuer == NULL) {
		extend(made, made, NID_basic_constraints, "critical,CA:TRUE");
		extend(made, made, NID_key_usage, "critical,keyCertSign,cRLSign");
		extend(made, made, NID_subject_key_identifier, "hash");
	} else {
		extend(made, issuer, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
		extend(made, issuer, NID_authority_key_identifier, "keyid");
	}
	if (X509_sign(made, by, EVP_sha256()) == 0)
		abort();
	return made;
}

SSL_CTX *
certificate_new(const char *ca_file)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *ca, *certificate;
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	FILE *f = fopen(ca_file, "we");

	if (ca_key == NULL || key == NULL || context == NULL || f == NULL)
		return NULL;
	ca = issue(ca_key, "test CA", NULL, ca_key, 1);
	certificate = issue(key, "127.0.0.1", ca, ca_key, 2);
	PEM_write_X509(f, ca);
	if (fclose(f) != 0 || SSL_CTX_use_certificate(context, certificate) != 1 ||
			SSL_CTX_use_PrivateKey(context, key) != 1)
		return NULL;
	X509_free(ca);
	X509_free(certificate);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	return context;
}
