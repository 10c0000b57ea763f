import CompositionModel
package import Media
package import Segmenter

/// Makes a film of stored packets. Of the pictures before a clip's start that its first ones depend on, and of the
/// sound that a decoder needs before the first sample, the packets have times before zero, which edit lists hide.
package enum CopiedFilm {
  /// The bytes from one report of progress to the next.
  private static let step: Int64 = 1 << 20

  /// - Parameters:
  ///   - inputs: The media that the task's clips and artwork name, by digest.
  ///   - descriptor: An empty file that can seek. The caller closes it.
  ///   - movement: Advanced with every packet that is read or written.
  ///   - progress: Called with the number of bytes in the file.
  /// - Throws: `.task` if the media are not as they were described, or cannot be joined.
  package static func copy(
    _ task: PassthroughTask, inputs: [String: any ByteSource], to descriptor: Int32, movement: Movement? = nil,
    progress: (Int64) -> Void
  ) throws(StitchError) {
    guard !task.tracks.isEmpty else { throw StitchError(.task, "an output needs video or audio") }
    var tracks: [CopiedTrack] = []
    let artwork = try task.artwork.map { artwork throws(StitchError) in
      guard let input = inputs[artwork.digest] else {
        throw StitchError(.task, "media \(artwork.digest.prefix(12)) is not among the task's inputs")
      }
      return try artwork.file(in: input, movement)
    }
    for track in task.tracks { tracks.append(try CopiedTrack(track, task.container, inputs, movement)) }
    let muxer = try mapErrors(to: StitchError.writing) { () throws(MediaError) in
      try CopyMuxer(
        descriptor: descriptor, name: "the output", container: task.container, tracks: tracks.map(\.format),
        metadata: task.metadata, artwork: artwork, movement: movement)
    }
    var reported: Int64 = 0
    while true {
      let waiting = tracks.indices.filter { tracks[$0].next != nil }
      guard let earliest = waiting.min(by: { tracks[$0].seconds < tracks[$1].seconds }) else { break }
      if let packet = tracks[earliest].next {
        try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.write(packet, track: earliest) }
      }
      try tracks[earliest].advance()
      if muxer.byteCount - reported >= step {
        reported = muxer.byteCount
        progress(reported)
      }
    }
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.finish() }
    progress(muxer.byteCount)
  }
}

/// The packets of a track of the output, in order of decoding, on the output's timeline.
private struct CopiedTrack {
  /// Has the format of the track.
  let format: StoredPackets
  /// The packet to be written next; nil after the last.
  private(set) var next: Packet?
  private let track: PassthroughTask.Track
  private let container: Container
  private let inputs: [String: any ByteSource]
  private let movement: Movement?
  private let tick: Double
  private var clip = 0
  private var reader: StoredPackets
  /// Packets on the output's timeline that are to be written before more are read.
  private var ready: [Packet] = []
  private var isAtEnd = false
  /// Pictures that are presented after the clip's end, and are needed if one before it follows.
  private var held: [Packet] = []
  /// The latest packets of sound before the clip's start.
  private var preroll: [Packet] = []
  private var hasBegun = false
  /// Ticks by which the clip's sound is later than its place, so that no two packets overlap.
  private var delay: Int64 = 0
  /// Where the latest packet of sound ends.
  private var end: Int64?
  private var lastDecoding: Int64?

  init(
    _ track: PassthroughTask.Track, _ container: Container, _ inputs: [String: any ByteSource], _ movement: Movement?
  ) throws(StitchError) {
    guard let first = track.clips.first else { throw StitchError(.task, "a track without clips") }
    self.track = track
    self.container = container
    self.inputs = inputs
    self.movement = movement
    tick = first.timebase.approximateSeconds
    reader = try Self.open(first, inputs, movement)
    format = reader
    end = container.hasEditLists ? nil : 0
    try advance()
  }

  /// Of the next packet's decoding.
  var seconds: Double { Double(next?.decodingTime ?? 0) * tick }

