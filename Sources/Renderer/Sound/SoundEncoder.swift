import CMedia
import CompositionModel
import Media

/// Encodes the mix and writes the piece. Here, and nowhere before, what is louder than full scale is clipped.
struct SoundEncoder {
  private let encoder: AudioEncoder
  private let writer: PieceWriter
  private let channels: Int
  private let sampleCount: Int64

  init(_ settings: AudioSettings, sampleCount: Int64, to descriptor: Int32) throws(RenderError) {
    do {
      encoder = try AudioEncoder(settings)
      writer = try PieceWriter(descriptor: descriptor, header: encoder.header)
    } catch {
      throw RenderError(sound: error, "starting to encode the sound as \(settings.codec.rawValue)")
    }
    channels = settings.channels
    self.sampleCount = sampleCount
  }

  /// The most samples that `encode` should be given at once, all blocks but the last: about `wanted`.
  func blockSize(near wanted: Int) -> Int {
    max(1, encoder.frameSize) * max(1, wanted / max(1, encoder.frameSize))
  }

  /// The first `count` samples of a block.
  func encode(_ block: SampleBlock, count: Int) throws(RenderError) {
    let layout = encoder.sampleLayout
    do {
      for start in stride(from: 0, to: count, by: max(1, encoder.frameSize)) {
        let part = min(max(1, encoder.frameSize), count - start)
        try encoder.send(count: part) { rows in
          for channel in 0..<channels {
            let from = block.row(channel) + start
            switch layout {
            case .planarFloat:
              sheaf_sound_clip(rows[channel].assumingMemoryBound(to: Float.self), from, part)
            case .interleavedInt16:
              sheaf_sound_to_s16(rows[0].assumingMemoryBound(to: Int16.self) + channel, from, channels, part)
            case .interleavedInt32:
              sheaf_sound_to_s24(rows[0].assumingMemoryBound(to: Int32.self) + channel, from, channels, part)
            }
          }
        }
        try writePackets()
      }
    } catch {
      throw RenderError(sound: error, "encoding the sound")
    }
  }

  func finish() throws(RenderError) {
    do {
      try encoder.finish()
      try writePackets()
      try writer.finish()
    } catch {
      throw RenderError(sound: error, "finishing the sound")
    }
  }

  private func writePackets() throws(MediaError) {
    while let packet = try encoder.receive() {
      // An encoder that works in frames may end with one that holds nothing but its own padding.
      if packet.pts < sampleCount { try writer.write(packet) }
    }
  }
}
