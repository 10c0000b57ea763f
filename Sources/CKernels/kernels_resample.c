// The inner loops of resampling: in plain C, which defines their results, and for AVX2.
#include "kernel_rows.h"
#include "sheaf_resample.h"

#include <string.h>

static inline int limited(int value, int lowest, int highest) {
  return value < lowest ? lowest : value > highest ? highest : value;
}

#define PLAIN_ROW(type, depth)                                                                                        \
  for (int i = 0; i < filter->count; i++) {                                                                           \
    int sum = 1 << (depth - 1);                                                                                       \
    for (int k = 0; k < filter->taps; k++)                                                                            \
      sum += from[filter->first[i] + k] * filter->weights[((k / 4) * filter->count + i) * 4 + k % 4];                 \
    to[i] = (int16_t)limited(sum >> depth, INT16_MIN, INT16_MAX);                                                     \
  }

static void row8(int16_t *to, const uint8_t *from, const struct sheaf_filter *filter) { PLAIN_ROW(uint8_t, 8) }

static void row16(int16_t *to, const uint16_t *from, const struct sheaf_filter *filter, int depth) {
  PLAIN_ROW(uint16_t, depth)
}

static inline int column_code(
  const int16_t *const *rows, const int16_t *weights, int taps, int x, int depth, int highest) {
  int sum = 1 << (27 - depth);
  for (int k = 0; k < taps; k++) sum += rows[k][x] * weights[k];
  return limited(sum >> (28 - depth), 0, highest);
}

static void column8(uint8_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width) {
  for (int x = 0; x < width; x++) to[x] = (uint8_t)column_code(rows, weights, taps, x, 8, 255);
}

static void column16(
  uint16_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width, int depth, int highest) {
  for (int x = 0; x < width; x++) to[x] = (uint16_t)column_code(rows, weights, taps, x, depth, highest);
}

// Keys' cubic with a = -0.6 by powers of t, in 1/8192. Each product with t, in 1/32768, is rounded to nearest.
#define W0_1 (-4915)
#define W0_2 9830
#define W0_3 (-4915)
#define W2_1 4915
#define W2_2 14746
#define W2_3 (-11469)
#define W3_1 0
#define W3_2 (-4915)
#define W3_3 4915

static inline int times(int a, int t) { return (a * t + 0x4000) >> 15; }

static inline int cubic(int c1, int c2, int c3, int t) { return times(times(times(c3, t) + c2, t) + c1, t); }

static inline void cubic_weights(int weights[4], int t) {
  weights[0] = cubic(W0_1, W0_2, W0_3, t);
  weights[2] = cubic(W2_1, W2_2, W2_3, t);
  weights[3] = cubic(W3_1, W3_2, W3_3, t);
  weights[1] = 8192 - weights[0] - weights[2] - weights[3];
}

// The place of sample x in 1/65536, limited to -1...size.
static inline int place(int64_t start, int64_t step, int x, int size) {
  int64_t exact = (int64_t)((uint64_t)start + (uint64_t)step * (uint64_t)x);
  return limited((int32_t)((uint64_t)exact >> 16), -65536, size * 65536);
}

#define PLAIN_SAMPLE(type, depth, highest)                                                                            \
  for (int x = 0; x < count; x++) {                                                                                   \
    int across[4], down[4], at_x = place(u, du, x, width), at_y = place(v, dv, x, height);                            \
    cubic_weights(across, (at_x & 0xffff) >> 1);                                                                      \
    cubic_weights(down, (at_y & 0xffff) >> 1);                                                                        \
    int sum = 1 << (26 - depth);                                                                                      \
    for (int j = 0; j < 4; j++) {                                                                                     \
      const type *row = CONST_ROW(type, from, stride, (at_y >> 16) + j - 1) + (at_x >> 16) - 1;                       \
      int part = row[0] * across[0] + row[1] * across[1] + row[2] * across[2] + row[3] * across[3];                   \
      sum += ((part + (1 << (depth - 2))) >> (depth - 1)) * down[j];                                                  \
    }                                                                                                                 \
    to[x] = (type)limited(sum >> (27 - depth), 0, highest);                                                           \
  }

static void sample8(
  uint8_t *to, int count, const uint8_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
  int64_t du, int64_t dv) {
  PLAIN_SAMPLE(uint8_t, 8, 255)
}

static void sample16(
  uint16_t *to, int count, const uint16_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
  int64_t du, int64_t dv, int depth, int highest) {
  PLAIN_SAMPLE(uint16_t, depth, highest)
}

