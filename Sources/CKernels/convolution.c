// The blur of whole planes: convolution, and planes that are made smaller for it and larger after it.
#include "chroma_places.h"
#include "kernel_rows.h"
#include "sheaf_filters.h"

#include <string.h>

#pragma STDC FP_CONTRACT OFF

void sheaf_convolve_rows(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, const int16_t *weights, int radius, uint16_t *scratch) {
  const uint16_t *shifted[2 * SHEAF_LARGEST_RADIUS + 1];
  for (int i = 0; i <= 2 * radius; i++) shifted[i] = scratch + i;
  for (int y = 0; y < height; y++) {
    const uint16_t *row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int i = 0; i < radius; i++) {
      scratch[i] = row[0];
      scratch[radius + width + i] = row[width - 1];
    }
    memcpy(scratch + radius, row, (size_t)width * sizeof *row);
    kernels->convolve(ROW(uint16_t, to, to_stride, y), shifted, weights, 2 * radius + 1, width);
  }
}

void sheaf_convolve_columns(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, const int16_t *weights, int radius) {
  const uint16_t *rows[2 * SHEAF_LARGEST_RADIUS + 1];
  for (int y = 0; y < height; y++) {
    for (int i = 0; i <= 2 * radius; i++) {
      int row = y + i - radius;
      rows[i] = CONST_ROW(uint16_t, from, from_stride, row < 0 ? 0 : row >= height ? height - 1 : row);
    }
    kernels->convolve(ROW(uint16_t, to, to_stride, y), rows, weights, 2 * radius + 1, width);
  }
}

void sheaf_reduce(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int shift_x,
  int shift_y) {
  int columns = shift_x ? shifted_up(width, shift_x) + 2 : width;
  int rows = shift_y ? shifted_up(height, shift_y) + 2 : height;
  uint64_t half = (uint64_t)1 << (shift_x + shift_y) >> 1;
  for (int row = 0; row < rows; row++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, row);
    for (int column = 0; column < columns; column++) {
      int left = shift_x ? (column - 1) * (1 << shift_x) : column, top = shift_y ? (row - 1) * (1 << shift_y) : row;
      uint64_t total = half;
      for (int y = top; y < top + (1 << shift_y); y++) {
        const uint16_t *line = CONST_ROW(uint16_t, from, from_stride, y < 0 ? 0 : y >= height ? height - 1 : y);
        uint32_t sum = 0;
        if (left >= 0 && left + (1 << shift_x) <= width)
          for (int x = left; x < left + (1 << shift_x); x++) sum += line[x];
        else
          for (int x = left; x < left + (1 << shift_x); x++) sum += line[x < 0 ? 0 : x >= width ? width - 1 : x];
        total += sum;
      }
      to_row[column] = (uint16_t)(total >> (shift_x + shift_y));
    }
  }
}

// The cell whose centre is at or before a sample's, and the share of the next one in 1/2^(shift+1). A plane that is not
// reduced has its own samples.
static inline int cell(int sample, int shift, int *share) {
  *share = 0;
  if (shift == 0) return sample;
  // In halves of a sample, from the centre of the first cell.
  int distance = 2 * sample + 1 + (1 << shift);
  *share = distance & ((2 << shift) - 1);
  return distance >> (shift + 1);
}

void sheaf_enlarge(
  const struct sheaf_filter_kernels *kernels, uint16_t *to, ptrdiff_t to_stride, const uint16_t *from,
  ptrdiff_t from_stride, int width, int height, int shift_x, int shift_y, uint16_t *scratch) {
  int columns = shift_x ? shifted_up(width, shift_x) + 2 : width;
  for (int y = 0; y < height; y++) {
    int share, row = cell(y, shift_y, &share);
    const uint16_t *above = CONST_ROW(uint16_t, from, from_stride, row), *line = above;
    if (share) {
      const uint16_t *const both[2] = {above, CONST_ROW(uint16_t, from, from_stride, row + 1)};
      int16_t weight = (int16_t)(share << (14 - shift_y));
      const int16_t weights[2] = {(int16_t)(32768 - weight), weight};
      kernels->convolve(scratch, both, weights, 2, columns);
      line = scratch;
    }
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    for (int x = 0; x < width; x++) {
      int part, column = cell(x, shift_x, &part);
      uint32_t whole = 2u << shift_x, next = part ? line[column + 1] : 0;
      to_row[x] = (uint16_t)((line[column] * (whole - (uint32_t)part) + next * (uint32_t)part + whole / 2)
                             >> (shift_x + 1));
    }
  }
}
