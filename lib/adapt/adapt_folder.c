#include "adapt/adapt_parts.h"
int
adapt_to_folder(struct adapt *a, struct err *e)
{
	(void)a;
	return err_memory(e);
}