const struct sheaf_resampling_kernels *sheaf_resampling_plain(void) {
  static const struct sheaf_resampling_kernels kernels = {
    .row8 = row8, .row16 = row16, .column8 = column8, .column16 = column16, .sample8 = sample8, .sample16 = sample16,
  };
  return &kernels;
}

const struct sheaf_resampling_kernels *sheaf_resampling_best(void) {
  const struct sheaf_resampling_kernels *vector = sheaf_resampling_avx2();
  return vector ? vector : sheaf_resampling_plain();
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }

// Eight outputs of a filter: sums of pairs of products, four outputs in each half, as 16 bits in order.
AVX2 static inline void store_row(int16_t *to, __m256i low, __m256i high, int depth) {
  __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
  sums = _mm256_add_epi32(sums, _mm256_set1_epi32(1 << (depth - 1)));
  sums = _mm256_sra_epi32(sums, _mm_cvtsi32_si128(depth));
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(sums, sums), 0xd8);
  _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(packed));
}

// Sixteen bytes from each of two places.
AVX2 static inline __m256i sixteen(const void *low, const void *high) {
  __m256i both = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low));
  return _mm256_inserti128_si256(both, _mm_loadu_si128((const __m128i *)high), 1);
}

// Eight bytes from each of four places, in order.
AVX2 static inline __m256i eight(const void *a, const void *b, const void *c, const void *d) {
  __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)a));
  __m128 high = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)c));
  low = _mm_loadh_pi(low, (const __m64 *)b);
  high = _mm_loadh_pi(high, (const __m64 *)d);
  return _mm256_inserti128_si256(_mm256_castps_si256(_mm256_castps128_ps256(low)), _mm_castps_si128(high), 1);
}

// Four bytes from each of eight places, in order.
AVX2 static inline __m256i fours(const uint8_t *const at[8], ptrdiff_t offset) {
  int samples[8];
  for (int i = 0; i < 8; i++) memcpy(samples + i, at[i] + offset, 4);
  return _mm256_setr_epi32(
    samples[0], samples[1], samples[2], samples[3], samples[4], samples[5], samples[6], samples[7]);
}

// The sums of products of outputs 0 to 3, and of 4 to 7, in pairs.
struct sums {
  __m256i low, high;
};

// Adds four taps. One half of `samples` has those of outputs 0, 1, 4 and 5, and the other those of 2, 3, 6 and 7, so
// that unpacking each half leaves outputs as the weights are.
AVX2 static inline void add_taps8(struct sums *sums, __m256i samples, const int16_t *weights) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi8(samples, zero), load(weights));
  __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi8(samples, zero), load(weights + 16));
  sums->low = _mm256_add_epi32(sums->low, low);
  sums->high = _mm256_add_epi32(sums->high, high);
}

// The samples of an output are next to one another, so they are loaded together and transposed: a gather takes longer.
AVX2 static void row8_avx2(int16_t *to, const uint8_t *from, const struct sheaf_filter *filter) {
  const ptrdiff_t step = (ptrdiff_t)filter->count * 4;
  for (int i = 0; i < filter->count; i += 8) {
    const int16_t *weights = filter->weights + (ptrdiff_t)i * 4;
    const int32_t *first = filter->first + i;
    const uint8_t *const at[8] = {
      from + first[0], from + first[1], from + first[4], from + first[5],
      from + first[2], from + first[3], from + first[6], from + first[7]};
    struct sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    int k = 0;
    for (; k + 16 <= filter->taps; k += 16, weights += 4 * step) {
      __m256i a = sixteen(at[0] + k, at[4] + k), b = sixteen(at[1] + k, at[5] + k);
      __m256i c = sixteen(at[2] + k, at[6] + k), d = sixteen(at[3] + k, at[7] + k);
      __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
      add_taps8(&sums, _mm256_unpacklo_epi64(ab, cd), weights);
      add_taps8(&sums, _mm256_unpackhi_epi64(ab, cd), weights + step);
      ab = _mm256_unpackhi_epi32(a, b), cd = _mm256_unpackhi_epi32(c, d);
      add_taps8(&sums, _mm256_unpacklo_epi64(ab, cd), weights + 2 * step);
      add_taps8(&sums, _mm256_unpackhi_epi64(ab, cd), weights + 3 * step);
    }
    if (k + 8 <= filter->taps) {
      __m256 low = _mm256_castsi256_ps(eight(at[0] + k, at[1] + k, at[4] + k, at[5] + k));
      __m256 high = _mm256_castsi256_ps(eight(at[2] + k, at[3] + k, at[6] + k, at[7] + k));
      add_taps8(&sums, _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)), weights);
      add_taps8(&sums, _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd)), weights + step);
      k += 8, weights += 2 * step;
    }
    if (k < filter->taps) {
      add_taps8(&sums, fours(at, k), weights);
    }
    store_row(to + i, sums.low, sums.high, 8);
  }
}

