// What is common to both versions of the resampling kernels: filters and the order of rows.
#include "chroma_places.h"
#include "kernel_rows.h"
#include "sheaf_kernels.h"
#include "sheaf_resample.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

// Keys' cubic with a = -0.6.
static double cubic(double x) {
  const double a = -0.6;
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// How much wider the filter is than between neighbouring samples.
static double widening(double step) {
  step = fabs(step);
  return step > 1 ? step : 1;
}

int sheaf_filter_taps(double step, int size) {
  double taps = ceil(4 * widening(step));
  if (taps > size) taps = size;
  int whole = ((int)taps + 3) & ~3;
  return whole < 4 ? 4 : whole;
}

void sheaf_filter_fill(
  struct sheaf_filter *filter, int outputs, double step, double offset, int size, double *scratch) {
  const int taps = filter->taps, last = size > taps ? size - taps : 0;
  const double wide = widening(step);
  for (int i = 0; i < filter->count; i++) {
    double centre = offset + step * (i < outputs ? i : outputs - 1);
    // Beyond this distance the weights are all of the edge.
    double low = -2 * wide - 1, high = size + 2 * wide;
    if (centre < low) centre = low;
    if (centre > high) centre = high;
    // The weights at a distance of two and more are 0.
    int start = (int)floor(centre - 2 * wide) + 1, end = (int)ceil(centre + 2 * wide) - 1;
    int first = start < 0 ? 0 : start > last ? last : start;
    double sum = 0;
    for (int k = 0; k < taps; k++) scratch[k] = 0;
    for (int k = start; k <= end; k++) {
      double weight = cubic((k - centre) / wide);
      int at = k < 0 ? 0 : k >= size ? size - 1 : k;
      scratch[at - first] += weight;
      sum += weight;
    }
    filter->first[i] = first;
    // The running sum is rounded, so that the weights add up to one exactly.
    double running = 0;
    int given = 0;
    for (int k = 0; k < taps; k++) {
      running += scratch[k];
      int upTo = (int)floor(running / sum * SHEAF_ONE + 0.5);
      filter->weights[((k / 4) * filter->count + i) * 4 + k % 4] = (int16_t)(upTo - given);
      given = upTo;
    }
  }
}

void sheaf_resample(
  const struct sheaf_resampling_kernels *kernels, void *to, ptrdiff_t to_stride, int width, int outputs,
  const struct sheaf_filter *across, const struct sheaf_filter *down, const void *from, ptrdiff_t from_stride, int size,
  int height, int depth, int highest, int16_t *scratch) {
  const int taps = down->taps, is_deep = depth > 8;
  uint16_t *narrow = (uint16_t *)(scratch + (ptrdiff_t)across->count * taps);
  const int16_t *rows[taps];
  int16_t weights[taps];
  int next = 0;
  for (int y = 0; y < outputs; y++) {
    const int first = down->first[y];
    if (next < first) next = first;
    for (; next < first + taps && next < height; next++) {
      const uint8_t *row = (const uint8_t *)from + next * from_stride;
      if (size < across->taps) {
        // The filter reads more samples than the row has; their weights are 0.
        memset(narrow, 0, (size_t)across->taps * 2);
        memcpy(narrow, row, (size_t)size * (is_deep ? 2 : 1));
        row = (const uint8_t *)narrow;
      }
      int16_t *filtered = scratch + (ptrdiff_t)(next % taps) * across->count;
      if (is_deep) {
        kernels->row16(filtered, (const uint16_t *)row, across, depth);
      } else {
        kernels->row8(filtered, row, across);
      }
    }
    for (int k = 0; k < taps; k++) {
      int row = first + k < height ? first + k : height - 1;
      rows[k] = scratch + (ptrdiff_t)(row % taps) * across->count;
      weights[k] = down->weights[((k / 4) * down->count + y) * 4 + k % 4];
    }
    if (is_deep) {
      kernels->column16(ROW(uint16_t, to, to_stride, y), rows, weights, taps, width, depth, highest);
    } else {
      kernels->column8(ROW(uint8_t, to, to_stride, y), rows, weights, taps, width);
    }
  }
}

void sheaf_extend_edges(void *plane, ptrdiff_t stride, int width, int height, int sample_bytes) {
  for (int y = 0; y < height; y++) {
    if (sample_bytes == 1) {
      uint8_t *row = ROW(uint8_t, plane, stride, y);
      memset(row - SHEAF_MARGIN, row[0], SHEAF_MARGIN);
      memset(row + width, row[width - 1], SHEAF_MARGIN);
    } else {
      uint16_t *row = ROW(uint16_t, plane, stride, y);
      for (int x = 1; x <= SHEAF_MARGIN; x++) {
        row[-x] = row[0];
        row[width - 1 + x] = row[width - 1];
      }
    }
  }
  const ptrdiff_t margin = SHEAF_MARGIN * sample_bytes;
  const size_t bytes = (size_t)(width * sample_bytes + 2 * margin);
  uint8_t *top = (uint8_t *)plane - margin, *bottom = top + (height - 1) * stride;
  for (int y = 1; y <= SHEAF_MARGIN; y++) {
    memcpy(top - y * stride, top, bytes);
    memcpy(bottom + y * stride, bottom, bytes);
  }
}
