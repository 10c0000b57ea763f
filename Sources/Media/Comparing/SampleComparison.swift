internal import CMedia
import CompositionModel
import Digest
internal import Glibc

/// Compares the samples of two tracks in turn, and digests those of the first.
struct SampleComparison {
  private(set) var difference: FilmComparison.Difference?
  /// What else differs.
  private(set) var faults: [String] = []
  private var hasWrongTime = false

  /// - Returns: How many samples each channel of the first track has, and the SHA-256 of all of them.
  mutating func compare(
    _ film: SampleStream, _ other: SampleStream?
  ) throws(MediaError) -> (count: Int64, format: String, digest: String) {
    var hasher = SHA256Hasher()
    var format: SampleStream.Format?
    while true {
      let hasOwn = try film.fill()
      let hasOther = try other?.fill() ?? false
      if hasOwn, format == nil { format = film.format }
      guard hasOwn || hasOther else { break }
      let counts = [hasOwn ? film.rest : nil, hasOther ? other?.rest : nil].compactMap(\.self)
      let count = counts.min() ?? 0
      if hasOwn { hasher.update(film.bytes[film.taken..<(film.taken + count)]) }
      if let other, hasOwn, hasOther, film.format == other.format {
        compare(film, with: other, count)
        film.take(count)
        other.take(count)
        continue
      }
      if hasOwn, other != nil { self.count(film, film.rest) }
      if let other, hasOther, !hasOwn { self.count(other, other.rest) }
      if hasOwn, hasOther, let own = film.format, let others = other?.format {
        if !faults.contains(where: { $0.hasPrefix("has samples") }) {
          faults.append("has samples of \(own.description), and not of \(others.description)")
        }
        // Samples of other formats have nothing to compare.
        if count < film.rest { hasher.update(film.bytes[(film.taken + count)...]) }
        film.take(film.rest)
        other?.take(other?.rest ?? 0)
        continue
      }
      if hasOwn { film.take(count) }
      if let other, hasOther { other.take(count) }
    }
    if let other, other.position != film.position {
      faults.append("has \(film.position) samples, and not \(other.position)")
    }
    return (film.position, format?.description ?? "", hasher.finalize().hex)
  }

  /// Compares the next bytes of both, whose formats are the same.
  private mutating func compare(_ film: SampleStream, with other: SampleStream, _ count: Int) {
    guard let format = film.format else { return }
    // Each is rounded to its own ticks, some up and some down.
    let slack = film.tick + other.tick + 1 / Double(max(1, format.rate))
    if !hasWrongTime, (film.seconds - other.seconds).magnitude > slack {
      hasWrongTime = true
      faults.append(
        "has sample \(film.position) at \(seconds(film.seconds)) s, and not at \(seconds(other.seconds)) s")
    }
    film.bytes.withUnsafeBytes { own in
      other.bytes.withUnsafeBytes { others in
        let own = UnsafeRawBufferPointer(rebasing: own[film.taken..<(film.taken + count)])
        let others = UnsafeRawBufferPointer(rebasing: others[other.taken..<(other.taken + count)])
        guard memcmp(own.baseAddress!, others.baseAddress!, count) != 0 else { return }
        for sample in 0..<(count / format.stride) {
          let place = sample * format.stride
          guard memcmp(own.baseAddress! + place, others.baseAddress! + place, format.stride) != 0 else { continue }
          let number = film.position + Int64(sample)
          self.count(1, from: number, at: film.seconds + Double(sample) / Double(max(1, format.rate)))
          for channel in 0..<format.channels {
            let offset = place + channel * format.bytesPerSample
            let distance = (format.value(own, offset) - format.value(others, offset)).magnitude
            if distance.isFinite { difference?.include(largest: distance) }
          }
        }
      }
    }
  }

  private mutating func count(_ stream: SampleStream, _ bytes: Int) {
    count(Int64(bytes / max(1, stream.format?.stride ?? 1)), from: stream.position, at: stream.seconds)
  }

  private mutating func count(_ samples: Int64, from number: Int64, at seconds: Double) {
    difference = difference ?? FilmComparison.Difference(count: 0, first: number, seconds: seconds)
    difference?.count += samples
  }
}

extension SampleStream.Format {
  /// The value of a sample, from -1 to 1. Zero for a kind of numbers that is not known.
  fileprivate func value(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Double {
    switch packed {
    case AV_SAMPLE_FMT_U8: Double(Int(bytes[offset]) - 128) / 128
    case AV_SAMPLE_FMT_S16: Double(bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self)) / 32768
    case AV_SAMPLE_FMT_S32: Double(bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)) / 2_147_483_648
    case AV_SAMPLE_FMT_S64:
      Double(bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self)) / 9_223_372_036_854_775_808
    case AV_SAMPLE_FMT_FLT: Double(bytes.loadUnaligned(fromByteOffset: offset, as: Float.self))
    case AV_SAMPLE_FMT_DBL: bytes.loadUnaligned(fromByteOffset: offset, as: Double.self)
    default: 0
    }
  }
}
