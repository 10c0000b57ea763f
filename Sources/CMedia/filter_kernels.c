// The two kernels that filters spend their time in: plain, which defines the results, and for AVX2.
#include "kernel_rows.h"
#include "sheaf_filters.h"

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

const struct sheaf_filter_kernels *sheaf_filter_kernels_plain(void) {
  static const struct sheaf_filter_kernels kernels = {.sum = sum_plain, .convolve = convolve_plain};
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

const struct sheaf_filter_kernels *sheaf_filter_kernels_avx2(void) {
  static const struct sheaf_filter_kernels kernels = {.sum = sum_avx2, .convolve = convolve_avx2};
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_filter_kernels *sheaf_filter_kernels_avx2(void) { return NULL; }

#endif
