/* netbox: the rights that a tool of the network gives up before its first request.
 *
 * Such a tool needs sockets and creates files while it runs, so the sandbox of the other tools
 * (core/sandbox.h) does not fit. What remains to it:
 *
 *     reading   the folders declared, and what the C library and TLS need: /etc, /usr, /lib,
 *               /run, /dev, /proc
 *     writing   the folders declared: the caches, the place of -o (Landlock)
 *     sockets   of IP and Unix, as a client: no listening
 *     threads
 *
 * It cannot start programs or processes, signal, trace or limit others, change modes and owners
 * of files, mount, load code into the kernel, or type into its terminal (seccomp). A kernel
 * without one of the two leaves the other; a build with the address sanitizer has neither, as in
 * core/sandbox.h.
 */
#ifndef CORE_NETBOX_H
#define CORE_NETBOX_H

/* Declare a file or folder before netbox_enter; folders with all that is below. A path that does
 * not exist, NULL and "" are ignored. */
void netbox_may_read(const char *path);
void netbox_may_write(const char *path);

/* The process needs no sockets either. */
void netbox_offline(void);

/* Enters. A second call does nothing. */
void netbox_enter(void);

#endif