AVX2 static inline void add_taps16(struct sums *sums, __m256i low, __m256i high, const int16_t *weights) {
  sums->low = _mm256_add_epi32(sums->low, _mm256_madd_epi16(low, load(weights)));
  sums->high = _mm256_add_epi32(sums->high, _mm256_madd_epi16(high, load(weights + 16)));
}

AVX2 static void row16_avx2(int16_t *to, const uint16_t *from, const struct sheaf_filter *filter, int depth) {
  const ptrdiff_t step = (ptrdiff_t)filter->count * 4;
  for (int i = 0; i < filter->count; i += 8) {
    const int16_t *weights = filter->weights + (ptrdiff_t)i * 4;
    const int32_t *first = filter->first + i;
    const uint16_t *const at[8] = {
      from + first[0], from + first[1], from + first[4], from + first[5],
      from + first[2], from + first[3], from + first[6], from + first[7]};
    struct sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    int k = 0;
    for (; k + 8 <= filter->taps; k += 8, weights += 2 * step) {
      __m256i a = sixteen(at[0] + k, at[4] + k), b = sixteen(at[1] + k, at[5] + k);
      __m256i c = sixteen(at[2] + k, at[6] + k), d = sixteen(at[3] + k, at[7] + k);
      add_taps16(&sums, _mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d), weights);
      add_taps16(&sums, _mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d), weights + step);
    }
    if (k < filter->taps) {
      __m256i low = eight(at[0] + k, at[1] + k, at[4] + k, at[5] + k);
      add_taps16(&sums, low, eight(at[2] + k, at[3] + k, at[6] + k, at[7] + k), weights);
    }
    store_row(to + i, sums.low, sums.high, depth);
  }
}

// Sixteen codes of a column, not yet limited.
AVX2 static inline __m256i column_codes(
  const int16_t *const *rows, const int16_t *weights, int taps, int x, __m256i half, __m128i shift) {
  __m256i low = half, high = half;
  for (int k = 0; k < taps; k += 2) {
    __m256i pair = _mm256_set1_epi32((int)((uint32_t)(uint16_t)weights[k + 1] << 16 | (uint16_t)weights[k]));
    __m256i a = load(rows[k] + x), b = load(rows[k + 1] + x);
    low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
  }
  return _mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
}

AVX2 static void column8_avx2(
  uint8_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width) {
  const __m256i half = _mm256_set1_epi32(1 << 19);
  const __m128i shift = _mm_cvtsi32_si128(20);
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    __m256i codes = column_codes(rows, weights, taps, x, half, shift);
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(codes, codes), 0x08);
    _mm_storeu_si128((__m128i *)(to + x), _mm256_castsi256_si128(packed));
  }
  for (; x < width; x++) to[x] = (uint8_t)column_code(rows, weights, taps, x, 8, 255);
}

AVX2 static void column16_avx2(
  uint16_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width, int depth, int highest) {
  const __m256i half = _mm256_set1_epi32(1 << (27 - depth)), most = _mm256_set1_epi16((short)highest);
  const __m128i shift = _mm_cvtsi32_si128(28 - depth);
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    __m256i codes = column_codes(rows, weights, taps, x, half, shift);
    codes = _mm256_min_epi16(_mm256_max_epi16(codes, _mm256_setzero_si256()), most);
    _mm256_storeu_si256((__m256i *)(to + x), codes);
  }
  for (; x < width; x++) to[x] = (uint16_t)column_code(rows, weights, taps, x, depth, highest);
}

// The first and the second pair of weights of eight places, each pair in 32 bits.
struct weights {
  __m256i first, second;
};

AVX2 static inline __m256i pairs(int low, int high) {
  return _mm256_set1_epi32((int)((uint32_t)(uint16_t)high << 16 | (uint16_t)low));
}

