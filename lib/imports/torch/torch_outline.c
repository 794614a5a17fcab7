/* The parts of a PyTorch file that may be broken: the members of an archive. */
#include <string.h>

#include "core/text.h"
#include "imports/torch/torch.h"
#include "model/outline.h"
#include "wire/zip_walk.h"

static void
add(void *ctx, uint64_t offset, uint64_t bytes, const char *what, const uint8_t *name, size_t n)
{
	char text[300];

	if (!name)
		outline_add(ctx, offset, bytes, "%s", what);
	else
		outline_add(ctx, offset, bytes, "%s %s", what,
		            text_quote(text, sizeof text, (const char *)name, n));
}

void
torch_outline(struct reader *r, struct outline *o)
{
	size_t n;
	const uint8_t *p = reader_peek(r, TAR_BLOCK, &n);
	const char *wrong;

	if (p && n >= 4 && memcmp(p, "PK", 2) == 0) {
		wrong = zip_walk(r, add, o);
	} else if (p && tar_begins(p, n)) {
		wrong = tar_walk(r, add, o);
	} else {
		outline_add(o, 0, r->end, "pickles and storages of the form before zip");
		return;
	}
	if (wrong)
		outline_stop(o, r, "%s", wrong);
}
