#define _GNU_SOURCE
#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Of newer kernels than the headers that this is built with.
#define ACCESS_FS_TRUNCATE (1ULL << 14)   // since the third version of the interface
#define ACCESS_FS_IOCTL_DEV (1ULL << 15)  // fifth
#define ACCESS_NET_ALL 3ULL               // fourth: bind and connect
#define SCOPE_ALL 3ULL                    // sixth: abstract sockets and signals of others

struct ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

static int create(const struct ruleset *rules, size_t size, uint32_t flags) {
  return (int)syscall(444, rules, size, flags);
}

static int allow_reading(int rules, const char *path) {
  int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
  struct stat status;
  if (fstat(place, &status) != 0) status.st_mode = 0;
  struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = place};
  // A rule for a file alone may not speak of folders.
  if (S_ISDIR(status.st_mode)) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
  int result = syscall(445, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ? 0 : -errno;
  close(place);
  return result;
}

int landlock_allow_only(const char *const readable[]) {
  int version = create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return -ENOSYS;
  struct ruleset attributes = {.handled_access_fs = (1ULL << 13) - 1};
  size_t size = sizeof attributes.handled_access_fs;
  if (version >= 2) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) attributes.handled_access_fs |= ACCESS_FS_TRUNCATE;
  if (version >= 4) attributes.handled_access_net = ACCESS_NET_ALL, size = 16;
  if (version >= 5) attributes.handled_access_fs |= ACCESS_FS_IOCTL_DEV;
  if (version >= 6) attributes.scoped = SCOPE_ALL, size = 24;
  int rules = create(&attributes, size, 0);
  if (rules < 0) return -errno;
  int result = 0;
  for (size_t index = 0; result == 0 && readable[index]; index++) result = allow_reading(rules, readable[index]);
  if (result == 0 && syscall(446, rules, 0) != 0) result = -errno;
  close(rules);
  return result;
}
