public import CompositionModel

/// A number that is a sample of linear PCM: `Int16`, `Int32` or `Float`.
public protocol LinearPCM: BitwiseCopyable, Sendable, Hashable {
  /// The sample that is nearest to a number of which -1…1 is full scale. What an integer cannot hold is limited.
  init(sample: Float)
}

extension LinearPCM where Self: FixedWidthInteger {
  /// Of two integers that are as near, the even one. What is not a number is silence.
  public init(sample: Float) {
    // Exact: the factor is a power of two, and a `Double` holds every product.
    let scaled = (Double(sample) * -Double(Self.min)).rounded(.toNearestOrEven)
    self = scaled.isNaN ? 0 : Self(exactly: scaled) ?? (scaled < 0 ? .min : .max)
  }
}

extension Int16: LinearPCM {}
extension Int32: LinearPCM {}

extension Float: LinearPCM {
  /// The number itself.
  public init(sample: Float) { self = sample }
}

/// How sound is read: the `outputSettings` of AVFoundation's audio outputs. `AudioOutputSettings<Int16>()` is 16-bit
/// linear PCM at the track's rate and with its channels.
public struct AudioOutputSettings<Value: LinearPCM>: Sendable, Hashable {
  /// Samples a second of each channel, from 1,000 to 768,000. Nil: those of the track.
  public var sampleRate: Int?
  /// 1 to 8, or as many as the track has; nil: as many. Channels are mixed as in a film: mono is as loud in both of
  /// stereo, and a mix of several channels is made so much quieter that it cannot clip.
  public var channels: Int?
  /// Whether the samples of one time, one for each channel, are side by side in one plane, as in a WAVE file. Else each
  /// channel has a plane of its own.
  public var isInterleaved: Bool

  /// - Parameters:
  ///   - sampleRate: Samples a second of each channel. Nil: those of the track.
  ///   - channels: The number of channels. Nil: as many as the track has.
  ///   - isInterleaved: Whether all channels are in one plane.
  public init(sampleRate: Int? = nil, channels: Int? = nil, isInterleaved: Bool = true) {
    self.sampleRate = sampleRate
    self.channels = channels
    self.isInterleaved = isInterleaved
  }

  /// The rate and the channels for a track. Throws if they cannot be made.
  func resolved(for audio: AudioFormat) throws(SheafError) -> (sampleRate: Int, channels: Int) {
    let rate = sampleRate ?? audio.sampleRate
    guard rate == audio.sampleRate || (1000...768_000).contains(rate) else {
      throw SheafError(.misuse, "a sample rate of \(rate) Hz; it is 1,000 to 768,000")
    }
    let channels = channels ?? audio.channels
    guard channels == audio.channels || (1...8).contains(channels) else {
      throw SheafError(
        .misuse, "\(channels) channels of sound with \(audio.channels); they are 1 to 8, or as many as the sound has")
    }
    return (rate, channels)
  }
}

/// Samples of linear PCM: AVFoundation's `AVAudioPCMBuffer`.
public struct PCMBuffer<Value: LinearPCM>: Sendable, Hashable {
  /// The place of the first sample, counted in samples from time zero of the asset or the composition.
  public var position: Int64
  /// Samples a second of each channel.
  public var sampleRate: Int
  /// How many samples belong to one time.
  public var channelCount: Int
  /// One plane of interleaved samples, or a plane for each channel.
  public var planes: [[Value]]

  /// - Parameters:
  ///   - position: The place of the first sample, counted in samples from time zero.
  ///   - sampleRate: Samples a second of each channel.
  ///   - channelCount: How many samples belong to one time.
  ///   - planes: One plane of interleaved samples, or a plane for each channel; all are as long.
  public init(position: Int64, sampleRate: Int, channelCount: Int, planes: [[Value]]) {
    self.position = position
    self.sampleRate = sampleRate
    self.channelCount = channelCount
    self.planes = planes
  }

  /// Whether all channels are in one plane. Of one channel it makes no difference.
  public var isInterleaved: Bool { planes.count == 1 }
  /// How many samples each channel has.
  public var count: Int { (planes.first?.count ?? 0) / (isInterleaved ? max(1, channelCount) : 1) }

  /// A sample of a channel, whether they are interleaved or not.
  /// - Parameters:
  ///   - channel: 0 up to, and without, `channelCount`.
  ///   - index: 0 up to, and without, `count`.
  public subscript(channel channel: Int, index: Int) -> Value {
    isInterleaved ? planes[0][index * channelCount + channel] : planes[channel][index]
  }

  /// Of the first sample.
  public var presentationTime: MediaTime { MediaTime(value: position, timescale: Int32(clamping: sampleRate)) }
  /// Of all samples of a channel, in seconds.
  public var duration: MediaTime { MediaTime(value: Int64(count), timescale: Int32(clamping: sampleRate)) }
}
