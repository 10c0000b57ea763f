internal import CMedia

/// A file that a media file has in it, such as a font, as it is stored.
package struct StoredAttachment: Sendable {
  /// What libavformat states of it: its name and its media type.
  fileprivate var metadata: [String: String]
  fileprivate var codec: UInt32
  package let bytes: [UInt8]

  /// The most bytes of the attached files of a film together.
  package static let greatestSize = 256 << 20

  /// The attached files of a media file by the numbers of their streams.
  package static func all(
    in source: any ByteSource, name: String, liveness: Liveness? = nil
  ) throws(MediaError) -> [Int: StoredAttachment] {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    var found: [Int: StoredAttachment] = [:]
    for case let stream? in demuxer.streams {
      let parameters = stream.pointee.codecpar!
      guard parameters.pointee.codec_type == AVMEDIA_TYPE_ATTACHMENT else { continue }
      found[Int(stream.pointee.index)] = StoredAttachment(
        metadata: [String: String](metadata: stream.pointee.metadata), codec: parameters.pointee.codec_id.rawValue,
        bytes: stream.parameterSets)
    }
    return found
  }
}

extension MuxerFile {
  /// Adds an attached file, before the head is written.
  func add(_ attachment: StoredAttachment) throws(MediaError) {
    let stream = try newStream()
    let parameters = stream.pointee.codecpar!
    parameters.pointee.codec_type = AVMEDIA_TYPE_ATTACHMENT
    parameters.pointee.codec_id = AVCodecID(rawValue: attachment.codec)
    let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
    let copy = try allocated(av_mallocz(attachment.bytes.count + padding), "opening the output")
    copy.copyMemory(from: attachment.bytes, byteCount: attachment.bytes.count)
    parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
    parameters.pointee.extradata_size = Int32(clamping: attachment.bytes.count)
    for (key, value) in attachment.metadata.sorted(by: { $0.key < $1.key }) {
      av_dict_set(&stream.pointee.metadata, key, value, 0)
    }
  }
}
