#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

// Lets the calling process read the files beneath `readable` and touch no others. -ENOSYS without Landlock.
// Needs no_new_privs.
int landlock_allow_only(const char *const readable[]);

#endif
