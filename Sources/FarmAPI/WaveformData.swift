/// The waveform of a sound: what an editor draws. Each point is of an equal part of the sound, over all its channels.
package struct WaveformData: Codable, Equatable, Sendable {
  /// Samples a second of each channel.
  package var sampleRate: Int
  package var channels: Int
  /// The number of samples of each channel.
  package var samples: Int64
  /// The lowest and the highest sample of each point, from -1 to 1.
  package var min: [Double]
  package var max: [Double]
  /// The root of the mean of the squares of each point's samples.
  package var rms: [Double]

  /// How many points a waveform has.
  package enum Resolution: Sendable {
    case points(Int)
    /// Points a second.
    case rate(Double)
  }

  package static let pointCounts = 1...1_000_000
  package static let rates = 0.001...100_000

  /// No waveform can be made.
  package enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// Of this file.
    case notSound(String)
    /// It would have more points at a rate than a waveform may have.
    case tooManyPoints(String)

    package var description: String {
      switch self {
      case .notSound(let reason), .tooManyPoints(let reason): reason
      }
    }
  }

  /// Reads so many bytes of a file from a place; fewer only at its end. Blocks.
  package typealias Reader = (_ offset: Int64, _ length: Int) throws -> [UInt8]

  /// Reads a file of linear PCM of 24 bits as this program writes it: RIFF or RF64. Blocks. Throws `Failure` if it is
  /// no such file, lacks one of the channels, or has more points at a rate than a waveform may have; what `read` throws
  /// if it cannot be read.
  /// - Parameters:
  ///   - name: The file's, for messages.
  ///   - size: The file's, in bytes.
  ///   - chosen: The numbers of the channels that are read. Nil: all.
  package init(
    of name: String, size: Int64, _ resolution: Resolution, channels chosen: [Int]? = nil, read: @escaping Reader
  ) throws {
    let header = try WaveHeader(name, size, read)
    let chosen = chosen ?? Array(0..<header.channels)
    guard !chosen.isEmpty, chosen.allSatisfy((0..<header.channels).contains) else {
      throw Failure.notSound("\(name) has \(header.channels) channels and not those of \(chosen)")
    }
    (sampleRate, channels, samples) = (header.sampleRate, chosen.count, header.samples)
    var wanted = 0.0
    switch resolution {
    case .points(let count): wanted = Double(count)
    case .rate(let rate):
      let seconds = Double(samples) / Double(sampleRate)
      wanted = (seconds * rate).rounded(.up)
      let most = Self.pointCounts.upperBound
      guard wanted <= Double(most) else {
        throw Failure.tooManyPoints(
          "\(rate) points a second of \(seconds) s of sound are \(Int64(wanted)) points; a waveform has \(most) at most, "
            + "which are \((Double(most) / seconds * 1000).rounded(.down) / 1000) a second")
      }
    }
    let count = Int(Swift.min(samples, Int64(Swift.max(1, wanted))))
    (min, max, rms) = ([], [], [])
    var reader = WaveReader(header, chosen, read)
    for point in 0..<count {
      let (start, end) = (samples * Int64(point) / Int64(count), samples * Int64(point + 1) / Int64(count))
      let part = try reader.read(end - start)
      let scale = 8_388_608.0
      min.append(Double(part.lowest) / scale)
      max.append(Double(part.highest) / scale)
      let mean = part.squares / Double((end - start) * Int64(channels))
      rms.append((mean.squareRoot() / scale * 1e7).rounded() / 1e7)
    }
  }
}

/// The chunks of a WAVE file of 24-bit samples up to those.
private struct WaveHeader {
  var sampleRate = 0
  var channels = 0
  var samples: Int64 = 0
  var start: Int64 = 12

  init(_ name: String, _ size: Int64, _ read: WaveformData.Reader) throws {
    func failure(_ reason: String) -> WaveformData.Failure {
      .notSound("\(name) is no sound of which a waveform can be made: \(reason)")
    }
    func text(at offset: Int64) throws -> String { String(decoding: try read(offset, 4), as: UTF8.self) }
    guard size >= 12, ["RIFF", "RF64"].contains(try text(at: 0)), try text(at: 8) == "WAVE" else {
      throw failure("it is no WAVE file")
    }
    func number(_ count: Int, at offset: Int64) throws -> Int64 {
      try read(offset, count).reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
    while start + 8 <= size {
      let name = try text(at: start)
      let length = try number(4, at: start + 4)
      if name == "fmt ", start + 24 <= size {
        channels = Int(try number(2, at: start + 10))
        sampleRate = Int(try number(4, at: start + 12))
        let bits = try number(2, at: start + 22)
        guard channels > 0, sampleRate > 0, bits == 24 else {
          throw failure("it has \(channels) channels of \(bits) bits at \(sampleRate) Hz, and not 24 bits")
        }
      } else if name == "data" {
        guard channels > 0 else { throw failure("its samples have no format") }
        start += 8
        // The length of a file of more than 4 GiB is elsewhere; its samples are the rest of it.
        let bytes = length < 0xFFFF_FFFF ? Swift.min(length, size - start) : size - start
        samples = bytes / Int64(3 * channels)
        return
      }
      start += 8 + length + length % 2
    }
    throw failure("it has no samples")
  }
}

/// Reads samples in order.
private struct WaveReader {
  private let read: WaveformData.Reader
  private let channels: Int
  /// Where the samples that are read are among those of one time, in bytes.
  private let places: [Int]
  private var offset: Int64
  private static let chunk = 1 << 16

  init(_ header: WaveHeader, _ chosen: [Int], _ read: @escaping WaveformData.Reader) {
    self.read = read
    channels = header.channels
    places = chosen.map { $0 * 3 }
    offset = header.start
  }

  /// What the next `count` samples of each chosen channel have.
  mutating func read(_ count: Int64) throws -> (lowest: Int32, highest: Int32, squares: Double) {
    var (lowest, highest, squares) = (Int32.max, Int32.min, 0.0)
    var left = count
    while left > 0 {
      let part = Int(Swift.min(left, Int64(Self.chunk)))
      let bytes = try read(offset, part * channels * 3)
      let step = channels * 3
      for start in stride(from: 0, to: bytes.count / step * step, by: step) {
        for place in places {
          let index = start + place
          let bits = UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
          let sample = Int32(bitPattern: bits << 8) >> 8
          lowest = Swift.min(lowest, sample)
          highest = Swift.max(highest, sample)
          squares += Double(sample) * Double(sample)
        }
      }
      offset += Int64(part * channels * 3)
      left -= Int64(part)
    }
    return lowest > highest ? (0, 0, 0) : (lowest, highest, squares)
  }
}
