// Conversion of colours: R'G'B' of one encoding to that of another by way of light, and the same of pictures in Y'CbCr.
//
// Samples of R'G'B' have 14 bits: 16384 is one, and SHEAF_COLOUR_TOP the highest. Light is a float. Its arithmetic is
// that of IEEE 754 in single precision, every operation rounded by itself and in the order that is given here, so that
// the result is the same on any processor. The kernels exist in plain C, which defines the result, and for AVX2, which
// gives the same bits. Strides are in bytes, widths in samples, heights in rows.
#ifndef SHEAF_COLOUR_H
#define SHEAF_COLOUR_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf_kernels.h"

// 1.09: the highest luma of 8 bits, 254, is 1.087.
#define SHEAF_COLOUR_TOP 17858

// A table of a positive float has 128 entries in each octave from 2^-32 to 2^8, and one more at the end; between
// entries it is linear. What is below or above has the first or the last entry.
#define SHEAF_LIGHT_OCTAVES 40
#define SHEAF_LIGHT_LEAST (-32)
#define SHEAF_LIGHT_STEPS 128

// Multiplies light by a table's entry for its brightness, which is the sum of its parts with weights, from left to
// right, or the greatest part if `is_greatest`. Without a table nothing is done.
struct sheaf_light_gain {
  const float *table;
  float weights[3];
  int is_greatest;
};

struct sheaf_colour_transform {
  // Of each sample from 0 to SHEAF_COLOUR_TOP.
  const float *light;
  struct sheaf_light_gain before;
  // Three rows of weights for the sum of all parts, from left to right. A sum below 0 becomes 0.
  float matrix[9];
  struct sheaf_light_gain after;
  // A table from light to samples. The lower 16 bits of an entry are the sample, the upper ones what the next has more.
  const uint32_t *samples;
};

// From codes to R'G'B'. Rows are red, green and blue, of weights of Y', Cb and Cr less their offsets, in 1/32768. Codes
// are shifted to 14 bits first. The offset of chroma is 8192 then.
struct sheaf_colour_decoding {
  int32_t weights[3][3];
  int32_t luma_offset;
  int depth;
};

// From R'G'B' to codes. Rows are Y', Cb and Cr, of weights of red, green and blue in 1/32768 that give 14 bits. Offsets
// are in codes.
struct sheaf_colour_encoding {
  int32_t weights[3][3];
  int32_t offsets[3];
  int depth;
};

struct sheaf_colour_kernels {
  // Converts a row in place.
  void (*convert)(uint16_t *const rgb[3], const struct sheaf_colour_transform *transform, int width);
  // A row of codes of luma, with chroma of 14 bits less 8192.
  void (*decode)(
    uint16_t *const rgb[3], const void *luma, const int16_t *cb, const int16_t *cr,
    const struct sheaf_colour_decoding *decoding, int width);
  void (*encode_luma)(void *luma, const uint16_t *const rgb[3], const struct sheaf_colour_encoding *encoding, int width);
  // Of the sums of 2^shift pixels.
  void (*encode_chroma)(
    void *cb, void *cr, const uint32_t *const sums[3], const struct sheaf_colour_encoding *encoding, int shift, int width);
};

const struct sheaf_colour_kernels *sheaf_colour_kernels_plain(void);
// NULL if this processor has no AVX2, or the code was built for another kind of processor.
const struct sheaf_colour_kernels *sheaf_colour_kernels_avx2(void);
// The fastest version that this processor runs.
const struct sheaf_colour_kernels *sheaf_colour_kernels_best(void);

// Planes of Y', Cb and Cr, 8 to 16 bits deep. Chroma has a sample for each cell of 2^shift_x by 2^shift_y pixels.
struct sheaf_colour_planes {
  void *plane[3];
  ptrdiff_t stride[3];
};

// How many units of 4 bytes of scratch memory the functions below take for a width.
size_t sheaf_colour_scratch(int width);

// Converts a picture to one of the same size and subsampling. The colour of a pixel is that of its luma and of its
// cell's chroma, and the chroma of a cell is that of the mean of its pixels' R'G'B'.
void sheaf_convert_colour(
  const struct sheaf_colour_kernels *kernels, struct sheaf_colour_planes to, struct sheaf_colour_planes from, int width,
  int height, int shift_x, int shift_y, const struct sheaf_colour_decoding *decoding,
  const struct sheaf_colour_transform *transform, const struct sheaf_colour_encoding *encoding, uint32_t *scratch);

// Converts a picture with alpha in place.
void sheaf_convert_rgba(
  const struct sheaf_colour_kernels *kernels, struct sheaf_rgba_planes picture, int width, int height,
  const struct sheaf_colour_transform *transform, uint32_t *scratch);

#endif
