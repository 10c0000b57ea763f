// The kernels that filters spend their time in: plain, which defines the results, and for AVX2.
#include "kernel_rows.h"
#include "sheaf_filters.h"
#include "sheaf_kernels.h"

#include <math.h>
#include <string.h>

// A product and a sum that are rounded at once would make vignettes depend on the processor.
#pragma STDC FP_CONTRACT OFF

static void sum_plain(uint16_t *to, const uint16_t *const from[4], struct sheaf_sum sum, int width) {
  int half = 1 << sum.shift >> 1;
  for (int x = 0; x < width; x++) {
    int limit = from[3][x];
    int value = (from[0][x] * sum.weight[0] + from[1][x] * sum.weight[1] + from[2][x] * sum.weight[2]
                 + limit * sum.weight[3] + half)
      >> sum.shift;
    to[x] = (uint16_t)(value < 0 ? 0 : value > limit ? limit : value);
  }
}

static void convolve_plain(
  uint16_t *to, const uint16_t *const *rows, const int16_t *weights, int count, int width) {
  for (int x = 0; x < width; x++) {
    int value = 1 << 14;
    for (int i = 0; i < count; i++) value += rows[i][x] * weights[i];
    to[x] = (uint16_t)(value >> 15);
  }
}

// The place of a sample in a table, in 1/16384 of the distance of two entries.
static inline uint32_t place(const struct sheaf_colour_table *table, int channel, int sample) {
  int64_t place = (sample * table->scale[channel] + table->offset[channel]) >> 16;
  int64_t highest = (int64_t)(table->size - 1) << 14;
  return (uint32_t)(place < 0 ? 0 : place > highest ? highest : place);
}

static inline uint16_t mixed(uint32_t from, uint32_t to, int amount) {
  return (uint16_t)((from * (uint32_t)(SHEAF_ONE - amount) + to * (uint32_t)amount + 8192) >> 14);
}

static void look_up_curves_from(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int start, int width) {
  for (int channel = 0; channel < 3; channel++) {
    const uint16_t *curve = table->entries + (ptrdiff_t)channel * table->size;
    for (int x = start; x < width; x++) {
      uint32_t at = place(table, channel, rgb[channel][x]), entry = at >> 14, part = at & 16383;
      uint32_t next = entry + (part != 0);
      uint32_t value = (curve[entry] * (16384 - part) + curve[next] * part + 8192) >> 14;
      rgb[channel][x] = mixed(rgb[channel][x], value, table->amount);
    }
  }
}

static void look_up_cube_from(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int start, int width) {
  const ptrdiff_t steps[3] = {4, 4 * (ptrdiff_t)table->size, 4 * (ptrdiff_t)table->size * table->size};
  for (int x = start; x < width; x++) {
    const uint16_t *corner = table->entries;
    uint32_t parts[3];
    ptrdiff_t step[3];
    for (int channel = 0; channel < 3; channel++) {
      uint32_t at = place(table, channel, rgb[channel][x]);
      corner += steps[channel] * (ptrdiff_t)(at >> 14);
      parts[channel] = at & 16383;
      // At an entry, and so at the last one, the next is not needed.
      step[channel] = parts[channel] ? steps[channel] : 0;
    }
    // The way from the cell's first corner to its last goes along the axes in the order of their parts.
    int order[3] = {0, 1, 2};
    if (parts[order[0]] < parts[order[1]]) order[0] = 1, order[1] = 0;
    if (parts[order[1]] < parts[order[2]]) {
      int last = order[2];
      order[2] = order[1];
      order[1] = last;
      if (parts[order[0]] < parts[order[1]]) {
        int middle = order[1];
        order[1] = order[0];
        order[0] = middle;
      }
    }
    uint32_t high = parts[order[0]], middle = parts[order[1]], low = parts[order[2]];
    const uint16_t *second = corner + step[order[0]], *third = second + step[order[1]];
    const uint16_t *fourth = third + step[order[2]];
    for (int channel = 0; channel < 3; channel++) {
      uint32_t value = (corner[channel] * (16384 - high) + second[channel] * (high - middle)
                        + third[channel] * (middle - low) + fourth[channel] * low + 8192)
        >> 14;
      rgb[channel][x] = mixed(rgb[channel][x], value, table->amount);
    }
  }
}

