/* sandbox: what a process can still do after it has entered, for the row of each tool.
 *
 * Each probe is something that a compromised reader would try. They run inside, in a
 * child that has entered as the tool does. --table prints what came of it: the table of
 * apr(7). */
#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/opened.h"
#include "core/place.h"
#include "core/spool.h"
#include "test.h"

#define NEVER 0u
#define EACH (1u << 31)
#define INPUT "model-00001-of-00002.gguf"

static char root[] = "/tmp/t_sandbox.XXXXXX";
static volatile sig_atomic_t caught;
static int inherited, terminal, inside_file;

/* A name in the folder of this test; of several calls the last eight stay. */
static const char *
at(const char *name)
{
	static char text[8][128];
	static int i;
	char *to = text[i++ % 8];

	snprintf(to, 128, "%s/%s", root, name);
	return to;
}

static void
make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0) {
		perror(path);
		exit(1);
	}
}

static void
make_all(void)
{
	static const char *const folders[] = { "in", "in/deep", "out", "else", "spool",
		"in/snapshots", "in/snapshots/1", "in/blobs" };
	static const char *const files[] = { "in/model-00001-of-00002.gguf",
		"in/model-00002-of-00002.gguf",
		"in/.hidden", "in/deep/b", "else/c", "out/old", "out/made", "in/blobs/d" };
	size_t i;

	if (!mkdtemp(root))
		exit(1);
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		if (mkdir(at(folders[i]), 0700) < 0)
			exit(1);
	for (i = 0; i < sizeof files / sizeof *files; i++)
		make_file(at(files[i]));
	if (symlink("../else/c", at("in/link")) < 0)
		exit(1);
	setenv("TMPDIR", at("spool"), 1);
}

/* ---- calls, without making them ---- */

/* Before the process enters it gets a filter that answers ENOTNAM to any call whose last
 * argument is MAGIC. Of two refusals the kernel takes that of the later filter, so such a
 * call says whether the sandbox lets it pass, and never happens. */
#define MAGIC 0x5a5aa5a5u

static void
watch_calls(void)
{
	struct sock_filter rules[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[5]) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, MAGIC },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOTNAM },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog program = { .len = 4, .filter = rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(9);
}

/* Does it pass, with these arguments? 0, or -1 with errno. */
static int
passes(long number, long a, long b, long c)
{
	long r = syscall(number, a, b, c, 0L, 0L, (long)MAGIC);
	bool passed = r < 0 && errno == ENOTNAM;

	/* The last argument stays in its register; calls with fewer leave it there. */
	syscall(SYS_getpid, 0L, 0L, 0L, 0L, 0L, 0L);
	return passed ? 0 : -1;
}

/* ---- probes: 0 where it can be done ---- */

static int
opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int p_read(void) { return opens(at("else/c"), O_RDONLY); }
static int p_read_deep(void) { return opens(at("in/deep/b"), O_RDONLY); }
static int p_read_input(void) { return opens(at("in/" INPUT), O_RDONLY); }
static int p_read_passwd(void) { return opens("/etc/passwd", O_RDONLY); }
static int p_read_environ(void) { return opens("/proc/self/environ", O_RDONLY); }
static int p_read_memory(void) { return opens("/proc/self/mem", O_RDWR); }
static int p_read_folder(void) { return opens("/", O_RDONLY | O_DIRECTORY); }
static int p_read_path(void) { return opens("/", O_PATH); }
static int p_read_again(void) { return opens("/proc/self/fd/0", O_RDONLY); }

static int
p_inherited(void)
{
	return write(inherited, "x", 1) == 1 ? 0 : -1;
}

static int
beside(const char *name)
{
	int folder = opened_folder(at("in/" INPUT)), fd = -1;

	if (folder >= 0)
		fd = dir_open_fd(folder, name);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return fd < 0 ? -1 : 0;
}

