/* pthread: there is one thread. */
#ifndef BARE_PTHREAD_H
#define BARE_PTHREAD_H

#define PTHREAD_ONCE_INIT 0

typedef int pthread_once_t;

static inline int
pthread_once(pthread_once_t *once, void (*run)(void))
{
	if (!*once)
		run();
	*once = 1;
	return 0;
}

#endif
