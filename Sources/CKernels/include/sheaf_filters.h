// The arithmetic of filters. A picture is worked on as blend planes (sheaf_kernels.h): 16-bit samples in which 16384 is
// one, colour multiplied with coverage. An opaque picture has coverage 16384 everywhere.
//
// Every kernel of `sheaf_filter_kernels` exists in plain C, which defines the result, and for AVX2, which gives the
// same bits. Strides are in bytes, widths in samples, heights in rows.
#ifndef SHEAF_FILTERS_H
#define SHEAF_FILTERS_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf_kernels.h"

// A weighted sum of four samples: (a*weight[0] + b*weight[1] + c*weight[2] + d*weight[3] + 2^(shift-1)) >> shift. No
// weight is -32768; shift is 0...14.
struct sheaf_sum {
  int16_t weight[4];
  int shift;
};

// A look-up table of colours. Samples are 0...16384.
struct sheaf_colour_table {
  // 1: three curves of `size` entries, one after the other. 3: size^3 entries of red, green, blue and 0, red changing
  // fastest.
  int dimensions, size;
  const uint16_t *entries;
  // The place of a sample v in the table, in 1/16384 of the distance of two entries, for red, green and blue:
  // (v*scale + offset) >> 16, limited to the table.
  int64_t scale[3], offset[3];
  // Of the looked-up colour in the result, 0...16384.
  int amount;
};

// How a vignette's factors fall off, by the square of the distance from the centre, in halves of the diagonal: 1 up to
// `radius`, 1 - amount from radius + softness on, and 1 - amount*t*t*(3 - 2*t) between, in which t rises from 0 to 1.
struct sheaf_falloff {
  double amount, radius, softness;
};

struct sheaf_filter_kernels {
  // The sum of a row's samples, limited to 0...from[3]. `to` may be one of `from`. No sample is above 16384.
  void (*sum)(uint16_t *to, const uint16_t *const from[4], struct sheaf_sum sum, int width);
  // to[x] = (rows[0][x]*weights[0] + ... + 16384) >> 15. Weights are 0...32767 and sum up to 32768. No sample is above
  // 16384. `to` is none of `rows`.
  void (*convolve)(uint16_t *to, const uint16_t *const *rows, const int16_t *weights, int count, int width);
  // Looks a row's red, green and blue up, in place: linear interpolation in curves, tetrahedral in a cube, rounded to
  // nearest, and then the mix with the row by the table's amount. No sample is above 16384.
  void (*look_up_curves)(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width);
  void (*look_up_cube)(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width);
  // row = row*factor + offset*coverage*(1 - factor), the products with coverage and factor each rounded to nearest.
  // `offset` and all samples are 0...16384.
  void (*fade)(uint16_t *row, const uint16_t *coverage, const uint16_t *factor, int offset, int width);
  // The factors of a vignette in 1/16384, rounded to nearest, where the square of the distance is across[x] + down.
  void (*falloff)(uint16_t *to, const double *across, double down, struct sheaf_falloff falloff, int width);
};

const struct sheaf_filter_kernels *sheaf_filter_kernels_plain(void);
// NULL if this processor has no AVX2, or the code was built for another kind of processor.
const struct sheaf_filter_kernels *sheaf_filter_kernels_avx2(void);
// The fastest version that this processor runs.
const struct sheaf_filter_kernels *sheaf_filter_kernels_best(void);

// The blend planes of a picture. Chroma planes have a sample for each cell of 2^shift_x by 2^shift_y luma samples.
struct sheaf_filter_picture {
  uint16_t *luma, *coverage;
  ptrdiff_t luma_stride;
  uint16_t *cb, *cr, *chroma_coverage;
  ptrdiff_t chroma_stride;
  int width, height, shift_x, shift_y;
};

// How many samples of scratch memory the functions below take for a picture of a width.
size_t sheaf_filter_scratch(int width);

// Sets luma, Cb and Cr to sums of luma, Cb, Cr and coverage. In the sum of luma, Cb and Cr are those of the pixel's
// cell; in those of Cb and Cr, luma is the mean of the cell.
void sheaf_filter_mix_colours(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum sums[3],
  uint16_t *scratch);

// Converts a picture to red, green and blue with the sums `to_rgb` of luma, Cb, Cr and coverage (Cb and Cr those of the
// pixel's cell), looks the colours up (tetrahedral interpolation in a cube, linear in curves), and converts them back
// with the sums `from_rgb` of red, green, blue and coverage. Cb and Cr are made from the mean colour of the cell.
void sheaf_filter_look_up(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  const struct sheaf_sum from_rgb[3], struct sheaf_colour_table table, int is_opaque, uint16_t *scratch);

// Convolves each row, or each column, with 2*radius + 1 weights. Beyond an edge the edge is repeated. radius is at most
// SHEAF_LARGEST_RADIUS. `to` is not `from`. Scratch memory is for the width plus twice the radius.
#define SHEAF_LARGEST_RADIUS 64
void sheaf_convolve_rows(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, const int16_t *weights, int radius, uint16_t *scratch);
void sheaf_convolve_columns(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, const int16_t *weights, int radius);

// Reduces a plane by 2^shift_x and 2^shift_y: each sample of the result is the mean of a cell, rounded to nearest. The
// result has (width >> shift) + 2 samples, rounded up, in each direction that is reduced: the first and the last are
// the picture's edge, repeated. A direction with shift 0 is as it was.
void sheaf_reduce(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int shift_x,
  int shift_y);
