/* licence: what a model says about its licence, before work with it begins. */
#ifndef FRONT_LICENCE_H
#define FRONT_LICENCE_H

#include <stddef.h>

/* Asks apr-meta for the licence of a model file or folder: text, or "" if the model states none.
 * Returns 0, or -1 if the model cannot be read, which its own reader reports. */
int front_licence(const char *file, char *text, size_t size);

#endif
