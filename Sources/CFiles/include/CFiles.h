#ifndef CFILES_H
#define CFILES_H

// A call for files that Swift does not import.

#include <sys/types.h>

// Allocates the blocks of a range of a file, so that the file system accounts for them, and leaves the file's size as
// it is. Returns 0 or a negative errno, never -EINTR.
int files_allocate(int descriptor, off_t offset, off_t length);

#endif
