import CompositionModel
import Foundation
import RenderTasks
import Segmenter
import TestPrograms
import Testing

@testable import Renderer

/// Fonts from files, and what is not there of fonts.
@Suite struct FontProbeTests {
  private static let serif = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"

  private static func description(_ bytes: [UInt8]) throws -> AssetDescription? {
    try FontProbe.probe(MemorySource(bytes), name: "title.ttf")
  }

  @Test func `a font file is described with its characters`() throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: Self.serif)))
    let found = try #require(try Self.description(bytes))
    let font = try #require(found.font)
    #expect(font.family == "DejaVu Serif" && font.format == "TrueType" && font.weight == 80 && font.slant == 0)
    #expect(font.pictureSize == nil && !font.isColor && found.tracks.isEmpty)
    #expect(font.has(0x41) && font.has(0xE9) && font.has(0x416) && !font.has(0x6D77) && !font.has(0x1F600))
    // fontconfig's own list is the oracle.
    let listed = try Tool.run("fc-query", ["-f", "%{charset}", Self.serif]).output
    let ranges = String(decoding: listed, as: UTF8.self).split(separator: " ").map { range in
      let ends = range.split(separator: "-").compactMap { UInt32($0, radix: 16) }
      return ends[0]...ends[ends.count - 1]
    }
    #expect(font.characters == ranges)
  }

  @Test func `what begins like a font and is none is refused, and other files are not fonts`() throws {
    var generator = SeededRandom(seed: 3)
    let noise = [0, 1, 0, 0] + (0..<4000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    #expect(throws: RenderError.self) { try Self.description(noise) }
    let whole = [UInt8](try Data(contentsOf: URL(filePath: Self.serif)))
    #expect(throws: RenderError.self) { try Self.description(Array(whole.prefix(3000))) }
    #expect(try Self.description([0x89, 0x50, 0x4E, 0x47]) == nil)
    #expect(try Self.description([]) == nil)
  }

  /// The same letters in the file's font and in the installed family of the same file.
  @Test func `a text is set in a file's font, and what that does not have in others`() throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: Self.serif)))
    let font = try #require(try Self.description(bytes)?.font)
    for (text, count) in [("Maroubra", 1), ("Sea 海 😀 end", 3), ("a\nb", 1), ("e\u{301}", 1)] {
      let fallback = try FoundText(StyledText(text: text, size: 40))
      let fonts = fallback.fonts.preferring(font, digest: "file", in: text)
      #expect(fonts.runs.reduce(0) { $0 + $1.length } == text.utf8.count)
      #expect(fonts.fonts.count == count && fonts.fonts[0].digest == "file", "\(text): \(fonts)")
      var inputs = fallback.inputs
      inputs["file"] = MemorySource(bytes)
      let own = try TextBlock(
        fallback.text, fonts: FontSet(fonts, of: fallback.text.text, inputs: inputs), wrapWidth: 2000)
      // With several fonts, Pango may give a space to another of them.
      guard count == 1 else { continue }
      let family = try FoundText(StyledText(text: text, font: "DejaVu Serif", size: 40)).block(wrapWidth: 2000)
      #expect(own.size == family.size && own.ink == family.ink, "\(text)")
      let (one, other) = (try own.draw(own.ink), try family.draw(own.ink))
      let isSame = (0..<(one.size.width * one.size.height)).allSatisfy { one.plane(3)[$0] == other.plane(3)[$0] }
      #expect(isSame, "\(text)")
    }
  }

  @Test func `a family that is not installed and a character that no font has are found`() throws {
    func findings(_ text: String, _ font: String) throws -> FontFindings {
      let list = try FontFinder.find(
        FontTask(texts: [FontRequest(text: text, font: font, isBold: false, isItalic: false)])
      ).list
      return try #require(list.findings.first)
    }
    for (text, font) in [("Sea 海 😀", "sans-serif"), ("Sea", "dejavu serif")] {
      let found = try findings(text, font)
      #expect(found.substitute == nil && found.missing == [])
    }
    #expect(try findings("Sea", "No Such Family, DejaVu Sans").substitute == nil)
    let replaced = try #require(try findings("Sea", "No Such Family").substitute)
    #expect(try findings("Sea", replaced).substitute == nil && replaced != "No Such Family")
    #expect(try findings("a\u{0378}b\u{0378}\u{038B}", "sans-serif").missing == [0x378, 0x38B])
    #expect(try findings("tab\tand\nline", "sans-serif").missing == [])
  }

  /// A text is as large as its block is when it is drawn, at any size.
  @Test func `a text is measured in sizes of its font`() throws {
    let text = "A first line\nsecond"
    let list = try FontFinder.find(
      FontTask(texts: [FontRequest(text: text, font: "DejaVu Serif", isBold: false, isItalic: false)])
    ).list
    let measure = try #require(list.findings.first?.measure)
    let block = try FoundText(StyledText(text: text, font: "DejaVu Serif", size: 80)).block(wrapWidth: 4000)
    #expect(measure.lines.count == 2 && measure.lines[0] > measure.lines[1])
    #expect(abs(measure.lines[0] * 80 - Double(block.size.width)) <= 1.5)
    #expect(abs(measure.lineHeight * 160 - Double(block.size.height)) <= 1.5)
  }
}