// The inverse: linear interpolation between the centres of the cells. width and height are those of `to`. Scratch
// memory is for the width.
void sheaf_enlarge(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, int shift_x, int shift_y, uint16_t *scratch);

// to = from*factor + offset*coverage*(1 - factor): the distance from a colour whose code is `offset` becomes shorter.
// `offset` and factors are 0...16384.
void sheaf_filter_fade(
  const struct sheaf_filter_kernels *kernels, uint16_t *plane, ptrdiff_t stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, const uint16_t *factor, ptrdiff_t factor_stride, int width, int height, int offset);

// Sets each block of a plane to its mean, rounded to nearest, halves up. `columns` are where blocks end in a row,
// rising, of which the last is the width, and `rows` those in a column.
void sheaf_filter_mosaic(
  uint16_t *plane, ptrdiff_t stride, const int32_t *columns, int column_count, const int32_t *rows, int row_count);

// What is brighter than a threshold of 0...16383 in red, green and blue: (c - threshold)*16384/(16384 - threshold), or
// 0, multiplied by coverage. The planes are as wide as the picture, without padding.
void sheaf_filter_bright(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  int threshold, int is_opaque, uint16_t *const planes[3], uint16_t *scratch);
// Draws light in red, green and blue, times an amount of 0...32768 and limited to 16384, over the picture's colours:
// c + l - c*l. Otherwise as `sheaf_filter_look_up`.
void sheaf_filter_screen(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  const struct sheaf_sum from_rgb[3], int amount, int is_opaque, uint16_t *const planes[3], uint16_t *scratch);

// The key of the numbers of grain at a time.
uint64_t sheaf_grain_key(uint64_t seed, int64_t numerator, int64_t denominator);
// A row of the grid: the sum of the four numbers of 16 bits of a hash of the key and the place, less its mean, 131070.
// The first column is -1.
void sheaf_grain_numbers(int32_t *to, int count, int32_t row, uint64_t key);
// Adds grain to a row of luma: upper*(w[0]*a[i] + w[1]*a[i+1]) + lower*(w[0]*b[i] + w[1]*b[i+1]) with the column i and
// the two weights w of each pixel, times coverage, rounded to nearest and limited to 0...coverage. Without coverage it
// is 16384.
void sheaf_grain_row(
  uint16_t *luma, const uint16_t *coverage, int width, const int32_t *columns, const double *weights, const int32_t *a,
  const int32_t *b, double upper, double lower);

// Sets each sample to the mean of those up to two rows and columns from it, with the weights (1 - (d/threshold)^2)^2 of
// those that differ from it by a d of less than the threshold; beyond its edges a plane continues with its outermost
// samples. In single precision, in this order: v + sum(w*d)/sum(w), row by row.
void sheaf_filter_denoise(
  uint16_t *plane, ptrdiff_t stride, int width, int height, float threshold, float *scratch);
// How many floats of scratch memory that takes for a plane of a width.
size_t sheaf_filter_denoise_scratch(int width);

// to = limited(from*by/of) to 0...by, rounded to nearest; 0 where `of` is 0.
void sheaf_filter_rescale(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, const uint16_t *of,
  ptrdiff_t of_stride, const uint16_t *by, ptrdiff_t by_stride, int width, int height);

// A chroma key: the colours at a distance of at most `inner` from (cb, cr) become transparent, and from `outer` on they
// stay. All are in 1/16384 of a code's range.
struct sheaf_key {
  double cb, cr, inner, outer;
  // What is taken of the part of the remaining colours that points from grey to (cb, cr).
  double spill;
};
// Sets `coverage`, a plane of the luma's size, to what the key leaves of each pixel: of its colour, with chroma
// interpolated to it, but at most what is between that of the chroma samples around it. (A mix of the key's colour with
// another may be far from the key, though luma is still the key's: a halo.) Beyond the edges chroma is repeated.
void sheaf_filter_key(
  struct sheaf_filter_picture picture, struct sheaf_key key, struct sheaf_subsampling chroma, int is_opaque,
  uint16_t *coverage, ptrdiff_t stride, float *scratch);
// How many floats of scratch memory that takes for a picture of a width.
size_t sheaf_filter_key_scratch(int width);
// Takes the spill off Cb and Cr, which must not be multiplied by coverage.
void sheaf_filter_spill(struct sheaf_filter_picture picture, struct sheaf_key key);

// One plane of three interlaced frames in a row. Samples are codes of 1 byte (depth 8) or 2 bytes (9 to 16).
struct sheaf_fields {
  // Both are NULL if there is no frame before.
  const void *previous, *current, *next;
  ptrdiff_t previous_stride, current_stride, next_stride;
  int width, height, depth;
  // Whether the frame's first field in time is that of its first row.
  int is_top_first;
};

// Makes a plane of one progressive frame, at the time of the first field: the rows of that field are copied, and each
// row of the other is made from the rows around it and those of the fields before and after (Weston's three fields with
// the checks of yadif: what is known as bwdif). Without a frame before, only the rows of the first field are used.
void sheaf_deinterlace(void *to, ptrdiff_t to_stride, struct sheaf_fields fields);

// 14 bits to codes, rounded to nearest and limited to the highest code.
void sheaf_narrow8(
  uint8_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height);
void sheaf_narrow16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int depth);

#endif
