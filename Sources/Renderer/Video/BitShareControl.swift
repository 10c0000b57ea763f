import CompositionModel
import Glibc
import RenderTasks

/// Holds a segment to its share of the bits of a film with an average bit rate, by small changes of the rate factor.
///
/// The share was predicted from a fast encoding. What the real one takes differs by a factor, which is estimated from
/// the packets that have been returned: at first it counts as 1. The rate factor then moves to where the rest of the
/// segment is expected to take the rest of the share. It never moves by more than `range` from the planned one, and
/// slowly, so that no change of quality is seen. The encoder returns a packet after a fixed number of frames, whatever
/// the machine does, so equal frames have equal rate factors.
struct BitShareControl {
  /// The most that the rate factor differs from the planned one.
  static let range = 1.5
  /// The most that it changes from one frame to the next.
  private static let step = 0.1
  /// The fall of the logarithm of the bits for each unit of the rate factor.
  private static let fall = 0.12
  /// The weight of the prediction, as a part of the share, in the estimate of the factor.
  private static let confidence = 0.08
  /// Part of the share that may be missed, so that the last frames are not moved for it.
  private static let tolerance = 0.02

  private let planned: Double
  private let frameBits: [Double]
  private let share: Double
  /// The frames that are encoded at once: a packet is returned when this many more have begun.
  private let concurrency: Int
  /// What was added to the planned rate factor for each frame that was sent.
  private var offsets: [Double] = []
  /// The bits of the packets that were returned, and what was expected of them: as planned, and at their rate factor.
  private var taken = 0.0
  private var expected = 0.0
  private var expectedAtOffset = 0.0

  /// - Parameters:
  ///   - planned: the rate factor that the encoder was set up with.
  ///   - concurrency: how many packets the encoder returns late, because it encodes frames at once.
  init(planned: Double, share: BitShare, concurrency: Int) {
    self.planned = planned
    frameBits = share.frameBits.map(Double.init)
    self.share = frameBits.reduce(0, +)
    self.concurrency = concurrency
  }

  /// The rate factor for the next frame that is sent. Nil: that of the one before.
  mutating func nextFactor() -> Double? {
    let last = offsets.last ?? 0
    let next = min(max(wanted, last - Self.step), last + Self.step)
    offsets.append(next)
    return next == last ? nil : planned + next
  }

  /// Counts a packet that the encoder has returned.
  mutating func receive(frame: Int, bits: Int) {
    guard frameBits.indices.contains(frame) else { return }
    let offset = offsets.isEmpty ? 0 : offsets[max(0, offsets.count - 1 - concurrency)]
    taken += Double(bits)
    expected += frameBits[frame]
    expectedAtOffset += frameBits[frame] * exp(-Self.fall * offset)
  }

  /// What has to be added to the planned rate factor, rounded to hundredths.
  private var wanted: Double {
    guard expected > 0 else { return 0 }
    let weight = Self.confidence * share
    let factor = (taken + weight) / (expectedAtOffset + weight)
    let slack = Self.tolerance * share
    let (coming, left) = (factor * (share - expected) + slack, share - taken + slack)
    guard left > 0 else { return Self.range }
    let offset = log(coming / left) / Self.fall
    return (min(max(offset, -Self.range), Self.range) * 100).rounded() / 100
  }
}

extension VideoRendition {
  /// Nil: the rate factor stays while a segment is encoded. Throws `.task` if the share does not fit the segment.
  func shareControl(frameCount: Int) throws(RenderError) -> BitShareControl? {
    guard let (factor, share) = try checkedShare(frameCount), encoder.bitRateModel?.control == .frameByFrame else {
      return nil
    }
    return BitShareControl(planned: factor, share: share, concurrency: encoder.codec.definition.lateFrames(encoder))
  }

  /// Nil: a segment is encoded once. Throws `.task` if the share does not fit the segment.
  func shareSearch(frameCount: Int) throws(RenderError) -> BitShareSearch? {
    guard let (factor, share) = try checkedShare(frameCount), let model = encoder.bitRateModel else { return nil }
    return BitShareSearch(planned: factor, share: share.frameBits.reduce(0, +), model: model)
  }

  private func checkedShare(_ frameCount: Int) throws(RenderError) -> (factor: Double, share: BitShare)? {
    guard let share else { return nil }
    guard case .quality(let factor) = encoder.rateControl, share.frameBits.count == frameCount,
      share.frameBits.allSatisfy({ $0 > 0 })
    else {
      throw RenderError(.task, "a share of bits for \(share.frameBits.count) of \(frameCount) frames")
    }
    return (factor, share)
  }
}