static int p_beside(void) { return beside("model-00002-of-00002.gguf"); }
static int p_beside_hidden(void) { return beside(".hidden"); }
static int p_beside_deep(void) { return beside("deep/b"); }
static int p_beside_up(void) { return beside("../else/c"); }
static int p_beside_link(void) { return beside("link"); }

static int
p_list(void)
{
	int folder = opened_folder(at("in/" INPUT)), r = -1;
	struct dir_names list = { 0 };
	struct err e = ERR_INIT;

	if (folder >= 0)
		r = dir_list(folder, "in", &list, &e);
	dir_names_free(&list);
	return r;
}

static int
p_look(void)
{
	struct stat st;

	return stat(at("else/c"), &st);
}

static int p_write(void) { return opens(at("else/c"), O_WRONLY); }
static int p_write_input(void) { return opens(at("in/" INPUT), O_WRONLY); }
static int p_write_beside(void) { return opens(at("out/old"), O_RDWR); }
static int p_make(void) { return opens(at("out/new"), O_WRONLY | O_CREAT); }
static int p_make_nameless(void) { return opens(at("out"), O_TMPFILE | O_RDWR); }
static int p_truncate(void) { return truncate(at("out/old"), 0); }
static int p_mkdir(void) { return mkdir(at("out/folder"), 0700); }
static int p_mkfifo(void) { return mkfifo(at("out/fifo"), 0700); }
static int p_symlink(void) { return symlink("x", at("out/link")); }
static int p_link(void) { return link(at("else/c"), at("out/link")); }
static int p_unlink(void) { return unlink(at("out/old")); }
static int p_unlink_input(void) { return unlink(at("in/" INPUT)); }
static int p_rmdir(void) { return rmdir(at("in/deep")); }
static int p_rename(void) { return rename(at("else/c"), at("out/old")); }

/* As out_open and out_finish do it. */
static int
p_output(void)
{
	struct place *p = place_open(at("out/made"), true);
	size_t file = 0;
	int fd = p ? place_create(p, 0600, &file) : -1, r = -1;

	if (fd >= 0 && write(fd, "made", 4) == 4)
		r = place_name(p, file, false);
	if (fd >= 0)
		close(fd);
	return r;
}

static int
staged(const char *name, bool folder)
{
	struct place *p = place_open(at(folder ? "out/set" : "out/made"), !folder);
	size_t file = 0;
	int fd = p && place_stage(p) == 0 ? place_create(p, 0600, &file) : -1, r = -1;

	if (fd >= 0 && place_name_staged(p, file, name) == 0)
		r = folder ? place_become(p, false) : place_move(p, false, &file);
	if (fd >= 0) {
		place_drop(p, file);
		close(fd);
	}
	return r;
}

static int p_shard(void) { return staged("made-00001-of-00002.gguf", false); }
static int p_folder(void) { return staged("model.safetensors", true); }
static int p_other_name(void) { return staged("old", false); }
static int p_other_shard(void) { return staged("old-00001-of-00002.gguf", false); }
static int p_other_folder(void) { return staged("../else/c", false); }
static int p_hidden(void) { return staged(".hidden", false); }

static int
p_undeclared(void)
{
	struct place *p = place_open(at("else/made"), true);
	size_t file = 0;
	int fd = p ? place_create(p, 0600, &file) : -1;

	if (p)
		place_close(p);
	return fd < 0 ? -1 : 0;
}

static int
p_spool(void)
{
	struct err e = ERR_INIT;
	int fd = spool_file(&e);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int p_chmod(void) { return chmod(at("in/" INPUT), 0777); }
static int p_fchmod(void) { return fchmod(inside_file, 0777); }
static int p_utime(void) { return utimensat(AT_FDCWD, at("else/c"), NULL, 0); }
static int p_futime(void) { return futimens(inside_file, NULL); }

static int
p_attributes(void)
{
	long flags = 0;

	return ioctl(inside_file, 0x80086601, &flags); /* FS_IOC_GETFLAGS, before setting */
}

static int
p_exec(void)
{
	char *const no[] = { NULL };

	return execve("/bin/true", no, no);
}

static int
p_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	return child < 0 ? -1 : 0;
}

