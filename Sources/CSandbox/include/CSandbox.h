#ifndef CSANDBOX_H
#define CSANDBOX_H

// What a task process needs and Swift cannot express: fork and exec with nothing inherited, seccomp, Landlock, limits,
// descriptors over a socket. Every function returns 0 (or a count) or a negative errno. None fails with EINTR.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// --- starting and reaping -------------------------------------------------------------------------------------------

// Starts `executable` in a process group of its own with `control` as descriptor 0, `output` as 1 and 2, and no other
// descriptor; it is killed when the calling thread ends. Limits: no core file, `memory` bytes that it may allocate
// (zero: no limit), which each process that it forks may too.
// The environment is `environment` and nothing else. Only async-signal-safe calls are made between fork and exec.
int sandbox_spawn(const char *executable, char *const arguments[], char *const environment[], int control, int output,
                  uint64_t memory, pid_t *child);

// Forks. Returns the child's process id in the parent, zero in the child, or a negative errno. The child has a process
// group of its own, `control` as descriptor 0, `output` as 1 and 2, and no other descriptor; it is killed when the
// parent ends. The parent must have one thread.
pid_t sandbox_fork(int control, int output);

// Gives the calling process at least the niceness of its parent. As root, the threads of Swift's runtime come before
// their own process, and what they start inherits that.
int sandbox_take_niceness(void);

// A descriptor that can be read whenever children may have ended.
int sandbox_watch_children(void);

// Waits until the child has ended, and leaves it as a zombie, so that its process id is not given to another yet.
int sandbox_await_end(pid_t child);

struct sandbox_end {
  // Zero when ended by a signal.
  int exit_code;
  // Zero when it exited.
  int signal;
  // User and system.
  uint64_t cpu_milliseconds;
  // The most memory that it had at a time.
  uint64_t peak_bytes;
};

// Reaps a child that has ended.
int sandbox_reap(pid_t child, struct sandbox_end *end);

// Reaps any child that has ended. Returns its process id, or zero if there is none. `watch` is the descriptor that
// `sandbox_watch_children` returned.
pid_t sandbox_reap_any(int watch, struct sandbox_end *end);

// --- confinement ----------------------------------------------------------------------------------------------------

enum {
  // The kernel restricts which files can be opened.
  SANDBOX_LANDLOCK = 1,
  // System calls are filtered.
  SANDBOX_SECCOMP = 2,
};

// Takes from the calling process and its children, for good, all capabilities and, if the kernel has Landlock,
// opening any file outside `readable` (a null-terminated list; paths that do not exist are passed over; NULL leaves
// Landlock out), opening any file for writing, and TCP. Call before any thread is started. Returns what is in force, as
// the flags above.
int sandbox_confine_files(const char *const readable[]);

// Call after sandbox_confine_files: takes all system calls that decoding media does not need, such as those for
// sockets, other programs, new processes and opening files for writing. Fails if the kernel has no seccomp.
int sandbox_confine_calls(void);

// --- descriptors ----------------------------------------------------------------------------------------------------

// The most descriptors that one message carries.
enum { SANDBOX_DESCRIPTORS_MAX = 200 };

// A pipe, reading end first, both ends close-on-exec.
int sandbox_pipe(int pair[2]);

// Sends one byte with descriptors.
int sandbox_send_descriptors(int socket, const int *descriptors, size_t count);

// Receives one byte with at most `capacity` descriptors, all close-on-exec. Returns how many; -EPIPE at the end.
int sandbox_receive_descriptors(int socket, int *descriptors, size_t capacity);

// --- files ----------------------------------------------------------------------------------------------------------

// Opens `path` for reading beneath the directory `root`, following no link that leads out of it.
// -ENOSYS if the kernel has no openat2 (or a container's filter hides it).
int sandbox_open_beneath(int root, const char *path);

// A file without a name in `directory`, for reading and writing, that is gone when its last descriptor is.
// `linkable`: whether sandbox_give_name will work on it.
int sandbox_open_unnamed(const char *directory, int *linkable);

// Gives an unnamed file its name. -EEXIST if the name is taken.
int sandbox_give_name(int descriptor, const char *path);

// How many processors this process may use.
int sandbox_processor_count(void);

#endif
