#ifndef CMEMORY_H
#define CMEMORY_H

// Returns freed memory to the kernel. glibc keeps it for each thread that has allocated, as long as the process runs.
void memory_trim(void);

#endif
