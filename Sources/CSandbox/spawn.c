#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// Runs first in a new child: leaves it nothing of its parent but `control` as descriptor 0 and `output` as 1 and 2.
// Only async-signal-safe calls.
static void isolate(int control, int output, pid_t parent) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(126);
  // The parent may have died before the call above.
  if (getppid() != parent) _exit(126);

  for (int number = 1; number < NSIG; number++) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  // Moved to 3 and above first, so that no dup2 closes a descriptor that a later one copies.
  int high_control = fcntl(control, F_DUPFD, 3), high_output = fcntl(output, F_DUPFD, 3);
  if (high_control < 0 || high_output < 0) _exit(126);
  if (dup2(high_control, 0) < 0 || dup2(high_output, 1) < 0 || dup2(high_output, 2) < 0) _exit(126);
  if (syscall(SYS_close_range, 3, ~0U, 0) != 0) {
    struct rlimit open_files;
    if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) _exit(126);
    int end = open_files.rlim_cur > 65536 ? 65536 : (int)open_files.rlim_cur;
    for (int descriptor = 3; descriptor < end; descriptor++) close(descriptor);
  }
}

// Limits what the process and its children may allocate: data is what can be written and belongs to one process alone,
// such as the heap and threads' stacks. The address space has also what libraries and the allocator only reserve, which
// is many times what they use.
static int limit_memory(uint64_t bytes) {
  struct rlimit limit;
  if (bytes == 0) return 0;
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return -1;
  // A lower limit that was inherited stays.
  if (limit.rlim_max > bytes) limit.rlim_max = bytes;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_DATA, &limit);
}

// Runs in the child between fork and exec; never returns.
static void execute(const char *executable, char *const arguments[], char *const environment[], int control, int output,
                    uint64_t memory, pid_t parent) {
  isolate(control, output, parent);
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (limit_memory(memory) != 0) _exit(126);
  // When memory runs out, the kernel ends a task process rather than the agent.
  int badness = open("/proc/self/oom_score_adj", O_WRONLY);
  if (badness >= 0) {
    if (write(badness, "500", 3) < 0) {
      // A container may forbid it; then the kernel's own order stays.
    }
    close(badness);
  }
  umask(077);
  execve(executable, arguments, environment);
  _exit(127);
}

// The child's number in the parent, zero in the child, or a negative errno; all signals are blocked in the child.
static pid_t fork_with_signals_blocked(void) {
  // No signal handler of the parent may run in the child before the child has reset them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  int error = errno;
  if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pid < 0 ? -error : pid;
}

pid_t sandbox_fork(int control, int output) {
  pid_t parent = getpid();
  pid_t pid = fork_with_signals_blocked();
  if (pid == 0) isolate(control, output, parent);
  // Set in the parent and in the child, so that it is set before either goes on.
  if (pid > 0) setpgid(pid, pid);
  return pid;
}

int sandbox_spawn(const char *executable, char *const arguments[], char *const environment[], int control, int output,
                  uint64_t memory, pid_t *child) {
  pid_t parent = getpid();
  pid_t pid = fork_with_signals_blocked();
  if (pid == 0) execute(executable, arguments, environment, control, output, memory, parent);
  if (pid < 0) return pid;
  // Set in the parent and in the child, so that it is set before either goes on.
  setpgid(pid, pid);
  *child = pid;
  return 0;
}

int sandbox_await_end(pid_t child) {
  siginfo_t info;
  return TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT)) == 0 ? 0 : -errno;
}

static uint64_t milliseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

int sandbox_reap(pid_t child, struct sandbox_end *end) {
  int status = 0;
  struct rusage usage;
  if (TEMP_FAILURE_RETRY(wait4(child, &status, 0, &usage)) < 0) return -errno;
  end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end->cpu_milliseconds = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  end->peak_bytes = (uint64_t)usage.ru_maxrss << 10;
  return 0;
}

int sandbox_take_niceness(void) {
  errno = 0;
  int parent = getpriority(PRIO_PROCESS, (id_t)getppid());
  if (errno != 0) return -errno;
  int own = getpriority(PRIO_PROCESS, 0);
  if (errno != 0) return -errno;
  return own >= parent || setpriority(PRIO_PROCESS, 0, parent) == 0 ? 0 : -errno;
}

int sandbox_watch_children(void) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, NULL) != 0) return -errno;
  int descriptor = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  return descriptor >= 0 ? descriptor : -errno;
}

pid_t sandbox_reap_any(int watch, struct sandbox_end *end) {
  // Emptied before the wait, so that a child that ends after it makes the descriptor readable again.
  struct signalfd_siginfo info;
  while (read(watch, &info, sizeof info) == (ssize_t)sizeof info) {
  }
  siginfo_t ended = {0};
  if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD ? 0 : -errno;
  if (ended.si_pid == 0) return 0;
  int error = sandbox_reap(ended.si_pid, end);
  return error < 0 ? error : ended.si_pid;
}

int sandbox_processor_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}
