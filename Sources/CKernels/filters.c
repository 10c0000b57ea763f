// Filters of whole pictures, row by row, on the kernels of filter_kernels.c.
#include "chroma_places.h"
#include "kernel_rows.h"
#include "sheaf_filters.h"
#include "sheaf_kernels.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

// Rounded up so that every part of the scratch memory can be read in whole vectors.
static inline size_t room(int width) { return ((size_t)width + 31) & ~(size_t)15; }

size_t sheaf_filter_scratch(int width) { return 12 * room(width); }

// Repeats each sample 2^shift times; shift is 0 or 1.
static void widen_row(uint16_t *to, const uint16_t *from, int width, int shift) {
  if (shift == 0) {
    memcpy(to, from, (size_t)width * sizeof *to);
    return;
  }
  for (int x = 0; x < width / 2; x++) to[2 * x] = to[2 * x + 1] = from[x];
  if (width & 1) to[width - 1] = from[width >> 1];
}

void sheaf_filter_mix_colours(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum sums[3],
  uint16_t *scratch) {
  int chroma_width = shifted_up(picture.width, picture.shift_x);
  int chroma_height = shifted_up(picture.height, picture.shift_y);
  uint16_t *cb = scratch, *cr = cb + room(picture.width), *mean = cr + room(picture.width);
  uint16_t *new_cb = mean + room(picture.width), *new_cr = new_cb + room(picture.width);
  int luma_needs_chroma = sums[0].weight[1] != 0 || sums[0].weight[2] != 0;
  int chroma_needs_luma = sums[1].weight[0] != 0 || sums[2].weight[0] != 0;
  for (int row = 0; row < chroma_height; row++) {
    uint16_t *cb_row = ROW(uint16_t, picture.cb, picture.chroma_stride, row);
    uint16_t *cr_row = ROW(uint16_t, picture.cr, picture.chroma_stride, row);
    const uint16_t *covered = CONST_ROW(uint16_t, picture.chroma_coverage, picture.chroma_stride, row);
    int first = row << picture.shift_y, rows = 1 << picture.shift_y;
    if (rows > picture.height - first) rows = picture.height - first;
    // Where luma has no weight any row will do in its place.
    const uint16_t *lightness = cb_row;
    if (chroma_needs_luma) {
      sheaf_average16(
        mean, 0, ROW(uint16_t, picture.luma, picture.luma_stride, first), picture.luma_stride, picture.width, rows,
        picture.shift_x, picture.shift_y);
      lightness = mean;
    }
    const uint16_t *const from[4] = {lightness, cb_row, cr_row, covered};
    kernels->sum(new_cb, from, sums[1], chroma_width);
    kernels->sum(new_cr, from, sums[2], chroma_width);
    if (luma_needs_chroma) {
      widen_row(cb, cb_row, picture.width, picture.shift_x);
      widen_row(cr, cr_row, picture.width, picture.shift_x);
    }
    for (int y = first; y < first + rows; y++) {
      uint16_t *luma = ROW(uint16_t, picture.luma, picture.luma_stride, y);
      const uint16_t *const of_luma[4] = {
        luma, luma_needs_chroma ? cb : luma, luma_needs_chroma ? cr : luma,
        CONST_ROW(uint16_t, picture.coverage, picture.luma_stride, y)};
      kernels->sum(luma, of_luma, sums[0], picture.width);
    }
    memcpy(cb_row, new_cb, (size_t)chroma_width * sizeof *cb_row);
    memcpy(cr_row, new_cr, (size_t)chroma_width * sizeof *cr_row);
  }
}

// MARK: Look-up tables

// Straight colour from premultiplied, rounded to nearest; 0 where nothing is covered.
static inline uint16_t straight(uint32_t colour, uint32_t coverage) {
  if (coverage == 0) return 0;
  uint32_t value = (colour * SHEAF_ONE + coverage / 2) / coverage;
  return (uint16_t)(value > SHEAF_ONE ? SHEAF_ONE : value);
}

