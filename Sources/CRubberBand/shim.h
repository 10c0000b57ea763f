#ifndef SHEAF_CRUBBERBAND_SHIM_H
#define SHEAF_CRUBBERBAND_SHIM_H

#include <rubberband/rubberband-c.h>

#endif
