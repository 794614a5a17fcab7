/* version: the version of all tools and of the library. */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

#define APR_VERSION "0.1.0"

#endif
