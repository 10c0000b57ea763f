// Convex shapes: which pixels they touch, how much of each they cover, and pictures with such coverage.
#include "chroma_places.h"
#include "kernel_rows.h"
#include "sheaf_kernels.h"
#include "sheaf_resample.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

// The leftmost and the rightmost point of a convex polygon at a height; 0 if there is none.
static int chord(const double *corners, int count, double y, double *left, double *right) {
  int found = 0;
  for (int i = 0; i < count; i++) {
    const double *a = corners + 2 * i, *b = corners + 2 * ((i + 1) % count);
    double low = a[1] < b[1] ? a[1] : b[1], high = a[1] < b[1] ? b[1] : a[1];
    if (y < low || y > high) continue;
    double x0 = a[0], x1 = b[0];
    if (low < high) x0 = x1 = a[0] + (b[0] - a[0]) * ((y - a[1]) / (b[1] - a[1]));
    if (x0 > x1) {
      double x = x0;
      x0 = x1;
      x1 = x;
    }
    if (!found || x0 < *left) *left = x0;
    if (!found || x1 > *right) *right = x1;
    found = 1;
  }
  return found;
}

// A number as a column, limited to 0...width before it is converted.
static int column(double x, int width) { return x < 0 ? 0 : x > width ? width : (int)x; }

ptrdiff_t sheaf_polygon_spans(const double *corners, int count, int width, int height, struct sheaf_span *spans) {
  ptrdiff_t total = 0;
  for (int y = 0; y < height; y++) {
    double left0 = 0, right0 = 0, left1 = 0, right1 = 0;
    int above = chord(corners, count, y, &left0, &right0), below = chord(corners, count, y + 1.0, &left1, &right1);
    double left = 0, right = 0;
    int found = 0;
    if (above) {
      left = left0;
      right = right0;
      found = 1;
    }
    if (below) {
      if (!found || left1 < left) left = left1;
      if (!found || right1 > right) right = right1;
      found = 1;
    }
    for (int i = 0; i < count; i++) {
      if (!(corners[2 * i + 1] > y && corners[2 * i + 1] < y + 1.0)) continue;
      if (!found || corners[2 * i] < left) left = corners[2 * i];
      if (!found || corners[2 * i] > right) right = corners[2 * i];
      found = 1;
    }
    struct sheaf_span span = {0, 0, 0, 0};
    if (found) {
      span.start = column(floor(left), width);
      span.end = column(ceil(right), width);
      if (span.end < span.start) span.end = span.start;
      span.inner_start = span.inner_end = span.end;
      if (above && below) {
        int start = column(ceil(left0 > left1 ? left0 : left1), width);
        int end = column(floor(right0 < right1 ? right0 : right1), width);
        if (start < end) {
          span.inner_start = start;
          span.inner_end = end;
        }
      }
    }
    spans[y] = span;
    total += span.inner_start - span.start + span.end - span.inner_end;
  }
  return total;
}

// Cuts a polygon at the line where sign * coordinate = limit, and keeps what is below it. Returns the corners left.
static int cut(const double *from, int count, int axis, double sign, double limit, double *to) {
  int kept = 0;
  for (int i = 0; i < count; i++) {
    const double *a = from + 2 * i, *b = from + 2 * ((i + 1) % count);
    double of_a = sign * a[axis] - limit, of_b = sign * b[axis] - limit;
    if (of_a <= 0) {
      to[2 * kept] = a[0];
      to[2 * kept++ + 1] = a[1];
    }
    if ((of_a < 0 && of_b > 0) || (of_a > 0 && of_b < 0)) {
      double t = of_a / (of_a - of_b);
      to[2 * kept] = a[0] + (b[0] - a[0]) * t;
      to[2 * kept + 1] = a[1] + (b[1] - a[1]) * t;
      to[2 * kept++ + axis] = sign * limit;
    }
  }
  return kept;
}

