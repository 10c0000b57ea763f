// SHA-256 of bytes that come in parts: crypto.subtle takes only what is whole in memory. FIPS 180-4.

const K = new Uint32Array(64);
const initial = new Uint32Array(8);

// The constants are the first bits of the fractions of roots of primes.
(() => {
  const fraction = root => Math.floor((root - Math.floor(root)) * 2 ** 32);
  let found = 0;
  for (let number = 2; found < 64; number += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) isPrime = false;
    if (!isPrime) continue;
    if (found < 8) initial[found] = fraction(Math.sqrt(number));
    K[found] = fraction(Math.cbrt(number));
    found += 1;
  }
})();

export class SHA256 {
  constructor() {
    this.state = new Uint32Array(initial);
    this.words = new Uint32Array(64);
    this.block = new Uint8Array(64);
    this.filled = 0;
    this.length = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    this.length += bytes.length;
    let offset = 0;
    if (this.filled > 0) {
      const taken = Math.min(64 - this.filled, bytes.length);
      this.block.set(bytes.subarray(0, taken), this.filled);
      this.filled += taken;
      offset = taken;
      if (this.filled < 64) return this;
      this.compress(this.block, 0);
      this.filled = 0;
    }
    for (; offset + 64 <= bytes.length; offset += 64) this.compress(bytes, offset);
    this.block.set(bytes.subarray(offset));
    this.filled = bytes.length - offset;
    return this;
  }

  /** The digest in hexadecimal. Nothing can be added afterwards. */
  hex() {
    const length = this.length;
    const padding = new Uint8Array((this.filled < 56 ? 56 : 120) - this.filled + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    // The length in bits, of 64 bits.
    view.setUint32(padding.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(padding.length - 4, (length * 8) >>> 0);
    this.update(padding);
    return [...this.state].map(word => word.toString(16).padStart(8, "0")).join("");
  }

  compress(bytes, offset) {
    const { words, state } = this;
    for (let index = 0; index < 16; index += 1) {
      const at = offset + index * 4;
      words[index] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    }
    for (let index = 16; index < 64; index += 1) {
      const early = words[index - 15];
      const late = words[index - 2];
      const s0 = (early >>> 7 | early << 25) ^ (early >>> 18 | early << 14) ^ early >>> 3;
      const s1 = (late >>> 17 | late << 15) ^ (late >>> 19 | late << 13) ^ late >>> 10;
      words[index] = words[index - 16] + s0 + words[index - 7] + s1;
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (let index = 0; index < 64; index += 1) {
      const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
      const t1 = h + s1 + (e & f ^ ~e & g) + K[index] + words[index] | 0;
      const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
      const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
      h = g;
      g = f;
      f = e;
      e = d + t1 | 0;
      d = c;
      c = b;
      b = a;
      a = t1 + t2 | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}
