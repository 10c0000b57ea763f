import CompositionModel
import Media
import RenderTasks

/// Where the fragments of a fragmented file with one track begin: those of pictures at the fixed keyframes, or, if
/// every picture is one, where media segments do; those of sound with the first packet of a segment.
struct Fragments {
  /// Frames of the output. Empty: the track is sound.
  private var frames: Set<Int64> = []
  private let segments: [MediaTime]
  private let sampleRate: Int64
  /// The number of the next segment.
  private var next = 0

  /// Nil if the file is not fragmented.
  init?(_ file: StitchedFile) throws(StitchError) {
    guard let segments = file.segments else { return nil }
    guard (file.video == nil) != (file.audio == nil), file.texts == nil else {
      throw StitchError(.task, "a fragmented file has one track")
    }
    self.segments = segments
    sampleRate = Int64(file.audio?.encoder.sampleRate ?? 1)
    guard let video = file.video else { return }
    if let grid = video.encoder.keyframeGrid {
      let count = video.frameCounts.reduce(0, +)
      frames = Set(grid.keyframes(in: 1..<max(1, count)).map(Int64.init))
    } else {
      frames = try mapErrors(to: StitchError.outputTime) { () throws(TimeError) in
        Set(
          try segments.map { time throws(TimeError) in
            Int64(clamping: try (time / video.format.frameDuration).rounded)
          })
      }
    }
  }

  /// Whether the packet of a picture is the first of a fragment, but for the first of all.
  func begins(withFrame packet: Packet) -> Bool { packet.isKeyframe && frames.contains(packet.pts) }

  /// The same of a packet of sound, by its first sample. Packets come in order.
  mutating func begins(withSample sample: Int64) -> Bool {
    var begins = false
    while next < segments.count, segments[next].isReached(sample, perSecond: sampleRate) {
      (begins, next) = (true, next + 1)
    }
    return begins
  }
}
