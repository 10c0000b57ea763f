// The parts of libav* that Media uses, as one module. What Swift cannot import of them (macros that cast, functions
// with a variable argument list, constants with a type) is in CMedia's sheaf_av.h.
#ifndef SHEAF_CFFMPEG_SHIM_H
#define SHEAF_CFFMPEG_SHIM_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

#endif
