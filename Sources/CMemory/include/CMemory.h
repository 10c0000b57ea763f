#ifndef CMEMORY_H
#define CMEMORY_H

// Returns the memory that was freed to the kernel: glibc keeps it for each thread that has allocated, for as long as the
// process runs.
void memory_trim(void);

#endif
