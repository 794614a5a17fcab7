#include "../../../lib/core/wasm/include/arm_neon.h"