// The straight colours of a row, of luma and chroma of its width.
static void load_rgb(
  const struct sheaf_filter_kernels *kernels, uint16_t *const colours[3], const uint16_t *const from[4],
  const struct sheaf_sum to_rgb[3], int is_opaque, int width) {
  for (int channel = 0; channel < 3; channel++) {
    kernels->sum(colours[channel], from, to_rgb[channel], width);
    if (!is_opaque)
      for (int x = 0; x < width; x++) colours[channel][x] = straight(colours[channel][x], from[3][x]);
  }
}

static inline uint16_t product(uint32_t a, uint32_t b) { return (uint16_t)((a * b + 8192) >> 14); }

// Changes the straight colours of a row of a picture, whose number it is given.
typedef void change_row(const void *context, uint16_t *const rgb[3], int row, int width);

static void change_rgb(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  const struct sheaf_sum from_rgb[3], int is_opaque, uint16_t *scratch, change_row *change, const void *context) {
  int chroma_width = shifted_up(picture.width, picture.shift_x);
  int chroma_height = shifted_up(picture.height, picture.shift_y);
  ptrdiff_t stride = (ptrdiff_t)(room(picture.width) * sizeof *scratch);
  uint16_t *cb = scratch, *cr = cb + room(picture.width), *rgb = cr + room(picture.width);
  uint16_t *mean = rgb + 6 * room(picture.width);
  for (int row = 0; row < chroma_height; row++) {
    uint16_t *cb_row = ROW(uint16_t, picture.cb, picture.chroma_stride, row);
    uint16_t *cr_row = ROW(uint16_t, picture.cr, picture.chroma_stride, row);
    int first = row << picture.shift_y, rows = 1 << picture.shift_y;
    if (rows > picture.height - first) rows = picture.height - first;
    widen_row(cb, cb_row, picture.width, picture.shift_x);
    widen_row(cr, cr_row, picture.width, picture.shift_x);
    for (int y = first; y < first + rows; y++) {
      uint16_t *luma = ROW(uint16_t, picture.luma, picture.luma_stride, y);
      const uint16_t *covered = CONST_ROW(uint16_t, picture.coverage, picture.luma_stride, y);
      const uint16_t *const from[4] = {luma, cb, cr, covered};
      // The colours of both rows of a cell are side by side, for their mean.
      uint16_t *const colours[3] = {
        rgb + (size_t)(y - first) * room(picture.width), rgb + (size_t)(2 + y - first) * room(picture.width),
        rgb + (size_t)(4 + y - first) * room(picture.width)};
      load_rgb(kernels, colours, from, to_rgb, is_opaque, picture.width);
      change(context, colours, y, picture.width);
      if (!is_opaque)
        for (int channel = 0; channel < 3; channel++)
          for (int x = 0; x < picture.width; x++) colours[channel][x] = product(colours[channel][x], covered[x]);
      const uint16_t *const back[4] = {colours[0], colours[1], colours[2], covered};
      kernels->sum(luma, back, from_rgb[0], picture.width);
    }
    for (int channel = 0; channel < 3; channel++)
      sheaf_average16(
        mean + (size_t)channel * room(picture.width), 0, rgb + (size_t)(2 * channel) * room(picture.width), stride,
        picture.width, rows, picture.shift_x, picture.shift_y);
    const uint16_t *const means[4] = {
      mean, mean + room(picture.width), mean + 2 * room(picture.width),
      CONST_ROW(uint16_t, picture.chroma_coverage, picture.chroma_stride, row)};
    kernels->sum(cb_row, means, from_rgb[1], chroma_width);
    kernels->sum(cr_row, means, from_rgb[2], chroma_width);
  }
}

struct look_up {
  const struct sheaf_filter_kernels *kernels;
  struct sheaf_colour_table table;
};

static void look_up_row(const void *context, uint16_t *const rgb[3], int row, int width) {
  (void)row;
  const struct look_up *use = context;
  if (use->table.dimensions == 1)
    use->kernels->look_up_curves(&use->table, rgb, width);
  else
    use->kernels->look_up_cube(&use->table, rgb, width);
}

