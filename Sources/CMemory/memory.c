#include "CMemory.h"

#include <malloc.h>

void memory_trim(void) { malloc_trim(0); }
