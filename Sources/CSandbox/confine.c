#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "landlock.h"
#include "seccomp.h"

// An agent that runs as root must not hand that on.
static void drop_capabilities(void) {
  for (int capability = 0; capability <= CAP_LAST_CAP; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  // Without capabilities there is nothing to drop, and the calls above fail; that is as good.
  syscall(SYS_capset, &header, none);
}

int sandbox_confine_files(const char *const readable[]) {
  drop_capabilities();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  int error = readable ? landlock_allow_only(readable) : -ENOSYS;
  if (error == -ENOSYS) return 0;
  return error == 0 ? SANDBOX_LANDLOCK : error;
}

int sandbox_confine_calls(void) {
  // Nobody of the same user may look into the process or attach to it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  int error = seccomp_allow_decoding();
  return error == 0 ? SANDBOX_SECCOMP : error;
}
