/* fuzz_gguf: the properties of tests/fuzz/fuzz.h, for GGUF. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_gguf, data, size);
}