static uint16_t pixel_coverage(const double *corners, int count, int x, int y) {
  // Each cut adds a corner at most.
  double a[2 * (SHEAF_MOST_CORNERS + 4)], b[2 * (SHEAF_MOST_CORNERS + 4)];
  int kept = cut(corners, count, 0, -1, -x, a);
  kept = cut(a, kept, 0, 1, x + 1.0, b);
  kept = cut(b, kept, 1, -1, -y, a);
  kept = cut(a, kept, 1, 1, y + 1.0, b);
  double area = 0;
  for (int i = 0; i < kept; i++) {
    const double *p = b + 2 * i, *q = b + 2 * ((i + 1) % kept);
    area += (p[0] - x) * (q[1] - y) - (q[0] - x) * (p[1] - y);
  }
  area = fabs(area) / 2 * SHEAF_ONE + 0.5;
  return area > SHEAF_ONE ? SHEAF_ONE : (uint16_t)area;
}

void sheaf_polygon_edges(
  const double *corners, int count, int height, const struct sheaf_span *spans, uint16_t *edges) {
  for (int y = 0; y < height; y++) {
    for (int x = spans[y].start; x < spans[y].inner_start; x++) *edges++ = pixel_coverage(corners, count, x, y);
    for (int x = spans[y].inner_end; x < spans[y].end; x++) *edges++ = pixel_coverage(corners, count, x, y);
  }
}

// A row of pixels of a shape, with the coverage of those at its edges.
struct shape_row {
  struct sheaf_span span;
  const uint16_t *edges;
};

static unsigned coverage_at(struct shape_row row, int x) {
  const struct sheaf_span span = row.span;
  if (x < span.start || x >= span.end) return 0;
  if (x < span.inner_start) return row.edges[x - span.start];
  return x < span.inner_end ? SHEAF_ONE : row.edges[span.inner_start - span.start + x - span.inner_end];
}

// The chroma samples of which any pixel is within a row's span, and those of which all are within its inner one.
static struct sheaf_span chroma_span(
  struct sheaf_span span, struct taps across, int shift, int width, int repeats_left) {
  const int columns = (width + shift) >> shift, last = across.first + across.count - 1;
  struct sheaf_span chroma;
  chroma.start = span.start <= last ? 0 : (span.start - last + shift) >> shift;
  chroma.end = ((span.end - 1 - across.first) >> shift) + 1;
  if (chroma.end > columns) chroma.end = columns;
  chroma.inner_start = (span.inner_start - across.first + shift) >> shift;
  if (span.inner_start == 0 && repeats_left) chroma.inner_start = 0;
  chroma.inner_end = span.inner_end <= last ? 0 : ((span.inner_end - 1 - last) >> shift) + 1;
  if (span.inner_end >= width) chroma.inner_end = columns;
  return chroma;
}

// Goes through the rows of pixels that rows of chroma samples are made from.
struct shape_walk {
  const struct sheaf_span *spans;
  const uint16_t *edges;
  int height, next;
  struct sheaf_subsampling how;
  struct taps down;
  // The four latest rows, by the number's last bits.
  struct shape_row latest[4];
};

// The rows of the chroma samples of row `y`, which must be greater than before. A row that is zero touches nothing.
static void walk_to(struct shape_walk *walk, int y, struct shape_row rows[3]) {
  for (int tap = 0; tap < walk->down.count; tap++) {
    int at = (y << walk->how.shift_y) + walk->down.first + tap;
    if (at >= walk->height) at = walk->height - 1;
    if (at < 0 && walk->how.repeats_top) at = 0;
    for (; walk->next <= at; walk->next++) {
      const struct sheaf_span span = walk->spans[walk->next];
      walk->latest[walk->next & 3] = (struct shape_row){span, walk->edges};
      walk->edges += span.inner_start - span.start + span.end - span.inner_end;
    }
    rows[tap] = at < 0 ? (struct shape_row){{0, 0, 0, 0}, NULL} : walk->latest[at & 3];
  }
}

