#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/gguf/gguf_writer.h"

int
gguf_scales_begin(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->tensor_count && !gguf_is_scaled(m->tensors[i]); i++)
		;
	if (i == m->tensor_count)
		return 0;
	s->scale_at = mem_array(m->tensor_count, sizeof *s->scale_at);
	if (!s->scale_at)
		return err_memory(e);
	if (s->out.seekable)
		return 0;
	if (late_file_open(&s->completed, e) < 0)
		return -1;
	s->to = &s->completed.out;
	return 0;
}

void
gguf_put_scale_keys(struct gguf_sink *s, size_t i)
{
	const char *name = tensor_name(s->plan->tensors[i]);

	gguf_put_key(&s->piece, GGUF_SCALE, name, VALUE_F32);
	s->scale_at[i] = out_tell(s->to) + s->piece.n;
	buf_u32(&s->piece, 0);
	gguf_put_key(&s->piece, GGUF_ZERO, name, VALUE_I32);
	buf_u32(&s->piece, 0);
}

void
gguf_scaled_begin(struct gguf_sink *s, size_t i)
{
	s->now = SCALED;
	s->tensor = i;
	s->head_bytes = 0;
}

/* Write the complete head into the keys. */
static int
put_head(struct gguf_sink *s, struct err *e)
{
	const char *name = tensor_name(s->plan->tensors[s->tensor]);
	uint64_t scale = s->scale_at[s->tensor];
	/* After the scale come the length, name and type of the next key. */
	uint64_t zero = scale + 4 + 8 + strlen(GGUF_ZERO) + strlen(name) + 4;

	if (!gguf_scale_is_finite(s->head)) {
		err_set(e, ERR_INVALID, name, "its scale is not finite, and so cannot be a key "
		        "of a GGUF file");
		return err_hint(e, "-t apr2 and -t safetensors hold it");
	}
	if (out_patch(s->to, scale, s->head, 4) < 0)
		return -1;
	return out_patch(s->to, zero, s->head + 4, 4);
}

int
gguf_scaled_write(struct gguf_sink *s, const uint8_t *p, size_t n, struct err *e)
{
	size_t head = (size_t)num_min(GGUF_SCALED_HEAD - s->head_bytes, n);

	memcpy(s->head + s->head_bytes, p, head);
	s->head_bytes += head;
	if (head > 0 && s->head_bytes == GGUF_SCALED_HEAD && put_head(s, e) < 0)
		return -1;
	return n > head ? out_put(s->to, p + head, n - head) : 0;
}
