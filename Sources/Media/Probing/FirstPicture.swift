internal import CMedia
internal import SystemSupport

/// A track's first picture, decoded from its packet alone in a thread of its own while the file is read on: a large
/// picture takes as long as the reading of many megabytes.
///
/// Unchecked, and safe: only the thread uses the decoder, the packet and the frame until it has posted `end`, and only
/// the caller of `finish` afterwards.
final class FirstPicture: @unchecked Sendable {
  private let decoder: Decoder
  private let packet: Packet
  private let frame: Frame
  private let liveness: Liveness?
  private let parameters: Parameters
  private let end = Semaphore(0)
  private var result: Result<Bool, MediaError> = .success(false)

  /// What the decoder was opened with.
  private struct Parameters: Equatable {
    private let fields: [UInt8]
    private let extradata: [UInt8]

    init(_ stream: UnsafeMutablePointer<AVStream>) {
      let parameters = stream.pointee.codecpar!
      fields = [UInt8](UnsafeRawBufferPointer(start: parameters, count: MemoryLayout<AVCodecParameters>.size))
      extradata = [UInt8](
        UnsafeRawBufferPointer(start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size)))
    }
  }

  /// Starts to decode.
  /// - Parameter liveness: Advanced when the picture is there.
  init(
    _ packet: Packet, of stream: UnsafeMutablePointer<AVStream>, name: String, liveness: Liveness?
  ) throws(MediaError) {
    self.packet = packet
    self.liveness = liveness
    decoder = try Decoder(stream, name: name)
    frame = try Frame()
    parameters = Parameters(stream)
    do {
      try startThread {
        self.result = Result { () throws(MediaError) in try self.decode() }
        self.end.post()
      }
    } catch {
      result = Result { () throws(MediaError) in try decode() }
      end.post()
    }
  }

  private func decode() throws(MediaError) -> Bool {
    try decoder.send(packet)
    if try !decoder.receive(frame.pointer) {
      try decoder.send(nil)
      guard try decoder.receive(frame.pointer) else { return false }
    }
    liveness?.advance()
    return true
  }

  /// Waits for the picture. Called once, when the file has been read. Nil if the packet does not suffice: it is
  /// damaged, has one field, or its picture has another time.
  /// - Parameter stream: If it is described in another way than when the decoding began, the picture is decoded again.
  func finish(_ stream: UnsafeMutablePointer<AVStream>, name: String) throws(MediaError) -> Frame? {
    end.wait()
    guard Parameters(stream) == parameters else {
      return try FirstPicture(packet, of: stream, name: name, liveness: liveness).finish(stream, name: name)
    }
    guard try result.get() else { return nil }
    var clock = FrameClock(stream)
    guard clock.time(of: frame.pointer) == packet.pts, clock.followsPackets, !frame.isDamaged, !frame.isInterlaced,
      decoder.firstFailure == nil, decoder.takeReports().isEmpty
    else { return nil }
    frame.pts = packet.pts
    return try frame.topDown(name)
  }
}
