#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system call filter of task processes supports x86_64 and aarch64"
#endif

// --- capabilities ---------------------------------------------------------------------------------------------------

// A worker that runs as root must not pass root's rights on to its task processes.
static void drop_capabilities(void) {
  for (int capability = 0; capability <= CAP_LAST_CAP; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  // In a process without capabilities these calls fail, and there is nothing to drop.
  syscall(SYS_capset, &header, none);
}

// --- files: Landlock ------------------------------------------------------------------------------------------------

// Rights that the headers of Debian 12 do not define yet.
#define ACCESS_FS_TRUNCATE (1ULL << 14)   // since version 3 of the interface
#define ACCESS_FS_IOCTL_DEV (1ULL << 15)  // since version 5
#define ACCESS_NET_ALL 3ULL               // since version 4: bind and connect
#define SCOPE_ALL 3ULL                    // since version 6: abstract sockets, and signals to processes outside

struct ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

static int create_ruleset(const struct ruleset *rules, size_t size, uint32_t flags) {
  return (int)syscall(SYS_landlock_create_ruleset, rules, size, flags);
}

static int allow_reading(int rules, const char *path) {
  int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
  struct stat status;
  if (fstat(place, &status) != 0) status.st_mode = 0;
  struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = place};
  // The kernel refuses rights on folders in a rule for a file.
  if (S_ISDIR(status.st_mode)) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
  int result = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ? 0 : -errno;
  close(place);
  return result;
}

// Lets the calling process read the files beneath `readable` and open no others. -ENOSYS without Landlock. Requires
// no_new_privs.
static int allow_only(const char *const readable[]) {
  int version = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return -ENOSYS;
  struct ruleset attributes = {.handled_access_fs = (1ULL << 13) - 1};
  size_t size = sizeof attributes.handled_access_fs;
  if (version >= 2) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) attributes.handled_access_fs |= ACCESS_FS_TRUNCATE;
  if (version >= 4) attributes.handled_access_net = ACCESS_NET_ALL, size = 16;
  if (version >= 5) attributes.handled_access_fs |= ACCESS_FS_IOCTL_DEV;
  if (version >= 6) attributes.scoped = SCOPE_ALL, size = 24;
  int rules = create_ruleset(&attributes, size, 0);
  if (rules < 0) return -errno;
  int result = 0;
  for (size_t index = 0; result == 0 && readable[index]; index++) result = allow_reading(rules, readable[index]);
  if (result == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0) result = -errno;
  close(rules);
  return result;
}

// --- system calls: seccomp ------------------------------------------------------------------------------------------

// Decoding never needs these: a process that tries one has been taken over, and is ended.
static const uint16_t deadly[] = {
    SYS_ptrace,        SYS_bpf,           SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_mount,         SYS_umount2,       SYS_pivot_root,  SYS_chroot,       SYS_setns,         SYS_unshare,
    SYS_reboot,        SYS_swapon,        SYS_swapoff,     SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_open_by_handle_at, SYS_userfaultfd, SYS_perf_event_open,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,          SYS_ioperm,
#endif
};

// Libraries may try these, and go on if they are refused.
static const uint16_t refused[] = {
    // The network and local sockets.
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg,
    SYS_sendmmsg, SYS_recvfrom, SYS_recvmmsg, SYS_setsockopt,
    // Other programs and processes.
    SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpgid, SYS_setsid,
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgctl, SYS_semget, SYS_semop, SYS_semctl,
    SYS_mq_open, SYS_mq_unlink, SYS_kcmp, SYS_seccomp, SYS_personality,
    // Real-time priority.
    SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
    // Changing files other than those that are open.
    SYS_truncate, SYS_mkdirat, SYS_unlinkat, SYS_linkat, SYS_symlinkat, SYS_renameat2, SYS_mknodat, SYS_fchmod,
    SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_name_to_handle_at, SYS_fanotify_init,
    SYS_inotify_init1, SYS_quotactl, SYS_acct, SYS_chdir, SYS_fchdir,
    // Identity, keys, the clock, the machine.
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    SYS_setgroups, SYS_capset, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_settimeofday, SYS_clock_settime,
    SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_syslog, SYS_vhangup, SYS_lookup_dcookie,
    SYS_ioctl,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef __x86_64__
    SYS_fork, SYS_vfork, SYS_creat, SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_link, SYS_symlink, SYS_rename, SYS_mknod,
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_inotify_init, SYS_uselib,
    SYS_modify_ldt, SYS_arch_prctl,
#endif
};

