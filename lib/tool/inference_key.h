/* inference_key: the key that a model publishes for sealed questions: metadata
 * inference_pub_key, 32 bytes in base64, and inference_protocol, which names
 * crypto/seal/message.h (APR 1.3.0, section 4.1.4).
 */
#ifndef TOOL_INFERENCE_KEY_H
#define TOOL_INFERENCE_KEY_H

#include <stdint.h>

#include "core/err.h"
#include "crypto/agree.h"

#define INFERENCE_KEY "inference_pub_key"
#define INFERENCE_PROTOCOL "inference_protocol"

/* Of the model in a file of any format, sealed or not; its tensors are not waited for.
 * Enters the sandbox. E001 where it publishes no key, or for another protocol; E002 where
 * the key is none. 0 or -1. */
int inference_key(const char *path, uint8_t key[AGREE_BYTES], struct err *e);

#endif
