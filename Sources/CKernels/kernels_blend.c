// Conversion to blend planes, from opaque codes and from pictures with alpha. A still or a text is converted once, so
// these have no vector version.
#include "chroma_places.h"
#include "kernel_rows.h"
#include "sheaf_kernels.h"

#include <string.h>

void sheaf_widen8(
  uint16_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint8_t *from_row = from + y * from_stride;
    for (int x = 0; x < width; x++) to_row[x] = (uint16_t)(from_row[x] << 6);
  }
}

void sheaf_widen16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int depth) {
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *from_row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < width; x++) to_row[x] = (uint16_t)(from_row[x] << (14 - depth));
  }
}

// Rounded to nearest for every product of two numbers in 0...65535. 65535 is odd, so no quotient lies halfway.
static inline uint16_t times(uint32_t colour, uint32_t alpha) {
  return (uint16_t)((colour * alpha + 32767u) / 65535u);
}

#define PREMULTIPLY(name, type, scale)                                                                                \
  void name(struct sheaf_rgba_planes to, const type *from, ptrdiff_t from_stride, int width, int height) {            \
    for (int y = 0; y < height; y++) {                                                                                \
      const type *row = CONST_ROW(type, from, from_stride, y);                                                        \
      uint16_t *red = ROW(uint16_t, to.plane[0], to.stride, y), *green = ROW(uint16_t, to.plane[1], to.stride, y);    \
      uint16_t *blue = ROW(uint16_t, to.plane[2], to.stride, y), *alpha = ROW(uint16_t, to.plane[3], to.stride, y);   \
      for (int x = 0; x < width; x++) {                                                                               \
        uint32_t a = row[4 * x + 3] * scale;                                                                          \
        red[x] = times(row[4 * x] * scale, a);                                                                        \
        green[x] = times(row[4 * x + 1] * scale, a);                                                                  \
        blue[x] = times(row[4 * x + 2] * scale, a);                                                                   \
        alpha[x] = (uint16_t)a;                                                                                       \
      }                                                                                                               \
    }                                                                                                                 \
  }
PREMULTIPLY(sheaf_premultiply_rgba8, uint8_t, 257u)
PREMULTIPLY(sheaf_premultiply_rgba16, uint16_t, 1u)

static inline uint16_t component(int64_t sum, uint32_t alpha, int is_multiplied) {
  int64_t value = (sum + (1 << 19)) >> 20, limit = is_multiplied ? alpha : 65535;
  value = value < 0 ? 0 : value > limit ? limit : value;
  return is_multiplied ? (uint16_t)value : times((uint32_t)value, alpha);
}

#define FROM_YUVA(name, type)                                                                                         \
  void name(                                                                                                          \
    struct sheaf_rgba_planes to, struct sheaf_yuva from, int width, int height, struct sheaf_rgb_matrix matrix,       \
    int is_multiplied) {                                                                                              \
    const uint32_t highest = (1u << matrix.depth) - 1;                                                                \
    for (int y = 0; y < height; y++) {                                                                                \
      const type *lumas = CONST_ROW(type, from.plane[0], from.stride[0], y);                                          \
      const type *cbs = CONST_ROW(type, from.plane[1], from.stride[1], y);                                            \
      const type *crs = CONST_ROW(type, from.plane[2], from.stride[2], y);                                            \
      const type *codes = from.plane[3] ? CONST_ROW(type, from.plane[3], from.stride[3], y) : NULL;                   \
      uint16_t *red = ROW(uint16_t, to.plane[0], to.stride, y), *green = ROW(uint16_t, to.plane[1], to.stride, y);    \
      uint16_t *blue = ROW(uint16_t, to.plane[2], to.stride, y), *alpha = ROW(uint16_t, to.plane[3], to.stride, y);   \
      for (int x = 0; x < width; x++) {                                                                               \
        uint32_t a = codes ? (uint32_t)(((uint64_t)codes[x] * 65535u + highest / 2) / highest) : 65535u;              \
        int64_t luma = matrix.luma * (lumas[x] - matrix.luma_offset);                                                 \
        int64_t cb = cbs[x] - matrix.chroma_offset, cr = crs[x] - matrix.chroma_offset;                               \
        red[x] = component(luma + matrix.red_cr * cr, a, is_multiplied);                                              \
        green[x] = component(luma + matrix.green_cb * cb + matrix.green_cr * cr, a, is_multiplied);                   \
        blue[x] = component(luma + matrix.blue_cb * cb, a, is_multiplied);                                            \
        alpha[x] = (uint16_t)a;                                                                                       \
      }                                                                                                               \
    }                                                                                                                 \
  }
