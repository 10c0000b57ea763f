public import CompositionModel
import Media
public import SheafCompositing

/// What the stored samples of a track are: AVFoundation's `CMFormatDescription`. It has the codec's parameters, as an
/// `AssetReader` found them in the file, and an `AssetWriter` puts them into another one.
///
/// Two formats are equal if the samples of one can follow those of the other without encoding.
public struct StoredFormat: Sendable, Hashable {
  public let type: MediaType
  /// libavcodec's name, such as `h264`.
  public let codec: String
  /// Seconds a tick of the file's times.
  public let timebase: MediaTime
  /// How the stored pictures are turned to be upright.
  public let orientation: Orientation
  let track: StoredTrackFormat

  init(_ description: TrackDescription, _ track: StoredTrackFormat) {
    (type, codec, timebase) = (description.type, track.codec, track.timebase)
    orientation = description.video?.orientation ?? .upright
    self.track = track
  }
}

/// A packet as a file stores it: AVFoundation's `CMSampleBuffer` of a track output without settings.
public struct StoredSample: Sendable, Hashable {
  /// On the asset's timeline. Samples come in order of decoding, so it may fall from one to the next.
  public var presentationTime: MediaTime
  public var decodingTime: MediaTime
  /// 0 if the file does not state it.
  public var duration: MediaTime
  /// Whether decoding can start here, as the file states it.
  public var isKeyframe: Bool
  public var bytes: [UInt8]
  /// That of the track.
  public var format: StoredFormat
  /// What else the file states, such as how many decoded samples are not presented.
  var marks = PacketMarks()
}

extension StoredSample {
  /// A sample of a program's own, such as one of an encoder that gives packets of a known format.
  public init(
    presentationTime: MediaTime, decodingTime: MediaTime, duration: MediaTime, isKeyframe: Bool, bytes: [UInt8],
    format: StoredFormat
  ) {
    self.init(
      presentationTime: presentationTime, decodingTime: decodingTime, duration: duration, isKeyframe: isKeyframe,
      bytes: bytes, format: format, marks: PacketMarks())
  }
}

/// A decoded picture.
public struct VideoSample: Sendable {
  /// On the asset's or the composition's timeline.
  public var presentationTime: MediaTime
  /// Until the next picture, or the end of the track.
  public var duration: MediaTime
  /// The samples of the picture. They are shared, and never change.
  public var buffer: PixelBuffer

  public init(presentationTime: MediaTime, duration: MediaTime, buffer: PixelBuffer) {
    self.presentationTime = presentationTime
    self.duration = duration
    self.buffer = buffer
  }
}

/// Decoded sound: consecutive samples of every channel.
public struct AudioSample: Sendable, Hashable {
  /// The place of the first sample, counted in samples from time zero of the asset or the composition.
  public var position: Int64
  /// Samples a second of each channel.
  public var sampleRate: Int
  /// For each channel its samples, of which -1…1 is full scale. All channels have as many.
  public var channels: [[Float]]

  public init(position: Int64, sampleRate: Int, channels: [[Float]]) {
    self.position = position
    self.sampleRate = sampleRate
    self.channels = channels
  }

  /// How many samples each channel has.
  public var count: Int { channels.first?.count ?? 0 }

  public var presentationTime: MediaTime { MediaTime(value: position, timescale: Int32(clamping: sampleRate)) }
  public var duration: MediaTime { MediaTime(value: Int64(count), timescale: Int32(clamping: sampleRate)) }

  /// Without the samples outside of a range of positions. Nil if none is left.
  func clamped(to range: Range<Int64>) -> AudioSample? {
    let (end, isBeyond) = position.addingReportingOverflow(Int64(count))
    let own = (position..<(isBeyond ? .max : end)).clamped(to: range)
    guard !own.isEmpty else { return nil }
    if own.count == count { return self }
    let first = Int(own.lowerBound - position)
    return AudioSample(
      position: own.lowerBound, sampleRate: sampleRate,
      channels: channels.map { Array($0[first..<first + own.count]) })
  }
}
