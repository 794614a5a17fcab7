/* What newlib declares and leaves out. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

int
posix_memalign(void **p, size_t align, size_t n)
{
	*p = memalign(align, n);
	return *p ? 0 : ENOMEM;
}
