/* private: stands for malloc and its sisters in the library: host.c, install.mk. */
#ifndef API_HOST_H
#define API_HOST_H

#include <stddef.h>

void *api_malloc(size_t n);
void *api_calloc(size_t n, size_t size);
void *api_realloc(void *old, size_t n);
void api_free(void *p);
char *api_strdup(const char *s);
char *api_strndup(const char *s, size_t n);

#endif
