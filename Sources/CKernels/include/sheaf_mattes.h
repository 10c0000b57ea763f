// Mixes of two pictures by a matte, which has a weight for each sample: the arithmetic of transitions with a shape.
//
// A matte's samples are whole numbers of 1/16384, 0...16384 (SHEAF_ONE): the share of the second picture. Strides are
// in bytes, widths in samples, heights in rows; no plane needs any alignment beyond its sample's.
#ifndef SHEAF_MATTES_H
#define SHEAF_MATTES_H

#include "sheaf_kernels.h"

#include <stddef.h>
#include <stdint.h>

// Like `struct sheaf_kernels`: a plain version that defines the result, and one for AVX2 that gives the same bits.
struct sheaf_matte_kernels {
  // to = (a*(16384 - matte) + b*matte + 8192) >> 14, for codes of 8 bits, and of up to 14 bits in 16. `to` may be `a`
  // or `b`. A matte_stride of 0 repeats one row.
  void (*mix8)(
    uint8_t *to, ptrdiff_t to_stride, const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride,
    const uint16_t *matte, ptrdiff_t matte_stride, int width, int height);
  void (*mix16)(
    uint16_t *to, ptrdiff_t to_stride, const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
    const uint16_t *matte, ptrdiff_t matte_stride, int width, int height);
};

const struct sheaf_matte_kernels *sheaf_matte_kernels_plain(void);
// NULL if this processor has no AVX2, or the code was built for another kind of processor.
const struct sheaf_matte_kernels *sheaf_matte_kernels_avx2(void);
const struct sheaf_matte_kernels *sheaf_matte_kernels_best(void);

// The rows of mattes. Each weight is rounded to nearest (halves up) and limited to 0...16384.

// weight(x) = first + step*x, both in 2^-32 of a weight's unit, with |first| and |step * count| below 2^61.
void sheaf_matte_line(uint16_t *to, int count, int64_t first, int64_t step);

// weight(x) = centre - slope*sqrt((start + x)^2 + across^2), in double precision in this order. slope is positive.
void sheaf_matte_circle(uint16_t *to, int count, double start, double across, double centre, double slope);

// weight(x) = min(limit, peak - slope*|start + x|), in double precision in this order.
void sheaf_matte_tent(uint16_t *to, int count, double start, double peak, double slope, double limit);

// A hand that turns clockwise from the top: weight(x) = 16384*f(a), where f(a) = p + (p - a)*q/(1 + q*softness),
// limited to 0...1, p is the progress, q is 2*pi times the distance of (start + x, down) from the origin, and a its
// angle in turns, 0...1. Within half a pixel of the ray upwards, where a goes from 1 to 0, it is the mean of f of both
// sides by the parts of the pixel that are there. In double precision, without functions of a mathematics library.
void sheaf_matte_clock(uint16_t *to, int count, double start, double down, double progress, double softness);

// The coverage of a row of a shape (sheaf_resample.h), times a share of 0...16384, rounded to nearest.
struct sheaf_span;
void sheaf_matte_shape(uint16_t *to, int count, const struct sheaf_span *span, const uint16_t *edges, int share);

// weight(x) = first + step*levels[x], both in 2^-32 of a weight's unit, with |first| and |step * 65535| below 2^61.
void sheaf_matte_levels(uint16_t *to, const uint16_t *levels, int count, int64_t first, int64_t step);

// The luma of BT.709 of pictures in red, green and blue, 0...65535 each, which are read as drawn over black.
void sheaf_matte_luma(uint16_t *to, ptrdiff_t to_stride, struct sheaf_rgba_planes from, int width, int height);

#endif