static void look_up_curves_plain(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width) {
  look_up_curves_from(table, rgb, 0, width);
}

static void look_up_cube_plain(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width) {
  look_up_cube_from(table, rgb, 0, width);
}

static void fade_plain(uint16_t *row, const uint16_t *coverage, const uint16_t *factor, int offset, int width) {
  for (int x = 0; x < width; x++) {
    uint32_t base = (coverage[x] * (uint32_t)offset + 8192) >> 14, kept = factor[x];
    row[x] = (uint16_t)((row[x] * kept + base * (SHEAF_ONE - kept) + 8192) >> 14);
  }
}

static void falloff_plain(
  uint16_t *to, const double *across, double down, struct sheaf_falloff falloff, int width) {
  for (int x = 0; x < width; x++) {
    double beyond = sqrt(across[x] + down) - falloff.radius;
    double part = beyond <= 0 ? 0 : beyond >= falloff.softness ? 1 : beyond / falloff.softness;
    double value = (1 - falloff.amount * (part * part * (3 - 2 * part))) * SHEAF_ONE;
    int whole = (int)value;
    to[x] = (uint16_t)(whole + (value - whole >= 0.5));
  }
}

const struct sheaf_filter_kernels *sheaf_filter_kernels_plain(void) {
  static const struct sheaf_filter_kernels kernels = {
    .sum = sum_plain,
    .convolve = convolve_plain,
    .look_up_curves = look_up_curves_plain,
    .look_up_cube = look_up_cube_plain,
    .fade = fade_plain,
    .falloff = falloff_plain};
  return &kernels;
}

const struct sheaf_filter_kernels *sheaf_filter_kernels_best(void) {
  const struct sheaf_filter_kernels *vector = sheaf_filter_kernels_avx2();
  return vector ? vector : sheaf_filter_kernels_plain();
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }
AVX2 static inline void store(void *to, __m256i value) { _mm256_storeu_si256((__m256i *)to, value); }

// Two weights for _mm256_madd_epi16.
AVX2 static inline __m256i pair(int16_t first, int16_t second) {
  return _mm256_set1_epi32((int)((uint32_t)(uint16_t)second << 16 | (uint16_t)first));
}

AVX2 static void sum_avx2(uint16_t *to, const uint16_t *const from[4], struct sheaf_sum sum, int width) {
  const __m256i ab = pair(sum.weight[0], sum.weight[1]), cd = pair(sum.weight[2], sum.weight[3]);
  const __m256i half = _mm256_set1_epi32(1 << sum.shift >> 1), zero = _mm256_setzero_si256();
  const __m128i shift = _mm_cvtsi32_si128(sum.shift);
  int whole = width & ~15;
  for (int x = 0; x < whole; x += 16) {
    __m256i a = load(from[0] + x), b = load(from[1] + x), c = load(from[2] + x), d = load(from[3] + x);
    __m256i low = _mm256_add_epi32(
      _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), ab), _mm256_madd_epi16(_mm256_unpacklo_epi16(c, d), cd));
    __m256i high = _mm256_add_epi32(
      _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), ab), _mm256_madd_epi16(_mm256_unpackhi_epi16(c, d), cd));
    low = _mm256_sra_epi32(_mm256_add_epi32(low, half), shift);
    high = _mm256_sra_epi32(_mm256_add_epi32(high, half), shift);
    __m256i value = _mm256_max_epi16(_mm256_packs_epi32(low, high), zero);
    store(to + x, _mm256_min_epi16(value, d));
  }
  const uint16_t *const rest[4] = {from[0] + whole, from[1] + whole, from[2] + whole, from[3] + whole};
  sum_plain(to + whole, rest, sum, width - whole);
}

AVX2 static void convolve_avx2(
  uint16_t *to, const uint16_t *const *rows, const int16_t *weights, int count, int width) {
  const __m256i half = _mm256_set1_epi32(1 << 14), zero = _mm256_setzero_si256();
  int whole = width & ~15;
  for (int x = 0; x < whole; x += 16) {
    __m256i low = half, high = half;
    int i = 0;
    for (; i + 1 < count; i += 2) {
      __m256i a = load(rows[i] + x), b = load(rows[i + 1] + x), both = pair(weights[i], weights[i + 1]);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), both));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), both));
    }
    if (i < count) {
      __m256i a = load(rows[i] + x), one = pair(weights[i], 0);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, zero), one));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, zero), one));
    }
    store(to + x, _mm256_packs_epi32(_mm256_srai_epi32(low, 15), _mm256_srai_epi32(high, 15)));
  }
  for (int x = whole; x < width; x++) {
    int value = 1 << 14;
    for (int i = 0; i < count; i++) value += rows[i][x] * weights[i];
    to[x] = (uint16_t)(value >> 15);
  }
}

