/* licence: what a model says about its licence, before work with it begins. */
#ifndef FRONT_LICENCE_H
#define FRONT_LICENCE_H

#include <stddef.h>

/* Asks apr-meta for the licence of a model file or folder. Returns text, "" if the model does
 * not state one or cannot be read. */
const char *front_licence(const char *file, char *text, size_t size);

#endif
