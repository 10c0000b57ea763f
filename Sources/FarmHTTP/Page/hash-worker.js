// Computes the digests of files beside the page. In: { id, file }. Out: { id, done } and then { id, digest }, or
// { id, error }.

import { SHA256 } from "./sha256.js";

const part = 4 << 20;

self.onmessage = async event => {
  const { id, file } = event.data;
  try {
    const hash = new SHA256();
    for (let offset = 0; offset < file.size; offset += part) {
      hash.update(new Uint8Array(await file.slice(offset, offset + part).arrayBuffer()));
      self.postMessage({ id, done: Math.min(file.size, offset + part) });
    }
    self.postMessage({ id, digest: hash.hex() });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
