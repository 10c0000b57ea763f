import CompositionModel
import Media
import RenderTasks

/// The packets of a track of the output, in order of decoding, on the output's timeline.
struct CopiedTrack {
  private(set) var output: CopyMuxer.Track
  /// The packet to be written next; nil after the last.
  private(set) var next: Packet?
  private let track: PassthroughTask.Track
  private let container: Container
  private let open: (PassthroughTask.Clip) throws(StitchError) -> any PacketSource
  private let tick: Double
  /// The samples at the start that the first frame of an MP3 file can state as hidden.
  private static let mostHiddenOfMP3 = 4095
  private var clip = 0
  private var reader: any PacketSource
  /// Packets on the output's timeline that are to be written before more are read.
  private var ready: [Packet] = []
  private var isAtEnd = false
  /// Pictures that are presented after the clip's end, and are needed if one before it follows.
  private var held: [Packet] = []
  /// The latest packets of sound before the clip's start.
  private var preroll: ArraySlice<Packet> = []
  private var hasBegun = false
  /// Whether samples before the first clip's start are stored and not presented.
  private let hidesSamples: Bool
  /// Whether the packets before the first clip's are, and the clip begins with a packet.
  private let hidesPackets: Bool
  /// Ticks by which the clip's sound is later than its place, so that no two packets overlap; below zero it is earlier,
  /// so that there is no gap.
  private var delay: Int64 = 0
  /// Where the latest packet of sound ends.
  private var end: Int64?
  /// The longest duration of the clip's packets of sound so far.
  private var longest: Int64 = 0
  private var lastDecoding: Int64?
  /// Ticks by which decoding is earlier than stated. Some files state a time of decoding after that of presentation.
  private var lead: Int64 = 0
  /// The first packets, which were looked at.
  private var unread: ArraySlice<Packet> = []
  /// The number of the packets that were given so far, and the longest duration of one, in ticks.
  private var (packetCount, longestPacket) = (0, Int64(0))
  /// From where to where the packets that are presented reach, in ticks of the output.
  private var extent: (start: Int64, end: Int64)?
  /// The decoding time of the first packet, and the ticks from it to the end of the last one.
  private var decoded: (start: Int64?, length: Int64) = (nil, 0)

  init(_ track: CopiedFilm.Track, _ container: Container) throws(StitchError) {
    guard let first = track.plan.clips.first else { throw StitchError(.task, "a track without clips") }
    self.track = track.plan
    self.container = container
    open = track.open
    tick = first.timebase.approximateSeconds
    reader = try open(first)
    // The other clips are opened when it is their turn; of FLAC the numbers of all frames depend on the ends of them.
    var hasShortFrames = track.hasMixedClips
    if reader.format.codec == "flac" {
      for clip in track.plan.clips.dropLast() where !hasShortFrames {
        hasShortFrames = try open(clip).format.hasShortFrame(before: clip.end)
      }
    }
    output = CopyMuxer.Track(
      reader.format, isOneFile: track.plan.clips.count == 1 && !track.hasMixedClips, hasShortFrames: hasShortFrames,
      label: track.plan.label, rotation: track.plan.rotation)
    output.isCarried = track.plan.isCarried ?? false
    output.isAlternate = track.isAlternate
    output.timecode = track.plan.timecode
    hidesSamples = track.plan.type == .audio && reader.format.canHideSamples(in: container)
    hidesPackets = !hidesSamples && track.plan.type == .audio && reader.format.canHidePackets(in: container)
    end = hidesSamples ? nil : 0
    if track.plan.type == .video { try readLead() }
    try advance()
    // There may be no captions in the part.
    guard next != nil || track.plan.type == .subtitle else {
      throw StitchError(
        .task, "media \(first.digest.prefix(12)) has nothing of track \(first.track) in the part that is copied")
    }
    if hidesSamples, !container.hasEditLists, let next { try state(hidden: next) }
  }

  /// Looks at the first pictures of a clip.
  private mutating func readLead() throws(StitchError) {
    let ahead = try mapErrors(to: StitchError.media) { () throws(MediaError) in try reader.lookAhead() }
    lead = max(lead, ahead.lead)
    unread += ahead.packets
  }

