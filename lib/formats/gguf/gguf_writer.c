#include "formats/gguf/gguf_writer.h"

#include <string.h>

void
gguf_put_key(struct buf *b, const char *prefix, const char *name, uint32_t kind)
{
	buf_u64(b, strlen(prefix) + strlen(name));
	buf_text(b, prefix);
	buf_text(b, name);
	buf_u32(b, kind);
}
