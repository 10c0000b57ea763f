#ifndef CDIGEST_H
#define CDIGEST_H

// SHA-256 of many pieces at once, one in each lane of a vector register. The instructions for a single SHA-256 wait for
// each other's results; the lanes do not. libcrypto has no such function.

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_LANES = 16 };

// Whether this processor has the vector instructions, which are those of AVX-512.
int digest_has_lanes(void);

// Computes the digests of DIGEST_LANES pieces of `size` bytes each, which is a multiple of 64. Only where
// digest_has_lanes.
void digest_sha256_lanes(const uint8_t *const *pieces, size_t size, uint8_t *digests);

#endif
