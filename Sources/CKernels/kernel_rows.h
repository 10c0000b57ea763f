// A row of a plane whose stride is in bytes, for the kernels' own files.
#ifndef SHEAF_KERNEL_ROWS_H
#define SHEAF_KERNEL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define ROW(type, base, stride, y) ((type *)((uint8_t *)(base) + (ptrdiff_t)(y) * (stride)))
#define CONST_ROW(type, base, stride, y) ((const type *)((const uint8_t *)(base) + (ptrdiff_t)(y) * (stride)))

#endif
