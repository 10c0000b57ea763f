import CompositionModel
import Media
import RenderTasks
import Stitcher
import SystemSupport

/// Keeps the stored samples of a track on the disk until the film is written, because the end of its session decides
/// which of them are in it.
final class StoredTrackWriter {
  /// What a session presents of the track.
  struct Part {
    var track: CopiedFilm.Track
    /// How many pictures are presented; 0 for sound.
    var pictures = 0
    /// How many samples of each channel are presented; 0 for pictures.
    var samples: Int64 = 0
  }

  private let format: StoredFormat
  /// Its language and title take the place of those of the format. Nil: those stay.
  private let label: TrackLabel?
  /// Degrees clockwise, in place of the format's. Nil: the format's.
  private let rotation: Int?
  private let spool: PacketSpool
  /// The decoding time of the latest sample.
  private var last: MediaTime?
  /// Whether samples of several files were appended.
  private var isMixed = false

  init(_ format: StoredFormat, label: TrackLabel?, rotation: Int?) throws {
    self.format = format
    self.label = label
    self.rotation = rotation
    spool = PacketSpool(format.track, in: try OpenFile.unnamed())
  }

  var type: MediaType { format.type }
  var isEmpty: Bool { spool.entries.isEmpty }

  func append(_ sample: StoredSample) throws {
    if sample.format != format {
      let difference = sample.format.track.difference(from: format.track) ?? "the orientation differs"
      throw SheafError(.misuse, "a sample cannot follow without encoding, because \(difference)")
    }
    guard sample.presentationTime.isNumeric, sample.decodingTime.isNumeric, sample.duration.isNumeric else {
      throw SheafError(
        .misuse,
        "a sample has the times \(sample.presentationTime) and \(sample.decodingTime) and the duration "
          + "\(sample.duration)")
    }
    guard sample.marks.hasPresentationTime else {
      throw SheafError(
        .misuse,
        "the file states no presentation time of the sample that is decoded at \(sample.decodingTime), which cannot be "
          + "stored as it is")
    }
    if let last, sample.decodingTime < last {
      throw SheafError(
        .misuse, "a sample that is decoded at \(sample.decodingTime) was appended after one that is at \(last)")
    }
    try spool.append(
      sample.bytes, pts: tick(sample.presentationTime), dts: tick(sample.decodingTime),
      duration: tick(sample.duration), isKeyframe: sample.isKeyframe, marks: sample.marks)
    last = sample.decodingTime
    if sample.format.track.parameterSets != format.track.parameterSets { isMixed = true }
  }

  private func tick(_ time: MediaTime) throws -> Int64 {
    Int64(clamping: try (time.exact / format.timebase.exact).rounded)
  }

  private func time(_ tick: Int64) throws -> MediaTime { try format.timebase * Rational(tick) }

  /// What is presented from a time to another. Throws `.misuse` if nothing is, or if the container cannot begin or end
  /// there.
  /// - Parameter sessionEnd: Nil: to the end of the last sample.
  func part(from sessionStart: MediaTime, to sessionEnd: MediaTime?, in container: Container) throws -> Part {
    let entries = spool.entries
    guard let stop = entries.lazy.filter({ !$0.isHidden }).map({ $0.pts + max(1, $0.duration) }).max() else {
      throw SheafError(.misuse, "no sample was appended to the \(format.type) track")
    }
    var clip = PassthroughTask.Clip(
      digest: "", track: 0, codec: format.codec, timebase: format.timebase, discontinuities: nil, from: nil,
      start: try tick(sessionStart), end: stop, target: 0)
    var end = try time(stop)
    if let sessionEnd, sessionEnd < end {
      end = sessionEnd
      clip.end = try tick(sessionEnd)
    }
    guard clip.start < clip.end else {
      throw SheafError(.misuse, "no sample of the \(format.type) track is within the session")
    }
    let duration = try duration(from: sessionStart, to: end, clip)
    var first = 0
    var pictures = 0
    if format.type == .video {
      first = try firstPicture(&clip, in: container)
      if clip.end < stop, !container.hasEditLists { try checkEnd(clip.end, in: container) }
      var earliest = entries.lazy.map(\.pts).filter { $0 <= clip.start }.max() ?? clip.start
      earliest = max(earliest, clip.from?.pts ?? earliest)
      pictures = entries[first...].count { !$0.isHidden && earliest <= $0.pts && $0.pts < clip.end }
    }
    let plan = PassthroughTask.Track(
      type: format.type, clips: [clip], duration: duration, label: label, rotation: rotation)
    let track = CopiedFilm.Track(plan, hasMixedClips: isMixed) { [spool, first] _ in spool.packets(from: first) }
    let samples = try (duration.exact * Rational(format.track.sampleRate)).rounded
    return Part(track: track, pictures: pictures, samples: format.type == .audio ? Int64(clamping: samples) : 0)
  }

  /// The duration of a session: exactly, or to the nearest tick if its times have no common timescale.
  private func duration(
    from start: MediaTime, to end: MediaTime, _ clip: PassthroughTask.Clip
  ) throws(TimeError) -> MediaTime {
    do {
      return try end - start
    } catch {
      return try format.timebase * Rational(clip.end - clip.start)
    }
  }

  /// The sample with which the stored pictures begin: the keyframe that the first one which is presented needs.
  private func firstPicture(_ clip: inout PassthroughTask.Clip, in container: Container) throws -> Int {
    let entries = spool.entries
    let start = clip.start
    let shown = entries.lazy.map(\.pts).filter { $0 <= start }.max()
    let proved = entries.lastIndex { $0.isStart && $0.pts <= shown ?? .min }
    // Or else what the file states, as decoders take it.
    guard let keyframe = proved ?? entries.firstIndex(where: \.isKeyframe) else {
      throw SheafError(.misuse, "no sample of the video track is a keyframe, at which decoding can start")
    }
    let first = entries[keyframe]
    // Pictures that follow it and are shown before it depend on others. Of an unproved one that is not known.
    if first.isStart { clip.from = Keyframe(pts: first.pts, dts: first.dts, position: -1) }
    // The first picture is presented from the start on, if its time was rounded to after it.
    if shown == nil, first.pts - start <= 1 { clip.start = first.pts }
    if let shown, shown != first.pts, first.pts < start, !container.hasEditLists {
      throw SheafError(
        .misuse,
        "without encoding, pictures in \(container) begin at a keyframe; the session starts at \(try time(start)) s, "
          + "which is none\(try nearestKeyframes(start))")
    }
    return keyframe
  }

  /// Checks that pictures can end at a time where no edit list hides what follows.
  private func checkEnd(_ end: Int64, in container: Container) throws {
    let entries = spool.entries
    guard let next = entries.indices.filter({ end <= entries[$0].pts }).min(by: { entries[$0].pts < entries[$1].pts })
    else { return }
    guard entries[next].isStart, entries[next...].allSatisfy({ end <= $0.pts }) else {
      throw SheafError(
        .misuse,
        "without encoding, pictures in \(container) end before a keyframe on which no earlier one depends; the session "
          + "ends at \(try time(end)) s, which is before another\(try nearestKeyframes(end))")
    }
  }

  /// The keyframes before and after a time, for a message.
  private func nearestKeyframes(_ tick: Int64) throws -> String {
    let keyframes = spool.entries.lazy.filter(\.isStart).map(\.pts)
    let nearest = [keyframes.filter { $0 <= tick }.max(), keyframes.filter { tick < $0 }.min()].compactMap(\.self)
    let times = try nearest.map { "\(try time($0))" }.joined(separator: " and ")
    return times.isEmpty ? "" : "; the nearest are at \(times) s"
  }
}
