#ifndef SHEAF_LIBRARIES_H
#define SHEAF_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

// Calls `body` for each shared object that is loaded in this process, in the order of loading. `path` is empty for the
// program itself. `buildID` is what the linker put in as the object's identity (.note.gnu.build-id), a digest of its
// contents; NULL if it has none. Both are valid during the call.
void sheaf_each_library(void (*body)(void *context, const char *path, const uint8_t *buildID, size_t size),
                        void *context);

#endif
