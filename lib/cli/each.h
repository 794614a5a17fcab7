/* each: the work of a tool on several FILEs. Each is read by a process of its own, one after
 * the other, which enters its own sandbox: a hostile FILE cannot touch the next.
 */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include <stdbool.h>

/* Call it once, behind tool_begin and before the sandbox and any thread. Returns the one FILE
 * of files, or NULL if there is none. Of several, it returns once in each new process, with
 * the FILE of that process; the first process waits for them and ends here, with the highest
 * exit status. headed: "==> FILE <==" is printed before the output of each. */
const char *each_file(char **files, bool headed);

/* The FILE of this process where there are several, else NULL: it must be named in what is
 * printed. */
const char *each_name(void);

#endif
