// libass. The inline function replaces what Swift does not import: a callback with a list of arguments.
#ifndef SHEAF_CASS_SHIM_H
#define SHEAF_CASS_SHIM_H

#include <ass/ass.h>

static inline void sheaf_ass_no_message(int level, const char *format, va_list arguments, void *data) {
  (void)level;
  (void)format;
  (void)arguments;
  (void)data;
}

// libass would print to the standard error stream.
static inline void sheaf_ass_be_silent(ASS_Library *library) { ass_set_message_cb(library, sheaf_ass_no_message, 0); }

#endif
