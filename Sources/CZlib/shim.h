// zlib's CRC-32, and nothing else of it.
#pragma once
#include <zlib.h>
