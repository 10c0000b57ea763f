#ifndef SANDBOX_SECCOMP_H
#define SANDBOX_SECCOMP_H

// Filters the system calls of the calling process, for good. Needs no_new_privs.
int seccomp_allow_decoding(void);

#endif
