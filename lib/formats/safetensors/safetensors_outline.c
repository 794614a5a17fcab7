/* The parts of a safetensors file that may be broken. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "formats/safetensors/safetensors.h"
#include "model/outline.h"

static void
add_tensors(struct outline *o, const struct safetensors_header *h)
{
	struct outline_shape none = { 0 };
	uint64_t data = 8 + h->bytes, at, end = 0, last;
	size_t i;

	for (i = 0; i < h->entry_count; i++) {
		const struct tensor *t = h->entries[i].tensor;

		if (num_add(data, h->entries[i].at, &at) < 0 ||
		    num_add(h->entries[i].at, tensor_bytes(t), &last) < 0)
			continue;
		end = last > end ? last : end;
		outline_tensor(o, tensor_name(t), strlen(tensor_name(t)), tensor_type(t), &none, at,
		               tensor_bytes(t), true);
	}
	outline_add(o, data, end, "data of %zu tensors", h->entry_count);
}

void
safetensors_outline(struct reader *r, struct outline *o)
{
	struct safetensors_header h = { 0 };
	uint64_t n = reader_u64(r);

	outline_add(o, 0, 8, "length of the header: %" PRIu64, n);
	if (r->failed || n > reader_left(r)) {
		outline_stop(o, r, "the header has %" PRIu64 " bytes, more than the file", n);
		return;
	}
	outline_add(o, 8, n, "header: JSON");
	reader_seek(r, 0);
	if (safetensors_header_read(&h, r) < 0) {
		char fact[sizeof r->err->fact];

		memcpy(fact, r->err->fact, sizeof fact);
		outline_stop(o, r, "%s", fact);
	} else {
		add_tensors(o, &h);
	}
	safetensors_header_free(&h);
}
