// The compositor's pixel arithmetic. Every kernel exists twice: in plain C, which defines the result, and for AVX2,
// which gives the same result bit for bit, so that the output does not depend on the processor.
//
// Strides are in bytes, widths in samples, heights in rows; no plane needs any alignment beyond its sample's. Weights
// and opacities are whole numbers of 1/16384, 0...16384 (SHEAF_ONE).
//
// A *code* is a sample as it is encoded: 8 bits in a byte, or 10 bits in the low end of 16. A *blend* plane has 16-bit
// samples and belongs to a picture that is drawn over codes: colour codes times coverage in units of 2^-(14-depth) of a
// code (so that 14 bits are used at any depth), and coverage itself in 1/16384. Colour is multiplied with the offsets
// of black and grey included, so "over" needs no signed numbers: c*a + d*(1-a) keeps an offset that c and d share.
#ifndef SHEAF_KERNELS_H
#define SHEAF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define SHEAF_ONE 16384

struct sheaf_kernels {
  // Sets every sample to value.
  void (*fill8)(uint8_t *to, ptrdiff_t to_stride, int width, int height, int value);
  void (*fill16)(uint16_t *to, ptrdiff_t to_stride, int width, int height, int value);

  // to = (a*weight_a + b*weight_b + 8192) >> 14, for codes and for blend planes. Weights are 0...16384, and the result
  // must not exceed 255, or 16384 for 16-bit samples. `to` may be `a` or `b`.
  void (*mix8)(
    uint8_t *to, ptrdiff_t to_stride, const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride,
    int width, int height, int weight_a, int weight_b);
  void (*mix16)(
    uint16_t *to, ptrdiff_t to_stride, const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
    int width, int height, int weight_a, int weight_b);

  // Draws a blend plane's colour c with coverage a over codes d, in place, with s = 14 - depth:
  //   a' = (a*opacity + 8192) >> 14
  //   d  = min(2^depth - 1, (c*opacity + (d << s)*(16384 - a') + 2^(13+s)) >> (14+s))
  // Colour must be 0 if coverage is 0. over8 is for depth 8; over16 for 9 to 14.
  void (*over8)(
    uint8_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
    ptrdiff_t coverage_stride, int width, int height, int opacity);
  void (*over16)(
    uint16_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
    ptrdiff_t coverage_stride, int width, int height, int opacity, int depth);

  // to[x][y] = from[y][x], for a plane of width x height samples of 1 or 2 bytes.
  void (*transpose8)(
    uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height);
  void (*transpose16)(
    uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height);

  // Reverses each row.
  void (*mirror8)(
    uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height);
  void (*mirror16)(
    uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height);
};

// The plain versions, which define the results.
const struct sheaf_kernels *sheaf_kernels_plain(void);
// NULL if this processor has no AVX2, or the code was built for another kind of processor.
const struct sheaf_kernels *sheaf_kernels_avx2(void);
// The fastest version that this processor runs.
const struct sheaf_kernels *sheaf_kernels_best(void);

// transpose8 and mirror8 for pixels of any number of bytes (packed RGB, interleaved chroma); not vectorised.
void sheaf_transpose_pixels(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height, int bytes);
void sheaf_mirror_pixels(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height, int bytes);

// Codes to the colour of a blend plane of full coverage: to = from << (14 - depth).
void sheaf_widen8(uint16_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height);
void sheaf_widen16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int depth);

// Four planes of 16 bits: red, green and blue, each multiplied by alpha, and alpha. 65535 is one.
struct sheaf_rgba_planes {
  uint16_t *plane[4];
  ptrdiff_t stride;
};

// From packed RGBA with straight alpha: each colour is round(c*a) in 65535ths (8-bit samples are first multiplied by
// 257).
void sheaf_premultiply_rgba8(
  struct sheaf_rgba_planes to, const uint8_t *from, ptrdiff_t from_stride, int width, int height);
void sheaf_premultiply_rgba16(
  struct sheaf_rgba_planes to, const uint16_t *from, ptrdiff_t from_stride, int width, int height);
// The same of colours that are multiplied by alpha already.
void sheaf_split_rgba8(
  struct sheaf_rgba_planes to, const uint8_t *from, ptrdiff_t from_stride, int width, int height);