FROM_YUVA(sheaf_rgba_from_yuva8, uint8_t)
FROM_YUVA(sheaf_rgba_from_yuva16, uint16_t)

#define SPLIT(name, sample, scale)                                                                                    \
  void name(struct sheaf_rgba_planes to, const sample *from, ptrdiff_t from_stride, int width, int height) {           \
    for (int y = 0; y < height; y++) {                                                                                 \
      const sample *row = CONST_ROW(sample, from, from_stride, y);                                                     \
      for (int plane = 0; plane < 4; plane++) {                                                                        \
        uint16_t *line = ROW(uint16_t, to.plane[plane], to.stride, y);                                                 \
        for (int x = 0; x < width; x++) line[x] = (uint16_t)(row[4 * x + plane] * scale);                              \
      }                                                                                                                \
    }                                                                                                                  \
  }
SPLIT(sheaf_split_rgba8, uint8_t, 257u)
SPLIT(sheaf_split_rgba16, uint16_t, 1u)

void sheaf_split_argb32(
  struct sheaf_rgba_planes to, const uint32_t *from, ptrdiff_t from_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    const uint32_t *row = CONST_ROW(uint32_t, from, from_stride, y);
    uint16_t *red = ROW(uint16_t, to.plane[0], to.stride, y), *green = ROW(uint16_t, to.plane[1], to.stride, y);
    uint16_t *blue = ROW(uint16_t, to.plane[2], to.stride, y), *alpha = ROW(uint16_t, to.plane[3], to.stride, y);
    for (int x = 0; x < width; x++) {
      uint32_t pixel = row[x];
      red[x] = (uint16_t)((pixel >> 16 & 255u) * 257u);
      green[x] = (uint16_t)((pixel >> 8 & 255u) * 257u);
      blue[x] = (uint16_t)((pixel & 255u) * 257u);
      alpha[x] = (uint16_t)((pixel >> 24) * 257u);
    }
  }
}

void sheaf_halve16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *from_row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < width; x++) to_row[x] = (uint16_t)(((from_row[x] + 1) >> 1) + 16384);
  }
}

void sheaf_unhalve_rgba(struct sheaf_rgba_planes planes, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *alphas = ROW(uint16_t, planes.plane[3], planes.stride, y);
    for (int x = 0; x < width; x++) {
      int alpha = 2 * (alphas[x] - 16384), limit = alpha < 0 ? 0 : alpha > 65535 ? 65535 : alpha;
      for (int plane = 0; plane < 3; plane++) {
        uint16_t *colour = ROW(uint16_t, planes.plane[plane], planes.stride, y) + x;
        int64_t value = 2 * (*colour - 16384);
        if (alpha > 65535) value = value * 65535 / alpha;
        *colour = (uint16_t)(value < 0 ? 0 : value > limit ? limit : value);
      }
      alphas[x] = (uint16_t)limit;
    }
  }
}

void sheaf_limit_rgba(struct sheaf_rgba_planes planes, int width, int height) {
  for (int y = 0; y < height; y++) {
    const uint16_t *alphas = ROW(uint16_t, planes.plane[3], planes.stride, y);
    for (int plane = 0; plane < 3; plane++) {
      uint16_t *colours = ROW(uint16_t, planes.plane[plane], planes.stride, y);
      for (int x = 0; x < width; x++) colours[x] = colours[x] < alphas[x] ? colours[x] : alphas[x];
    }
  }
}