ptrdiff_t sheaf_subsample_spans(
  struct sheaf_span *chroma_spans, const struct sheaf_span *spans, const uint16_t *edges, int width, int height,
  struct sheaf_subsampling how) {
  const struct taps across = taps_of(how.shift_x, how.place_x), down = taps_of(how.shift_y, how.place_y);
  struct shape_walk walk = {.spans = spans, .edges = edges, .height = height, .how = how, .down = down};
  ptrdiff_t total = 0;
  for (int y = 0; y < (height + how.shift_y) >> how.shift_y; y++) {
    struct shape_row rows[3];
    walk_to(&walk, y, rows);
    struct sheaf_span all = {width, 0, width, 0};
    int is_inner = 1;
    for (int tap = 0; tap < down.count; tap++) {
      const struct sheaf_span span = rows[tap].span;
      if (span.inner_start >= span.inner_end) is_inner = 0;
      if (span.start >= span.end) continue;
      const struct sheaf_span chroma = chroma_span(span, across, how.shift_x, width, how.repeats_left);
      const int is_first = all.start > all.end;
      if (is_first || chroma.start < all.start) all.start = chroma.start;
      if (is_first || chroma.end > all.end) all.end = chroma.end;
      if (is_first || chroma.inner_start > all.inner_start) all.inner_start = chroma.inner_start;
      if (is_first || chroma.inner_end < all.inner_end) all.inner_end = chroma.inner_end;
    }
    if (all.start > all.end) all.start = all.end = 0;
    if (!is_inner || all.inner_start >= all.inner_end) all.inner_start = all.inner_end = all.end;
    chroma_spans[y] = all;
    total += all.inner_start - all.start + all.end - all.inner_end;
  }
  return total;
}

void sheaf_subsample_edges(
  uint16_t *chroma_edges, const struct sheaf_span *chroma_spans, const struct sheaf_span *spans,
  const uint16_t *edges, int width, int height, struct sheaf_subsampling how) {
  const struct taps across = taps_of(how.shift_x, how.place_x), down = taps_of(how.shift_y, how.place_y);
  const int shift = across.shift + down.shift;
  const unsigned half = 1u << shift >> 1;
  struct shape_walk walk = {.spans = spans, .edges = edges, .height = height, .how = how, .down = down};
  for (int y = 0; y < (height + how.shift_y) >> how.shift_y; y++) {
    struct shape_row rows[3];
    walk_to(&walk, y, rows);
    const struct sheaf_span all = chroma_spans[y];
    for (int x = all.start; x < all.end; x++) {
      if (x == all.inner_start && (x = all.inner_end) == all.end) break;
      unsigned sum = 0;
      for (int tap = 0; tap < across.count; tap++) {
        int at = (x << how.shift_x) + across.first + tap;
        if (at < 0 && !how.repeats_left) continue;
        at = at < 0 ? 0 : at < width ? at : width - 1;
        for (int row = 0; row < down.count; row++)
          sum += across.weight[tap] * down.weight[row] * coverage_at(rows[row], at);
      }
      *chroma_edges++ = (uint16_t)((sum + half) >> shift);
    }
  }
}

static inline int covered(int code, int under, int coverage) {
  return (code * coverage + under * (SHEAF_ONE - coverage) + 8192) >> 14;
}

#define DRAW_SHAPE(name, type, mix)                                                                                   \
  void name(                                                                                                          \
    type *under, ptrdiff_t under_stride, const type *codes, ptrdiff_t stride, int height,                             \
    const struct sheaf_span *spans, const uint16_t *edges, int opacity) {                                             \
    for (int y = 0; y < height; y++) {                                                                                \
      const struct sheaf_span span = spans[y];                                                                        \
      type *to = ROW(type, under, under_stride, y);                                                                   \
      const type *from = CONST_ROW(type, codes, stride, y);                                                           \
      const int inner = span.inner_end - span.inner_start;                                                            \
      for (int x = span.start; x < span.inner_start; x++)                                                             \
        to[x] = (type)covered(from[x], to[x], (*edges++ * opacity + 8192) >> 14);                                     \
      if (opacity == SHEAF_ONE) {                                                                                     \
        memcpy(to + span.inner_start, from + span.inner_start, (size_t)inner * sizeof(type));                         \
      } else if (inner > 0) {                                                                                         \
        sheaf_kernels_best()->mix(                                                                                    \
          to + span.inner_start, 0, from + span.inner_start, 0, to + span.inner_start, 0, inner, 1, opacity,          \
          SHEAF_ONE - opacity);                                                                                       \
      }                                                                                                               \
      for (int x = span.inner_end; x < span.end; x++)                                                                 \
        to[x] = (type)covered(from[x], to[x], (*edges++ * opacity + 8192) >> 14);                                     \
    }                                                                                                                 \
  }