AVX2 static inline struct weights cubic_pairs(__m256i places) {
  __m256i t = _mm256_srli_epi32(_mm256_and_si256(places, _mm256_set1_epi32(0xffff)), 1);
  t = _mm256_or_si256(t, _mm256_slli_epi32(t, 16));
  __m256i w0 = _mm256_mulhrs_epi16(pairs(W0_3, 0), t);
  w0 = _mm256_mulhrs_epi16(_mm256_add_epi16(w0, pairs(W0_2, 0)), t);
  w0 = _mm256_mulhrs_epi16(_mm256_add_epi16(w0, pairs(W0_1, 0)), t);
  __m256i w23 = _mm256_mulhrs_epi16(pairs(W2_3, W3_3), t);
  w23 = _mm256_mulhrs_epi16(_mm256_add_epi16(w23, pairs(W2_2, W3_2)), t);
  w23 = _mm256_mulhrs_epi16(_mm256_add_epi16(w23, pairs(W2_1, W3_1)), t);
  __m256i sum = _mm256_madd_epi16(_mm256_add_epi16(w0, w23), _mm256_set1_epi16(1));
  __m256i w1 = _mm256_sub_epi32(_mm256_set1_epi32(8192), sum);
  w0 = _mm256_and_si256(w0, _mm256_set1_epi32(0xffff));
  return (struct weights){_mm256_or_si256(w0, _mm256_slli_epi32(w1, 16)), w23};
}

// The places of samples x...x+7 in 1/65536, limited to -1...size.
struct line {
  __m256i low, high, step;
  __m256i lowest, highest;
};

AVX2 static inline struct line line_from(int64_t start, int64_t step, int size) {
  uint64_t at = (uint64_t)start, by = (uint64_t)step;
  struct line line;
  line.low = _mm256_set_epi64x(
    (long long)(at + 3 * by), (long long)(at + 2 * by), (long long)(at + by), (long long)at);
  line.high = _mm256_add_epi64(line.low, _mm256_set1_epi64x((long long)(4 * by)));
  line.step = _mm256_set1_epi64x((long long)(8 * by));
  line.lowest = _mm256_set1_epi32(-65536);
  line.highest = _mm256_set1_epi32(size * 65536);
  return line;
}

AVX2 static inline __m256i next_places(struct line *line) {
  __m256i low = _mm256_srli_epi64(line->low, 16), high = _mm256_srli_epi64(line->high, 16);
  __m256i places = _mm256_castps_si256(
    _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88));
  places = _mm256_permute4x64_epi64(places, 0xd8);
  line->low = _mm256_add_epi64(line->low, line->step);
  line->high = _mm256_add_epi64(line->high, line->step);
  return _mm256_min_epi32(_mm256_max_epi32(places, line->lowest), line->highest);
}

// Four sums of products for each of eight places become eight sums, in order.
#define ACROSS(low, high)                                                                                             \
  _mm256_sra_epi32(                                                                                                   \
    _mm256_add_epi32(_mm256_hadd_epi32(_mm256_madd_epi16(low, to_low), _mm256_madd_epi16(high, to_high)), half_row),  \
    row_shift)

// Eight codes in 32 bits from four rows of eight sums each.
AVX2 static inline __m256i down_codes(
  __m256i rows[4], struct weights down, __m256i half, __m128i shift, __m256i highest) {
  const __m256i mask = _mm256_set1_epi32(0xffff);
  __m256i first = _mm256_or_si256(_mm256_and_si256(rows[0], mask), _mm256_slli_epi32(rows[1], 16));
  __m256i second = _mm256_or_si256(_mm256_and_si256(rows[2], mask), _mm256_slli_epi32(rows[3], 16));
  __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(first, down.first), _mm256_madd_epi16(second, down.second));
  sum = _mm256_sra_epi32(_mm256_add_epi32(sum, half), shift);
  return _mm256_min_epi32(_mm256_max_epi32(sum, _mm256_setzero_si256()), highest);
}

