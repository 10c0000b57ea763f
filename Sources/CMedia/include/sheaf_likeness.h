#ifndef SHEAF_LIKENESS_H
#define SHEAF_LIKENESS_H

#include <libavutil/frame.h>
#include <stddef.h>

// How like two pictures are, by a filter of libavfilter that compares its two inputs.

typedef struct SheafLikeness SheafLikeness;

// Pictures of one size and one pixel format. `filter` is a name of libavfilter, as `ssim`, and `value` the key of what
// it writes into a picture's metadata. Returns 0, or a negative AVERROR with a message that names what is missing.
int sheaf_likeness_open(SheafLikeness **likeness, const char *filter, const char *value, int width, int height,
                        int pixelFormat, char *message, size_t messageSize);

// Takes over the planes of both frames, whose times are the same and rise. Returns 0 and the value, or a negative
// AVERROR.
int sheaf_likeness_measure(SheafLikeness *likeness, AVFrame *frame, AVFrame *reference, double *value);

void sheaf_likeness_close(SheafLikeness *likeness);

#endif
