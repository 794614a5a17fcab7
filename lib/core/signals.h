/* signals: what the process does about signals.
 *
 * A tool undoes its output before a signal ends it (core/out.h), and goes on with zeros where a
 * mapped file has lost pages (core/map.h). The library for other programs leaves all signals to
 * its program, and is the default.
 */
#ifndef CORE_SIGNALS_H
#define CORE_SIGNALS_H

#include <stdbool.h>

/* This process is a tool: handlers may be installed. Call this once, before any thread starts. */
void signals_catch(void);
bool signals_caught(void);

#endif