static int
p_namespace(void)
{
	return passes(SYS_clone, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_FILES |
	              CLONE_NEWUSER, 0, 0);
}

static void *
work(void *sum)
{
	*(int *)sum = 7;
	return sum;
}

static int
p_thread(void)
{
	pthread_t thread;
	int sum = 0, r = pthread_create(&thread, NULL, work, &sum);

	if (r != 0 || pthread_join(thread, NULL) != 0 || sum != 7) {
		errno = r;
		return -1;
	}
	return 0;
}

static int
p_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		munmap(p, 4096);
	return p == MAP_FAILED ? -1 : 0;
}

static int
p_code_later(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static int p_inet(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static int p_unix(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static int p_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, 0); }
static int p_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static int p_take(void) { return passes(SYS_recvmsg, 0, 0, 0); }

static int p_kill(void) { return kill(getppid(), 0); }
static int p_kill_group(void) { return kill(0, 0); }
static int p_kill_init(void) { return kill(1, 0); }

static int
p_tgkill(void)
{
	return (int)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

static int p_owner(void) { return fcntl(inside_file, F_SETOWN, getppid()); }
static int p_signal(void) { return fcntl(inside_file, F_SETSIG, SIGUSR1); }
static int p_async(void) { return fcntl(0, F_SETFL, O_ASYNC); }
static int p_lease(void) { return fcntl(inside_file, F_SETLEASE, F_UNLCK); }
static int p_notify(void) { return passes(SYS_fcntl, 0, 1026, 0); /* F_NOTIFY */ }

static int
p_owner_ex(void)
{
	struct f_owner_ex owner = { F_OWNER_PID, getppid() };

	return fcntl(inside_file, F_SETOWN_EX, &owner);
}

static int
p_ioctl_async(void)
{
	int on = 1;

	return ioctl(terminal, FIOASYNC, &on);
}

static int
p_ioctl_owner(void)
{
	int pid = getppid();

	return ioctl(terminal, FIOSETOWN, &pid);
}

static int
p_self(void)
{
	caught = 0;
	return raise(SIGUSR1) == 0 && caught ? 0 : -1;
}

static int
p_limit(void)
{
	struct rlimit r;

	return prlimit(getppid(), RLIMIT_CORE, NULL, &r);
}

static int
p_own_limit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r);
}

static int p_priority(void) { return setpriority(PRIO_PROCESS, (id_t)getppid(), 0); }

static int
p_peek(void)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { &inherited, 1 };

	return process_vm_readv(getppid(), &to, 1, &from, 1, 0) == 1 ? 0 : -1;
}

static int
p_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int p_type(void) { return ioctl(terminal, TIOCSTI, "x"); }
static int p_console(void) { return passes(SYS_ioctl, terminal, TIOCLINUX, 0); }
static int p_take_terminal(void) { return passes(SYS_ioctl, terminal, TIOCSCTTY, 0); }
static int p_set_terminal(void) { return passes(SYS_ioctl, terminal, 0x5402, 0); }
static int p_poison(void) { return passes(SYS_madvise, 0, 0, 100); }

/* ---- the list ---- */

struct probe {
	const char *name;
	int (*try)(void);
	long number;   /* or a call that must not pass; then try is NULL */
	unsigned with; /* EACH tool can, NEVER, or those with one of these needs */
};
#define CALL(name) { #name, NULL, SYS_##name, NEVER }
#define NEW_CALL(name, number) { #name, NULL, number, NEVER }
#define TRY(name, function) { name, function, -1, NEVER }
#define CAN(name, function, with) { name, function, -1, with }

struct action {
	const char *what; /* of the table: at most 30 columns */
	unsigned with;
	const struct probe *probes;
};

