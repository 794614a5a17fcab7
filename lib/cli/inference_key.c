#include "cli/inference_key.h"

#include <string.h>

#include "cli/input.h"
#include "core/base64.h"
#include "crypto/authentic.h"
#include "crypto/seal/message.h"

/* Appends to b the text of a string key, or of a key of type json that holds a string.
 * Returns 0, 1 if such a key does not exist, or -1. */
static int
find_text(const struct model *m, const char *name, struct buf *b, struct err *e)
{
	const struct meta *k = model_find(m, name);
	const char *text;
	json_t *v;
	size_t n;

	if (!k || !k->wire || k->type.depth)
		return 1;
	if (k->type.leaf == VALUE_STRING) {
		text = value_string(k->type, k->wire, k->wire_bytes, &n);
		if (text)
			buf_put(b, text, n);
		return text && buf_ok(b) ? 0 : 1;
	}
	if (k->type.leaf != VALUE_JSON)
		return 1;
	v = json_parse_any(k->wire, k->wire_bytes, ERR_CORRUPT, name, e);
	if (!v)
		return -1;
	if (json_is_string(v))
		buf_put(b, json_string_value(v), json_string_length(v));
	n = json_is_string(v);
	json_decref(v);
	return n && buf_ok(b) ? 0 : 1;
}

static int
find_key(const struct model *m, const char *path, uint8_t key[AGREE_BYTES], struct err *e)
{
	struct base64_reader reader = { 0 };
	struct buf text = { 0 }, protocol = { 0 }, bytes = { 0 };
	int r = find_text(m, INFERENCE_KEY, &text, e);

	if (r == 0)
		r = find_text(m, INFERENCE_PROTOCOL, &protocol, e);
	if (r > 0)
		r = err_set(e, ERR_FORMAT, path, "does not publish " INFERENCE_KEY " with its "
		            INFERENCE_PROTOCOL);
	else if (r == 0 && (protocol.n != strlen(MESSAGE_PROTOCOL) ||
	                    memcmp(protocol.p, MESSAGE_PROTOCOL, protocol.n) != 0))
		r = err_set(e, ERR_FORMAT, path, "its " INFERENCE_PROTOCOL " is not "
		            MESSAGE_PROTOCOL);
	else if (r == 0 && (base64_add(&reader, text.p, text.n, &bytes) < 0 ||
	                    base64_end(&reader) < 0 || bytes.n != AGREE_BYTES))
		r = err_set(e, ERR_CORRUPT, path, "its " INFERENCE_KEY " is not 32 bytes in base64");
	if (r == 0)
		memcpy(key, bytes.p, AGREE_BYTES);
	buf_free(&text);
	buf_free(&protocol);
	buf_free(&bytes);
	return r;
}

int
inference_key(const char *path, const struct trusted *keys, uint8_t key[AGREE_BYTES],
              struct err *e)
{
	struct authentic_seal seal;
	struct input in;

	if (input_open_sealed(&in, path, e) < 0)
		return input_close(&in, e);
	if (find_key(in.source->plan, path, key, e) < 0 || !keys)
		return input_abandon(&in, e);
	if (in.source->plan->sealed) {
		authentic_outer(in.source, keys, &seal, e);
		return input_abandon(&in, e);
	}
	authentic_content(in.source, keys, e);
	return input_close(&in, e);
}
