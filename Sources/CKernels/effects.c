// Filters that make something of a picture that was not in it: blocks, grain, glow.
#include "kernel_rows.h"
#include "sheaf_filters.h"

#include <math.h>

// A product and a sum that are rounded at once would make the results depend on the processor.
#pragma STDC FP_CONTRACT OFF

void sheaf_filter_mosaic(
  uint16_t *plane, ptrdiff_t stride, const int32_t *columns, int column_count, const int32_t *rows, int row_count) {
  for (int row = 0; row < row_count; row++) {
    int top = row == 0 ? 0 : rows[row - 1], bottom = rows[row];
    for (int column = 0; column < column_count; column++) {
      int left = column == 0 ? 0 : columns[column - 1], right = columns[column];
      uint64_t sum = 0, count = (uint64_t)(right - left) * (uint64_t)(bottom - top);
      for (int y = top; y < bottom; y++) {
        const uint16_t *from = ROW(uint16_t, plane, stride, y);
        for (int x = left; x < right; x++) sum += from[x];
      }
      uint16_t mean = (uint16_t)((sum + count / 2) / count);
      for (int y = top; y < bottom; y++) {
        uint16_t *to = ROW(uint16_t, plane, stride, y);
        for (int x = left; x < right; x++) to[x] = mean;
      }
    }
  }
}

// MARK: Grain

// The last steps of SplitMix64.
static inline uint64_t scattered(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

uint64_t sheaf_grain_key(uint64_t seed, int64_t numerator, int64_t denominator) {
  const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
  return scattered(scattered(scattered(seed + step) + (uint64_t)numerator + step) + (uint64_t)denominator + step);
}

void sheaf_grain_numbers(int32_t *to, int count, int32_t row, uint64_t key) {
  for (int i = 0; i < count; i++) {
    uint64_t hash = scattered(key + ((uint64_t)(uint32_t)row << 32 | (uint32_t)(i - 1)) * UINT64_C(0x9e3779b97f4a7c15));
    uint64_t sum = (hash & 65535) + (hash >> 16 & 65535) + (hash >> 32 & 65535) + (hash >> 48);
    to[i] = (int32_t)sum - 131070;
  }
}

void sheaf_grain_row(
  uint16_t *luma, const uint16_t *coverage, int width, const int32_t *columns, const double *weights, const int32_t *a,
  const int32_t *b, double upper, double lower) {
  for (int x = 0; x < width; x++) {
    const int32_t *above = a + columns[x], *below = b + columns[x];
    const double *w = weights + 2 * x;
    double noise = upper * (w[0] * above[0] + w[1] * above[1]) + lower * (w[0] * below[0] + w[1] * below[1]);
    double most = coverage ? coverage[x] : SHEAF_ONE;
    double value = floor(luma[x] + noise * (most / SHEAF_ONE) + 0.5);
    luma[x] = (uint16_t)(value < 0 ? 0 : value > most ? most : value);
  }
}

// MARK: Less noise

enum { DENOISE_REACH = 2, DENOISE_ROWS = 2 * DENOISE_REACH + 1 };

size_t sheaf_filter_denoise_scratch(int width) {
  return (size_t)DENOISE_ROWS * (size_t)(width + 2 * DENOISE_REACH) + 2 * (size_t)width;
}

// A row with its first and last samples repeated.
static void load_row(float *to, const uint16_t *from, int width) {
  for (int x = 0; x < DENOISE_REACH; x++) {
    to[x] = from[0];
    to[DENOISE_REACH + width + x] = from[width - 1];
  }
  for (int x = 0; x < width; x++) to[DENOISE_REACH + x] = from[x];
}

void sheaf_filter_denoise(
  uint16_t *plane, ptrdiff_t stride, int width, int height, float threshold, float *scratch) {
  if (threshold <= 0) return;
  const float scale = 1 / threshold;
  const ptrdiff_t room = width + 2 * DENOISE_REACH;
  float *restrict sum = scratch + DENOISE_ROWS * room, *restrict total = sum + width;
  int loaded = 0;
  for (int y = 0; y < height; y++) {
    // The rows below are loaded before this one is changed.
    for (; loaded < height && loaded <= y + DENOISE_REACH; loaded++)
      load_row(scratch + loaded % DENOISE_ROWS * room, CONST_ROW(uint16_t, plane, stride, loaded), width);
    const float *restrict middle = scratch + y % DENOISE_ROWS * room + DENOISE_REACH;
    for (int x = 0; x < width; x++) sum[x] = total[x] = 0;
    for (int down = -DENOISE_REACH; down <= DENOISE_REACH; down++) {
      int row = y + down < 0 ? 0 : y + down >= height ? height - 1 : y + down;
      const float *restrict from = scratch + row % DENOISE_ROWS * room;
      for (int across = 0; across < DENOISE_ROWS; across++)
        for (int x = 0; x < width; x++) {
          float distance = from[x + across] - middle[x], part = distance * scale, rest = 1 - part * part;
          float weight = rest > 0 ? rest * rest : 0;
          sum[x] += weight * distance;
          total[x] += weight;
        }
    }
    uint16_t *to = ROW(uint16_t, plane, stride, y);
    for (int x = 0; x < width; x++) to[x] = (uint16_t)(int)(middle[x] + sum[x] / total[x] + 0.5f);
  }
}