static const struct probe reading[] = {
	TRY("another file", p_read), TRY("a file beneath the input's folder", p_read_deep),
	TRY("the input once more, by its name", p_read_input),
	TRY("/etc/passwd", p_read_passwd), TRY("/proc/self/environ", p_read_environ),
	TRY("/proc/self/mem", p_read_memory), TRY("the root folder", p_read_folder),
	TRY("a path without rights", p_read_path),
	TRY("standard input, with other rights", p_read_again),
	TRY("what the caller left open", p_inherited),
	TRY("a hidden file beside the input", p_beside_hidden),
	TRY("a file below the input's folder, by the helper", p_beside_deep),
	TRY("a file above it, by the helper", p_beside_up),
	TRY("a link beside the input", p_beside_link),
	CALL(openat), NEW_CALL(openat2, 437), CALL(open_by_handle_at),
	CALL(name_to_handle_at), NEW_CALL(getxattrat, 464), NEW_CALL(listxattrat, 465),
	CALL(getxattr), CALL(listxattr), CALL(inotify_init1), CALL(fanotify_init),
#ifdef SYS_open
	CALL(open), CALL(creat),
#endif
	{ 0 }
};
static const struct probe reading_beside[] = {
	CAN("a shard beside the input", p_beside, SANDBOX_BESIDE),
	CAN("the names beside the input", p_list, SANDBOX_BESIDE), { 0 }
};
static const struct probe looking[] = { CAN("stat", p_look, EACH), { 0 } };
static const struct probe writing[] = {
	TRY("another file", p_write), TRY("the input", p_write_input),
	TRY("a file beside the output", p_write_beside), TRY("a new file", p_make),
	TRY("a file without a name", p_make_nameless), TRY("truncate", p_truncate),
	TRY("an output that was not declared", p_undeclared),
	TRY("another name than the output's", p_other_name),
	TRY("the name of another's shard", p_other_shard),
	TRY("a name in another folder", p_other_folder), TRY("a hidden name", p_hidden),
	NEW_CALL(openat2, 437), CALL(copy_file_range), CALL(sendfile), CALL(vmsplice), { 0 }
};
static const struct probe naming[] = {
	CAN("the output", p_output, SANDBOX_OUTPUT), CAN("a shard", p_shard, SANDBOX_OUTPUT),
	CAN("a folder", p_folder, SANDBOX_OUTPUT), { 0 }
};
static const struct probe removing[] = {
	TRY("unlink", p_unlink), TRY("unlink the input", p_unlink_input), TRY("rmdir", p_rmdir),
	TRY("rename", p_rename), TRY("mkdir", p_mkdir), TRY("mkfifo", p_mkfifo),
	TRY("symlink", p_symlink), TRY("link", p_link), CALL(unlinkat), CALL(renameat2),
	CALL(mkdirat), CALL(mknodat), CALL(symlinkat), CALL(linkat), { 0 }
};
static const struct probe changing[] = {
	TRY("chmod", p_chmod), TRY("fchmod", p_fchmod), TRY("utimensat", p_utime),
	TRY("futimens", p_futime), TRY("attributes", p_attributes), CALL(fchmodat),
	NEW_CALL(fchmodat2, 452), CALL(fchownat), CALL(fchown), CALL(setxattr),
	CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr), CALL(lremovexattr),
	CALL(fremovexattr), NEW_CALL(setxattrat, 463), NEW_CALL(removexattrat, 466),
	NEW_CALL(file_setattr, 469), CALL(flock), CALL(umask), CALL(chdir), CALL(fchdir), { 0 }
};
static const struct probe spooling[] = { CAN("a spool", p_spool, SANDBOX_SPOOL), { 0 } };
static const struct probe starting[] = {
	TRY("execve", p_exec), TRY("fork", p_fork), TRY("a thread elsewhere", p_namespace),
	CALL(execve), CALL(execveat), CALL(memfd_create), NEW_CALL(memfd_secret, 447),
	NEW_CALL(clone3, 435), CALL(unshare), CALL(setns),
#ifdef SYS_fork
	CALL(fork), CALL(vfork),
#endif
	{ 0 }
};
static const struct probe threading[] = { CAN("a thread", p_thread, SANDBOX_THREADS), { 0 } };
static const struct probe coding[] = {
	CAN("mmap", p_code, SANDBOX_CODE), CAN("mprotect", p_code_later, SANDBOX_CODE), { 0 }
};
static const struct probe talking[] = {
	TRY("IP", p_inet), TRY("a Unix socket", p_unix), TRY("netlink", p_netlink),
	TRY("packets", p_packet), TRY("descriptors of standard input", p_take), CALL(socket),
	CALL(socketpair), CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
	CALL(sendto), CALL(sendmsg), CALL(sendmmsg), CALL(recvfrom), CALL(recvmmsg),
	CALL(setsockopt), CALL(shutdown), { 0 }
};
static const struct probe signalling[] = {
	TRY("its parent", p_kill), TRY("its group", p_kill_group), TRY("init", p_kill_init),
	TRY("a thread of its parent", p_tgkill), TRY("F_SETOWN", p_owner),
	TRY("F_SETOWN_EX", p_owner_ex), TRY("F_SETSIG", p_signal), TRY("O_ASYNC", p_async),
	TRY("FIOASYNC", p_ioctl_async), TRY("FIOSETOWN", p_ioctl_owner),
	TRY("F_SETLEASE", p_lease), TRY("F_NOTIFY", p_notify), CALL(kill), CALL(tkill),
	CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo), NEW_CALL(pidfd_send_signal, 424),
	NEW_CALL(pidfd_open, 434), CALL(timer_create), CALL(setitimer), CALL(mq_notify),
	CALL(signalfd4), { 0 }
};
static const struct probe own_signals[] = { CAN("raise", p_self, EACH), { 0 } };
static const struct probe limiting[] = {
	TRY("prlimit of its parent", p_limit), TRY("setpriority of its parent", p_priority),
	CALL(setpriority), CALL(sched_setaffinity), CALL(sched_setscheduler),
	CALL(sched_setparam), CALL(sched_setattr), CALL(ioprio_set), CALL(migrate_pages),
	CALL(move_pages), CALL(mbind), CALL(set_mempolicy), NEW_CALL(process_madvise, 440),
	NEW_CALL(process_mrelease, 448), NEW_CALL(set_mempolicy_home_node, 450),
	CALL(setrlimit), CALL(setpgid), CALL(setsid), { 0 }
};
static const struct probe own_limits[] = { CAN("getrlimit", p_own_limit, EACH), { 0 } };
static const struct probe tracing[] = {
	TRY("memory of its parent", p_peek), TRY("ptrace", p_ptrace), CALL(ptrace),
	CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp), NEW_CALL(pidfd_getfd, 438),
	CALL(userfaultfd), CALL(personality), { 0 }
};
static const struct probe typing[] = {
	TRY("TIOCSTI", p_type), TRY("TIOCLINUX", p_console), TRY("TIOCSCTTY", p_take_terminal),
	TRY("TCSETS", p_set_terminal), CALL(vhangup), { 0 }
};
static const struct probe sharing[] = {
	CALL(shmget), CALL(shmat), CALL(shmctl), CALL(semget), CALL(semop), CALL(semctl),
	CALL(msgget), CALL(msgsnd), CALL(msgrcv), CALL(msgctl), CALL(mq_open), CALL(mq_unlink),
	{ 0 }
};
static const struct probe mounting[] = {
	CALL(mount), CALL(umount2), NEW_CALL(mount_setattr, 442), CALL(pivot_root),
	CALL(chroot), NEW_CALL(open_tree, 428), NEW_CALL(move_mount, 429), NEW_CALL(fsopen, 430),
	NEW_CALL(fsconfig, 431), NEW_CALL(fsmount, 432), NEW_CALL(fspick, 433),
	NEW_CALL(open_tree_attr, 467), CALL(swapon), CALL(swapoff), CALL(quotactl),
	NEW_CALL(quotactl_fd, 443), CALL(sync), CALL(syncfs), { 0 }
};
static const struct probe ruling[] = {
	TRY("MADV_HWPOISON", p_poison), CALL(bpf), CALL(perf_event_open),
	NEW_CALL(io_uring_setup, 425), NEW_CALL(io_uring_enter, 426),
	NEW_CALL(io_uring_register, 427), CALL(keyctl), CALL(add_key), CALL(request_key),
	CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load),
	CALL(kexec_file_load), CALL(reboot), CALL(acct), CALL(syslog), CALL(sethostname),
	CALL(setdomainname), CALL(settimeofday), CALL(clock_settime), CALL(adjtimex),
	CALL(clock_adjtime), CALL(setuid), CALL(setgid), CALL(setresuid), CALL(setresgid),
	CALL(setgroups), CALL(capset), CALL(prctl), CALL(seccomp),
	NEW_CALL(landlock_create_ruleset, 444), NEW_CALL(landlock_restrict_self, 446),
	NEW_CALL(lsm_set_self_attr, 460),
