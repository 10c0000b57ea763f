internal import CMedia
import CompositionModel
import Digest

/// The pictures of a track, in the order in which they are presented, as bytes without padding: planes one after the
/// other, row by row.
final class PictureStream {
  /// Seconds a tick: times are not more exact than that.
  let tick: Double
  /// The format and the size of the picture that was read last.
  private(set) var format = ""
  /// How the first picture is to be shown: the shape of its pixels, its colour, whether it is two fields.
  private(set) var presentation = ""
  private(set) var number: Int64 = -1
  /// The time of the picture that was read last, in seconds.
  private(set) var seconds = 0.0
  /// The bits of its samples, if they are numbers of one byte or two. Nil: they are not.
  private(set) var depth: Int?
  private var bytes = [UInt8]()
  private var byteCount = 0
  private let decoder: TrackDecoder
  private let frame: Frame
  private var clock: FrameClock
  private let name: String

  /// - Parameters:
  ///   - track: The stream's index in the file.
  ///   - liveness: Advanced with every picture.
  init(_ source: any ByteSource, name: String, track: Int, liveness: Liveness?) throws(MediaError) {
    self.name = name
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let stream = try demuxer.stream(track)
    demuxer.select { $0 == stream }
    tick = av_q2d(stream.pointee.time_base)
    clock = FrameClock(stream)
    frame = try Frame()
    decoder = TrackDecoder(
      try Decoder(stream, name: name, fillsBuffers: true), demuxer, track: track, packet: try Packet(),
      hasPacket: false, liveness: liveness)
  }

  /// Reads the next picture; false after the last.
  func advance() throws(MediaError) -> Bool {
    while try decoder.decode(into: frame.pointer) {
      guard let time = clock.time(of: frame.pointer, after: decoder.end) else { continue }
      try take(frame, at: Double(time) * tick)
      return true
    }
    return false
  }

  private func take(_ frame: Frame, at time: Double) throws(MediaError) {
    number += 1
    seconds = time
    format = "\(frame.format) \(frame.size.width)x\(frame.size.height)"
    depth = frame.format.sampleDepth
    if number == 0 { presentation = frame.presentation }
    byteCount = try frame.copyPixels(to: &bytes, name)
  }

  /// The bytes of the picture that was read last, inside `body` only.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.prefix(byteCount))) }
  }
}

extension Frame {
  /// Copies the pixels without padding. Returns how many bytes they are.
  /// - Parameter bytes: Made longer if it is too short.
  func copyPixels(to bytes: inout [UInt8], _ name: String) throws(MediaError) -> Int {
    var count = sheaf_frame_bytes(pointer, &bytes, bytes.count)
    if count > bytes.count {
      bytes = [UInt8](repeating: 0, count: Int(count))
      count = sheaf_frame_bytes(pointer, &bytes, bytes.count)
    }
    return Int(try check(count, "copying a picture of", name))
  }

  /// How the picture is to be shown, for comparing.
  var presentation: String {
    let (tags, aspect) = (colour, pointer.pointee.sample_aspect_ratio)
    let shape = aspect.num > 0 && aspect.den > 0 ? "\(aspect.num):\(aspect.den)" : "1:1"
    return [
      "pixels \(shape)", "primaries \(tags.primaries ?? "not stated")", "transfer \(tags.transfer ?? "not stated")",
      "matrix \(tags.matrix ?? "not stated")", tags.isFullRange ? "full range" : "limited range",
      "chroma \(tags.chromaLocation ?? "not stated")", isInterlaced ? "fields" : "progressive",
    ].joined(separator: ", ")
  }
}
