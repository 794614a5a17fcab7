/* netbox: what a tool of the network can still do after it has entered. Each probe runs inside, in
 * a child. */
#include "core/netbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char root[] = "/tmp/t_netbox.XXXXXX";
static struct sockaddr_in server;

static const char *
at(const char *name)
{
	static char text[4][128];
	static int i;
	char *to = text[i++ % 4];

	snprintf(to, 128, "%s/%s", root, name);
	return to;
}

static int
opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void *
nothing(void *p)
{
	return p;
}

static int p_write(void) { return opens(at("cache/new"), O_WRONLY | O_CREAT); }
static int p_rename(void) { return rename(at("cache/a"), at("cache/sub/a")) == 0; }
static int p_link(void) { return symlink("x", at("cache/link")) == 0; }
static int p_read(void) { return opens(at("data/b"), O_RDONLY); }
static int p_hosts(void) { return opens("/etc/hosts", O_RDONLY); }
static int p_write_read(void) { return opens(at("data/b"), O_WRONLY); }
static int p_other(void) { return opens(at("else/c"), O_RDONLY); }
static int p_other_write(void) { return opens(at("else/new"), O_WRONLY | O_CREAT); }
static int p_other_remove(void) { return unlink(at("else/c")) == 0; }
static int p_kill(void) { return kill(getppid(), 0) == 0; }
static int p_ptrace(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0; }
static int p_chmod(void) { return chmod(at("cache/sub"), 0700) == 0; }
static int p_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0) >= 0; }
static int p_bpf(void) { return syscall(SYS_bpf, 0, NULL, 0) == 0 || errno != EPERM; }

static int
p_exec(void)
{
	return execl("/bin/true", "true", (char *)NULL) == 0 || errno != EPERM;
}

static int
p_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return child > 0;
}

static int
p_thread(void)
{
	pthread_t t;

	return pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0;
}

static int
p_connect(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0;
}

static int
p_listen(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && listen(fd, 1) == 0;
}

static const struct {
	const char *what;
	int (*try)(void);
	int can;   /* inside */
	int files; /* needs Landlock */
	int offline; /* of a tool that needs no sockets */
} probes[] = {
	{ "a new file in the cache", p_write, 1, 1, 0 },
	{ "moving a file between its folders", p_rename, 1, 1, 0 },
	{ "a link in the cache", p_link, 1, 1, 0 },
	{ "a file that was declared for reading", p_read, 1, 1, 0 },
	{ "the system's files", p_hosts, 1, 1, 0 },
	{ "a thread", p_thread, 1, 0, 0 },
	{ "a connection", p_connect, 1, 0, 0 },
	{ "writing what was declared for reading", p_write_read, 0, 1, 0 },
	{ "another file", p_other, 0, 1, 0 },
	{ "a new file elsewhere", p_other_write, 0, 1, 0 },
	{ "removing a file elsewhere", p_other_remove, 0, 1, 0 },
	{ "a program", p_exec, 0, 0, 0 },
	{ "a process", p_fork, 0, 0, 0 },
	{ "a signal to its parent", p_kill, 0, 0, 0 },
	{ "being traced", p_ptrace, 0, 0, 0 },
	{ "changing a mode", p_chmod, 0, 0, 0 },
	{ "raw packets", p_packet, 0, 0, 0 },
	{ "listening", p_listen, 0, 0, 0 },
	{ "loading code into the kernel", p_bpf, 0, 0, 0 },
	{ "a connection of a tool that needs none", p_connect, 0, 0, 1 },
	{ "a file in the cache of a tool that needs no network", p_write, 1, 1, 1 },
};

static int
inside(int (*try)(void), int offline)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		netbox_may_write(at("cache"));
		netbox_may_read(at("data"));
		netbox_may_read(at("nothing"));
		if (offline)
			netbox_offline();
		netbox_enter();
		_exit(try() ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void
make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

int
main(void)
{
	static const char *const folders[] = { "cache", "cache/sub", "data", "else" };
	socklen_t n = sizeof server;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 2;
	size_t i;

#if defined(__SANITIZE_ADDRESS__)
	test_ok(1, "a build with the address sanitizer has no sandbox");
	return test_done();
#endif
	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!mkdtemp(root) || bind(listener, (struct sockaddr *)&server, sizeof server) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&server, &n) < 0) {
		perror("t_netbox");
		return 1;
	}
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		mkdir(at(folders[i]), 0755);
	make(at("cache/a"));
	make(at("data/b"));
	make(at("else/c"));
	for (i = 0; i < sizeof probes / sizeof *probes; i++)
		if (landlock || !probes[i].files)
			test_ok(inside(probes[i].try, probes[i].offline) == probes[i].can, "%s: %s", probes[i].what,
			        probes[i].can ? "yes" : "no");
	for (i = 0; i < 4; i++)
		rmdir(at(folders[i]));
	unlink(at("cache/new"));
	unlink(at("cache/link"));
	unlink(at("cache/sub/a"));
	unlink(at("cache/a"));
	unlink(at("data/b"));
	unlink(at("else/c"));
	rmdir(at("cache/sub"));
	for (i = 0; i < 4; i++)
		rmdir(at(folders[i]));
	rmdir(root);
	return test_done();
}
