import Client
public import CompositionModel
import ContentStorage
public import FoundationEssentials
import Glibc
import RenderTasks
import Runtime
import SheafCompositing
import Stitcher
import SystemSupport

/// Writes a film from pictures and sound that a program makes or reads: AVFoundation's `AVAssetWriter`.
///
/// It encodes **in the caller's process**, in one thread. Pictures that come from media of strangers should be made by
/// an `ExportSession` instead.
///
///     let writer = try AssetWriter(to: url)
///     let pictures = try await writer.addVideo(size: size, frameDuration: MediaTime(value: 1, timescale: 25))
///     let sound = try await writer.addAudio(sampleRate: 48000, channels: 2)
///     for try await sample in read { try await pictures.append(sample) }
///     for try await sample in heard { try await sound.append(sample) }
///     let film = try await writer.finish()
///
/// The inputs may be filled in any order: what is encoded waits on the disk, and the tracks are interleaved at the end.
/// The file appears under its name when it is complete.
///
/// Samples that an `AssetReader` has read as they are stored are written without encoding, beside others that are
/// encoded or alone:
///
///     let stored = try await writer.addStored(try await reader.storedFormat(of: track))
///     for try await sample in try reader.storedSamples(of: track) { try await stored.append(sample) }
///
/// A film may have several tracks of pictures and of sound, such as the languages that are spoken, and text tracks and
/// tracks of timed metadata. Pictures come first in the file, then sound, text and metadata, each in the order in which
/// they were added. Of pictures and of sound players play the first track, unless another one is chosen.
public actor AssetWriter {
  /// A film at its place.
  public struct Film: Sendable, Hashable {
    public var url: URL
    /// Of the first track of pictures, those that are presented; 0 without pictures.
    public var frames: Int
    /// Of the first track of sound, the number of samples of each channel; 0 without sound.
    public var samples: Int64
    public var bytes: Int
  }

  public nonisolated let url: URL
  private let thread: SerialThread
  private let output: OutputFile
  private let name: String
  private let metadata: [String: String]
  private let optimizeForNetworkUse: Bool
  private var tracks: [TrackWriter] = []
  private var captions: [CaptionTrackWriter] = []
  private var metadataTracks: [MetadataTrackWriter] = []
  private var turn: EncoderTurn?
  private var session: (start: MediaTime, end: MediaTime?) = (.zero, nil)
  private var state = State.open

  private enum State {
    case open, finished, cancelled, failed
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Checks the place. Nothing is at it before the film is complete.
  /// - Parameters:
  ///   - url: Its extension selects the container.
  ///   - metadata: By format key, such as `title`.
  ///   - optimizeForNetworkUse: Puts the index of a `mp4`, `mov`, `m4v`, `m4a` or `mkv` file before its media, so that
  ///     playback can start with the first bytes. Other containers have none, and it has no effect.
  public init(
    to url: URL, metadata: [String: String] = [:], optimizeForNetworkUse: Bool = true
  ) throws(SheafError) {
    self.url = url
    self.metadata = metadata
    self.optimizeForNetworkUse = optimizeForNetworkUse
    name = url.lastPathComponent
    do {
      output = try OutputFile(url.path)
      thread = try SerialThread()
    } catch {
      throw SheafError(error)
    }
  }

  deinit { thread.stop() }

  // MARK: Inputs

  /// Adds a track of pictures.
  ///
  /// The encoder of AV1 works alone in a process: the call waits until no other writer encodes AV1, and a writer has
  /// one such track. A task that fills several writers in turn would wait for ever; an export with several outputs
  /// makes such films of one edit.
  /// - Parameters:
  ///   - settings: What is nil has the default of `docs/document/` for the container.
  ///   - size: The size of every picture, in pixels.
  ///   - frameDuration: Seconds from one frame of the film to the next.
  ///   - colour: What the pictures' numbers mean, which is written into the file.
  public func addVideo(
    _ settings: ExportSettings.Video = .init(), size: PixelSize, frameDuration: MediaTime,
    colour: VideoComposition.ColorProperties = .init()
  ) async throws(SheafError) -> VideoInput {
    try checkTakes(.video)
    let plan = try WriterPlan(
      video: settings, size: size, frameDuration: frameDuration, colour: colour, name: name, metadata: metadata)
    guard let encoder = plan.export.video else { throw SheafError(.failed, "no settings for the video") }
    let isAlone = encoder.codec.definition.encoderSetup(encoder, size: size).isAlone
    if isAlone {
      guard turn == nil else { throw SheafError(.misuse, "a writer encodes one track with \(encoder.codec)") }
      let turn = try await EncoderTurn.next()
      // Other calls may have come meanwhile.
      try checkTakes(.video)
      guard self.turn == nil else { throw SheafError(.misuse, "a writer encodes one track with \(encoder.codec)") }
      self.turn = turn
    }
    do {
      tracks.append(
        .video(try VideoTrackWriter(encoder, size: size, frameDuration: frameDuration, plan.export)))
    } catch {
      if isAlone { turn = nil }
      throw SheafError(error)
    }
    return VideoInput(
      writer: self, track: tracks.count - 1,
      pool: PixelBufferPool(size: size, format: encoder.pixelFormat, colour: encoder.colour))
  }

  /// Throws if no other track of a type can be added.
  private func checkTakes(_ type: MediaType) throws(SheafError) {
    try checkIsOpen()
    let container = try Container.named(name)
    guard container.hasManyTracks || !tracks.contains(where: { $0.type == type }) else {
      throw SheafError(.misuse, "\(container) has one \(type) track")
    }
  }

  /// Adds a track of sound. Samples are not converted: the settings have the rate and the channels of what is appended.
  public func addAudio(
    _ settings: ExportSettings.Audio = .init(), sampleRate: Int, channels: Int
  ) throws(SheafError) -> AudioInput {
    try checkTakes(.audio)
    var settings = settings
    (settings.sampleRate, settings.channels) = (sampleRate, channels)
    let plan = try WriterPlan(audio: settings, name: name, metadata: metadata)
    guard let encoder = plan.export.audio else { throw SheafError(.failed, "no settings for the audio") }
    do { tracks.append(.audio(try AudioTrackWriter(encoder, label: plan.export.audioLabel))) } catch {
      throw SheafError(error)
    }
    return AudioInput(writer: self, track: tracks.count - 1)
  }

  /// Adds a track of pictures or of sound that are not encoded: AVFoundation's `AVAssetWriterInput` without output
  /// settings.
  ///
  /// The same rules hold as for the preset `passthrough`. In `mp4`, `mov`, `m4v` and `m4a` the session may start and
  /// end at any time: what a decoder needs before its start is stored too, and an edit list hides it. In other
  /// containers pictures begin at a keyframe, and end before one, and sound begins and ends with the nearest packet.
  /// Pictures before the first keyframe, which cannot be decoded, are left out.
  /// - Parameters:
  ///   - format: The codec and what its decoder has to know, as a reader of stored samples has it.
  ///   - rotation: The degrees clockwise by which players turn pictures: 0, 90, 180 or 270. Nil: as the format states.
  ///   - language: The language of the track: three letters of ISO 639-2. Nil: that of the format.
  ///   - title: The title of the track, for people: at most 200 characters. Nil: that of the format.
  /// - Throws: `.invalidEdit` if the container cannot hold the codec, the track's rotation or title, or the film's
  ///   metadata.
  public func addStored(
    _ format: StoredFormat, rotation: Int? = nil, language: String? = nil, title: String? = nil
  ) throws(SheafError) -> StoredInput {
    try checkIsOpen()
    guard format.type == .video || format.type == .audio else {
      throw SheafError(.misuse, "a track of \(format.type) cannot be stored as it is; pictures and sound can")
    }
    guard rotation == nil || format.type == .video else { throw SheafError(.misuse, "sound is not turned") }
    try checkTakes(format.type)
    let plan = try WriterPlan(
      stored: format, label: TrackLabel(language: language, title: title), rotation: rotation, name: name,
      metadata: metadata)
    let label = format.type == .video ? plan.export.videoLabel : plan.export.audioLabel
    do { tracks.append(.stored(try StoredTrackWriter(format, label: label, rotation: plan.export.rotation))) } catch {
      throw SheafError(error)
    }
    return StoredInput(writer: self, track: tracks.count - 1, format: format)
  }

  /// Adds a text track, which `mp4`, `mov`, `m4v`, `mkv` and `webm` have.
  /// - Parameter label: Its language, its title, and whether players show it without being asked.
  public func addCaptions(_ label: Edit.TextTrack = .init()) throws(SheafError) -> CaptionInput {
    try checkIsOpen()
    captions.append(try CaptionTrackWriter(label, in: try Container.named(name)))
    return CaptionInput(writer: self, track: captions.count - 1)
  }

  /// Adds a track of timed metadata, which `mp4`, `mov`, `m4v` and `m4a` have. It describes the film's first track of
  /// pictures. Its samples are behind those of the other tracks. A track to which nothing is appended is left out.
  ///
  /// A value of an item is one of its data type: the telemetry of a camera, which a reader gives as numbers of a type
  /// of its own, is appended as new items.
  public func addTimedMetadata() throws(SheafError) -> TimedMetadataInput {
    try checkIsOpen()
    let container = try Container.named(name)
    guard container.hasEditLists else { throw SheafError(.misuse, "\(container) has no timed metadata") }
    guard metadataTracks.count < MetadataTrackWriter.greatestCount else {
      throw SheafError(.misuse, "a film has at most \(MetadataTrackWriter.greatestCount) tracks of timed metadata")
    }
    metadataTracks.append(MetadataTrackWriter())
    return TimedMetadataInput(writer: self, track: metadataTracks.count - 1)
  }

  /// The time of what is appended at which the film starts; 0 without this call. What is earlier is left out. It must
  /// be called before anything is appended. A film whose first sample is an hour or more after its start, or that waits
  /// more than a day for another one, is refused: its times are of another clock.
  public func startSession(at time: MediaTime) throws(SheafError) {
    try checkIsOpen()
    guard tracks.allSatisfy(\.isEmpty), captions.allSatisfy(\.isEmpty), metadataTracks.allSatisfy(\.isEmpty) else {
      throw SheafError(.misuse, "a session starts before anything is appended")
    }
    guard time.isPlace else { throw SheafError(.misuse, "a session cannot start at \(time)") }
    session.start = time
  }

  /// The time of what is appended at which the film ends. What is later is left out. Pictures and sound that are
  /// encoded must be within the session: if later ones were appended, the call throws and changes nothing.
  public func endSession(at time: MediaTime) throws(SheafError) {
    try checkIsOpen()
    guard time.isNumeric, session.start < time else {
      throw SheafError(.misuse, "a session that starts at \(session.start) cannot end at \(time)")
    }
    do {
      guard try tracks.allSatisfy({ try $0.canEnd(at: time, start: session.start) }) else {
        throw SheafError(.misuse, "a session cannot end at \(time), because what is later is encoded already")
      }
    } catch {
      throw SheafError(error)
    }
    session.end = time
  }

  // MARK: Samples

  func append(_ sample: VideoSample, to track: Int) throws(SheafError) {
    try checkIsOpen()
    guard case .video(let writer) = tracks[track] else { return }
    try writing { try writer.append(sample, start: session.start, end: session.end) }
  }

  func append(_ sample: AudioSample, to track: Int) throws(SheafError) {
    try checkIsOpen()
    guard case .audio(let writer) = tracks[track] else { return }
    try writing { try writer.append(sample, start: session.start, end: session.end) }
  }

  func append(_ sample: StoredSample, to track: Int) throws(SheafError) {
    try checkIsOpen()
    guard case .stored(let writer) = tracks[track] else { return }
    try writing { try writer.append(sample) }
  }

  func append(_ caption: Caption, to track: Int) throws(SheafError) {
    try checkIsOpen()
    try captions[track].append(caption)
  }

  func append(_ group: TimedMetadataGroup, to track: Int) throws(SheafError) {
    try checkIsOpen()
    try metadataTracks[track].append(group)
  }

  /// Encodes what is left, joins the tracks, and puts the film in its place. Nothing can be appended afterwards.
  public func finish() throws(SheafError) -> Film {
    try checkIsOpen()
    let film = try writing { () throws -> Film in
      guard !tracks.isEmpty else { throw SheafError(.misuse, "a film needs pictures or sound") }
      let container = try Container.named(name)
      guard tracks.contains(where: { $0.type == .video }) || container.hasSoundAlone else {
        throw SheafError(.misuse, "\(container) has no sound without pictures")
      }
      // First what leaves the writer as it is if it cannot be done.
      for track in tracks {
        switch track {
        case .video(let track): try track.checkEnd(start: session.start, end: session.end)
        case .audio(let track): try track.checkEnd()
        case .stored: break
        }
      }
      for track in captions { try track.check(in: container) }
      let end = TrackWriter.areJoined(tracks) ? finishEncoded : finishCopied
      let (file, frames, samples, duration) = try end(container)
      try addMetadata(lasting: duration, container, to: file)
      let size = Int(try file.status().st_size)
      try output.commit()
      return Film(url: url, frames: frames, samples: samples, bytes: size)
    }
    state = .finished
    removeInputs()
    return film
  }

  private typealias Written = (file: OpenFile, frames: Int, samples: Int64, duration: MediaTime)

  /// Writes a film of one encoded track of pictures, of one of sound, or of both.
  private func finishEncoded(_ container: Container) throws -> Written {
    var (video, audio): (VideoTrackWriter?, AudioTrackWriter?)
    for track in tracks {
      switch track {
      case .video(let track): video = track
      case .audio(let track): audio = track
      case .stored: break
      }
    }
    let frames = try video?.finish(start: session.start, end: session.end)
    let pictures = try video?.duration
    let samples = try audio?.finish(lasting: container.hasSoundAlone ? nil : pictures)
    let duration = max(pictures ?? .zero, audio?.duration ?? .zero)
    let file = try output.open()
    try WriterPlan.join(
      video, audio, texts: try texts(lasting: duration, container), container: container,
      optimizeForNetworkUse: optimizeForNetworkUse, metadata: metadata, to: file.descriptor)
    return (file, frames ?? 0, samples ?? 0, duration)
  }

  /// Writes a film with tracks that are not encoded, or with several of a type.
  private func finishCopied(_ container: Container) throws -> Written {
    let parts = try tracks.map { track throws -> StoredTrackWriter.Part? in
      guard case .stored(let track) = track else { return nil }
      return try track.part(from: session.start, to: session.end, in: container)
    }
    var copied: [MediaType: [StoredTrackWriter.Part]] = [:]
    for (track, part) in zip(tracks, parts) {
      let part = try part ?? track.encodedPart(from: session.start, to: session.end, in: container)
      copied[track.type, default: []].append(part)
    }
    let ordered = [MediaType.video, .audio].flatMap { type in
      (copied[type] ?? []).enumerated().map { number, part in
        var track = part.track
        track.isAlternate = number > 0
        return track
      }
    }
    let duration = ordered.map(\.plan.duration).max() ?? .zero
    let file = try output.open()
    try CopiedFilm.write(
      ordered, texts: try texts(lasting: duration, container), container: container,
      optimizeForNetworkUse: optimizeForNetworkUse, metadata: metadata, to: file.descriptor
    ) { _ in }
    return (file, copied[.video]?.first?.pictures ?? 0, copied[.audio]?.first?.samples ?? 0, duration)
  }

  private func texts(lasting duration: MediaTime, _ container: Container) throws -> [StitchedText] {
    try captions.map { try $0.text(from: session.start, lasting: duration, in: container) }
  }

  private func addMetadata(lasting duration: MediaTime, _ container: Container, to file: OpenFile) throws {
    let added = try metadataTracks.compactMap { try $0.track(from: session.start, lasting: duration) }
    try MetadataTracks.add(
      added, to: file.descriptor, container: container,
      describesFirstTrack: tracks.contains { $0.type == .video })
  }

  /// Ends the writing without a film. Nothing is left of it.
  public func cancel() {
    guard state == .open else { return }
    state = .cancelled
    discard()
  }

  private func discard() {
    output.discard()
    removeInputs()
  }

  private func removeInputs() {
    (tracks, captions, metadataTracks) = ([], [], [])
    // The encoder is freed by now.
    turn = nil
  }

  private func writing<Value>(_ body: () throws -> Value) throws(SheafError) -> Value {
    do {
      return try body()
    } catch {
      let error = SheafError(error)
      // A wrong call changes nothing, and the writer can go on.
      if error.code != .misuse {
        state = .failed
        discard()
      }
      throw error
    }
  }

  private func checkIsOpen() throws(SheafError) {
    switch state {
    case .open: return
    case .finished: throw SheafError(.misuse, "the film is finished")
    case .cancelled: throw SheafError(.cancelled, "the writing was cancelled")
    case .failed: throw SheafError(.failed, "the writing has failed")
    }
  }
}

/// The right to make an encoder that must be the only one of its kind in the process.
private final class EncoderTurn: Sendable {
  private static let turns = AsyncSemaphore(capacity: 1)

  /// Waits for it. Throws `.cancelled` if the task is cancelled before.
  static func next() async throws(SheafError) -> EncoderTurn {
    guard await turns.enter() else { throw SheafError(.cancelled, "cancelled") }
    return EncoderTurn()
  }

  // It does not throw: an object without properties is whole from the start, and `deinit` would give back a turn that
  // it never had.
  private init() {}

  deinit { Self.turns.leave() }
}
