#include "sheaf_text.h"

#include <math.h>

#include "kernel_rows.h"

// Rounded to nearest for every product of two numbers in 0...65535.
static inline uint32_t times(uint32_t a, uint32_t b) { return (a * b + 32767u) / 65535u; }

void sheaf_widen_coverage8(
  uint16_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    for (int x = 0; x < width; x++) row[x] = (uint16_t)(from[y * from_stride + x] * 257u);
  }
}

void sheaf_convolve16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height,
  const uint32_t *weights, int count, ptrdiff_t step) {
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    const char *first = (const char *)CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < width; x++) {
      uint64_t sum = 32768;
      for (int k = 0; k < count; k++) sum += (uint64_t)weights[k] * *(const uint16_t *)(first + 2 * x + k * step);
      row[x] = (uint16_t)(sum >> 16);
    }
  }
}

void sheaf_grow16(
  uint16_t *to, ptrdiff_t to_stride, int width, int height, const uint16_t *from, ptrdiff_t from_stride, int margin,
  double radius, uint16_t *scratch) {
  int columns = width + 2 * margin, rows = height + 2 * margin, far = margin + 1;
  // The distance to the nearest covered pixel of the column, upwards and then downwards too.
  for (int y = 0; y < rows; y++) {
    const uint16_t *row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < columns; x++) {
      int above = y > 0 ? scratch[(y - 1) * columns + x] : far;
      scratch[y * columns + x] = (uint16_t)(row[x] >= 32768 ? 0 : above < far ? above + 1 : far);
    }
  }
  for (int y = rows - 2; y >= 0; y--) {
    for (int x = 0; x < columns; x++) {
      int below = scratch[(y + 1) * columns + x] + 1;
      if (below < scratch[y * columns + x]) scratch[y * columns + x] = (uint16_t)below;
    }
  }
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *distances = scratch + (ptrdiff_t)(y + margin) * columns;
    for (int x = 0; x < width; x++) {
      int nearest = far * far;
      for (int dx = -margin; dx <= margin; dx++) {
        int dy = distances[x + margin + dx], square = dx * dx + dy * dy;
        if (square < nearest) nearest = square;
      }
      double reach = radius + 0.5 - sqrt((double)nearest);
      uint16_t value = reach >= 1 ? 65535 : reach <= 0 ? 0 : (uint16_t)(reach * 65535 + 0.5);
      if (value > row[x]) row[x] = value;
    }
  }
}

void sheaf_paint_over(
  struct sheaf_rgba_planes under, const uint16_t *coverage, ptrdiff_t stride, const uint16_t colour[4], int width,
  int height) {
  for (int y = 0; y < height; y++) {
    const uint16_t *row = CONST_ROW(uint16_t, coverage, stride, y);
    for (int x = 0; x < width; x++) {
      uint32_t rest = 65535u - times(row[x], colour[3]);
      for (int plane = 0; plane < 4; plane++) {
        uint16_t *to = ROW(uint16_t, under.plane[plane], under.stride, y);
        uint32_t sum = times(row[x], colour[plane]) + times(to[x], rest);
        to[x] = (uint16_t)(sum > 65535u ? 65535u : sum);
      }
    }
  }
}

void sheaf_text_over(
  struct sheaf_rgba_planes under, struct sheaf_rgba_planes letters, uint32_t opacity, const uint16_t *shape,
  ptrdiff_t shape_stride, const uint16_t outline[4], int width, int height) {
  for (int y = 0; y < height; y++) {
    const uint16_t *alpha = CONST_ROW(uint16_t, letters.plane[3], letters.stride, y);
    const uint16_t *whole = shape ? CONST_ROW(uint16_t, shape, shape_stride, y) : alpha;
    for (int x = 0; x < width; x++) {
      uint32_t outside = whole[x] > alpha[x] ? whole[x] - alpha[x] : 0u;
      uint32_t covered = times(alpha[x], opacity) + times(outside, outline[3]);
      uint32_t rest = covered > 65535u ? 0u : 65535u - covered;
      for (int plane = 0; plane < 4; plane++) {
        const uint16_t *letter = CONST_ROW(uint16_t, letters.plane[plane], letters.stride, y);
        uint16_t *to = ROW(uint16_t, under.plane[plane], under.stride, y);
        uint32_t sum = times(letter[x], opacity) + times(outside, outline[plane]) + times(to[x], rest);
        to[x] = (uint16_t)(sum > 65535u ? 65535u : sum);
      }
    }
  }
}
