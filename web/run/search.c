/* search: what the module that runs models, which converts none, has instead of the fits of quantizers. The types
 * that it encodes (web/module.mk) need none.
 */
#include "kernels/common/search.h"
#include "kernels/neon/neon.h"

const struct search search_ref = { 0 };
const struct search search_neon = { 0 };