// The places of eight samples in a table.
AVX2 static inline __m256i places(const struct sheaf_colour_table *table, int channel, const uint16_t *samples) {
  __m256i sample = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)samples));
  const int64_t last = table->size - 1;
  // The domain 0...1.
  if (table->scale[channel] == last << 16 && table->offset[channel] == 32768)
    return _mm256_mullo_epi32(sample, _mm256_set1_epi32((int)last));
  const __m256i scale = _mm256_set1_epi64x((long long)table->scale[channel]);
  const __m256i offset = _mm256_set1_epi64x((long long)table->offset[channel]);
  const __m256i zero = _mm256_setzero_si256(), highest = _mm256_set1_epi64x((long long)(last << 14));
  __m256i even = _mm256_add_epi64(_mm256_mul_epu32(sample, scale), offset);
  __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(sample, 32), scale), offset);
  even = _mm256_srli_epi64(_mm256_andnot_si256(_mm256_cmpgt_epi64(zero, even), even), 16);
  odd = _mm256_srli_epi64(_mm256_andnot_si256(_mm256_cmpgt_epi64(zero, odd), odd), 16);
  even = _mm256_blendv_epi8(even, highest, _mm256_cmpgt_epi64(even, highest));
  odd = _mm256_blendv_epi8(odd, highest, _mm256_cmpgt_epi64(odd, highest));
  return _mm256_or_si256(even, _mm256_slli_epi64(odd, 32));
}

// Whether each factor of a place fits into the 32 bits that are multiplied.
static int has_short_scale(const struct sheaf_colour_table *table) {
  int fits = 1;
  for (int channel = 0; channel < 3; channel++)
    fits &= table->scale[channel] >= 0 && table->scale[channel] <= UINT32_MAX;
  return fits;
}

// Sums of two products of 16 bits, as results of 14 bits.
AVX2 static inline __m256i rounded(__m256i products) {
  return _mm256_srli_epi32(_mm256_add_epi32(products, _mm256_set1_epi32(8192)), 14);
}

AVX2 static inline void store_mixed(uint16_t *to, __m128i value, int amount) {
  if (amount != SHEAF_ONE) {
    __m128i from = _mm_loadu_si128((const __m128i *)to);
    const __m256i weights = pair((int16_t)(SHEAF_ONE - amount), (int16_t)amount);
    __m256i both = _mm256_setr_m128i(_mm_unpacklo_epi16(from, value), _mm_unpackhi_epi16(from, value));
    both = rounded(_mm256_madd_epi16(both, weights));
    value = _mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  }
  _mm_storeu_si128((__m128i *)to, value);
}

AVX2 static void look_up_curves_avx2(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width) {
  int whole = has_short_scale(table) ? width & ~7 : 0;
  // Of the last entry the whole of the one before is the neighbour, so that no entry after it is read.
  const __m256i last = _mm256_set1_epi32(table->size - 2), one = _mm256_set1_epi32(SHEAF_ONE);
  for (int channel = 0; channel < 3; channel++) {
    const uint16_t *curve = table->entries + (ptrdiff_t)channel * table->size;
    for (int x = 0; x < whole; x += 8) {
      __m256i at = places(table, channel, rgb[channel] + x);
      __m256i entry = _mm256_min_epi32(_mm256_srli_epi32(at, 14), last);
      __m256i part = _mm256_sub_epi32(at, _mm256_slli_epi32(entry, 14));
      __m256i neighbours = _mm256_i32gather_epi32((const int *)(const void *)curve, entry, 2);
      __m256i weights = _mm256_or_si256(_mm256_sub_epi32(one, part), _mm256_slli_epi32(part, 16));
      __m256i value = rounded(_mm256_madd_epi16(neighbours, weights));
      store_mixed(
        rgb[channel] + x, _mm_packus_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1)),
        table->amount);
    }
  }
  look_up_curves_from(table, rgb, whole, width);
}

