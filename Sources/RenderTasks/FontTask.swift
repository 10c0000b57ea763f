package import CompositionModel
import FoundationEssentials

/// Finds the fonts of a film's texts on the worker that runs it. There are no inputs; the result is a `FontList` with
/// the fonts' files.
package struct FontTask: Sendable, Hashable, Codable {
  /// Each once.
  package var texts: [FontRequest]
  /// Files of captions, by the task's inputs, whose texts are only known when they are read. Nil: none.
  package var captions: [FontTaskCaptions]?

  package init(texts: [FontRequest], captions: [FontTaskCaptions]? = nil) {
    self.texts = texts
    self.captions = captions
  }
}

/// Captions that a film draws, of which the fonts are found.
package struct FontTaskCaptions: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal.
  package var digest: String
  /// That of a file without styles. Its sizes have no effect.
  package var style: CaptionStyle

  package init(digest: String, style: CaptionStyle) {
    self.digest = digest
    self.style = style
  }
}

/// The fonts of one text: with their files, all that decides its glyphs besides the text and its style.
package struct TextFonts: Sendable, Hashable, Codable {
  package var fonts: [PlannedFont]
  /// They cover the text.
  package var runs: [FontRun]

  package init(fonts: [PlannedFont], runs: [FontRun]) {
    self.fonts = fonts
    self.runs = runs
  }
}

/// A part of a text that is set in one font. The runs of a text follow each other.
package struct FontRun: Sendable, Hashable, Codable {
  /// In bytes of UTF-8; above 0.
  @Ranged<IndexRange> package var length: Int
  /// Index in `TextFonts.fonts`.
  @Ranged<IndexRange> package var font: Int

  package init(length: Int, font: Int) {
    self.length = length
    self.font = font
  }
}

/// A face of a font file, with those of its properties that decide how it is drawn.
package struct PlannedFont: Sendable, Hashable, Codable {
  /// The SHA-256 of the file, in lower-case hexadecimal.
  package var digest: String
  /// fontconfig's index: the face in the low 16 bits, the named instance of a variable font above them.
  @Ranged<IndexRange> package var index: Int
  /// `TrueType` or `CFF`.
  package var format: String
  /// On fontconfig's scale: 80 is regular, 200 is bold.
  package var weight: Double
  /// On fontconfig's scale: 0 is roman, 100 is italic, 110 is oblique.
  package var slant: Int
  /// The values of a variable font's axes, such as `wght=700`; empty for other fonts.
  package var variations: String
  package var isColor: Bool
  /// The size of the glyphs in pixels, of a font that has pictures in place of outlines. Nil: it has outlines.
  package var pictureSize: Double?

  package init(
    digest: String, index: Int, format: String, weight: Double, slant: Int, variations: String, isColor: Bool,
    pictureSize: Double?
  ) {
    self.digest = digest
    self.index = index
    self.format = format
    self.weight = weight
    self.slant = slant
    self.variations = variations
    self.isColor = isColor
    self.pictureSize = pictureSize
  }
}

/// The result of a `FontTask`: a head of 16 bytes, this as JSON, then the bytes of the files in order.
///
/// The head is `SHEAFFNT`, the version 1 as UInt32 and the length of the JSON as UInt32, both little-endian.
package struct FontList: Sendable, Hashable, Codable {
  package struct File: Sendable, Hashable, Codable {
    /// For people: the file's name where it was found.
    package var name: String
    /// SHA-256, in lower-case hexadecimal.
    package var digest: String
    /// In bytes.
    @Ranged<SizeRange> package var size: Int64

    package init(name: String, digest: String, size: Int64) {
      self.name = name
      self.digest = digest
      self.size = size
    }
  }

  /// Each once.
  package var files: [File]
  /// By index in `FontTask.texts`.
  package var texts: [TextFonts]
  /// What is not there, by index in `FontTask.texts`.
  package var findings: [FontFindings]
  /// What was asked for after the task's texts: the texts of its captions. Nil: nothing.
  package var textsOfCaptions: [FontRequest]?

  package init(files: [File], texts: [TextFonts], findings: [FontFindings]) {
    self.files = files
    self.texts = texts
    self.findings = findings
  }

  package static let headSize = 16
  private static let magic = Array("SHEAFFNT".utf8) + [1, 0, 0, 0]

  /// The head and the JSON.
  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = try encoder.encode(self)
    let length = UInt32(json.count)
    return Self.magic + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [UInt8](json)
  }

  /// The length of the JSON that follows a head. Nil if the bytes are no head.
  package static func length(inHead head: [UInt8]) -> Int? {
    guard head.count == headSize, Array(head.prefix(magic.count)) == magic else { return nil }
    return head.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  package init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(FontList.self, from: Data(json))
  }

  /// Whether this can be the result for these texts: every byte of each has a font, and every font a file.
  package func covers(_ requests: [FontRequest]) -> Bool {
    let digests = Set(files.map(\.digest))
    return texts.count == requests.count && findings.count == texts.count
      && files.allSatisfy { $0.size > 0 }
      && zip(texts, requests).allSatisfy { text, request in
        text.fonts.allSatisfy { digests.contains($0.digest) }
          && text.runs.allSatisfy { $0.length > 0 && text.fonts.indices.contains($0.font) }
          && text.runs.reduce(0) { $0 + $1.length } == request.text.utf8.count
      }
  }
}
