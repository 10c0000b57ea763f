internal import CMedia
internal import CompositionModel

/// Describes an audio track.
struct AudioTrackProbe {
  private let source: any ByteSource
  private let demuxer: Demuxer
  private let stream: UnsafeMutablePointer<AVStream>
  private let liveness: Liveness?

  init(
    _ source: any ByteSource, _ demuxer: Demuxer, _ stream: UnsafeMutablePointer<AVStream>, liveness: Liveness?
  ) {
    self.source = source
    self.demuxer = demuxer
    self.stream = stream
    self.liveness = liveness
  }

  /// Adds the format and the range to `finding`.
  func probe(_ finding: inout TrackFinding, _ scan: AudioScan) throws(MediaError) {
    guard let extent = try scan.extent(), stream.hasSoundFormat else {
      throw MediaError(
        .damaged, operation: "probing", subject: demuxer.name,
        message: "audio track \(finding.index) \(scan.failure)")
    }
    let parameters = stream.pointee.codecpar.pointee
    let depth = max(parameters.bits_per_raw_sample, parameters.bits_per_coded_sample)
    let properties = avcodec_descriptor_get(parameters.codec_id)?.pointee.props ?? 0
    var format = AudioFormat(
      sampleRate: Int(parameters.sample_rate), channels: Int(parameters.ch_layout.nb_channels),
      layout: layoutName(parameters.ch_layout),
      bitDepth: depth > 0 && properties & AV_CODEC_PROP_LOSSLESS != 0 ? Int(depth) : nil)
    var count = extent.count
    if scan.mayChangeFormat, let first = scan.firstFormat {
      // What libavformat states may be the format of later samples.
      (format.sampleRate, format.channels, format.layout) = (first.sampleRate, first.channels, first.layout)
      if let whole = try decodeAll(finding, from: extent.start, format) { (count, format.changes) = whole }
    }
    finding.start = extent.start
    finding.length = (count, format.sampleRate)
    finding.description.audio = format
  }

  /// How many samples the track has at the rate of `format`, that of its first ones, and where the stored format
  /// changes. Nil if nothing can be decoded.
  private func decodeAll(
    _ finding: TrackFinding, from start: Int64, _ format: AudioFormat
  ) throws(MediaError) -> (count: Int64, changes: [AudioFormat.Change]?)? {
    let reader = try AudioReader(
      source: source, name: demuxer.name, track: finding.index, timebase: finding.description.timebase, origin: start,
      discontinuities: finding.description.discontinuities, format: format, from: .min / 4, liveness: liveness)
    guard let first = try reader.next() else { return nil }
    var end = first.end
    while let block = try reader.next() { end = block.end }
    let changes = reader.changes.map { change in
      AudioFormat.Change(
        sample: change.sample - first.position, sampleRate: change.sampleRate, layout: change.layout)
    }
    return (end - first.position, changes.isEmpty ? nil : changes)
  }
}
