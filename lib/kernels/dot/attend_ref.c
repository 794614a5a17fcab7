/* The definition of attend.h. */
#define ATTEND attend_ref
#include "kernels/dot/attend_loops.h"
