#ifndef SHEAF_CEBUR128_SHIM_H
#define SHEAF_CEBUR128_SHIM_H

#include <ebur128.h>

#endif
