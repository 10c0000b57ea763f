import CompositionModel
import Media
import RenderTasks

@testable import Renderer

/// A text with the fonts of this machine, as a font task finds them.
struct FoundText {
  let text: StyledText
  let fonts: TextFonts
  let list: FontList
  /// The fonts' files by digest.
  let inputs: [String: any ByteSource]

  init(_ text: StyledText) throws {
    let (list, contents) = try FontFinder.find(FontTask(texts: [text.fontRequest]))
    self.text = text
    self.list = list
    fonts = list.texts[0]
    let sources = zip(list.files, contents).map { ($0.digest, MemorySource($1) as any ByteSource) }
    inputs = Dictionary(sources) { first, _ in first }
  }

  func block(wrapWidth: Int) throws -> TextBlock {
    try TextBlock(text, fonts: FontSet(fonts, of: text.text, inputs: inputs), wrapWidth: wrapWidth)
  }
}

/// Bytes in memory.
final class MemorySource: ByteSource {
  private let bytes: [UInt8]
  var byteCount: Int64 { Int64(bytes.count) }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    let part = bytes[Int(offset)...].prefix(buffer.count)
    buffer.copyBytes(from: part)
    return part.count
  }
}
