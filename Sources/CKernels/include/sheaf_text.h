// Drawing of texts with an outline, a shadow and a box, on the planes of `sheaf_rgba_planes`. A text is drawn once, so
// these have no vector version. Coverage is in 65535ths; strides are in bytes.
#ifndef SHEAF_TEXT_H
#define SHEAF_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf_kernels.h"

// to = from * 257.
void sheaf_widen_coverage8(
  uint16_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height);

// to[x] = (sum of weights[k] * from[x + k*step] + 32768) >> 16, `step` in bytes: 2 goes across, from_stride down. The
// weights add up to 65536. `from` has count-1 samples more than `to` in the direction of the step.
void sheaf_convolve16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height,
  const uint32_t *weights, int count, ptrdiff_t step);

// Raises coverage to that of what is within `radius` pixels of the pixels of `from` that are covered by half or more.
// `from` has `margin` pixels more than `to` on each side, at least radius + 1; `scratch` is as large as `from`, without
// padding.
void sheaf_grow16(
  uint16_t *to, ptrdiff_t to_stride, int width, int height, const uint16_t *from, ptrdiff_t from_stride, int margin,
  double radius, uint16_t *scratch);

// Draws a colour (red, green, blue and alpha, multiplied by alpha) where coverage is, over a picture.
void sheaf_paint_over(
  struct sheaf_rgba_planes under, const uint16_t *coverage, ptrdiff_t stride, const uint16_t colour[4], int width,
  int height);

// Draws letters at an opacity, and the colour of their outline where `shape`, the coverage of letters and outline
// together, exceeds that of the letters, over a picture. Without an outline `shape` is NULL.
void sheaf_text_over(
  struct sheaf_rgba_planes under, struct sheaf_rgba_planes letters, uint32_t opacity, const uint16_t *shape,
  ptrdiff_t shape_stride, const uint16_t outline[4], int width, int height);

#endif
