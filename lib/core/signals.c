#include "core/signals.h"

static bool caught;

void
signals_catch(void)
{
	caught = true;
}

bool
signals_caught(void)
{
	return caught;
}