  private static func open(
    _ clip: PassthroughTask.Clip, _ inputs: [String: any ByteSource], _ movement: Movement?
  ) throws(StitchError) -> StoredPackets {
    guard let input = inputs[clip.digest] else {
      throw StitchError(.task, "media \(clip.digest.prefix(12)) is not among the task's inputs")
    }
    return try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try StoredPackets(
        input, name: "media \(clip.digest.prefix(12))", track: clip.track, codec: clip.codec, timebase: clip.timebase,
        discontinuities: clip.discontinuities, from: clip.from, movement: movement)
    }
  }

  mutating func advance() throws(StitchError) {
    while ready.isEmpty, !isAtEnd { try read() }
    next = ready.isEmpty ? nil : ready.removeFirst()
  }

  private mutating func read() throws(StitchError) {
    let packet = try mapErrors(to: StitchError.media) { () throws(MediaError) in try reader.next() }
    guard let packet else { return try endClip() }
    guard packet.hasPresentationTime else {
      throw StitchError(
        .task, "media \(clipEntry.digest.prefix(12)) has a packet without a time, which cannot be copied")
    }
    if track.type == .video { try addPicture(packet) } else { try addSound(packet) }
  }

  private var clipEntry: PassthroughTask.Clip { track.clips[clip] }

  private mutating func endClip() throws(StitchError) {
    held = []
    preroll = []
    hasBegun = false
    delay = 0
    clip += 1
    guard clip < track.clips.count else {
      clip = track.clips.count - 1
      isAtEnd = true
      return
    }
    reader = try Self.open(clipEntry, inputs, movement)
    guard reader.parameterSets == format.parameterSets else {
      throw StitchError(
        .task,
        "media \(clipEntry.digest.prefix(12)) cannot be joined without encoding: its parameter sets are not those of the "
          + "first clip")
    }
  }

  private mutating func addPicture(_ packet: Packet) throws(StitchError) {
    if packet.decodingTime >= clipEntry.end { return try endClip() }
    // Pictures that depend on others before the keyframe cannot be decoded.
    if let from = clipEntry.from, packet.pts < from.pts { return }
    guard packet.pts < clipEntry.end else {
      held.append(packet)
      return
    }
    guard held.isEmpty || container.hasEditLists && clip == track.clips.count - 1 else {
      throw StitchError(
        .task,
        "media \(clipEntry.digest.prefix(12)) cannot be cut there without encoding: pictures before the end of the clip "
          + "depend on one after it")
    }
    for packet in held + [packet] { place(packet) }
    held = []
  }

  private mutating func addSound(_ packet: Packet) throws(StitchError) {
    let (start, stop) = (packet.pts, packet.pts + packet.duration)
    if start >= clipEntry.end { return try endClip() }
    let hidesRunUp = clip == 0 && container.hasEditLists
    if !hasBegun {
      // Without an edit list, the nearest packet is the first.
      let isBefore = hidesRunUp ? stop <= clipEntry.start : 2 * clipEntry.start > start + stop
      if isBefore {
        preroll = Array((preroll + [packet]).suffix(hidesRunUp ? reader.prerollPackets : 0))
        return
      }
      hasBegun = true
      if let end { delay = max(0, end - (start - clipEntry.start + clipEntry.target)) }
      for packet in preroll { place(packet) }
      preroll = []
    }
    // The last packet's duration is that of its samples that are presented, as encoders of films state it.
    if container.hasEditLists, clip == track.clips.count - 1, stop > clipEntry.end {
      packet.duration = clipEntry.end - start
    }
    place(packet)
    end = packet.pts + packet.duration
  }

  /// Puts a packet on the output's timeline. Decoding times rise.
  private mutating func place(_ packet: Packet) {
    let shift = clipEntry.target - clipEntry.start + delay
    let decoding = packet.decodingTime + shift
    packet.pts += shift
    packet.dts = min(max(decoding, lastDecoding.map { $0 + 1 } ?? decoding), packet.pts)
    lastDecoding = packet.dts
    ready.append(packet)
  }
}
