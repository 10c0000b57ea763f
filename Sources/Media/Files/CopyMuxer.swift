internal import CMedia
package import CompositionModel

/// Writes stored packets of other files to a file, to an open descriptor that can seek and read.
package final class CopyMuxer: CaptionMuxer {
  /// A track of the output.
  package struct Track {
    package var format: StoredTrackFormat
    /// Whether all packets are of the file whose format it is.
    package var isOneFile: Bool
    /// Whether a frame of FLAC before the last may be shorter than others.
    package var hasShortFrames: Bool
    /// Decoded samples before time zero that are not presented, where the container states their number for the whole
    /// track: of MP3 and of Opus outside movies. Nil: it does not.
    package var hiddenSamples: Int?
    /// Its language and title take the place of those of the format. Nil: those stay.
    package var label: TrackLabel?
    /// Degrees clockwise, 0, 90, 180 or 270, by which players turn the pictures, whatever the format states. Nil: as it
    /// states.
    package var rotation: Int?
    /// Whether the track is carried beside those that were asked for: it is enabled only if it is in its file.
    package var isCarried = false
    /// Whether the track is not enabled, whatever its file states.
    package var isAlternate = false
    /// The timecode of the first picture, such as `01:00:00:00`. Nil: none is stated.
    package var timecode: String?

    package init(
      _ format: StoredTrackFormat, isOneFile: Bool, hasShortFrames: Bool, label: TrackLabel? = nil, rotation: Int? = nil
    ) {
      self.rotation = rotation
      (self.format, self.isOneFile, self.hasShortFrames) = (format, isOneFile, hasShortFrames)
      self.label = label
    }
  }

  /// Readers of the first frame of an MP3 file take it that a decoder delays the sound by so many samples.
  private static let delayOfMP3Decoders = 529

  private let file: MuxerFile
  private let timebases: [AVRational]
  /// Ticks by which the packets of each track are stored later.
  private let delays: [Int64]
  /// By the number of the track.
  private var flac: [Int: FLACCopy] = [:]
  /// The latest packet of each track of FLAC: the last one brings the stream info, which is known then.
  private var held: [Int: Packet] = [:]

  /// - Parameters:
  ///   - descriptor: A descriptor of an empty file. The caller closes it.
  ///   - tracks: In the order of the output.
  ///   - texts: The text tracks, which follow `tracks`.
  ///   - metadata: By libavformat's key, such as `title`.
  ///   - chapters: On the output's timeline, kept to the microsecond.
  ///   - attachments: Files that the file has in it, of Matroska alone.
  ///   - artwork: The picture that players show for the file.
  ///   - liveness: Advanced with every packet that is written.
  package init(
    descriptor: Int32, name: String, container: Container, tracks: [Track], texts: [TextTrack] = [],
    metadata: [String: String], chapters: [Chapter] = [], attachments: [StoredAttachment] = [],
    artwork: ArtworkFile? = nil, liveness: Liveness? = nil
  ) throws(MediaError) {
    timebases = tracks.map(\.format.avTimebase)
    // Matroska's players subtract the codec delay of Opus from the stored times.
    delays = tracks.map { track in
      guard container.isMatroska, let hidden = track.hiddenSamples else { return 0 }
      return track.format.ticks(hidden)
    }
    file = try MuxerFile(descriptor: descriptor, name: name, container: container, liveness: liveness)
    file.add(metadata)
    for (index, track) in tracks.enumerated() {
      let stream = try file.newStream()
      try track.format.fill(stream, of: file, hiddenSamples: track.hiddenSamples, isCarried: track.isCarried)
      if track.isAlternate { stream.pointee.disposition &= ~AV_DISPOSITION_DEFAULT }
      if let timecode = track.timecode { av_dict_set(&stream.pointee.metadata, "timecode", timecode, 0) }
      if let label = track.label { file.state(label, of: stream) }
      if let rotation = track.rotation { try file.turn(stream, by: rotation) }
      guard track.format.codec == "flac" else { continue }
      flac[index] = FLACCopy(
        track.format.parameterSets, isOneFile: track.isOneFile,
        numbering: track.hasShortFrames ? .samples : container == .flac ? .frames : .source)
      if let info = flac[index]?.infoAtStart {
        stream.pointee.codecpar.pointee.extradata.update(from: info, count: info.count)
      }
    }
    for text in texts { try file.addStream(text) }
    for attachment in attachments { try file.add(attachment) }
    try file.add(chapters)
    if let artwork { try file.add(artwork) }
    let timescale = MuxerFile.movieTimescale(timebases.map(\.den))
    var options: [(key: String, value: String)] = []
    if container.hasEditLists { options.append(("movie_timescale", "\(timescale)")) }
    if container == .mp3, let hidden = tracks.first?.hiddenSamples, hidden < Self.delayOfMP3Decoders {
      options.append(("write_xing", "0"))
    }
    try file.start(options)
  }

  /// Writes a packet, whose times are on the output's timeline in ticks of its track.
  package func write(_ packet: Packet, track: Int) throws(MediaError) {
    guard timebases.indices.contains(track) else { throw file.lack(ofTrack: track) }
    packet.pts += delays[track]
    packet.dts += delays[track]
    guard let placed = try flac[track]?.add(packet) else {
      return try file.write(packet, stream: track, timebase: timebases[track])
    }
    if let earlier = held.updateValue(placed, forKey: track) {
      try file.write(earlier, stream: track, timebase: timebases[track])
    }
  }

  package func write(_ caption: EncodedCaption, text track: Int) throws(MediaError) {
    try file.write(caption, stream: timebases.count + track)
  }

  /// Writes the packets that are held back, and the index.
  package func finish() throws(MediaError) {
    for (track, packet) in held.sorted(by: { $0.key < $1.key }) {
      if let info = flac[track]?.infoAtEnd { try packet.state(info) }
      try file.write(packet, stream: track, timebase: timebases[track])
    }
    held = [:]
    try file.finish()
  }

  /// Bytes in the file so far.
  package var byteCount: Int64 { file.byteCount }
}
