import Foundation

/// A place where decoding can start. Every frame at or after it is then decoded correctly.
public struct Keyframe: Sendable, Hashable, Codable {
  /// Presentation time in ticks of the track's timebase.
  public var pts: Int64
  /// Decoding time in ticks of the track's timebase.
  public var dts: Int64
  /// The packet's byte position in the file; -1 if the container does not give it.
  public var position: Int64
  /// The index in `VideoFormat.decoderStates` of what a decoder is given before the packet. -1, and every index beyond
  /// that list: it needs nothing.
  public var state: Int

  public init(pts: Int64, dts: Int64, position: Int64, state: Int = 0) {
    self.pts = pts
    self.dts = dts
    self.position = position
    self.state = state
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let fields = try container.decode([Int64].self)
    guard fields.count == 3 || fields.count == 4, let state = Int(exactly: fields.dropFirst(3).first ?? 0) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a keyframe is [pts, dts, position] or [pts, dts, position, state]")
    }
    guard Array(fields.prefix(2)).areTicks, fields[2] >= -1, state >= -1 else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "\(fields) is not a keyframe with times within \(StoredTime.ticks) and a position from -1")
    }
    self.init(pts: fields[0], dts: fields[1], position: fields[2], state: state)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode([pts, dts, position] + (state == 0 ? [] : [Int64(state)]))
  }
}

extension Keyframe {
  /// How many starts before a damaged stretch the decoder of its frames begins at most.
  package static let deepest = 4
  /// How many starts before the first frame that is read a reader needs, if the file has so many: each of the stretches
  /// before that frame may be damaged so much that its own pictures are missing.
  package static let neededBefore = 2 * deepest
}

/// What packets before a start leave in a decoder that later pictures depend on, and that a decoder which is opened
/// with the file's own headers lacks.
public struct DecoderState: Sendable, Hashable, Codable {
  /// Headers in the form in which the track's packets hold them: parameter sets, sequence headers. They are put in
  /// front of the start's packet.
  public var headers: [UInt8]
  /// The setup record that took the place of the file's own, in the container's form. Nil if the file's own holds.
  public var record: [UInt8]?
  /// 256 colours of four bytes, as libavcodec takes them beside a packet. Nil if the packets brought none.
  public var palette: [UInt8]?

  public init(headers: [UInt8] = [], record: [UInt8]? = nil, palette: [UInt8]? = nil) {
    self.headers = headers
    self.record = record
    self.palette = palette
  }

  private enum CodingKeys: String, CodingKey {
    case headers, record, palette
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    headers = [UInt8](try container.decodeIfPresent(Data.self, forKey: .headers) ?? Data())
    record = try container.decodeIfPresent(Data.self, forKey: .record).map { [UInt8]($0) }
    palette = try container.decodeIfPresent(Data.self, forKey: .palette).map { [UInt8]($0) }
  }

  /// Bytes are encoded as base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if !headers.isEmpty { try container.encode(Data(headers), forKey: .headers) }
    try container.encodeIfPresent(record.map { Data($0) }, forKey: .record)
    try container.encodeIfPresent(palette.map { Data($0) }, forKey: .palette)
  }

  /// Its size in bytes.
  public var byteCount: Int { headers.count + (record?.count ?? 0) + (palette?.count ?? 0) }
}

/// How it was proved that decoding can start at a track's keyframes. A container's own flags are never enough.
public enum StartProof: String, Sendable, Hashable, Codable, CaseIterable {
  /// The codec codes each picture without reference to another.
  case intraOnly
  /// The headers in the packets: the first picture is coded without reference to another.
  case bitstream
  /// The pictures that a decoder gives from there were those that it gives from the head of the file.
  case decoding
  /// There is no proved start but the head of the file.
  case headOnly
}