void sheaf_filter_look_up(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  const struct sheaf_sum from_rgb[3], struct sheaf_colour_table table, int is_opaque, uint16_t *scratch) {
  struct look_up use = {kernels, table};
  change_rgb(kernels, picture, to_rgb, from_rgb, is_opaque, scratch, look_up_row, &use);
}

// MARK: Glow

void sheaf_filter_bright(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  int threshold, int is_opaque, uint16_t *const planes[3], uint16_t *scratch) {
  uint16_t *cb = scratch, *cr = cb + room(picture.width), *rgb = cr + room(picture.width);
  uint16_t *const colours[3] = {rgb, rgb + room(picture.width), rgb + 2 * room(picture.width)};
  const uint32_t range = (uint32_t)(SHEAF_ONE - threshold);
  for (int y = 0; y < picture.height; y++) {
    int row = y >> picture.shift_y;
    widen_row(cb, CONST_ROW(uint16_t, picture.cb, picture.chroma_stride, row), picture.width, picture.shift_x);
    widen_row(cr, CONST_ROW(uint16_t, picture.cr, picture.chroma_stride, row), picture.width, picture.shift_x);
    const uint16_t *covered = CONST_ROW(uint16_t, picture.coverage, picture.luma_stride, y);
    const uint16_t *const from[4] = {CONST_ROW(uint16_t, picture.luma, picture.luma_stride, y), cb, cr, covered};
    load_rgb(kernels, colours, from, to_rgb, is_opaque, picture.width);
    for (int channel = 0; channel < 3; channel++) {
      uint16_t *to = planes[channel] + (ptrdiff_t)y * picture.width;
      for (int x = 0; x < picture.width; x++) {
        uint32_t beyond = colours[channel][x] > threshold ? (uint32_t)(colours[channel][x] - threshold) : 0;
        to[x] = product((beyond * SHEAF_ONE + range / 2) / range, covered[x]);
      }
    }
  }
}

struct light {
  uint16_t *const *planes;
  uint32_t amount;
};

static void screen_row(const void *context, uint16_t *const rgb[3], int row, int width) {
  const struct light *light = context;
  for (int channel = 0; channel < 3; channel++) {
    const uint16_t *from = light->planes[channel] + (ptrdiff_t)row * width;
    for (int x = 0; x < width; x++) {
      uint32_t own = (from[x] * light->amount + 8192) >> 14;
      if (own > SHEAF_ONE) own = SHEAF_ONE;
      rgb[channel][x] = (uint16_t)(SHEAF_ONE - product(SHEAF_ONE - rgb[channel][x], SHEAF_ONE - own));
    }
  }
}

void sheaf_filter_screen(
  const struct sheaf_filter_kernels *kernels, struct sheaf_filter_picture picture, const struct sheaf_sum to_rgb[3],
  const struct sheaf_sum from_rgb[3], int amount, int is_opaque, uint16_t *const planes[3], uint16_t *scratch) {
  struct light light = {planes, (uint32_t)amount};
  change_rgb(kernels, picture, to_rgb, from_rgb, is_opaque, scratch, screen_row, &light);
}

// MARK: Single filters

void sheaf_filter_fade(
  const struct sheaf_filter_kernels *kernels, uint16_t *plane, ptrdiff_t stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, const uint16_t *factor, ptrdiff_t factor_stride, int width, int height, int offset) {
  for (int y = 0; y < height; y++)
    kernels->fade(
      ROW(uint16_t, plane, stride, y), CONST_ROW(uint16_t, coverage, coverage_stride, y),
      CONST_ROW(uint16_t, factor, factor_stride, y), offset, width);
}

void sheaf_filter_rescale(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, const uint16_t *of,
  ptrdiff_t of_stride, const uint16_t *by, ptrdiff_t by_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *from_row = CONST_ROW(uint16_t, from, from_stride, y);
    const uint16_t *of_row = CONST_ROW(uint16_t, of, of_stride, y), *by_row = CONST_ROW(uint16_t, by, by_stride, y);
    for (int x = 0; x < width; x++) {
      uint32_t divisor = of_row[x], limit = by_row[x];
      uint32_t value = divisor ? (from_row[x] * limit + divisor / 2) / divisor : 0;
      to_row[x] = (uint16_t)(value > limit ? limit : value);
    }
  }
}

