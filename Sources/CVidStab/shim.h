#ifndef SHEAF_CVIDSTAB_SHIM_H
#define SHEAF_CVIDSTAB_SHIM_H

#include <vid.stab/libvidstab.h>

#endif