AVX2 static void sample8_avx2(
  uint8_t *to, int count, const uint8_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
  int64_t du, int64_t dv) {
  const __m256i half_row = _mm256_set1_epi32(64), half = _mm256_set1_epi32(1 << 18), most = _mm256_set1_epi32(255);
  const __m128i row_shift = _mm_cvtsi32_si128(7), shift = _mm_cvtsi32_si128(19);
  const __m256i strides = _mm256_set1_epi32((int)stride), zero = _mm256_setzero_si256();
  struct line across_line = line_from(u, du, width), down_line = line_from(v, dv, height);
  int x = 0;
  for (; x + 8 <= count; x += 8) {
    __m256i at_x = next_places(&across_line), at_y = next_places(&down_line);
    struct weights across = cubic_pairs(at_x), down = cubic_pairs(at_y);
    __m256i to_low = _mm256_unpacklo_epi32(across.first, across.second);
    __m256i to_high = _mm256_unpackhi_epi32(across.first, across.second);
    __m256i index = _mm256_add_epi32(
      _mm256_mullo_epi32(_mm256_srai_epi32(at_y, 16), strides), _mm256_srai_epi32(at_x, 16));
    int places[8];
    _mm256_storeu_si256((__m256i *)(void *)places, index);
    const uint8_t *at[8];
    for (int i = 0; i < 8; i++) at[i] = from + places[i];
    __m256i rows[4];
    for (int j = 0; j < 4; j++) {
      __m256i samples = fours(at, (j - 1) * stride - 1);
      rows[j] = ACROSS(_mm256_unpacklo_epi8(samples, zero), _mm256_unpackhi_epi8(samples, zero));
    }
    __m256i codes = down_codes(rows, down, half, shift, most);
    codes = _mm256_packus_epi32(codes, codes);
    codes = _mm256_permute4x64_epi64(_mm256_packus_epi16(codes, codes), 0x08);
    __m128i bytes = _mm256_castsi256_si128(codes);
    _mm_storel_epi64((__m128i *)(to + x), _mm_shuffle_epi32(bytes, 0x08));
  }
  if (x < count)
    sample8(
      to + x, count - x, from, stride, width, height, (int64_t)((uint64_t)u + (uint64_t)du * (uint64_t)x),
      (int64_t)((uint64_t)v + (uint64_t)dv * (uint64_t)x), du, dv);
}

AVX2 static void sample16_avx2(
  uint16_t *to, int count, const uint16_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
  int64_t du, int64_t dv, int depth, int highest) {
  const __m256i half_row = _mm256_set1_epi32(1 << (depth - 2)), half = _mm256_set1_epi32(1 << (26 - depth));
  const __m256i most = _mm256_set1_epi32(highest), strides = _mm256_set1_epi32((int)(stride / 2));
  const __m128i row_shift = _mm_cvtsi32_si128(depth - 1), shift = _mm_cvtsi32_si128(27 - depth);
  struct line across_line = line_from(u, du, width), down_line = line_from(v, dv, height);
  int x = 0;
  for (; x + 8 <= count; x += 8) {
    __m256i at_x = next_places(&across_line), at_y = next_places(&down_line);
    struct weights across = cubic_pairs(at_x), down = cubic_pairs(at_y);
    __m256i to_low = _mm256_unpacklo_epi32(across.first, across.second);
    __m256i to_high = _mm256_unpackhi_epi32(across.first, across.second);
    __m256i index = _mm256_add_epi32(
      _mm256_mullo_epi32(_mm256_srai_epi32(at_y, 16), strides), _mm256_srai_epi32(at_x, 16));
    int places[8];
    _mm256_storeu_si256((__m256i *)(void *)places, index);
    const uint16_t *at[8];
    for (int i = 0; i < 8; i++) at[i] = from + places[i];
    __m256i rows[4];
    for (int j = 0; j < 4; j++) {
      const ptrdiff_t offset = (j - 1) * (stride / 2) - 1;
      // Samples 0, 1, 4 and 5 in one half, and the others in the other, as the weights are.
      rows[j] = ACROSS(
        eight(at[0] + offset, at[1] + offset, at[4] + offset, at[5] + offset),
        eight(at[2] + offset, at[3] + offset, at[6] + offset, at[7] + offset));
    }
    __m256i codes = down_codes(rows, down, half, shift, most);
    codes = _mm256_permute4x64_epi64(_mm256_packus_epi32(codes, codes), 0x08);
    _mm_storeu_si128((__m128i *)(to + x), _mm256_castsi256_si128(codes));
  }
  if (x < count)
    sample16(
      to + x, count - x, from, stride, width, height, (int64_t)((uint64_t)u + (uint64_t)du * (uint64_t)x),
      (int64_t)((uint64_t)v + (uint64_t)dv * (uint64_t)x), du, dv, depth, highest);
}

const struct sheaf_resampling_kernels *sheaf_resampling_avx2(void) {
  static const struct sheaf_resampling_kernels kernels = {
    .row8 = row8_avx2, .row16 = row16_avx2, .column8 = column8_avx2, .column16 = column16_avx2,
    .sample8 = sample8_avx2, .sample16 = sample16_avx2,
  };
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_resampling_kernels *sheaf_resampling_avx2(void) { return NULL; }

#endif
