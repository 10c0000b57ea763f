#ifndef SHEAF_PALETTE_H
#define SHEAF_PALETTE_H

#include <libavutil/frame.h>
#include <stddef.h>

// libavfilter's palettegen and paletteuse: pictures of at most 256 colours, which are each picture's own.

typedef struct SheafPalette SheafPalette;

// `dither` is one of paletteuse's names. Returns 0, or a negative AVERROR with a message that names what is missing.
int sheaf_palette_open(SheafPalette **palette, int width, int height, const char *dither, char *message,
                       size_t messageSize);

// Takes over the planes of a bgra frame. The times of frames rise. Returns 0 or a negative AVERROR.
int sheaf_palette_send(SheafPalette *palette, AVFrame *frame);

// Returns 1 and a frame of palette indices, 0 if another frame or the end has to be sent first, or a negative AVERROR.
// A null frame that is sent is the end.
int sheaf_palette_receive(SheafPalette *palette, AVFrame *frame);

void sheaf_palette_close(SheafPalette *palette);

#endif