int sheaf_bounds16(const uint16_t *from, ptrdiff_t from_stride, int width, int height, int bounds[4]) {
  int left = width, top = height, right = 0, bottom = 0;
  for (int y = 0; y < height; y++) {
    const uint16_t *row = CONST_ROW(uint16_t, from, from_stride, y);
    int first = 0, end = width;
    while (first < end && row[first] == 0) first++;
    if (first == end) continue;
    while (row[end - 1] == 0) end--;
    if (first < left) left = first;
    if (end > right) right = end;
    if (y < top) top = y;
    bottom = y + 1;
  }
  bounds[0] = left, bounds[1] = top, bounds[2] = right, bounds[3] = bottom;
  return bottom > 0;
}

static inline uint16_t apply(struct sheaf_matrix_row row, int64_t red, int64_t green, int64_t blue, int64_t alpha) {
  int64_t sum = row.red * red + row.green * green + row.blue * blue + row.alpha * alpha + (INT64_C(1) << 31);
  int64_t value = sum >> 32;
  return (uint16_t)(value < 0 ? 0 : value > SHEAF_ONE ? SHEAF_ONE : value);
}

void sheaf_blend_from_rgba(
  uint16_t *const to[4], ptrdiff_t to_stride, struct sheaf_rgba_planes from, int width, int height,
  const struct sheaf_matrix_row rows[3]) {
  for (int y = 0; y < height; y++) {
    const uint16_t *reds = CONST_ROW(uint16_t, from.plane[0], from.stride, y);
    const uint16_t *greens = CONST_ROW(uint16_t, from.plane[1], from.stride, y);
    const uint16_t *blues = CONST_ROW(uint16_t, from.plane[2], from.stride, y);
    const uint16_t *alphas = CONST_ROW(uint16_t, from.plane[3], from.stride, y);
    uint16_t *luma = ROW(uint16_t, to[0], to_stride, y), *cb = ROW(uint16_t, to[1], to_stride, y);
    uint16_t *cr = ROW(uint16_t, to[2], to_stride, y), *coverage = ROW(uint16_t, to[3], to_stride, y);
    for (int x = 0; x < width; x++) {
      int alpha = alphas[x];
      int red = reds[x] < alpha ? reds[x] : alpha;
      int green = greens[x] < alpha ? greens[x] : alpha;
      int blue = blues[x] < alpha ? blues[x] : alpha;
      luma[x] = apply(rows[0], red, green, blue, alpha);
      cb[x] = apply(rows[1], red, green, blue, alpha);
      cr[x] = apply(rows[2], red, green, blue, alpha);
      coverage[x] = (uint16_t)(((uint32_t)alpha * SHEAF_ONE + 32767u) / 65535u);
    }
  }
}

// One sample of a plane of weighted sums of rows, with what is beyond its edges.
static uint32_t column_sum(
  const uint16_t *const rows[3], struct taps down, int x, int width, struct sheaf_subsampling how) {
  if (x < 0 && !how.repeats_left) return 0;
  x = x < 0 ? 0 : x < width ? x : width - 1;
  uint32_t sum = 0;
  for (int tap = 0; tap < down.count; tap++)
    if (rows[tap]) sum += down.weight[tap] * rows[tap][x];
  return sum;
}