// The entries of two pixels: each has red, green, blue and 0.
AVX2 static inline __m256i entries(const uint16_t *table, int first, int second) {
  __m128i low = _mm_loadl_epi64((const __m128i *)(table + 4 * (ptrdiff_t)first));
  return _mm256_setr_m128i(low, _mm_loadl_epi64((const __m128i *)(table + 4 * (ptrdiff_t)second)));
}

AVX2 static void look_up_cube_avx2(const struct sheaf_colour_table *table, uint16_t *const rgb[3], int width) {
  const int whole = has_short_scale(table) ? width & ~7 : 0, size = table->size;
  const __m256i steps[3] = {_mm256_set1_epi32(1), _mm256_set1_epi32(size), _mm256_set1_epi32(size * size)};
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(SHEAF_ONE);
  for (int x = 0; x < whole; x += 8) {
    __m256i corner = zero, fourth = zero, sum = zero, part[3], step[3];
    for (int channel = 0; channel < 3; channel++) {
      __m256i at = places(table, channel, rgb[channel] + x);
      corner = _mm256_add_epi32(corner, _mm256_mullo_epi32(_mm256_srli_epi32(at, 14), steps[channel]));
      part[channel] = _mm256_and_si256(at, _mm256_set1_epi32(16383));
      sum = _mm256_add_epi32(sum, part[channel]);
      // At an entry, and so at the last one, the next is not needed.
      step[channel] = _mm256_andnot_si256(_mm256_cmpeq_epi32(part[channel], zero), steps[channel]);
      fourth = _mm256_add_epi32(fourth, step[channel]);
    }
    // The way goes first along the axis of the greatest part, and last along that of the least. Of equal parts either
    // may be first, because what is between them has no weight.
    __m256i high = _mm256_max_epi32(_mm256_max_epi32(part[0], part[1]), part[2]);
    __m256i low = _mm256_min_epi32(_mm256_min_epi32(part[0], part[1]), part[2]);
    __m256i middle = _mm256_sub_epi32(sum, _mm256_add_epi32(high, low));
    __m256i first = _mm256_blendv_epi8(step[2], step[1], _mm256_cmpeq_epi32(part[1], high));
    first = _mm256_blendv_epi8(first, step[0], _mm256_cmpeq_epi32(part[0], high));
    __m256i last = _mm256_blendv_epi8(step[0], step[1], _mm256_cmpeq_epi32(part[1], low));
    last = _mm256_blendv_epi8(last, step[2], _mm256_cmpeq_epi32(part[2], low));
    fourth = _mm256_add_epi32(fourth, corner);
    int at[4][8];
    store(at[0], corner);
    store(at[1], _mm256_add_epi32(corner, first));
    store(at[2], _mm256_sub_epi32(fourth, last));
    store(at[3], fourth);
    __m256i near = _mm256_or_si256(
      _mm256_sub_epi32(one, high), _mm256_slli_epi32(_mm256_sub_epi32(high, middle), 16));
    __m256i far = _mm256_or_si256(_mm256_sub_epi32(middle, low), _mm256_slli_epi32(low, 16));
    __m256i values[4];
    for (int i = 0; i < 4; i++) {
      // Pixels i and i + 4.
      const __m256i both = _mm256_setr_epi32(i, i, i, i, i + 4, i + 4, i + 4, i + 4);
      __m256i to_near = _mm256_unpacklo_epi16(
        entries(table->entries, at[0][i], at[0][i + 4]), entries(table->entries, at[1][i], at[1][i + 4]));
      __m256i to_far = _mm256_unpacklo_epi16(
        entries(table->entries, at[2][i], at[2][i + 4]), entries(table->entries, at[3][i], at[3][i + 4]));
      to_near = _mm256_madd_epi16(to_near, _mm256_permutevar8x32_epi32(near, both));
      to_far = _mm256_madd_epi16(to_far, _mm256_permutevar8x32_epi32(far, both));
      values[i] = rounded(_mm256_add_epi32(to_near, to_far));
    }
    __m256i a = _mm256_packus_epi32(values[0], values[1]), b = _mm256_packus_epi32(values[2], values[3]);
    __m256i even = _mm256_unpacklo_epi16(a, b), odd = _mm256_unpackhi_epi16(a, b);
    __m256i red_green = _mm256_permute4x64_epi64(_mm256_unpacklo_epi16(even, odd), 0xd8);
    __m256i blue = _mm256_permute4x64_epi64(_mm256_unpackhi_epi16(even, odd), 0xd8);
    store_mixed(rgb[0] + x, _mm256_castsi256_si128(red_green), table->amount);
    store_mixed(rgb[1] + x, _mm256_extracti128_si256(red_green, 1), table->amount);
    store_mixed(rgb[2] + x, _mm256_castsi256_si128(blue), table->amount);
  }
  look_up_cube_from(table, rgb, whole, width);
}

