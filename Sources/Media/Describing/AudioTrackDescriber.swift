internal import CMedia
internal import CompositionModel

/// Finds out what is in an audio track.
struct AudioTrackDescriber {
  private let stream: UnsafeMutablePointer<AVStream>
  private let name: String

  init(_ source: any ByteSource, _ demuxer: Demuxer, _ stream: UnsafeMutablePointer<AVStream>) {
    self.stream = stream
    name = demuxer.name
  }

  func describe(_ finding: inout TrackFinding, _ scan: PacketScan) throws(MediaError) {
    // Opening tells whether the codec can be decoded at all.
    _ = try Decoder(stream, name: name)
    let parameters = stream.pointee.codecpar.pointee
    guard parameters.sample_rate > 0, parameters.ch_layout.nb_channels > 0, scan.packetCount > 0 else {
      throw MediaError(
        .damaged, operation: "describing", subject: name,
        message: "audio track \(finding.index) has no sound that can be decoded")
    }
    let depth = max(parameters.bits_per_raw_sample, parameters.bits_per_coded_sample)
    let properties = avcodec_descriptor_get(parameters.codec_id)?.pointee.props ?? 0
    finding.start = scan.start
    finding.end = scan.end
    finding.description.audio = AudioFormat(
      sampleRate: Int(parameters.sample_rate), channels: Int(parameters.ch_layout.nb_channels),
      layout: layoutName(parameters.ch_layout),
      bitDepth: depth > 0 && properties & AV_CODEC_PROP_LOSSLESS != 0 ? Int(depth) : nil)
  }
}
