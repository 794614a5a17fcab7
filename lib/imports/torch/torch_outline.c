/* The parts of a PyTorch file that may be broken: the members of an archive. */
#include "imports/import.h"
#include "imports/torch/torch.h"

void
torch_outline(struct reader *r, struct outline *o)
{
	import_outline(r, o);
	if (o->parts == 0 && !o->stopped)
		outline_add(o, 0, r->end, "pickles and storages of the form before zip");
}