#ifdef SYS_iopl
	CALL(iopl), CALL(ioperm), CALL(modify_ldt),
#endif
	{ 0 }
};

static const struct action actions[] = {
	{ "open or list other files", NEVER, reading },
	{ "read files beside its input", SANDBOX_BESIDE, reading_beside },
	{ "see size, times of other files", EACH, looking },
	{ "write or make other files", NEVER, writing },
	{ "write and name its output", SANDBOX_OUTPUT, naming },
	{ "have unnamed files in TMPDIR", SANDBOX_SPOOL, spooling },
	{ "rename or remove files", NEVER, removing },
	{ "change modes, owners, times", NEVER, changing },
	{ "start a program or a process", NEVER, starting },
	{ "start threads", SANDBOX_THREADS, threading },
	{ "make memory executable", SANDBOX_CODE, coding },
	{ "reach a network or a socket", NEVER, talking },
	{ "signal others", NEVER, signalling },
	{ "signal itself", EACH, own_signals },
	{ "limit others, set priorities", NEVER, limiting },
	{ "see and set its own limits", EACH, own_limits },
	{ "trace others, see their memory", NEVER, tracing },
	{ "type into its terminal, set it", NEVER, typing },
	{ "use shared memory and queues", NEVER, sharing },
	{ "mount file systems", NEVER, mounting },
	{ "change machine or own rights", NEVER, ruling },
};
#define ACTIONS (sizeof actions / sizeof *actions)
#define PROBES 40 /* of an action, at most */
#define NUMBERS 512

