/* The vectors of WebAssembly by those of x86-64, for core/wasm/include/arm_neon.h. */
#define SIMDE_WASM_SIMD128_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
