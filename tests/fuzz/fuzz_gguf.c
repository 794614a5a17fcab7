/* fuzz_gguf: tests/fuzz/fuzz.h asked of format_gguf. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_gguf, data, size);
}
