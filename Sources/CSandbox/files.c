#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int sandbox_open_beneath(int root, const char *path) {
  // O_NONBLOCK, because opening a FIFO in the place of a media file would block the agent. It has no effect on files.
  struct open_how how = {
      .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  for (;;) {
    long descriptor = TEMP_FAILURE_RETRY(syscall(SYS_openat2, root, path, &how, sizeof how));
    if (descriptor >= 0) return (int)descriptor;
    // EAGAIN: a rename happened while the kernel checked the path.
    if (errno != EAGAIN) return -errno;
  }
}

int sandbox_open_unnamed(const char *directory, int *linkable) {
  *linkable = 1;
  int descriptor = (int)TEMP_FAILURE_RETRY(open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (descriptor >= 0) return descriptor;
  // File systems without O_TMPFILE, such as some overlays and network file systems, fail with one of these.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOSYS) return -errno;
  *linkable = 0;
  char name[4096];
  int length = snprintf(name, sizeof name, "%s/unnamed-XXXXXX", directory);
  if (length < 0 || (size_t)length >= sizeof name) return -ENAMETOOLONG;
  descriptor = mkostemp(name, O_CLOEXEC);
  if (descriptor < 0) return -errno;
  if (unlink(name) != 0) {
    int error = errno;
    close(descriptor);
    return -error;
  }
  return descriptor;
}

int sandbox_pipe(int pair[2]) {
  return pipe2(pair, O_CLOEXEC) == 0 ? 0 : -errno;
}

int sandbox_give_name(int descriptor, const char *path) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

int sandbox_send_descriptors(int socket, const int *descriptors, size_t count) {
  if (count > SANDBOX_DESCRIPTORS_MAX) return -EINVAL;
  char byte = 'd';
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int) * SANDBOX_DESCRIPTORS_MAX)];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = control.space;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
  }
  return TEMP_FAILURE_RETRY(sendmsg(socket, &message, MSG_NOSIGNAL)) == 1 ? 0 : -errno;
}

int sandbox_receive_descriptors(int socket, int *descriptors, size_t capacity) {
  char byte;
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int) * SANDBOX_DESCRIPTORS_MAX)];
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t received = TEMP_FAILURE_RETRY(recvmsg(socket, &message, MSG_CMSG_CLOEXEC));
  if (received < 0) return -errno;
  if (received == 0) return -EPIPE;
  size_t total = 0;
  int error = (message.msg_flags & MSG_CTRUNC) ? -EMFILE : 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < count; index++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof descriptor);
      if (error == 0 && total < capacity) {
        descriptors[total++] = descriptor;
      } else {
        close(descriptor);
        error = error ? error : -EINVAL;
      }
    }
  }
  if (error) {
    while (total > 0) close(descriptors[--total]);
    return error;
  }
  return (int)total;
}
