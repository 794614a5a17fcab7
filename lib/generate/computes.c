#include "generate/computes.h"

int
computes_open(struct computes *c, const struct weights *w, const struct infer_options *how,
              void (*note)(const char *), struct err *e)
{
	*c = (struct computes){ .infer = infer_open(w, how, note, e) };
	if (c->infer)
		c->sequence = sequence_open(c->infer, e);
	return c->sequence ? 0 : -1;
}

void
computes_close(struct computes *c)
{
	sequence_close(c->sequence);
	infer_close(c->infer);
	*c = (struct computes){ .infer = NULL };
}