AVX2 static void fade_avx2(uint16_t *row, const uint16_t *coverage, const uint16_t *factor, int offset, int width) {
  const __m256i one = _mm256_set1_epi16(SHEAF_ONE), weights = pair((int16_t)offset, 8192);
  const __m256i unit = _mm256_set1_epi16(1);
  int whole = width & ~15;
  for (int x = 0; x < whole; x += 16) {
    __m256i covered = load(coverage + x), kept = load(factor + x), from = load(row + x);
    __m256i rest = _mm256_sub_epi16(one, kept);
    __m256i low = _mm256_srli_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(covered, unit), weights), 14);
    __m256i high = _mm256_srli_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(covered, unit), weights), 14);
    __m256i base = _mm256_packus_epi32(low, high);
    low = _mm256_madd_epi16(_mm256_unpacklo_epi16(from, base), _mm256_unpacklo_epi16(kept, rest));
    high = _mm256_madd_epi16(_mm256_unpackhi_epi16(from, base), _mm256_unpackhi_epi16(kept, rest));
    store(row + x, _mm256_packus_epi32(rounded(low), rounded(high)));
  }
  fade_plain(row + whole, coverage + whole, factor + whole, offset, width - whole);
}

AVX2 static void falloff_avx2(
  uint16_t *to, const double *across, double down, struct sheaf_falloff falloff, int width) {
  const __m256d one = _mm256_set1_pd(1), zero = _mm256_setzero_pd(), half = _mm256_set1_pd(0.5);
  const __m256d radius = _mm256_set1_pd(falloff.radius), softness = _mm256_set1_pd(falloff.softness);
  const __m256d amount = _mm256_set1_pd(falloff.amount), unit = _mm256_set1_pd(SHEAF_ONE);
  const __m256d rise = _mm256_set1_pd(down), two = _mm256_set1_pd(2), three = _mm256_set1_pd(3);
  int whole = width & ~3;
  for (int x = 0; x < whole; x += 4) {
    __m256d distance = _mm256_sqrt_pd(_mm256_add_pd(_mm256_loadu_pd(across + x), rise));
    __m256d beyond = _mm256_sub_pd(distance, radius), part = _mm256_div_pd(beyond, softness);
    part = _mm256_blendv_pd(part, one, _mm256_cmp_pd(beyond, softness, _CMP_GE_OQ));
    part = _mm256_blendv_pd(part, zero, _mm256_cmp_pd(beyond, zero, _CMP_LE_OQ));
    __m256d curve = _mm256_mul_pd(_mm256_mul_pd(part, part), _mm256_sub_pd(three, _mm256_mul_pd(two, part)));
    __m256d value = _mm256_mul_pd(_mm256_sub_pd(one, _mm256_mul_pd(amount, curve)), unit);
    __m256d floor = _mm256_round_pd(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __m256d more = _mm256_and_pd(_mm256_cmp_pd(_mm256_sub_pd(value, floor), half, _CMP_GE_OQ), one);
    __m128i factors = _mm256_cvtpd_epi32(_mm256_add_pd(floor, more));
    _mm_storel_epi64((__m128i *)(to + x), _mm_packus_epi32(factors, factors));
  }
  falloff_plain(to + whole, across + whole, down, falloff, width - whole);
}

const struct sheaf_filter_kernels *sheaf_filter_kernels_avx2(void) {
  static const struct sheaf_filter_kernels kernels = {
    .sum = sum_avx2,
    .convolve = convolve_avx2,
    .look_up_curves = look_up_curves_avx2,
    .look_up_cube = look_up_cube_avx2,
    .fade = fade_avx2,
    .falloff = falloff_avx2};
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_filter_kernels *sheaf_filter_kernels_avx2(void) { return NULL; }

#endif
