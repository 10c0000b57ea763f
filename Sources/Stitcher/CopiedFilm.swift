package import CompositionModel
package import Media
package import RenderTasks

/// Makes a film of stored packets. Of the pictures before a clip's start that its first ones depend on, and of the
/// sound that a decoder needs before the first sample, the packets have times before zero, which edit lists hide.
package enum CopiedFilm {
  /// The bytes from one report of progress to the next.
  private static let step: Int64 = 1 << 20

  /// A track of the output, and where its packets are.
  package struct Track {
    package var plan: PassthroughTask.Track
    /// Opens the packets of a clip, from its `from` on.
    package var open: (PassthroughTask.Clip) throws(StitchError) -> any PacketSource
    /// Whether a clip's packets may be of several files.
    package var hasMixedClips: Bool
    /// Whether players play another track of the type unless this one is chosen.
    package var isAlternate = false

    package init(
      _ plan: PassthroughTask.Track, hasMixedClips: Bool = false,
      open: @escaping (PassthroughTask.Clip) throws(StitchError) -> any PacketSource
    ) {
      (self.plan, self.hasMixedClips, self.open) = (plan, hasMixedClips, open)
    }
  }

  /// - Parameters:
  ///   - inputs: The media that the task's clips and artwork name, by digest.
  ///   - descriptor: An empty file that can be read and can seek. The caller closes it.
  ///   - liveness: Advanced with every packet that is read or written.
  ///   - progress: Called with the number of bytes in the file.
  /// - Returns: The damaged media that the film shows, as the task has them.
  /// - Throws: `.task` if the media are not as they were described, or cannot be joined; `.output` if what was written
  ///   is not what was planned.
  package static func copy(
    _ task: PassthroughTask, inputs: [String: any ByteSource], to descriptor: Int32, liveness: Liveness? = nil,
    progress: (Int64) -> Void
  ) throws(StitchError) -> ShownDamage {
    let artwork = try task.artwork.map { artwork throws(StitchError) in
      guard let input = inputs[artwork.digest] else {
        throw StitchError(.task, "media \(artwork.digest.prefix(12)) is not among the task's inputs")
      }
      return try artwork.file(in: input, liveness)
    }
    let tracks = task.tracks.map { track in
      Track(track) { clip throws(StitchError) in try open(clip, inputs, liveness) }
    }
    try write(
      tracks, texts: task.texts ?? [], attachments: try attachments(of: task, inputs, liveness),
      container: task.container, optimizeForNetworkUse: task.optimizeForNetworkUse,
      metadata: task.metadata, chapters: task.chapters ?? [], artwork: artwork, to: descriptor, liveness: liveness,
      progress: progress)
    return task.damage ?? ShownDamage()
  }

  /// The files that are in the media. Each media file is opened once.
  private static func attachments(
    of task: PassthroughTask, _ inputs: [String: any ByteSource], _ liveness: Liveness?
  ) throws(StitchError) -> [StoredAttachment] {
    var files: [String: [Int: StoredAttachment]] = [:]
    var size = 0
    var found: [StoredAttachment] = []
    for attachment in task.attachments ?? [] {
      guard let input = inputs[attachment.digest] else {
        throw StitchError(.task, "media \(attachment.digest.prefix(12)) is not among the task's inputs")
      }
      if files[attachment.digest] == nil {
        files[attachment.digest] = try mapErrors(to: StitchError.media) { () throws(MediaError) in
          try StoredAttachment.all(in: input, name: "media \(attachment.digest.prefix(12))", liveness: liveness)
        }
      }
      guard let file = files[attachment.digest]?[attachment.track] else {
        throw StitchError(
          .task,
          "media \(attachment.digest.prefix(12)) has no attached file \(attachment.track), so it is not the one described"
        )
      }
      size += file.bytes.count
      guard size <= StoredAttachment.greatestSize else {
        throw StitchError(
          .task, "the attached files have more than \(StoredAttachment.greatestSize) bytes; leave them out with 'carry'"
        )
      }
      found.append(file)
    }
    return found
  }

  private static func open(
    _ clip: PassthroughTask.Clip, _ inputs: [String: any ByteSource], _ liveness: Liveness?
  ) throws(StitchError) -> any PacketSource {
    guard let input = inputs[clip.digest] else {
      throw StitchError(.task, "media \(clip.digest.prefix(12)) is not among the task's inputs")
    }
    return try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try StoredPackets(
        input, name: "media \(clip.digest.prefix(12))", track: clip.track, codec: clip.codec, timebase: clip.timebase,
        discontinuities: clip.discontinuities, from: clip.from, completesTimes: true, liveness: liveness)
    }
  }

  /// Writes tracks whose packets are anywhere. The parameters are those of `copy`.
  package static func write(
    _ tracks: [Track], texts: [StitchedText] = [], attachments: [StoredAttachment] = [], container: Container,
    optimizeForNetworkUse: Bool,
    metadata: [String: String], chapters: [Chapter] = [], artwork: ArtworkFile? = nil, to descriptor: Int32,
    liveness: Liveness? = nil, progress: (Int64) -> Void
  ) throws(StitchError) {
    guard !tracks.isEmpty else { throw StitchError(.task, "an output needs video or audio") }
    var copied: [CopiedTrack] = []
    for track in tracks { copied.append(try CopiedTrack(track, container)) }
    var texts = try TextPackets(texts)
    let muxer = try mapErrors(to: StitchError.writing) { () throws(MediaError) in
      try CopyMuxer(
        descriptor: descriptor, name: "the output", container: container, tracks: copied.map(\.output),
        texts: texts.tracks, metadata: metadata, chapters: chapters, attachments: attachments, artwork: artwork,
        liveness: liveness)
    }
    var reported: Int64 = 0
    while true {
      let waiting = copied.indices.filter { copied[$0].next != nil }
      guard let earliest = waiting.min(by: { copied[$0].seconds < copied[$1].seconds }) else { break }
      if let packet = copied[earliest].next {
        try texts.write(through: copied[earliest].milliseconds, to: muxer)
        try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.write(packet, track: earliest) }
      }
      try copied[earliest].advance()
      if muxer.byteCount - reported >= step {
        reported = muxer.byteCount
        progress(reported)
      }
    }
    try texts.write(through: .max, to: muxer)
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.finish() }
    // Captions come after the other tracks, and have no samples beyond their end.
    let media = copied.filter { $0.type != .subtitle }
    let size = try MovieIndex.finish(
      descriptor, size: muxer.byteCount, tracks: media.map(\.presented), container: container,
      indexFirst: optimizeForNetworkUse, liveness: liveness)
    progress(size)
    try OutputCheck.check(
      writtenTo: descriptor, 0..<size, container: container, tracks: media.map(\.written),
      textCount: copied.count - media.count + texts.tracks.count, liveness: liveness)
  }
}