static void subsample_row(
  uint16_t *to, const uint16_t *const rows[3], int width, struct taps across, struct taps down,
  struct sheaf_subsampling how) {
  if (across.count < 3 && down.count < 3) {
    ptrdiff_t stride = down.count == 2 ? (const char *)rows[1] - (const char *)rows[0] : 0;
    sheaf_average16(to, 0, rows[0], stride, width, down.count, how.shift_x, how.shift_y);
    return;
  }
  int shift = across.shift + down.shift, columns = (width + how.shift_x) >> how.shift_x;
  uint32_t half = 1u << shift >> 1;
  int start = 0, end = 0;
  // The usual places, in loops that the compiler makes vectors of.
  if (how.shift_x && how.place_x == SHEAF_FIRST && rows[0]) {
    to[start++] = (uint16_t)((column_sum(rows, down, -1, width, how) + 2 * column_sum(rows, down, 0, width, how)
                              + column_sum(rows, down, 1, width, how) + half) >> shift);
    end = width / 2;
  }
  if (down.count == 3) {
    for (; start < end; start++) {
      const uint16_t *above = rows[0] + 2 * start, *at = rows[1] + 2 * start, *below = rows[2] + 2 * start;
      uint32_t left = above[-1] + 2u * at[-1] + below[-1], middle = above[0] + 2u * at[0] + below[0];
      to[start] = (uint16_t)((left + 2 * middle + above[1] + 2u * at[1] + below[1] + half) >> shift);
    }
  } else {
    const uint16_t *upper = rows[0], *lower = rows[down.count - 1];
    // One row counts twice.
    int extra = 2 - down.count;
    uint32_t rounding = half << extra;
    for (; start < end; start++) {
      const uint16_t *above = upper + 2 * start, *below = lower + 2 * start;
      to[start] = (uint16_t)(
        (above[-1] + 2u * above[0] + above[1] + below[-1] + 2u * below[0] + below[1] + rounding) >> (shift + extra));
    }
  }
  for (int x = start; x < columns; x++) {
    uint32_t sum = 0;
    for (int tap = 0; tap < across.count; tap++)
      sum += across.weight[tap] * column_sum(rows, down, (x << how.shift_x) + across.first + tap, width, how);
    to[x] = (uint16_t)((sum + half) >> shift);
  }
}

void sheaf_subsample16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height,
  struct sheaf_subsampling how) {
  struct taps across = taps_of(how.shift_x, how.place_x), down = taps_of(how.shift_y, how.place_y);
  int lines = (height + how.shift_y) >> how.shift_y;
  for (int y = 0; y < lines; y++) {
    // Nil: zero.
    const uint16_t *rows[3] = {0};
    for (int tap = 0; tap < down.count; tap++) {
      int at = (y << how.shift_y) + down.first + tap;
      if (at < 0 && !how.repeats_top) continue;
      rows[tap] = CONST_ROW(uint16_t, from, from_stride, at < 0 ? 0 : at < height ? at : height - 1);
    }
    subsample_row(ROW(uint16_t, to, to_stride, y), rows, width, across, down, how);
  }
}

void sheaf_subsample_row16(
  uint16_t *to, const uint16_t *const rows[3], int width, struct sheaf_subsampling how) {
  subsample_row(to, rows, width, taps_of(how.shift_x, how.place_x), taps_of(how.shift_y, how.place_y), how);
}

void sheaf_average16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int shift_x,
  int shift_y) {
  int shift = shift_x + shift_y, columns = (width + shift_x) >> shift_x, rows = (height + shift_y) >> shift_y;
  for (int y = 0; y < rows; y++) {
    int second = (y << shift_y) + shift_y;
    const uint16_t *upper = CONST_ROW(uint16_t, from, from_stride, y << shift_y);
    const uint16_t *lower = CONST_ROW(uint16_t, from, from_stride, second < height ? second : height - 1);
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    int start = 0;
    // Most cells, in a loop that the compiler makes vectors of.
    if (shift_x && shift_y)
      for (; start < width / 2; start++) {
        const uint16_t *above = upper + 2 * start, *below = lower + 2 * start;
        row[start] = (uint16_t)(((unsigned)above[0] + above[1] + below[0] + below[1] + 2) >> 2);
      }
    for (int x = start; x < columns; x++) {
      int left = x << shift_x, right = left + shift_x < width ? left + shift_x : width - 1;
      unsigned sum = upper[left];
      if (shift_x) sum += upper[right];
      if (shift_y) sum += lower[left] + (shift_x ? lower[right] : 0u);
      row[x] = (uint16_t)((sum + (1u << shift >> 1)) >> shift);
    }
  }
}