// What a key needs of a row of chroma at each pixel: Cb, Cr, what the key leaves of the samples, and their coverage.
enum { KEYED_CB, KEYED_CR, KEYED_KEPT, KEYED_COVERED, KEYED_COUNT, KEY_MARGIN = 4 };

static inline size_t key_room(int width) { return room(width + 2 * KEY_MARGIN); }

size_t sheaf_filter_key_scratch(int width) { return (2 * KEYED_COUNT + 1) * key_room(width); }

// What a key leaves of a colour, 0...16384.
static inline __attribute__((always_inline)) float kept(float cb, float cr, struct sheaf_key key) {
  const float inner = (float)key.inner, outer = (float)key.outer;
  const float from_cb = cb - (float)key.cb, from_cr = cr - (float)key.cr;
  // Unlike `sqrtf`, it sets no `errno`, which no vector can do.
  const float distance = __builtin_elementwise_sqrt(from_cb * from_cb + from_cr * from_cr);
  const float rise = outer > inner ? SHEAF_ONE / (outer - inner) : 0;
  return distance >= outer ? SHEAF_ONE : distance <= inner ? 0 : (distance - inner) * rise;
}

// What a key leaves of a row of pixels, from the rows of chroma that it lies between.
static inline __attribute__((always_inline)) void key_row(
  uint16_t *restrict to, float *const upper[KEYED_COUNT], float *const lower[KEYED_COUNT], float share,
  struct sheaf_key key, int is_opaque, int width) {
  const float *restrict cb0 = upper[KEYED_CB], *restrict cr0 = upper[KEYED_CR], *restrict kept0 = upper[KEYED_KEPT];
  const float *restrict cb1 = lower[KEYED_CB], *restrict cr1 = lower[KEYED_CR], *restrict kept1 = lower[KEYED_KEPT];
  const float *restrict covered0 = upper[KEYED_COVERED], *restrict covered1 = lower[KEYED_COVERED];
  const float rest = 1 - share;
  for (int x = 0; x < width; x++) {
    float scale = 1;
    if (!is_opaque) {
      float covered = covered0[x] * rest + covered1[x] * share;
      scale = covered > 0 ? SHEAF_ONE / covered : 0;
    }
    float own = kept((cb0[x] * rest + cb1[x] * share) * scale, (cr0[x] * rest + cr1[x] * share) * scale, key);
    float between = kept0[x] * rest + kept1[x] * share;
    to[x] = (uint16_t)(int)((own < between ? own : between) + 0.5f);
  }
}

// Interpolates a row of chroma. What is kept of samples without coverage is all.
static void load_keyed(
  float *const to[KEYED_COUNT], float *line, struct sheaf_filter_picture picture, struct sheaf_key key,
  struct sheaf_subsampling chroma, int is_opaque, int row, int columns) {
  const uint16_t *cb = CONST_ROW(uint16_t, picture.cb, picture.chroma_stride, row);
  const uint16_t *cr = CONST_ROW(uint16_t, picture.cr, picture.chroma_stride, row);
  const uint16_t *covered = CONST_ROW(uint16_t, picture.chroma_coverage, picture.chroma_stride, row);
  const uint16_t *const from[KEYED_COUNT] = {cb, cr, NULL, covered};
  for (int plane = 0; plane < (is_opaque ? KEYED_COVERED : KEYED_COUNT); plane++) {
    if (from[plane])
      for (int x = 0; x < columns; x++) line[x] = from[plane][x];
    else if (is_opaque)
      for (int x = 0; x < columns; x++) line[x] = kept(cb[x], cr[x], key);
    else
      for (int x = 0; x < columns; x++) {
        float scale = SHEAF_ONE / (covered[x] ? (float)covered[x] : 1), own = kept(cb[x] * scale, cr[x] * scale, key);
        line[x] = covered[x] ? own : SHEAF_ONE;
      }
    line[-1] = line[0];
    line[columns] = line[columns - 1];
    interpolate_row(to[plane], line, columns, chroma.shift_x, chroma.place_x);
  }
}

