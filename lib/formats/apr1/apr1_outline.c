/* The parts of an APR version 1 file that may be broken. */
#include <inttypes.h>

#include "core/le.h"
#include "formats/apr1/apr1.h"
#include "model/outline.h"

void
apr1_outline(struct reader *r, struct outline *o)
{
	const uint8_t *p = reader_take(r, APR1_HEADER);
	uint64_t at = APR1_HEADER;
	uint32_t meta, payload;
	const char *type;
	uint8_t flags;

	if (!p) {
		outline_stop(o, r, "the file ends in its header");
		return;
	}
	type = apr1_type_name(le16(p + 6));
	meta = le32(p + 8);
	payload = le32(p + 12);
	flags = p[21];
	outline_add(o, 0, APR1_HEADER, "header: magic \"APRN\", version %u.%u, type %s, flags 0x%x",
	            p[4], p[5], type ? type : "unknown", flags);
	outline_add(o, at, meta, "metadata: MessagePack");
	at += meta;
	outline_add(o, at, payload, "payload%s%s", p[20] ? ", compressed" : "",
	            flags & APR1_ENCRYPTED ? ", encrypted" : "");
	at += payload;
	if (flags & APR1_SIGNED) {
		outline_add(o, at, APR1_SIGNATURE, "signature and public key");
		at += APR1_SIGNATURE;
	}
	if (at + APR1_FOOTER > r->end) {
		reader_seek(r, r->end);
		outline_stop(o, r, "the file has %" PRIu64 " bytes, but its parts end at byte %" PRIu64,
		             r->end, at + APR1_FOOTER);
		return;
	}
	if (flags & APR1_LICENSED && r->end - APR1_FOOTER > at) {
		outline_add(o, at, r->end - APR1_FOOTER - at, "licence block");
		at = r->end - APR1_FOOTER;
	}
	outline_add(o, at, APR1_FOOTER, "CRC-32");
}