  /// States how many samples are before time zero, of which the first packet is the one given.
  private mutating func state(hidden first: Packet) throws(StitchError) {
    var hidden = format.samples(max(0, -first.pts))
    // Matroska's times are rounded.
    if abs(hidden - format.initialPadding) <= format.samples(1) { hidden = format.initialPadding }
    output.hiddenSamples = hidden
    // The muxer of MP3 takes their number from the first packet.
    guard format.codec == "mp3" else { return }
    try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try first.skipSamples(atStart: hidden, atEnd: first.samplesSkippedAtEnd)
    }
  }

  private var format: StoredTrackFormat { output.format }

  /// The decoding time of the next packet, in seconds; 0 if there is none.
  var seconds: Double { Double(next?.decodingTime ?? 0) * tick }

  /// The same, rounded down.
  var milliseconds: Int64 {
    let timebase = clipEntry.timebase
    return Int64(
      clamping: Int128(next?.decodingTime ?? 0) * Int128(timebase.value) * 1000 / Int128(max(1, timebase.timescale)))
  }

  mutating func advance() throws(StitchError) {
    while ready.isEmpty, !isAtEnd { try read() }
    next = ready.isEmpty ? nil : ready.removeFirst()
    guard let next else { return }
    packetCount += 1
    longestPacket = max(longestPacket, next.duration)
    let first = decoded.start ?? next.decodingTime
    decoded = (first, next.decodingTime - first + max(0, next.duration))
    let (start, end) = (max(0, next.pts), next.pts + max(0, next.duration))
    if start < end || start == next.pts {
      extent = (min(start, extent?.start ?? start), max(end, extent?.end ?? end))
    }
  }

  var type: MediaType { track.type }

  /// How the track is presented.
  var presented: MovieIndex.Track {
    MovieIndex.Track(duration: track.duration, cleanAperture: track.cleanAperture, size: format.size)
  }

  /// What a reader should find of the track, after the last packet.
  var written: OutputCheck.Track {
    let duration = track.duration.approximateSeconds
    // A movie has the durations of packets in order of decoding, and a file may state shorter ones than there are: its
    // last pictures then begin after the end that a reader computes.
    let end = min(extent?.end ?? 0, (extent?.start ?? 0) + decoded.length)
    var written = OutputCheck.Track(
      type: track.type, codec: format.codec, packetCount: packetCount, end: min(duration, Double(end) * tick),
      longestPacket: Double(longestPacket) * tick)
    written.start = Double(extent?.start ?? 0) * tick
    // A file may state no durations of its packets.
    written.latestEnd = max(written.end, duration)
    return written
  }

  private mutating func read() throws(StitchError) {
    let packet = try mapErrors(to: StitchError.media) { () throws(MediaError) -> Packet? in
      if let packet = unread.popFirst() { return packet }
      return try reader.next()
    }
    guard let packet else { return try endClip() }
    guard packet.hasPresentationTime else {
      throw StitchError(
        .task, "media \(clipEntry.digest.prefix(12)) has a packet without a time, which cannot be copied")
    }
    switch track.type {
    case .video: try addPicture(packet)
    case .audio: try addSound(packet)
    case .subtitle, .metadata: try addText(packet)
    }
  }

  private var clipEntry: PassthroughTask.Clip { track.clips[clip] }

  private mutating func endClip() throws(StitchError) {
    unread = []
    held = []
    preroll = []
    hasBegun = false
    delay = 0
    longest = 0
    clip += 1
    guard clip < track.clips.count else {
      clip = track.clips.count - 1
      isAtEnd = true
      return
    }
    reader = try open(clipEntry)
    if track.type == .video { try readLead() }
    guard reader.format.joinedParameterSets == format.joinedParameterSets else {
      throw StitchError(
        .task,
        "media \(clipEntry.digest.prefix(12)) cannot be joined without encoding: its parameter sets are not those of the "
          + "first clip")
    }
  }

  private mutating func addPicture(_ packet: Packet) throws(StitchError) {
    if packet.decodingTime - lead >= clipEntry.end { return try endClip() }
    // Pictures that depend on others before the keyframe cannot be decoded.
    if let from = clipEntry.from, packet.pts < from.pts { return }
    // A player starts at the last keyframe before what is presented. Where only the file says that it is one, as of a
    // picture whose GOP is open, the pictures after it may not be right.
    if clip == 0, lastDecoding != nil, packet.pts <= clipEntry.held ?? clipEntry.start { packet.isKeyframe = false }
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
    for packet in held + [packet] {
      show(packet)
      place(packet)
    }
    held = []
  }

  /// Has a picture that began before the clip, or that would go on after it, be presented for its part alone.
  private func show(_ packet: Packet) {
    if packet.pts == clipEntry.held {
      packet.duration = max(0, packet.duration - (clipEntry.start - packet.pts))
      packet.pts = clipEntry.start
    }
    if packet.pts < clipEntry.end { packet.duration = min(packet.duration, clipEntry.end - packet.pts) }
  }

  /// Captions that are shown at the clip's start or end are shown for their part.
  private mutating func addText(_ packet: Packet) throws(StitchError) {
    if packet.pts >= clipEntry.end { return try endClip() }
    let end = packet.pts + max(1, packet.duration)
    guard clipEntry.start < end else { return }
    if packet.pts < clipEntry.start {
      packet.duration = max(0, packet.duration - (clipEntry.start - packet.pts))
      packet.pts = clipEntry.start
    }
    packet.duration = min(packet.duration, clipEntry.end - packet.pts)
    packet.dts = packet.pts
    place(packet)
  }

  private mutating func addSound(_ packet: Packet) throws(StitchError) {
    if packet.pts >= clipEntry.end { return try endClip() }
    guard format.trim(packet, to: clipEntry.start..<clipEntry.end) else { return }
    // A file may state a shorter duration of its last packet, of which all samples are decoded where others follow. A
    // tick of difference is one of rounding.
    longest = max(longest, packet.duration)
    if format.hasEqualFrames, clip < track.clips.count - 1, packet.duration + 1 < longest { packet.duration = longest }
    let (start, stop) = (packet.pts, packet.pts + packet.duration)
    let hidesRunUp = clip == 0 && hidesSamples
    if !hasBegun {
      // Without an edit list, the nearest packet is the first. Of a clip that follows another one it is the one nearest
      // to the end of the sound that is there, so that delays do not add up, and follows it without a gap.
      let isBefore =
        hidesRunUp ? stop <= clipEntry.start : 2 * max(clipEntry.start, soundEnd) > start + stop
      if isBefore {
        let count = hidesRunUp || hidesPackets ? format.prerollPackets : format.silentPackets
        preroll = clip == 0 ? (preroll + [packet]).suffix(count) : []
        return
      }
      hasBegun = true
      let late = soundEnd - start
      delay = clip > 0 && 2 * abs(late) <= packet.duration ? late : max(0, late)
      if hidesRunUp, container == .mp3 {
        let (start, format) = (clipEntry.start, format)
        preroll.removeAll { format.samples(start - $0.pts) > Self.mostHiddenOfMP3 }
      }
      for packet in preroll {
        if hidesPackets { try hide(packet) }
        place(packet)
      }
      preroll = []
    }
    // The last packet's duration is that of its samples that are presented, as encoders of films state it.
    if hidesSamples, clip == track.clips.count - 1, stop > clipEntry.end {
      packet.duration = clipEntry.end - start
      if !container.hasEditLists { try hide(format.samples(stop - clipEntry.end), atEndOf: packet) }
    }
    place(packet)
    end = packet.pts + packet.duration
  }

  /// Has all samples of a packet discarded.
  private func hide(_ packet: Packet) throws(StitchError) {
    // A decoder makes none of it.
    if format.silentPackets > 0 { return }
    try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try packet.skipSamples(atStart: 0, atEnd: format.sampleCount(of: packet))
    }
  }

  private func hide(_ excess: Int, atEndOf packet: Packet) throws(StitchError) {
    // What the packet states itself is exact where times are rounded.
    if abs(packet.samplesSkippedAtEnd - excess) <= format.samples(1) { return }
    try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try packet.skipSamples(atStart: 0, atEnd: excess)
    }
  }

  /// Where the sound that has been written ends, on the timeline of the clip's media.
  private var soundEnd: Int64 { end.map { $0 - clipEntry.target + clipEntry.start } ?? .min / 4 }

  /// Puts a packet on the output's timeline. Decoding times rise.
  private mutating func place(_ packet: Packet) {
    let shift = clipEntry.target - clipEntry.start + delay
    let decoding = packet.decodingTime + shift - lead
    packet.pts += shift
    // Without an edit list the first picture, which may have begun before the clip, begins with it.
    if !(container.hasEditLists || hidesSamples) { packet.pts = max(0, packet.pts) }
    packet.dts = min(max(decoding, lastDecoding.map { $0 + 1 } ?? decoding), packet.pts)
    lastDecoding = packet.dts
    ready.append(packet)
  }
}
