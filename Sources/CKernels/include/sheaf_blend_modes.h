// Blend modes: how a picture's colour and the one below it become one. They are defined for red, green and blue, so
// each is converted, and what the mode changes is converted back. For the luma of a pixel, chroma is interpolated to
// it. A chroma sample changes by the weighted mean of what the mode changes with its chroma and the luma of the pixels
// around its place (`sheaf_subsample16`). So what the picture does not cover keeps its codes, and so does what the mode
// does not change.
//
// The arithmetic is in single precision: additions, multiplications, divisions and square roots, each rounded as IEEE
// 754 says and none contracted, so that the result is the same on every processor. There is no vector version.
#ifndef SHEAF_BLEND_MODES_H
#define SHEAF_BLEND_MODES_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf_kernels.h"

enum sheaf_blend_mode {
  SHEAF_BLEND_MULTIPLY, SHEAF_BLEND_SCREEN, SHEAF_BLEND_OVERLAY, SHEAF_BLEND_DARKEN, SHEAF_BLEND_LIGHTEN,
  SHEAF_BLEND_ADD, SHEAF_BLEND_DIFFERENCE, SHEAF_BLEND_SOFT_LIGHT, SHEAF_BLEND_HARD_LIGHT, SHEAF_BLEND_COLOR_DODGE,
  SHEAF_BLEND_COLOR_BURN, SHEAF_BLEND_EXCLUSION, SHEAF_BLEND_SUBTRACT
};

// The codes of a colour space: luma is offset + scale * (red, green and blue by their weights), chroma lies around its
// own offset.
struct sheaf_code_space {
  float red, green, blue;
  float luma_offset, luma_scale, chroma_offset, chroma_scale;
  int depth;
};

// A frame's codes from the first pixel that the picture covers, and the picture's blend planes (sheaf_kernels.h).
// Chroma has one sample for each cell of 2^shift_x by 2^shift_y pixels, at a place of it. Strides are in bytes.
struct sheaf_blended_planes {
  void *luma, *cb, *cr;
  ptrdiff_t luma_stride, cb_stride, cr_stride;
  const uint16_t *of_luma, *of_cb, *of_cr, *coverage, *chroma_coverage;
  ptrdiff_t picture_stride, picture_chroma_stride;
  int width, height, shift_x, shift_y;
  enum sheaf_place place_x, place_y;
  // Whether the frame goes on beyond a side of the picture. Then the chroma next to it is read, and changes by what
  // its weighted mean has of the picture. At the frame's edge, samples are repeated.
  int goes_on_left, goes_on_right, goes_on_top, goes_on_bottom;
};

// How many floats of scratch memory a picture of a width takes.
size_t sheaf_blend_scratch(int width);

// Draws a picture on a frame in a mode: colour = (1 - a) * below + a * B(below, picture), with the coverage times the
// opacity, in 1/16384, as a.
void sheaf_blend(
  enum sheaf_blend_mode mode, const struct sheaf_blended_planes *planes, const struct sheaf_code_space *space,
  int opacity, float *scratch);

#endif