DRAW_SHAPE(sheaf_draw_shape8, uint8_t, mix8)
DRAW_SHAPE(sheaf_draw_shape16, uint16_t, mix16)

#define WIDEN_SHAPE(type)                                                                                             \
  for (int y = 0; y < height; y++) {                                                                                  \
    const struct sheaf_span span = spans[y];                                                                          \
    const type *from = codes ? CONST_ROW(type, codes, stride, y) : NULL;                                              \
    uint16_t *colours = colour ? ROW(uint16_t, colour, to_stride, y) : NULL;                                          \
    uint16_t *coverages = coverage ? ROW(uint16_t, coverage, to_stride, y) : NULL;                                    \
    for (int x = span.start; x < span.end; x++) {                                                                     \
      int is_inner = x >= span.inner_start && x < span.inner_end, alpha = is_inner ? SHEAF_ONE : *edges++;            \
      if (colours) colours[x] = (uint16_t)(((from[x] << shift) * alpha + 8192) >> 14);                                \
      if (coverages) coverages[x] = (uint16_t)alpha;                                                                  \
    }                                                                                                                 \
  }

void sheaf_widen_shape8(
  uint16_t *colour, uint16_t *coverage, ptrdiff_t to_stride, const uint8_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges) {
  const int shift = 6;
  WIDEN_SHAPE(uint8_t)
}

void sheaf_widen_shape16(
  uint16_t *colour, uint16_t *coverage, ptrdiff_t to_stride, const uint16_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges, int depth) {
  const int shift = 14 - depth;
  WIDEN_SHAPE(uint16_t)
}

void sheaf_limit_colour(uint16_t *colour, const uint16_t *coverage, ptrdiff_t count) {
  for (ptrdiff_t x = 0; x < count; x++)
    if (colour[x] > coverage[x]) colour[x] = coverage[x];
}

void sheaf_cut_shape(
  uint16_t *plane, ptrdiff_t stride, int width, int height, const struct sheaf_span *spans, const uint16_t *edges) {
  for (int y = 0; y < height; y++) {
    const struct sheaf_span span = spans[y];
    uint16_t *row = ROW(uint16_t, plane, stride, y);
    memset(row, 0, (size_t)span.start * 2);
    for (int x = span.start; x < span.inner_start; x++) row[x] = (uint16_t)((row[x] * *edges++ + 8192) >> 14);
    for (int x = span.inner_end; x < span.end; x++) row[x] = (uint16_t)((row[x] * *edges++ + 8192) >> 14);
    memset(row + span.end, 0, (size_t)(width - span.end) * 2);
  }
}

void sheaf_mask_plane(
  uint16_t *to, struct sheaf_rgba_planes from, int width, int height, const float weights[4], int is_inverted) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      float sum = 0;
      for (int plane = 0; plane < 4; plane++)
        sum += (float)CONST_ROW(uint16_t, from.plane[plane], from.stride, y)[x] * weights[plane];
      int mask = (int)(sum * ((float)SHEAF_ONE / 65535) + 0.5f);
      if (mask > SHEAF_ONE) mask = SHEAF_ONE;
      *to++ = (uint16_t)(is_inverted ? SHEAF_ONE - mask : mask);
    }
}

void sheaf_multiply16(uint16_t *to, const uint16_t *a, const uint16_t *b, ptrdiff_t count) {
  for (ptrdiff_t x = 0; x < count; x++) to[x] = (uint16_t)((a[x] * b[x] + 8192) >> 14);
}

void sheaf_over16(uint16_t *to, const uint16_t *over, const uint16_t *coverage, ptrdiff_t count) {
  for (ptrdiff_t x = 0; x < count; x++) {
    int sum = over[x] + ((to[x] * (16384 - coverage[x]) + 8192) >> 14);
    to[x] = (uint16_t)(sum > 16384 ? 16384 : sum);
  }
}

void sheaf_part16(uint16_t *to, const uint16_t *whole, ptrdiff_t count) {
  for (ptrdiff_t x = 0; x < count; x++) {
    int part = whole[x] ? (to[x] * 16384 + whole[x] / 2) / whole[x] : 0;
    to[x] = (uint16_t)(part > 16384 ? 16384 : part);
  }
}
