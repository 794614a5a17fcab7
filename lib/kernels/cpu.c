#include "kernels/cpu.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#if defined __aarch64__ && defined __linux__
#include <sys/auxv.h>
#endif

#if defined __x86_64__
static unsigned
ask(void)
{
	unsigned a, b, c, d, found = 0;

	/* clang 14 does not know the name of F16C. */
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C))
		found |= CPU_AVX2;
	if (found && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		found |= CPU_AVX512;
	if (__builtin_cpu_supports("avx512vnni"))
		found |= CPU_VNNI;
	if (__builtin_cpu_supports("avx512vbmi2"))
		found |= CPU_VBMI2;
	return found;
}
#elif defined __aarch64__ && defined __linux__
static unsigned
ask(void)
{
	unsigned found = 0;

	if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
		found |= CPU_SDOT;
	if (getauxval(AT_HWCAP2) & HWCAP2_I8MM)
		found |= CPU_I8MM;
	return found;
}
#else
static unsigned
ask(void)
{
	return 0;
}
#endif

bool
cpu_has(unsigned features)
{
	static unsigned found;
	static bool asked;

	if (!asked)
		found = ask();
	asked = true;
	return (features & ~found) == 0;
}
