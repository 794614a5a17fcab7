#include "crypto/derivation.h"

static _Thread_local uint64_t most;

void
derivation_limit(uint64_t bytes)
{
	most = bytes;
}

uint64_t
derivation_allows(void)
{
	return most;
}
