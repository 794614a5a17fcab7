/* each: runs a tool on several FILEs. Each FILE is read by a new process, one after the
 * other, which enters its own sandbox: a hostile FILE cannot affect the next.
 */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include <stdbool.h>

/* Call it once, after tool_begin and before the sandbox and any thread. If files has at
 * most one FILE, returns it, or NULL. Otherwise returns once in each new process, with
 * the FILE of that process; the first process waits for them and ends here, with the
 * highest exit status. headed: prints "==> FILE <==" before the output of each. */
const char *each_file(char **files, bool headed);

/* Before each_file: what the first process prints before the output of the first FILE, between
 * two, and after the last, if there are several. */
void each_around(const char *begin, const char *between, const char *end);

/* The FILE of this process if there are several, else NULL. The output must then name
 * it. */
const char *each_name(void);

#endif
