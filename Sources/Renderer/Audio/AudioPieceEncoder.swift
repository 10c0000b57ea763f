import CKernels
import CompositionModel
import Media
import PieceFiles
import RenderTasks

/// Encodes a mix and writes its piece. Samples beyond full scale are clipped here, and nowhere before.
final class AudioPieceEncoder {
  private let settings: AudioSettings
  private let place: PackagedPiece
  private let liveness: Liveness?
  /// The number of samples of each channel of the sound.
  private let sampleCount: Int64
  /// Nil: all packets are kept.
  private let part: AudioPart?
  private var encoder: AudioEncoder
  private var writer: PieceWriter
  private var decoder: EncodedAudioDecoder?
  private var meter: LoudnessMeter?
  /// Whether `end` returns what is heard of the encoded sound.
  private(set) var isMeasured: Bool

  /// - Parameters:
  ///   - part: The packets that are kept, with their places in the film. Nil: all.
  ///   - measured: Whether the loudness counts. What a lossless codec has is that of the mix, and is not measured.
  init(
    _ settings: AudioSettings, to place: PackagedPiece, sampleCount: Int64, part: AudioPart? = nil, measured: Bool,
    _ liveness: Liveness?
  ) throws(RenderError) {
    self.settings = settings
    self.part = part
    self.sampleCount = sampleCount
    self.place = place
    self.liveness = liveness
    isMeasured = measured && settings.codec.definition.bitRates != nil
    (encoder, writer) = try Self.open(settings, place)
    try openMeter()
  }

  private static func open(
    _ settings: AudioSettings, _ place: PackagedPiece
  ) throws(RenderError) -> (AudioEncoder, PieceWriter) {
    let step = "starting to encode the audio as \(settings.codec.rawValue)"
    return try mapErrors(to: RenderError.during(step)) { () throws(MediaError) in
      let encoder = try AudioEncoder(settings)
      return (encoder, try place.writer(encoder.header))
    }
  }

  private func openMeter() throws(RenderError) {
    guard isMeasured else { return }
    decoder = try mapErrors(to: RenderError.during("decoding the encoded audio")) { () throws(MediaError) in
      try encoder.decoder()
    }
    meter = try LoudnessMeter(
      sampleRate: settings.sampleRate, channels: settings.channels, initialPadding: decoder?.initialPadding ?? 0,
      sampleCount: sampleCount)
  }

  /// Begins anew, in place of what was written.
  func begin() throws(RenderError) {
    place.clear()
    (encoder, writer) = try Self.open(settings, place)
    try openMeter()
  }

  /// What is encoded next is taken without measuring it.
  func acceptsNext() {
    isMeasured = false
    (decoder, meter) = (nil, nil)
  }

  /// Every call of `encode` but the last should pass a multiple of these samples.
  var frameSize: Int { max(1, encoder.frameSize) }

  /// Encodes the first `count` samples of a block.
  func encode(_ block: SampleBlock, count: Int) throws(RenderError) {
    let (layout, channels) = (encoder.sampleLayout, settings.channels)
    for start in stride(from: 0, to: count, by: max(1, encoder.frameSize)) {
      let part = min(max(1, encoder.frameSize), count - start)
      try mapErrors(to: RenderError.during("encoding the audio")) { () throws(MediaError) in
        try encoder.send(count: part) { rows in
          for channel in 0..<channels {
            let from = block.row(channel) + start
            let (row, first, stride) = layout.place(ofChannel: channel, of: channels)
            switch layout.type {
            case .float32:
              sheaf_samples_clip(rows[row].assumingMemoryBound(to: Float.self) + first, from, stride, part)
            case .int16:
              sheaf_samples_to_s16(rows[row].assumingMemoryBound(to: Int16.self) + first, from, stride, part)
            case .int32:
              sheaf_samples_to_s24(rows[row].assumingMemoryBound(to: Int32.self) + first, from, stride, part)
            }
          }
        }
      }
      try writePackets()
    }
  }

  /// Encodes what the encoder still has. Returns what is heard of it all; nil if that is not measured.
  func end() throws(RenderError) -> LoudnessMeter? {
    try mapErrors(to: RenderError.during("finishing the audio")) { () throws(MediaError) in try encoder.finish() }
    try writePackets()
    if let decoder { try measure { () throws(MediaError) in try decoder.finish() } }
    defer { (decoder, meter) = (nil, nil) }
    return meter
  }

  /// Completes the piece.
  func finish(_ damage: ShownDamage) throws(RenderError) {
    try mapErrors(to: RenderError.during("finishing the audio")) { () throws(MediaError) in
      try writer.finish(damage: damage.encoded())
    }
  }

  private func writePackets() throws(RenderError) {
    let step = RenderError.during("encoding the audio")
    while let packet = try mapErrors(to: step, { () throws(MediaError) in try encoder.receive() }) {
      liveness?.advance()
      guard isKept(packet) else { continue }
      if let part {
        packet.pts += part.origin
        packet.dts += part.origin
      }
      try mapErrors(to: step) { () throws(MediaError) in try writer.write(packet) }
      if let decoder { try measure { () throws(MediaError) in try decoder.decode(packet) } }
    }
  }

  /// Whether a packet, at its place in the mix, is one of the part.
  private func isKept(_ packet: Packet) -> Bool {
    guard let part else { return true }
    let first = packet.pts + part.origin
    // An encoder's padding goes with the film's first sample.
    let isAfterStart = first >= part.samples.lowerBound || part.samples.lowerBound == 0
    return isAfterStart && first < part.samples.upperBound
  }

  private func measure(_ blocks: () throws(MediaError) -> [SampleBlock]) throws(RenderError) {
    for block in try mapErrors(to: RenderError.during("decoding the encoded audio"), blocks) {
      try meter?.add(block, count: block.capacity)
    }
  }
}
