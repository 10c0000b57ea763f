internal import CMedia
internal import CompositionModel

/// A font that a file of captions brings with it.
package struct EmbeddedFont: Sendable {
  /// The font file's name, for people.
  package var name: String
  /// A font file, if it is what the file says.
  package var bytes: [UInt8]

  /// The most fonts of a file, and their bytes, that are read. Others are as if they were not there.
  private static let greatestCount = 128
  private static let greatestSize = 64 << 20

  /// The fonts of a file that libavformat recognizes: those attached to a movie, and those in the section `[Fonts]` of
  /// a script.
  package static func fonts(
    in source: any ByteSource, name: String, liveness: Liveness? = nil
  ) throws(MediaError) -> [EmbeddedFont] {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    var found: [EmbeddedFont] = []
    for case let stream? in demuxer.streams {
      let parameters = stream.pointee.codecpar.pointee
      guard parameters.extradata_size > 0, let data = parameters.extradata else { continue }
      let bytes = UnsafeBufferPointer(start: data, count: Int(parameters.extradata_size))
      switch parameters.codec_type {
      case AVMEDIA_TYPE_ATTACHMENT:
        let metadata = [String: String](metadata: stream.pointee.metadata)
        guard isFont(parameters.codec_id, metadata["mimetype"] ?? "") else { continue }
        found.append(EmbeddedFont(name: metadata["filename"] ?? "an attached font", bytes: Array(bytes)))
      case AVMEDIA_TYPE_SUBTITLE where parameters.codec_id == AV_CODEC_ID_ASS: found += fonts(ofScript: bytes)
      default: continue
      }
    }
    var rest = greatestSize
    return found.prefix(greatestCount).prefix { font in
      rest -= font.bytes.count
      return rest >= 0
    }
  }

  private static func isFont(_ codec: AVCodecID, _ type: String) -> Bool {
    codec == AV_CODEC_ID_TTF || codec == AV_CODEC_ID_OTF || type.hasPrefix("font/")
      || ["application/x-truetype-font", "application/vnd.ms-opentype", "application/x-font-ttf"].contains(type)
  }

  /// The section `[Fonts]`: each font begins with a line `fontname: NAME`, and its bytes follow, three of them as four
  /// characters of six bits each, to which 33 is added.
  private static func fonts(ofScript bytes: UnsafeBufferPointer<UInt8>) -> [EmbeddedFont] {
    var fonts: [EmbeddedFont] = []
    var isFonts = false
    for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
      if line.first == UInt8(ascii: "["), line.last == UInt8(ascii: "]") {
        isFonts = line.elementsEqual("[Fonts]".utf8)
      } else if isFonts, line.starts(with: "fontname:".utf8) {
        let name = String(decoding: line.dropFirst(9), as: UTF8.self).drop { $0 == " " }
        fonts.append(EmbeddedFont(name: String(name), bytes: []))
      } else if isFonts, !fonts.isEmpty {
        fonts[fonts.count - 1].bytes += decoded(line)
      }
    }
    return fonts
  }

  /// Characters that no group of bits has end a line.
  private static func decoded(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
    var bytes: [UInt8] = []
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for character in line {
      guard (33...96).contains(character) else { break }
      bits = bits << 6 | UInt32(character - 33)
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    return bytes
  }
}
