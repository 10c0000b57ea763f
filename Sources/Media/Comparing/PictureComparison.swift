import CompositionModel
import Digest
internal import Glibc

/// Compares the pictures of two tracks in turn, and digests those of the first.
struct PictureComparison {
  private(set) var difference: FilmComparison.Difference?
  /// What else differs.
  private(set) var faults: [String] = []
  private var differing: Int64 = 0
  private var hasWrongTime = false

  /// - Returns: How many pictures the first track has, and the SHA-256 of all of them.
  mutating func compare(
    _ film: PictureStream, _ other: PictureStream?
  ) throws(MediaError) -> (count: Int64, format: String, digest: String) {
    var hasher = SHA256Hasher()
    var (isAtEnd, isOtherAtEnd) = (false, other == nil)
    var format = ""
    while !isAtEnd || !isOtherAtEnd {
      if !isAtEnd { isAtEnd = try !film.advance() }
      if let other, !isOtherAtEnd { isOtherAtEnd = try !other.advance() }
      if !isAtEnd {
        film.withBytes { hasher.update($0) }
        if film.number == 0 { format = film.format }
      }
      guard let other else { continue }
      switch (isAtEnd, isOtherAtEnd) {
      case (false, false): compare(film, with: other)
      case (false, true): count(film.number, at: film.seconds)
      case (true, false): count(other.number, at: other.seconds)
      case (true, true): break
      }
    }
    let own = film.number + 1
    if let other, other.number != film.number {
      faults.append("has \(own) pictures, and not \(other.number + 1)")
    }
    difference?.count = differing
    return (own, format, hasher.finalize().hex)
  }

  /// Compares the pictures that both have read last, whose number is the same.
  mutating func compare(_ film: PictureStream, with other: PictureStream) {
    if film.number == 0, film.presentation != other.presentation {
      faults.append("is shown as \(film.presentation), and not as \(other.presentation)")
    }
    if !hasWrongTime, (film.seconds - other.seconds).magnitude > max(film.tick, other.tick) * 1.000_1 {
      hasWrongTime = true
      faults.append(
        "shows picture \(film.number) at \(seconds(film.seconds)) s, and not at \(seconds(other.seconds)) s")
    }
    let measured = film.withBytes { own in
      other.withBytes { others -> PixelDifference? in
        if film.format == other.format, own.count == others.count,
          memcmp(own.baseAddress!, others.baseAddress!, own.count) == 0
        {
          return PixelDifference.none
        }
        guard film.format == other.format, own.count == others.count else { return nil }
        return PixelDifference(own, others, depth: film.depth)
      }
    }
    if let measured, measured.largest == 0 { return }
    if measured == nil, film.format != other.format, difference == nil {
      faults.append("has pictures of \(film.format), and not of \(other.format)")
    }
    count(film.number, at: film.seconds)
    if let measured { difference?.include(measured, ofPicture: film.number) }
  }

  private mutating func count(_ number: Int64, at seconds: Double) {
    differing += 1
    difference = difference ?? FilmComparison.Difference(count: 0, first: number, seconds: seconds)
    difference?.count = differing
  }
}

extension FilmComparison.Difference {
  /// - Parameter number: The picture's.
  mutating func include(_ pixels: PixelDifference, ofPicture number: Int64) {
    include(largest: pixels.largest)
    guard pixels.psnr < psnr ?? .infinity else { return }
    (worst, psnr) = (number, pixels.psnr)
  }

  mutating func include(largest value: Double) {
    largest = max(largest ?? 0, value)
  }
}

/// A number of seconds for messages.
func seconds(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }

/// How much the samples of two pictures differ, as parts of their range.
struct PixelDifference {
  static let none = PixelDifference(largest: 0, meanSquare: 0)

  var largest: Double
  var meanSquare: Double

  private init(largest: Double, meanSquare: Double) {
    (self.largest, self.meanSquare) = (largest, meanSquare)
  }

  /// - Parameters:
  ///   - first: As many bytes as the second.
  ///   - depth: The bits of a sample, which has two bytes if they are more than 8. Nil: bytes are compared as they are.
  init(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, depth: Int?) {
    let depth = depth ?? 8
    let (largest, squares, count) =
      depth > 8
      ? Self.sums(first.bindMemory(to: UInt16.self), second.bindMemory(to: UInt16.self))
      : Self.sums(first.bindMemory(to: UInt8.self), second.bindMemory(to: UInt8.self))
    let peak = Double((1 << depth) - 1)
    self.largest = Double(largest) / peak
    meanSquare = count == 0 ? 0 : Double(squares) / Double(count) / (peak * peak)
  }

  /// In dB.
  var psnr: Double { -10 * log10(meanSquare) }

  private static func sums<Sample: FixedWidthInteger & UnsignedInteger>(
    _ first: UnsafeBufferPointer<Sample>, _ second: UnsafeBufferPointer<Sample>
  ) -> (largest: Int, squares: UInt64, count: Int) {
    var (largest, squares) = (0, UInt64(0))
    for index in first.indices {
      let difference = abs(Int(first[index]) - Int(second[index]))
      largest = max(largest, difference)
      squares &+= UInt64(difference &* difference)
    }
    return (largest, squares, first.count)
  }
}