/* ---- one row, in a child ---- */

struct result {
	uint8_t could[ACTIONS][PROBES];
	uint8_t number[NUMBERS]; /* the call passes with zeros */
	int files; /* open inside, beside the three and those of the sandbox */
};

static void
catch(int sig)
{
	(void)sig;
	caught = 1;
}

/* Calls that only the kernel's own code may make, and end a process that makes them. */
static bool
is_special(size_t number)
{
#ifdef __x86_64__
	if (number == 335 || number == 336) /* uretprobe, uprobe */
		return true;
#endif
	return number == SYS_rt_sigreturn;
}

static void
probe_all(struct result *r)
{
	size_t i, j;

	for (i = 0; i < ACTIONS; i++)
		for (j = 0; actions[i].probes[j].name; j++) {
			const struct probe *p = &actions[i].probes[j];

			r->could[i][j] = (p->try ? p->try() : passes(p->number, 0, 0, 0)) == 0;
		}
	for (i = 0; i < NUMBERS; i++)
		if (!is_special(i))
			r->number[i] = passes((long)i, 0, 0, 0) == 0;
}

_Noreturn static void
inside(const char *tool, int to)
{
	struct result r = { .files = 0 };
	int scratch = open(at("out"), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	signal(SIGUSR1, catch);
	inherited = dup(scratch);
	inside_file = open(at("in/" INPUT), O_RDONLY | O_CLOEXEC);
	terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	sandbox_tool(tool);
	sandbox_read(NULL);
	sandbox_read("-");
	sandbox_read(at("in/" INPUT));
	sandbox_read(at("not-there"));
	sandbox_write(at("out/made"), true);
	sandbox_write(at("out/set"), false);
	sandbox_spool();
	sandbox_prepare();
	watch_calls();
	sandbox_enter();
	sandbox_enter();
	probe_all(&r);
	if (write(to, &r, sizeof r) != sizeof r)
		_exit(1);
	_exit(0);
}

/* Gets the results of all probes. False: the child ended before. */
static bool
run(const char *tool, struct result *r)
{
	int ends[2], status;
	size_t got = 0;
	ssize_t n;
	pid_t child;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0)
		exit(1);
	if (child == 0)
		inside(tool, ends[1]);
	close(ends[1]);
	while (got < sizeof *r && (n = read(ends[0], (char *)r + got, sizeof *r - got)) > 0)
		got += (size_t)n;
	close(ends[0]);
	waitpid(child, &status, 0);
	unlink(at("out/set/model.safetensors"));
	rmdir(at("out/set"));
	unlink(at("out/made-00001-of-00002.gguf"));
	return got == sizeof *r && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- what is expected ---- */

static bool
expected(unsigned with, unsigned needs)
{
	return with == EACH || with & needs;
}

/* The calls that pass with any arguments, or with zeros. All others are refused. */
static const struct {
	long number;
	unsigned needs; /* or 0: of all tools */
} passing[] = {
	{ SYS_read, 0 }, { SYS_write, 0 }, { SYS_pread64, 0 }, { SYS_pwrite64, 0 },
	{ SYS_readv, 0 }, { SYS_writev, 0 }, { SYS_lseek, 0 }, { SYS_tee, 0 },
	{ SYS_splice, 0 }, { SYS_fsync, 0 }, { SYS_fdatasync, 0 }, { SYS_ftruncate, 0 },
	{ SYS_fallocate, 0 }, { SYS_close, 0 }, { SYS_fstat, 0 }, { SYS_newfstatat, 0 },
	{ SYS_fstatfs, 0 }, { SYS_getdents64, SANDBOX_BESIDE },
	{ SYS_readlinkat, SANDBOX_BESIDE }, { SYS_brk, 0 }, { SYS_munmap, 0 },
	{ SYS_mremap, 0 }, { SYS_mlock, 0 }, { SYS_munlock, 0 }, { SYS_mmap, 0 },
	{ SYS_mprotect, 0 }, { SYS_madvise, 0 }, { SYS_futex, 0 }, { SYS_set_robust_list, 0 },
	{ SYS_get_robust_list, 0 }, { SYS_rseq, 0 }, { SYS_set_tid_address, 0 },
	{ SYS_sched_yield, 0 }, { SYS_sched_getaffinity, 0 }, { SYS_restart_syscall, 0 },
	{ SYS_nanosleep, 0 }, { SYS_clock_nanosleep, 0 }, { SYS_ppoll, 0 },
	{ SYS_rt_sigaction, 0 }, { SYS_rt_sigprocmask, 0 }, { SYS_sigaltstack, 0 },
	{ SYS_exit, 0 }, { SYS_exit_group, 0 }, { SYS_wait4, 0 }, { SYS_getpid, 0 },
	{ SYS_gettid, 0 }, { SYS_getppid, 0 }, { SYS_getuid, 0 }, { SYS_geteuid, 0 },
	{ SYS_getgid, 0 }, { SYS_getegid, 0 }, { SYS_uname, 0 }, { SYS_sysinfo, 0 },
	{ SYS_getrusage, 0 }, { SYS_getcpu, 0 }, { SYS_clock_gettime, 0 },
	{ SYS_clock_getres, 0 }, { SYS_gettimeofday, 0 }, { SYS_getrandom, 0 },
	{ SYS_prlimit64, 0 },
#ifdef SYS_stat
	{ SYS_stat, 0 }, { SYS_lstat, 0 }, { SYS_poll, 0 }, { SYS_time, 0 },
	{ SYS_arch_prctl, 0 }, { SYS_readlink, SANDBOX_BESIDE },
#endif
};

static bool
may_pass(long number, unsigned needs)
{
	size_t i;

	for (i = 0; i < sizeof passing / sizeof *passing; i++)
		if (passing[i].number == number)
			return passing[i].needs == 0 || passing[i].needs & needs;
	return false;
}

static void
judge(const struct sandbox_row *row, const struct result *r)
{
	size_t i, j;

	for (i = 0; i < ACTIONS; i++)
		for (j = 0; actions[i].probes[j].name; j++) {
			const struct probe *p = &actions[i].probes[j];
			bool can = expected(p->with, row->needs);

			test_ok(r->could[i][j] == can, "%s can%s %s: %s", row->tool,
			        can ? "" : "not", actions[i].what, p->name);
		}
	for (i = 0; i < NUMBERS; i++)
		if (r->number[i] != may_pass((long)i, row->needs) && !is_special(i))
			break;
	test_ok(i == NUMBERS, "%s: all other calls are refused%s%.0zu", row->tool,
	        i == NUMBERS ? "" : ", but not number ", i == NUMBERS ? 0 : i);
}

/* ---- the table ---- */

/* A row of the table stands for all tools with the same needs. */
static bool
is_first(size_t row)
{
	size_t i;

	for (i = 0; i < row; i++)
		if (sandbox_row(i)->needs == sandbox_row(row)->needs)
			return false;
	return true;
}

static const char *
cell(const struct result *r, size_t action)
{
	size_t j, could = 0, n = 0;

	for (j = 0; actions[action].probes[j].name; j++, n++)
		could += r->could[action][j];
	return could == 0 ? "no" : could == n ? "yes" : "in part";
}

static int
print_table(void)
{
	struct result r[32];
	size_t i, j;

	for (i = 0; sandbox_row(i); i++)
		if (is_first(i) && !run(sandbox_row(i)->tool, &r[i]))
			return 1;
	printf(".It \"\"");
	for (i = 0; sandbox_row(i); i++)
		if (is_first(i))
			printf(" Ta %s", sandbox_row(i)->tool + strlen("apr-"));
	putchar('\n');
	for (j = 0; j < ACTIONS; j++) {
		printf(".It %s", actions[j].what);
		for (i = 0; sandbox_row(i); i++)
			if (is_first(i))
				printf(" Ta %s", cell(&r[i], j));
		putchar('\n');
	}
	for (i = 0; sandbox_row(i); i++)
		for (j = i + 1; is_first(i) && sandbox_row(j); j++)
			if (sandbox_row(j)->needs == sandbox_row(i)->needs)
				printf(".\\\" %s as %s\n", sandbox_row(j)->tool, sandbox_row(i)->tool);
	return 0;
}

static void
remove_all(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", root);
	if (system(command) != 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	char text[SANDBOX_TEXT];
	struct result r;
	size_t i;
	int status = 0;

	sandbox_text(text);
	if (!strstr(text, "seccomp")) {
		test_skip("sandbox", text);
		return test_done();
	}
	make_all();
	if (argc > 1 && strcmp(argv[1], "--table") == 0) {
		status = print_table();
		remove_all();
		return status;
	}
	for (i = 0; sandbox_row(i); i++)
		if (test_ok(run(sandbox_row(i)->tool, &r), "%s enters", sandbox_row(i)->tool))
			judge(sandbox_row(i), &r);
	remove_all();
	return test_done();
}
