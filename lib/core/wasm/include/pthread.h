/* pthread: as a system with one thread has it. Mutexes do nothing, and no thread can be
 * started, so that loops and tasks run in the caller (core/thread.h, core/tasks.h).
 */
#ifndef WASM_PTHREAD_H
#define WASM_PTHREAD_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

/* sys/types.h has other types of these names. */
#define pthread_mutex_t wasm_mutex_t
#define pthread_cond_t wasm_cond_t
#define pthread_once_t wasm_once_t
#define pthread_attr_t wasm_attr_t
#define pthread_t wasm_thread_t
typedef int pthread_mutex_t, pthread_cond_t, pthread_once_t, pthread_attr_t;
typedef void *pthread_t;

#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP 0
#define PTHREAD_COND_INITIALIZER 0
#define PTHREAD_ONCE_INIT 0
#define PTHREAD_CREATE_DETACHED 1

#define WASM_NOTHING(name, type) static inline int name(type *p) { (void)p; return 0; }
WASM_NOTHING(pthread_mutex_lock, pthread_mutex_t)
WASM_NOTHING(pthread_mutex_trylock, pthread_mutex_t)
WASM_NOTHING(pthread_mutex_unlock, pthread_mutex_t)
WASM_NOTHING(pthread_mutex_destroy, pthread_mutex_t)
WASM_NOTHING(pthread_cond_signal, pthread_cond_t)
WASM_NOTHING(pthread_cond_broadcast, pthread_cond_t)
WASM_NOTHING(pthread_cond_destroy, pthread_cond_t)
WASM_NOTHING(pthread_attr_init, pthread_attr_t)
WASM_NOTHING(pthread_attr_destroy, pthread_attr_t)
#undef WASM_NOTHING

static inline int
pthread_mutex_init(pthread_mutex_t *m, const void *attr)
{
	(void)attr;
	*m = 0;
	return 0;
}

/* Nobody else could end the wait. */
static inline int
pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	(void)c, (void)m;
	__builtin_trap();
}

static inline int
pthread_once(pthread_once_t *once, void (*fn)(void))
{
	if (!*once) {
		*once = 1;
		fn();
	}
	return 0;
}

static inline int
pthread_attr_setdetachstate(pthread_attr_t *a, int state)
{
	(void)a, (void)state;
	return 0;
}

static inline int
pthread_attr_setstacksize(pthread_attr_t *a, size_t n)
{
	(void)a, (void)n;
	return 0;
}

static inline int
pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *ctx)
{
	(void)t, (void)a, (void)fn, (void)ctx;
	return EAGAIN;
}

static inline int
pthread_join(pthread_t t, void **result)
{
	(void)t, (void)result;
	return ESRCH;
}

#endif
