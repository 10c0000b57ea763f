// Filters that make something of a picture that was not in it: blocks, grain, glow.
#include "kernel_rows.h"
#include "sheaf_filters.h"

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
