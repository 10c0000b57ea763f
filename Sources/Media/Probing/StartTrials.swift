internal import CMedia
internal import CompositionModel

/// Proves by decoding where decoding can start, for codecs whose packets do not show it.
///
/// The track is decoded once from its head. At a candidate, another decoder starts, and gets the same packets. The
/// candidate is proved when that decoder has given the same pictures at the same times for a while, and at the next
/// candidate too, without an error.
struct StartTrials {
  /// The fewest pictures that must be the same, unless the track ends before.
  fileprivate static let fewestPictures = 48
  /// A decoder that is so many pictures behind the first one has failed.
  fileprivate static let mostMissing = 2
  /// At most so many decoders run beside the first. A candidate that comes while all are in use is left out.
  fileprivate static let mostTrials = 4

  private let demuxer: Demuxer
  private let stream: UnsafeMutablePointer<AVStream>
  private let candidates: [Keyframe]
  private let states: DecoderStates

  /// - Parameters:
  ///   - finding: The track's, with its discontinuities.
  ///   - candidates: Rising.
  init(
    _ source: any ByteSource, name: String, _ finding: TrackFinding, candidates: [Keyframe], states: DecoderStates,
    liveness: Liveness?
  ) throws(MediaError) {
    let places = finding.description.discontinuities.map { [finding.index: $0] } ?? [:]
    demuxer = try Demuxer(source, name: name, discontinuities: places, liveness: liveness)
    let stream = try demuxer.stream(finding.index)
    demuxer.select { $0 == stream }
    self.stream = stream
    self.candidates = candidates
    self.states = states
  }

  /// The times of all pictures that are shown and of those that are damaged or lost, and the candidates that were
  /// proved.
  func run() throws(MediaError) -> (times: [Int64], damaged: [Int64], starts: [Keyframe]) {
    let whole = try TrialDecoder(stream, name: demuxer.name, from: nil)
    var trials: [Trial] = []
    var proved: [Keyframe] = []
    var next = 0
    let packet = try Packet()
    var isAtEnd = false
    while !isAtEnd {
      isAtEnd = try !demuxer.read(into: packet, ofTrack: Int(stream.pointee.index))
      if !isAtEnd, next < candidates.count, candidates[next].isPacket(packet) {
        let candidate = candidates[next]
        next += 1
        if trials.count < Self.mostTrials {
          let decoder = try TrialDecoder(
            stream, name: demuxer.name, from: candidate.pts, state: states.state(at: candidate))
          trials.append(
            Trial(candidate, decoder, until: next < candidates.count ? candidates[next].pts : candidate.pts))
        }
      }
      try whole.decode(isAtEnd ? nil : packet)
      var running: [Trial] = []
      for trial in trials {
        try trial.decoder.decode(isAtEnd ? nil : packet)
        switch trial.compare(with: whole.pictures, isAtEnd: isAtEnd) {
        case nil: running.append(trial)
        case true?: proved.append(trial.start)
        case false?: break
        }
      }
      trials = running
    }
    return (whole.pictures.map(\.time), whole.damaged + whole.suspects, proved.sorted { $0.pts < $1.pts })
  }
}

/// A decoder that started at a candidate.
private final class Trial {
  let start: Keyframe
  let decoder: TrialDecoder
  /// The pictures up to this time must be the same.
  private let end: Int64
  private var compared = 0

  init(_ start: Keyframe, _ decoder: TrialDecoder, until end: Int64) {
    self.start = start
    self.decoder = decoder
    self.end = end
  }

  /// Whether the candidate is a start; nil if more pictures are needed.
  func compare(with whole: [TrialDecoder.Picture], isAtEnd: Bool) -> Bool? {
    if decoder.hasFailed { return false }
    let first = whole.partitionPoint { start.pts <= $0.time }
    let own = decoder.pictures
    while compared < own.count, first + compared < whole.count {
      let picture = whole[first + compared]
      guard own[compared] == picture else { return false }
      compared += 1
      if compared >= StartTrials.fewestPictures, picture.time >= end { return true }
    }
    if whole.count - first - own.count > StartTrials.mostMissing { return false }
    return isAtEnd ? own.count == whole.count - first && compared > 0 : nil
  }
}

/// Decodes packets to the times and the digests of the pictures that are shown.
private final class TrialDecoder {
  struct Picture: Equatable {
    var time: Int64
    var hash: UInt64
  }

  private(set) var pictures: [Picture] = []
  /// The times of damaged pictures.
  private(set) var damaged: [Int64] = []
  /// The times of packets of which the decoder has reported an error, and whose pictures have not come.
  private(set) var suspects: Set<Int64> = []
  private let decoder: Decoder
  private let first: Int64?
  private let frame: Frame
  private var clock: FrameClock
  /// What the first packet needs.
  private var state: DecoderState?

  /// Whether the codec has reported an error for the packets.
  var hasFailed: Bool { decoder.firstFailure != nil }

  /// - Parameter first: Earlier pictures are left out.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, name: String, from first: Int64?, state: DecoderState? = nil
  ) throws(MediaError) {
    self.state = state
    decoder = try Decoder(stream, name: name)
    clock = FrameClock(stream)
    frame = try Frame()
    self.first = first
  }

  /// Decodes a packet; nil for the end.
  func decode(_ packet: Packet?) throws(MediaError) {
    if let state, let packet {
      let first = try Packet(referencing: packet)
      try first.prepend(state)
      try decoder.send(first)
      self.state = nil
    } else {
      try decoder.send(packet)
    }
    while try decoder.receive(frame.pointer) {
      if let time = clock.time(of: frame.pointer, after: decoder.end), first.map({ time >= $0 }) ?? true {
        let hash = sheaf_frame_hash(frame.pointer)
        guard hash != 0 else {
          throw MediaError(
            .outOfMemory, operation: "comparing", subject: "pictures", message: "there is no memory for their digests")
        }
        takeReports()
        let isSuspect = suspects.remove(time) != nil
        pictures.append(Picture(time: time, hash: hash))
        if frame.isDamaged || isSuspect && !decoder.flagsConcealment { damaged.append(time) }
      }
      av_frame_unref(frame.pointer)
    }
    takeReports()
  }

  private func takeReports() {
    for report in decoder.takeReports() where report.isError && report.time != sheaf_no_pts {
      if first.map({ report.time >= $0 }) ?? true { suspects.insert(report.time) }
    }
  }
}