void sheaf_split_rgba16(
  struct sheaf_rgba_planes to, const uint16_t *from, ptrdiff_t from_stride, int width, int height);
// Luma, Cb and Cr without subsampling, and alpha; NULL: opaque.
struct sheaf_yuva {
  const uint8_t *plane[4];
  ptrdiff_t stride[4];
};
// What a code of luma, Cb or Cr adds to red, green or blue, in 2^-20 of a 65535th.
struct sheaf_rgb_matrix {
  int64_t luma, red_cr, green_cb, green_cr, blue_cb;
  int luma_offset, chroma_offset, depth;
};
// Each result is rounded to nearest. Straight colours are limited to 0...65535 and multiplied by alpha; those that are
// multiplied already, as codes over black, are limited to alpha. 8-bit codes, and 16-bit ones of `depth` bits.
void sheaf_rgba_from_yuva8(
  struct sheaf_rgba_planes to, struct sheaf_yuva from, int width, int height, struct sheaf_rgb_matrix matrix,
  int is_multiplied);
void sheaf_rgba_from_yuva16(
  struct sheaf_rgba_planes to, struct sheaf_yuva from, int width, int height, struct sheaf_rgb_matrix matrix,
  int is_multiplied);

// From Cairo's ARGB32, which is premultiplied: each sample is multiplied by 257.
void sheaf_split_argb32(
  struct sheaf_rgba_planes to, const uint32_t *from, ptrdiff_t from_stride, int width, int height);

// For scaling, which overshoots at edges: to = from/2 + 16384 leaves room below and above.
void sheaf_halve16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height);
// The reverse, in place, for all planes of a picture. Where alpha has become more than one, the colours are divided by
// it, so that they are not brighter at an edge; where it is less than zero, all is zero.
void sheaf_unhalve_rgba(struct sheaf_rgba_planes planes, int width, int height);
// Limits colours that are multiplied by alpha to alpha.
void sheaf_limit_rgba(struct sheaf_rgba_planes planes, int width, int height);

// The smallest rectangle that has every sample above 0: left, top, right and bottom, right and bottom being the first
// column and row behind it. Returns 0 if there is none.
int sheaf_bounds16(const uint16_t *from, ptrdiff_t from_stride, int width, int height, int bounds[4]);

// One row of a matrix from premultiplied R, G, B and A, each in 65535ths, to a blend sample, in 2^-32 of its unit.
struct sheaf_matrix_row {
  int64_t red, green, blue, alpha;
};

// Blend planes at full chroma resolution. A colour above alpha, which a scaler's overshoot can leave, is first reduced
// to alpha. Results are rounded to nearest and limited to 0...16384.
void sheaf_blend_from_rgba(
  uint16_t *const to[4], ptrdiff_t to_stride, struct sheaf_rgba_planes from, int width, int height,
  const struct sheaf_matrix_row rows[3]);

// Where a chroma sample lies in its cell, along one axis: at its first sample, in its middle, at its last sample.
enum sheaf_place { SHEAF_FIRST, SHEAF_MIDDLE, SHEAF_LAST };

struct sheaf_subsampling {
  // 0 or 1.
  int shift_x, shift_y;
  enum sheaf_place place_x, place_y;
  // Whether samples beyond the left and the top edge are those at the edge, and not zero. Those beyond the others are.
  int repeats_left, repeats_top;
};

// Chroma of cells of 2^shift_x by 2^shift_y samples, rounded to nearest (halves up): along each axis the mean of a
// cell, or, where chroma lies at a sample, half of that and a quarter of each of its neighbours. width and height are
// those of `from`; `to` has a sample for each cell, also for one that the edge cuts.
void sheaf_subsample16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height,
  struct sheaf_subsampling how);

// One row of that, from the rows that it is made of, top first: the row of its cells, the two of them, or the three
// around the one that it lies at.
void sheaf_subsample_row16(
  uint16_t *to, const uint16_t *const rows[3], int width, struct sheaf_subsampling how);

// The mean, rounded to nearest (halves up), of cells of 2^shift_x by 2^shift_y samples, each shift 0 or 1. A cell that
// extends beyond an odd edge repeats the edge. width and height are those of `from`.
void sheaf_average16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int shift_x,
  int shift_y);

#endif
