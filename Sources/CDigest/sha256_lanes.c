#include "CDigest.h"

#if defined(__x86_64__)
#include <immintrin.h>

// FIPS 180-4, 4.2.2 and 5.3.3.
static const uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t initialState[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define INLINE AVX512 static inline __attribute__((always_inline))

enum { XOR_OF_ALL = 0x96, CHOICE = 0xCA, MAJORITY = 0xE8 };

#define ADD _mm512_add_epi32
#define ROTATE _mm512_ror_epi32
#define SHIFT _mm512_srli_epi32
#define BITWISE _mm512_ternarylogic_epi32

// word[i] gets the i-th big-endian word of the next 64 bytes of each lane's piece.
INLINE void load(__m512i *word, const uint8_t *const *pieces, size_t offset) {
  const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
  __m512i row[16], pair[16];
  for (int i = 0; i < 16; i++) row[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(pieces[i] + offset), swap);
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
    pair[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    row[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
    row[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
    row[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
    row[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
  }
  // Four words of four lanes are together now, in quarters of a register.
  for (int i = 0; i < 4; i++) {
    const __m512i even = _mm512_shuffle_i32x4(row[i], row[4 + i], 0x88);
    const __m512i evenHigh = _mm512_shuffle_i32x4(row[8 + i], row[12 + i], 0x88);
    const __m512i odd = _mm512_shuffle_i32x4(row[i], row[4 + i], 0xdd);
    const __m512i oddHigh = _mm512_shuffle_i32x4(row[8 + i], row[12 + i], 0xdd);
    word[i] = _mm512_shuffle_i32x4(even, evenHigh, 0x88);
    word[8 + i] = _mm512_shuffle_i32x4(even, evenHigh, 0xdd);
    word[4 + i] = _mm512_shuffle_i32x4(odd, oddHigh, 0x88);
    word[12 + i] = _mm512_shuffle_i32x4(odd, oddHigh, 0xdd);
  }
}

// Adds 64 bytes of each lane, whose words are in `w`, to the state. FIPS 180-4, 6.2.2.
INLINE void compress(__m512i *state, __m512i *w) {
  __m512i a = state[0], b = state[1], c = state[2], d = state[3];
  __m512i e = state[4], f = state[5], g = state[6], h = state[7];
  for (int round = 0; round < 64; round += 16) {
    if (round > 0) {
      for (int i = 0; i < 16; i++) {
        const __m512i x = w[(i + 1) & 15], y = w[(i + 14) & 15];
        const __m512i s0 = BITWISE(ROTATE(x, 7), ROTATE(x, 18), SHIFT(x, 3), XOR_OF_ALL);
        const __m512i s1 = BITWISE(ROTATE(y, 17), ROTATE(y, 19), SHIFT(y, 10), XOR_OF_ALL);
        w[i] = ADD(ADD(w[i], w[(i + 9) & 15]), ADD(s0, s1));
      }
    }
    for (int i = 0; i < 16; i++) {
      const __m512i s1 = BITWISE(ROTATE(e, 6), ROTATE(e, 11), ROTATE(e, 25), XOR_OF_ALL);
      const __m512i s0 = BITWISE(ROTATE(a, 2), ROTATE(a, 13), ROTATE(a, 22), XOR_OF_ALL);
      const __m512i input = ADD(w[i], _mm512_set1_epi32((int)roundConstants[round + i]));
      const __m512i t1 = ADD(ADD(h, input), ADD(s1, BITWISE(e, f, g, CHOICE)));
      const __m512i t2 = ADD(s0, BITWISE(a, b, c, MAJORITY));
      h = g, g = f, f = e, e = ADD(d, t1);
      d = c, c = b, b = a, a = ADD(t1, t2);
    }
  }
  state[0] = ADD(state[0], a), state[1] = ADD(state[1], b), state[2] = ADD(state[2], c), state[3] = ADD(state[3], d);
  state[4] = ADD(state[4], e), state[5] = ADD(state[5], f), state[6] = ADD(state[6], g), state[7] = ADD(state[7], h);
}

AVX512 void digest_sha256_lanes(const uint8_t *const *pieces, size_t size, uint8_t *digests) {
  __m512i state[8], w[16];
  for (int i = 0; i < 8; i++) state[i] = _mm512_set1_epi32((int)initialState[i]);
  for (size_t offset = 0; offset < size; offset += 64) {
    load(w, pieces, offset);
    compress(state, w);
  }
  // The padding is a block of its own, because the size is a multiple of 64: a one, zeros, and the size in bits.
  for (int i = 0; i < 16; i++) w[i] = _mm512_setzero_si512();
  w[0] = _mm512_set1_epi32((int)0x80000000);
  w[14] = _mm512_set1_epi32((int)((uint64_t)size >> 29));
  w[15] = _mm512_set1_epi32((int)((uint64_t)size << 3));
  compress(state, w);
  uint32_t words[8][DIGEST_LANES];
  for (int i = 0; i < 8; i++) _mm512_storeu_si512(words[i], state[i]);
  for (int lane = 0; lane < DIGEST_LANES; lane++) {
    for (int byte = 0; byte < 32; byte++) {
      digests[32 * lane + byte] = (uint8_t)(words[byte / 4][lane] >> (24 - 8 * (byte % 4)));
    }
  }
}

int digest_has_lanes(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }

#else

int digest_has_lanes(void) { return 0; }

void digest_sha256_lanes(const uint8_t *const *pieces, size_t size, uint8_t *digests) {
  (void)pieces, (void)size, (void)digests;
  __builtin_trap();
}

#endif
