/* attend.h in plain C. */
#define ATTEND attend_ref
#define BYTES 16
#include "kernels/common/attend_loops.h"
