/* resource: nothing is limited. */
#ifndef WASM_RESOURCE_H
#define WASM_RESOURCE_H

typedef unsigned long long rlim_t;
struct rlimit { rlim_t rlim_cur, rlim_max; };
#define RLIM_INFINITY (~0ull)
enum { RLIMIT_CORE, RLIMIT_DATA, RLIMIT_NOFILE };

static inline int
getrlimit(int which, struct rlimit *r)
{
	(void)which;
	*r = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	return 0;
}

static inline int
setrlimit(int which, const struct rlimit *r)
{
	(void)which, (void)r;
	return 0;
}

#endif