void sheaf_filter_key(
  struct sheaf_filter_picture picture, struct sheaf_key key, struct sheaf_subsampling chroma, int is_opaque,
  uint16_t *coverage, ptrdiff_t stride, float *scratch) {
  const int columns = shifted_up(picture.width, chroma.shift_x), rows = shifted_up(picture.height, chroma.shift_y);
  float *line = scratch + KEY_MARGIN, *chroma_rows[2][KEYED_COUNT];
  for (int i = 0; i < 2 * KEYED_COUNT; i++)
    chroma_rows[i / KEYED_COUNT][i % KEYED_COUNT] = line + (size_t)(i + 1) * key_room(picture.width);
  int loaded = neighbours_of(0, chroma.shift_y, chroma.place_y).first;
  for (int y = 0; y < picture.height; y++) {
    const struct neighbours at = neighbours_of(y, chroma.shift_y, chroma.place_y);
    // The second row of chroma has no share where luma and chroma have the same rows.
    const int last = at.first + (chroma.shift_y ? 1 : 0);
    for (; loaded <= last; loaded++) {
      int row = loaded < 0 ? 0 : loaded < rows ? loaded : rows - 1;
      load_keyed(chroma_rows[loaded & 1], line, picture, key, chroma, is_opaque, row, columns);
    }
    uint16_t *to = ROW(uint16_t, coverage, stride, y);
    float *const *upper = chroma_rows[at.first & 1], *const *lower = chroma_rows[last & 1];
    if (is_opaque)
      key_row(to, upper, lower, at.share, key, 1, picture.width);
    else
      key_row(to, upper, lower, at.share, key, 0, picture.width);
  }
}

void sheaf_filter_spill(struct sheaf_filter_picture picture, struct sheaf_key key) {
  int width = shifted_up(picture.width, picture.shift_x), height = shifted_up(picture.height, picture.shift_y);
  double grey = SHEAF_ONE / 2, length = sqrt((key.cb - grey) * (key.cb - grey) + (key.cr - grey) * (key.cr - grey));
  double along_cb = length > 0 ? (key.cb - grey) / length : 0, along_cr = length > 0 ? (key.cr - grey) / length : 0;
  for (int y = 0; y < height; y++) {
    uint16_t *cb = ROW(uint16_t, picture.cb, picture.chroma_stride, y);
    uint16_t *cr = ROW(uint16_t, picture.cr, picture.chroma_stride, y);
    for (int x = 0; x < width; x++) {
      double towards = (cb[x] - grey) * along_cb + (cr[x] - grey) * along_cr;
      if (towards <= 0) continue;
      double new_cb = cb[x] - key.spill * towards * along_cb + 0.5, new_cr = cr[x] - key.spill * towards * along_cr + 0.5;
      cb[x] = (uint16_t)(new_cb < 0 ? 0 : new_cb > SHEAF_ONE ? SHEAF_ONE : new_cb);
      cr[x] = (uint16_t)(new_cr < 0 ? 0 : new_cr > SHEAF_ONE ? SHEAF_ONE : new_cr);
    }
  }
}

void sheaf_narrow8(
  uint8_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint8_t *to_row = to + y * to_stride;
    const uint16_t *from_row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < width; x++) {
      int code = (from_row[x] + 32) >> 6;
      to_row[x] = (uint8_t)(code > 255 ? 255 : code);
    }
  }
}

void sheaf_narrow16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height, int depth) {
  int half = 1 << (14 - depth) >> 1, highest = (1 << depth) - 1;
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *from_row = CONST_ROW(uint16_t, from, from_stride, y);
    for (int x = 0; x < width; x++) {
      int code = (from_row[x] + half) >> (14 - depth);
      to_row[x] = (uint16_t)(code > highest ? highest : code);
    }
  }
}
