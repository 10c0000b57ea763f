#define _GNU_SOURCE
#include "CFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int files_allocate(int descriptor, off_t offset, off_t length) {
  return TEMP_FAILURE_RETRY(fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length)) == 0 ? 0 : -errno;
}
