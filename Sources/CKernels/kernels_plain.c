// The plain version of each kernel, which defines its result. kernels_avx2.c must give the same bits.
#include "kernel_rows.h"
#include "sheaf_kernels.h"

#include <string.h>

static void fill8(uint8_t *to, ptrdiff_t to_stride, int width, int height, int value) {
  for (int y = 0; y < height; y++) memset(to + y * to_stride, value, (size_t)width);
}

static void fill16(uint16_t *to, ptrdiff_t to_stride, int width, int height, int value) {
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    for (int x = 0; x < width; x++) row[x] = (uint16_t)value;
  }
}

#define MIX(name, type)                                                                                               \
  static void name(                                                                                                   \
    type *to, ptrdiff_t to_stride, const type *a, ptrdiff_t a_stride, const type *b, ptrdiff_t b_stride, int width,   \
    int height, int weight_a, int weight_b) {                                                                         \
    for (int y = 0; y < height; y++) {                                                                                \
      type *to_row = ROW(type, to, to_stride, y);                                                                     \
      const type *a_row = CONST_ROW(type, a, a_stride, y), *b_row = CONST_ROW(type, b, b_stride, y);                  \
      for (int x = 0; x < width; x++) to_row[x] = (type)((a_row[x] * weight_a + b_row[x] * weight_b + 8192) >> 14);   \
    }                                                                                                                 \
  }
MIX(mix8, uint8_t)
MIX(mix16, uint16_t)

static inline int over(int under, int colour, int coverage, int opacity, int depth) {
  int shift = 14 - depth;
  int covered = (coverage * opacity + 8192) >> 14;
  int sum = (colour * opacity + (under << shift) * (SHEAF_ONE - covered) + (1 << (13 + shift))) >> (14 + shift);
  int highest = (1 << depth) - 1;
  return sum < highest ? sum : highest;
}

static void over8(
  uint8_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, int width, int height, int opacity) {
  for (int y = 0; y < height; y++) {
    uint8_t *row = under + y * under_stride;
    const uint16_t *colours = CONST_ROW(uint16_t, colour, colour_stride, y);
    const uint16_t *coverages = CONST_ROW(uint16_t, coverage, coverage_stride, y);
    for (int x = 0; x < width; x++) row[x] = (uint8_t)over(row[x], colours[x], coverages[x], opacity, 8);
  }
}

static void over16(
  uint16_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, int width, int height, int opacity, int depth) {
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, under, under_stride, y);
    const uint16_t *colours = CONST_ROW(uint16_t, colour, colour_stride, y);
    const uint16_t *coverages = CONST_ROW(uint16_t, coverage, coverage_stride, y);
    for (int x = 0; x < width; x++) row[x] = (uint16_t)over(row[x], colours[x], coverages[x], opacity, depth);
  }
}

// Tiles keep both the rows that are read and the columns that are written in the cache.
#define TILE 16
#define TRANSPOSE(name, type)                                                                                         \
  static void name(                                                                                                   \
    type *to, ptrdiff_t to_stride, const type *from, ptrdiff_t from_stride, int width, int height) {                  \
    for (int top = 0; top < height; top += TILE)                                                                      \
      for (int left = 0; left < width; left += TILE)                                                                  \
        for (int x = left; x < width && x < left + TILE; x++) {                                                       \
          type *column = ROW(type, to, to_stride, x);                                                                 \
          for (int y = top; y < height && y < top + TILE; y++) column[y] = CONST_ROW(type, from, from_stride, y)[x];  \
        }                                                                                                             \
  }
TRANSPOSE(transpose8, uint8_t)
TRANSPOSE(transpose16, uint16_t)

#define MIRROR(name, type)                                                                                            \
  static void name(                                                                                                   \
    type *to, ptrdiff_t to_stride, const type *from, ptrdiff_t from_stride, int width, int height) {                  \
    for (int y = 0; y < height; y++) {                                                                                \
      type *to_row = ROW(type, to, to_stride, y);                                                                     \
      const type *from_row = CONST_ROW(type, from, from_stride, y);                                                   \
      for (int x = 0; x < width; x++) to_row[x] = from_row[width - 1 - x];                                            \
    }                                                                                                                 \
  }
MIRROR(mirror8, uint8_t)
MIRROR(mirror16, uint16_t)

const struct sheaf_kernels *sheaf_kernels_plain(void) {
  static const struct sheaf_kernels kernels = {
    .fill8 = fill8, .fill16 = fill16, .mix8 = mix8, .mix16 = mix16, .over8 = over8, .over16 = over16,
    .transpose8 = transpose8, .transpose16 = transpose16, .mirror8 = mirror8, .mirror16 = mirror16,
  };
  return &kernels;
}

const struct sheaf_kernels *sheaf_kernels_best(void) {
  const struct sheaf_kernels *vector = sheaf_kernels_avx2();
  return vector ? vector : sheaf_kernels_plain();
}

void sheaf_transpose_pixels(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height, int bytes) {
  for (int top = 0; top < height; top += TILE)
    for (int x = 0; x < width; x++)
      for (int y = top; y < height && y < top + TILE; y++)
        memcpy(to + x * to_stride + (ptrdiff_t)y * bytes, from + y * from_stride + (ptrdiff_t)x * bytes, (size_t)bytes);
}

void sheaf_mirror_pixels(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height, int bytes) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      memcpy(
        to + y * to_stride + (ptrdiff_t)x * bytes, from + y * from_stride + (ptrdiff_t)(width - 1 - x) * bytes,
        (size_t)bytes);
}
