import Glibc
package import SystemSupport

/// The waveform of a sound: what an editor draws. Each point is of an equal part of the sound, over all its channels.
package struct Waveform: Encodable, Equatable, Sendable {
  /// Samples a second of each channel.
  package var sampleRate: Int
  package var channels: Int
  /// Of each channel.
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

  /// Reads a file of linear PCM of 24 bits as this program writes it: RIFF or RF64. Blocks.
  package init(_ file: OpenFile, _ resolution: Resolution) throws(SystemError) {
    let header = try WaveHeader(file)
    (sampleRate, channels, samples) = (header.sampleRate, header.channels, header.samples)
    let wanted: Int =
      switch resolution {
      case .points(let count): count
      case .rate(let rate): Int((Double(samples) / Double(sampleRate) * rate).rounded(.up))
      }
    let count = Int(Swift.min(samples, Int64(Swift.min(Self.pointCounts.upperBound, Swift.max(1, wanted)))))
    (min, max, rms) = ([], [], [])
    var reader = WaveReader(file, header)
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

/// The chunks of a WAVE file up to its samples.
private struct WaveHeader {
  var sampleRate = 0
  var channels = 0
  var samples: Int64 = 0
  var start: Int64 = 12

  init(_ file: OpenFile) throws(SystemError) {
    let size = Int64(try file.status().st_size)
    func number(_ count: Int, at offset: Int64) throws(SystemError) -> Int64 {
      try file.read(at: offset, length: count).reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
    while start + 8 <= size {
      let name = String(decoding: try file.read(at: start, length: 4), as: UTF8.self)
      let length = try number(4, at: start + 4)
      if name == "fmt " {
        channels = Int(try number(2, at: start + 10))
        sampleRate = Int(try number(4, at: start + 12))
      } else if name == "data" {
        start += 8
        // The length of a file of more than 4 GiB is elsewhere; its samples are the rest of it.
        let bytes = length < 0xFFFF_FFFF ? Swift.min(length, size - start) : size - start
        samples = channels > 0 ? bytes / Int64(3 * channels) : 0
        return
      }
      start += 8 + length + length % 2
    }
  }
}

/// Reads samples in order.
private struct WaveReader {
  private let file: OpenFile
  private let channels: Int
  private var offset: Int64
  private static let chunk = 1 << 16

  init(_ file: OpenFile, _ header: WaveHeader) {
    self.file = file
    channels = header.channels
    offset = header.start
  }

  /// The next `count` samples of each channel.
  mutating func read(_ count: Int64) throws(SystemError) -> (lowest: Int32, highest: Int32, squares: Double) {
    var (lowest, highest, squares) = (Int32.max, Int32.min, 0.0)
    var left = count
    while left > 0 {
      let part = Int(Swift.min(left, Int64(Self.chunk)))
      let bytes = try file.read(at: offset, length: part * channels * 3)
      for index in stride(from: 0, to: bytes.count - 2, by: 3) {
        let bits = UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
        let sample = Int32(bitPattern: bits << 8) >> 8
        lowest = Swift.min(lowest, sample)
        highest = Swift.max(highest, sample)
        squares += Double(sample) * Double(sample)
      }
      offset += Int64(part * channels * 3)
      left -= Int64(part)
    }
    return lowest > highest ? (0, 0, 0) : (lowest, highest, squares)
  }
}