// A filter cannot read the arguments of these, which are in memory. If the kernel seems not to have them, libraries
// use older calls.
static const uint16_t absent[] = {
    435 /* clone3 */,      437 /* openat2 */,        425 /* io_uring_setup */, 426 /* io_uring_enter */,
    427 /* io_uring_register */, 428 /* open_tree */, 429 /* move_mount */,    430 /* fsopen */,
    431 /* fsconfig */,    432 /* fsmount */,        433 /* fspick */,         434 /* pidfd_open */,
    438 /* pidfd_getfd */, 424 /* pidfd_send_signal */, 442 /* mount_setattr */, 447 /* memfd_secret */,
};

enum { CAPACITY = 512 };

struct program {
  struct sock_filter lines[CAPACITY];
  unsigned short length;
};

static void add(struct program *program, struct sock_filter line) {
  // A program that fills the array is refused below, so that it cannot be cut short unnoticed.
  if (program->length < CAPACITY) program->lines[program->length++] = line;
}

static void load(struct program *program, size_t offset) {
  add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct program *program, uint32_t action) {
  add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

// The next `lines` lines apply if the loaded value is `value`; else they are skipped.
static void when_equal(struct program *program, uint32_t value, uint8_t lines) {
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, lines));
}

static void answer_each(struct program *program, const uint16_t *calls, size_t count, uint32_t action) {
  for (size_t index = 0; index < count; index++) {
    when_equal(program, calls[index], 1);
    answer(program, action);
  }
}

static size_t argument(int index) {
  // The low half, which holds flags and small numbers on little-endian machines.
  return offsetof(struct seccomp_data, args) + (size_t)index * 8;
}

// `call` is refused if its argument has any of `flags`, else allowed.
static void refuse_flags(struct program *program, uint32_t call, int index, uint32_t flags) {
  when_equal(program, call, 4);
  load(program, argument(index));
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1));
  answer(program, SECCOMP_RET_ERRNO | EPERM);
  answer(program, SECCOMP_RET_ALLOW);
}

// `call` is allowed if its argument is `value`, else refused.
static void require_value(struct program *program, uint32_t call, int index, uint32_t value) {
  when_equal(program, call, 4);
  load(program, argument(index));
  when_equal(program, value, 1);
  answer(program, SECCOMP_RET_ALLOW);
  answer(program, SECCOMP_RET_ERRNO | EPERM);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

// Filters the system calls of the calling process, for good. Requires no_new_privs.
static int allow_decoding(void) {
  static struct program program;
  program.length = 0;
  load(&program, offsetof(struct seccomp_data, arch));
  when_equal(&program, ARCHITECTURE, 1);
  add(&program, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
  answer(&program, SECCOMP_RET_KILL_PROCESS);
  load(&program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  // The x32 calls have other numbers, so no line below would apply to them.
  add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  answer(&program, SECCOMP_RET_KILL_PROCESS);
#endif
  const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  refuse_flags(&program, SYS_openat, 2, writing);
#ifdef __x86_64__
  refuse_flags(&program, SYS_open, 1, writing);
#endif
  // With this flag a clone is a thread; without it, a process.
  when_equal(&program, SYS_clone, 4);
  load(&program, argument(0));
  add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  answer(&program, SECCOMP_RET_ALLOW);
  answer(&program, SECCOMP_RET_ERRNO | EPERM);
  // abort() signals the process itself.
  require_value(&program, SYS_tgkill, 0, (uint32_t)getpid());
  // For the names of threads.
  require_value(&program, SYS_prctl, 0, PR_SET_NAME);
  // The limits of the process itself.
  require_value(&program, SYS_prlimit64, 0, 0);
  answer_each(&program, deadly, COUNT(deadly), SECCOMP_RET_KILL_PROCESS);
  answer_each(&program, refused, COUNT(refused), SECCOMP_RET_ERRNO | EPERM);
  answer_each(&program, absent, COUNT(absent), SECCOMP_RET_ERRNO | ENOSYS);
  answer(&program, SECCOMP_RET_ALLOW);
  if (program.length >= CAPACITY) return -E2BIG;

  struct sock_fprog filter = {.len = program.length, .filter = program.lines};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return -errno;
  return 0;
}

// --- both -----------------------------------------------------------------------------------------------------------

int sandbox_confine_files(const char *const readable[]) {
  drop_capabilities();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  int error = readable ? allow_only(readable) : -ENOSYS;
  if (error == -ENOSYS) return 0;
  return error == 0 ? SANDBOX_LANDLOCK : error;
}

int sandbox_confine_calls(void) {
  // Other processes of the same user can neither read its memory nor attach to it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  int error = allow_decoding();
  return error == 0 ? SANDBOX_SECCOMP : error;
}
