/* resource: nothing is limited. */
#ifndef BARE_RESOURCE_H
#define BARE_RESOURCE_H

#define RLIMIT_DATA 2
#define RLIM_INFINITY (~0ull)

struct rlimit {
	unsigned long long rlim_cur, rlim_max;
};

#define getrlimit(which, r) (*(r) = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }, 0)
#define setrlimit(which, r) ((void)(r), 0)

#endif
