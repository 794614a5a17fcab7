/* inference_key: the key that a model publishes for sealed questions: metadata
 * inference_pub_key, 32 bytes in base64, and inference_protocol, which names
 * crypto/seal/message.h (APR 1.3.0, section 4.1.4).
 */
#ifndef CLI_INFERENCE_KEY_H
#define CLI_INFERENCE_KEY_H

#include <stdint.h>

#include "core/err.h"
#include "crypto/agree.h"
#include "crypto/trusted.h"

#define INFERENCE_KEY "inference_pub_key"
#define INFERENCE_PROTOCOL "inference_protocol"

/* Reads the key from the model in a file of any format and enters the sandbox. keys: one
 * of them must have signed the content, or the seal of a sealed model
 * (crypto/authentic.h), else E006; NULL accepts a model without a trusted signature and
 * reads no tensor. Returns 0; or -1 with E001: the model publishes no key, or one for
 * another protocol; E002: the key is malformed. */
int inference_key(const char *path, const struct trusted *keys, uint8_t key[AGREE_BYTES],
                  struct err *e);

#endif
