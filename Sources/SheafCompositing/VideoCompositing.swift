public import CompositionModel

/// A compositor of your own: AVFoundation's `AVVideoCompositing`. It makes the picture of a transition of the kind
/// `custom`, or of an instruction with a `compositor`, from the pictures of their tracks. `docs/compositor.md`
/// describes how a worker gets it.
///
/// A film is rendered in segments, on any worker, in any order, and again after an edit. So `compose` must be a
/// function of its request and of the parameters: no clock, no random numbers without a fixed seed, no state that one
/// call leaves for the next, no files. The processor must not matter either: no result may depend on the number of
/// cores.
///
/// A segment's compositor is made and called in one thread, in a process without access to files and network. If it
/// traps there, the attempt is counted as crashed.
public protocol VideoCompositing: Sendable {
  /// What `parameters` of the document are decoded to. Throw from `init(from:)` or from `init(parameters:size:)` if a
  /// value cannot be used: the job fails with the text of the error.
  associatedtype Parameters: Decodable

  /// Its name in documents: 1 to 40 ASCII letters, digits and `-`, `_`, `.`.
  static var name: String { get }

  /// To be incremented with every change that may change a picture: 1 or more. Pieces that another revision has
  /// rendered are not used again.
  static var revision: Int { get }

  /// Whether the picture depends on `progress`, `time` or `compositionTime`. If it does not, all three are zero or nil,
  /// and frames of equal sources and equal metadata are made once. True by default.
  static var dependsOnTime: Bool { get }

  /// Makes the compositor of a segment.
  /// - Parameters:
  ///   - parameters: Those of the document.
  ///   - size: The size of the film, in pixels.
  init(parameters: Parameters, size: PixelSize) throws

  /// Makes one frame.
  /// - Parameters:
  ///   - request: The pictures, and where in its time the frame is.
  ///   - picture: To be changed. At first it shows what lies below: the background, and for a transition the tracks
  ///     below both of its tracks.
  /// - Throws: Any error. The job fails with its text.
  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws
}

extension VideoCompositing {
  public static var dependsOnTime: Bool { true }
}

/// The parameters of a compositor that has none. A document that gives any is refused.
public struct NoParameters: Decodable, Sendable {
  public init(from decoder: any Decoder) throws {
    let keys = try decoder.container(keyedBy: Key.self).allKeys
    guard let first = keys.first else { return }
    throw DecodingError.dataCorruptedError(
      forKey: first, in: try decoder.container(keyedBy: Key.self),
      debugDescription: "the compositor has no parameters")
  }

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

/// What a frame is made of: AVFoundation's `AVAsynchronousVideoCompositionRequest`.
public struct VideoCompositionRequest: Sendable {
  enum Content: Sendable {
    case transition(from: PixelBuffer, to: PixelBuffer)
    case instruction([String: PixelBuffer])
  }

  let content: Content

  /// The part of the transition's or the instruction's time that has passed: 0 at its start, never above 1. A
  /// transition's `easing` is applied.
  public let progress: Double
  /// Seconds since the transition's or the instruction's start.
  public let time: MediaTime
  /// Seconds that the transition or the instruction lasts. Zero if the compositor does not depend on time.
  public let duration: MediaTime
  /// The time of the film. Nil in a transition, whose pictures are used again wherever it is moved to.
  public let compositionTime: MediaTime?
  private var metadata: [String: MetadataValue?] = [:]

  init(
    _ content: Content, progress: Double, time: MediaTime, duration: MediaTime, compositionTime: MediaTime?
  ) {
    self.content = content
    self.progress = progress
    self.time = time
    self.duration = duration
    self.compositionTime = compositionTime
  }

  package static func transition(
    from: PixelBuffer, to: PixelBuffer, progress: Double, time: MediaTime, duration: MediaTime
  ) -> VideoCompositionRequest {
    VideoCompositionRequest(
      .transition(from: from, to: to), progress: progress, time: time, duration: duration, compositionTime: nil)
  }

  package static func instruction(
    _ sources: [String: PixelBuffer], progress: Double, time: MediaTime, duration: MediaTime,
    compositionTime: MediaTime?
  ) -> VideoCompositionRequest {
    VideoCompositionRequest(
      .instruction(sources), progress: progress, time: time, duration: duration, compositionTime: compositionTime)
  }

  /// The picture that a transition comes from, over what lies below. It has no transparency. Throws in an instruction.
  public var from: PixelBuffer {
    get throws { try sides.from }
  }

  /// The picture that a transition goes to, over what lies below. It has no transparency. Throws in an instruction.
  public var to: PixelBuffer {
    get throws { try sides.to }
  }

  private var sides: (from: PixelBuffer, to: PixelBuffer) {
    get throws {
      if case .transition(let from, let to) = content { return (from, to) }
      throw CompositorError("this compositor makes transitions; it cannot be the compositor of an instruction")
    }
  }

  /// The tracks of an instruction that have a picture now, sorted. Throws in a transition.
  public var tracks: [String] {
    get throws { try sources.keys.sorted() }
  }

  /// The picture of a track of an instruction: fitted, filtered and in its place in the film's frame, transparent where
  /// it is not, and by its opacity. Nil if the track is not among the layers, or has no picture now. Throws in a
  /// transition.
  public func source(_ track: String) throws -> PixelBuffer? { try sources[track] }

  /// The value that a metadata track has now: AVFoundation's `sourceTimedMetadata(byTrackID:)`. Nil if it has none now.
  /// Throws if the track is not among those that the document gives the compositor with `metadata`.
  public func metadata(_ track: String) throws -> MetadataValue? {
    if let value = metadata[track] { return value }
    let given = metadata.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
    throw CompositorError(
      "the compositor asks for the metadata track '\(track)'; it is given "
        + (given.isEmpty ? "none: name it in 'metadata'" : given))
  }

  /// - Parameter tracks: Those of which the compositor is given the values.
  package mutating func setMetadata(_ values: [String: MetadataValue], of tracks: [String]) {
    metadata = Dictionary(tracks.map { ($0, values[$0]) }) { first, _ in first }
  }

  private var sources: [String: PixelBuffer] {
    get throws {
      if case .instruction(let sources) = content { return sources }
      throw CompositorError("this compositor is for instructions; it cannot make a transition")
    }
  }
}

/// An error with a text for the person who wrote the document.
public struct CompositorError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String

  public init(_ description: String) {
    self.description = description
  }
}
