import CPango
import CompositionModel
import Digest
import Glibc
package import Media
package import RenderTasks
package import SystemSupport

/// Finds the fonts that Pango chooses for texts from the fonts of this machine, by fontconfig's configuration of this
/// machine: for each part of each text the font of its family and style, or the one that takes its place. For captions
/// the fonts that their files bring with them are there too.
package enum FontFinder {
  /// Writes the result of a font task.
  /// - Parameters:
  ///   - inputs: The files of captions by digest.
  ///   - output: Open for writing.
  ///   - liveness: Advanced with every text and every font.
  /// - Throws: `.media` if no fonts are installed.
  package static func find(
    _ task: FontTask, inputs: [String: any ByteSource] = [:], to output: OpenFile, liveness: Liveness? = nil
  ) throws(RenderError) {
    let (list, contents) = try find(task, inputs: inputs, liveness: liveness)
    do {
      try output.write(try list.encoded())
      for bytes in contents { try output.write(bytes) }
    } catch {
      throw RenderError(.infrastructure, "the fonts could not be written: \(error)")
    }
  }

  /// The fonts of a task's texts, and the bytes of the list's files.
  static func find(
    _ task: FontTask, inputs: [String: any ByteSource] = [:], liveness: Liveness? = nil
  ) throws(RenderError) -> (list: FontList, contents: [[UInt8]]) {
    guard let config = FcInitLoadConfigAndFonts() else { throw noEngine }
    defer { FcConfigDestroy(config) }
    let (ofCaptions, embedded) = try requests(of: task.captions ?? [], inputs: inputs, liveness: liveness)
    let outlines = (task.texts + ofCaptions).contains { $0.needsOutlines == true } ? try outlineFonts() : nil
    defer { if let outlines { FcConfigDestroy(outlines) } }
    var fonts: [String: EmbeddedFont] = [:]
    for font in outlines == nil ? [] : embedded {
      let path = try FontFiles.path(of: font.bytes)
      // A damaged one is left out, as other players do; then `check` warns that its family is not installed.
      if FcConfigAppFontAddFile(outlines, path) != 0 { fonts[path] = font }
    }
    var finding = try Finding(config: config, outlines: outlines, embedded: fonts)
    var texts: [TextFonts] = []
    var findings: [FontFindings] = []
    for text in task.texts + ofCaptions {
      let (fonts, found) = try finding.fonts(of: text)
      texts.append(fonts)
      findings.append(found)
      liveness?.advance()
    }
    var list = FontList(files: finding.files, texts: texts, findings: findings)
    list.textsOfCaptions = ofCaptions.isEmpty ? nil : ofCaptions
    return (list, finding.contents)
  }

  private static var noEngine: RenderError {
    RenderError(.infrastructure, "the font engine (fontconfig) did not start")
  }

  /// This machine's fonts without those that have pictures in place of outlines. Freed by the caller.
  private static func outlineFonts() throws(RenderError) -> OpaquePointer {
    let rules = ["outline", "scalable"].map {
      "<selectfont><rejectfont><pattern><patelt name=\"\($0)\"><bool>false</bool></patelt></pattern></rejectfont>"
        + "</selectfont>"
    }
    guard let config = FcInitLoadConfig() else { throw noEngine }
    guard FcConfigParseAndLoadFromMemory(config, "<fontconfig>\(rules.joined())</fontconfig>", 1) != 0,
      FcConfigBuildFonts(config) != 0
    else {
      FcConfigDestroy(config)
      throw noEngine
    }
    return config
  }

  /// What fonts are found for, of captions that are drawn, and the fonts that their files bring with them.
  private static func requests(
    of captions: [FontTaskCaptions], inputs: [String: any ByteSource], liveness: Liveness?
  ) throws(RenderError) -> (requests: [FontRequest], embedded: [EmbeddedFont]) {
    var formats: [String: CaptionsFormat] = [:]
    var embedded: [EmbeddedFont] = []
    for digest in Set(captions.map(\.digest)).sorted() {
      guard let source = inputs[digest] else {
        throw RenderError(.task, "the captions \(digest) are not among the task's inputs")
      }
      let name = "the captions \(digest.prefix(12))"
      do {
        // A file without them is a problem of the document, which is found when the film is planned.
        let asset = try AssetProbe.probe(source, name: name, liveness: liveness)
        formats[digest] = asset.defaultTrack(.subtitle)?.captions
        // SRT has none, and is not always recognized by its contents.
        if asset.container != "srt" {
          embedded += try EmbeddedFont.fonts(in: source, name: name, liveness: liveness)
        }
      } catch {
        switch error.code {
        case .io, .outOfSpace, .outOfMemory: throw RenderError.during(name)(error)
        // What is wrong with the file is reported by the task that describes it.
        default: continue
        }
      }
    }
    var requests: [FontRequest] = []
    var seen: Set<FontRequest> = []
    for captions in captions {
      guard let format = formats[captions.digest] else { continue }
      let script = CaptionScript(
        format, style: format.hasStyles ? nil : captions.style, frame: PixelSize(width: 384, height: 288))
      requests += script.requests.filter { seen.insert($0).inserted }
    }
    return (requests, embedded)
  }
}

/// The fonts that were found so far.
private struct Finding {
  private struct Face: Hashable {
    var path: String
    var index: Int32
  }

  private let config: OpaquePointer
  private let map: FontMap
  /// For requests that need outlines.
  private let outlineMap: FontMap?
  /// The fonts in `outlines` that are not installed, by path.
  private let embedded: [String: EmbeddedFont]
  private let outlines: OpaquePointer?
  private(set) var files: [FontList.File] = []
  /// The bytes of each of `files`.
  private(set) var contents: [[UInt8]] = []
  private var digests: [String: String] = [:]

  /// - Parameters:
  ///   - outlines: The fonts with outlines; nil if no request needs them.
  ///   - embedded: Those of them that are not installed, by path.
  init(
    config: OpaquePointer, outlines: OpaquePointer?, embedded: [String: EmbeddedFont]
  ) throws(RenderError) {
    self.config = config
    self.outlines = outlines
    self.embedded = embedded
    map = try FontMap(config)
    outlineMap = try outlines.map { config throws(RenderError) in try FontMap(config) }
  }

  /// The size in pixels at which texts are laid out here. Their proportions are the same at every size.
  private static let size = 48.0

  mutating func fonts(of request: FontRequest) throws(RenderError) -> (TextFonts, FontFindings) {
    TextEngine.lock()
    defer { TextEngine.unlock() }
    let text = try TextLayout(request, map: request.needsOutlines == true ? outlineMap ?? map : map, size: Self.size)
    guard let iterator = pango_layout_get_iter(text.layout) else { throw TextLayout.noEngine }
    defer { pango_layout_iter_free(iterator) }
    var indices: [Face: Int] = [:]
    var fonts: [PlannedFont] = []
    var parts: [(start: Int, font: Int)] = []
    var families: [(start: Int, family: String)] = []
    var missing: Set<UInt32> = []
    repeat {
      guard let run = pango_layout_iter_get_run_readonly(iterator), let item = run.pointee.item else { continue }
      guard let pattern = sheaf_font_pattern(item.pointee.analysis.font), let path = pattern.string(FC_FILE) else {
        throw RenderError(
          .media(
            MediaError(
              .unsupported, operation: "finding a font for", subject: "\"\(request.text.prefix(40))\"",
              message: "no font is installed on this worker")),
          "fonts")
      }
      let face = Face(path: path, index: pattern.integer(FC_INDEX) ?? 0)
      let index = indices[face] ?? fonts.count
      if index == fonts.count {
        fonts.append(try font(pattern, path, Int(face.index)))
        indices[face] = index
      }
      parts.append((Int(item.pointee.offset), index))
      let own = installed(path, Int(face.index)) ?? pattern
      families.append((Int(item.pointee.offset), own.string(FC_FAMILY) ?? path))
      if let glyphs = run.pointee.glyphs { missing.formUnion(Self.missing(glyphs)) }
    } while pango_layout_iter_next_run(iterator) != 0
    if parts.isEmpty, request.text != " ", !request.text.isEmpty {
      // Ends of lines alone have no glyphs. They have the font of a space.
      var space = request
      space.text = " "
      let (found, findings) = try self.fonts(of: space)
      return (
        TextFonts(fonts: found.fonts, runs: [FontRun(length: request.text.utf8.count, font: 0)]), findings
      )
    }
    var findings = FontFindings(
      substitute: isAvailable(request.font, needsOutlines: request.needsOutlines == true)
        ? nil : families.min { $0.start < $1.start }?.family,
      missing: missing.sorted())
    // The place of captions is libass's.
    if request.needsOutlines != true { findings.measure = TextRuler.measure(text.layout, size: Self.size) }
    return (TextFonts(fonts: fonts, runs: Self.runs(parts, length: request.text.utf8.count)), findings)
  }

  /// The characters in place of which Pango draws a box.
  private static func missing(_ glyphs: UnsafeMutablePointer<PangoGlyphString>) -> [UInt32] {
    let unknown: UInt32 = 0x1000_0000
    return (0..<Int(glyphs.pointee.num_glyphs)).map { glyphs.pointee.glyphs[$0].glyph }
      .filter { $0 & unknown != 0 }.map { $0 & ~unknown }
  }

  /// Names that stand for a kind of font, of which every configuration has some.
  private static let generic: Set<String> = [
    "sans-serif", "sans", "serif", "monospace", "mono", "cursive", "fantasy", "system-ui", "math", "emoji",
  ]

  /// Whether a family, or one of several that are separated by commas, is there or stands for any of a kind.
  private func isAvailable(_ families: String, needsOutlines: Bool) -> Bool {
    families.split(separator: ",").contains { part in
      let wanted = part.drop { $0 == " " }
      if Self.generic.contains(wanted.lowercased()) { return true }
      return (needsOutlines ? [installed, added] : [installed]).joined().contains { font in
        font.strings(FC_FAMILY).contains { FcStrCmpIgnoreCase($0, String(wanted)) == 0 }
      }
    }
  }

  /// fontconfig's patterns of the fonts of this machine.
  private var installed: [OpaquePointer] { Self.patterns(FcConfigGetFonts(config, FcSetSystem)) }

  /// Those of the embedded fonts.
  private var added: [OpaquePointer] { Self.patterns(outlines.flatMap { FcConfigGetFonts($0, FcSetApplication) }) }

  private static func patterns(_ set: UnsafeMutablePointer<FcFontSet>?) -> [OpaquePointer] {
    guard let set else { return [] }
    return (0..<Int(set.pointee.nfont)).compactMap { set.pointee.fonts[$0] }
  }

  /// Runs that cover a text. What has no glyphs, such as a line feed, is of the run before it.
  private static func runs(_ parts: [(start: Int, font: Int)], length: Int) -> [FontRun] {
    // Parts are found in the order in which they are shown.
    let parts = parts.sorted { $0.start < $1.start }
    var runs: [FontRun] = []
    for (index, part) in parts.enumerated() {
      let start = index == 0 ? 0 : part.start
      let end = index + 1 < parts.count ? parts[index + 1].start : length
      if let last = runs.last, last.font == part.font {
        runs[runs.count - 1].length += end - start
      } else if start < end {
        runs.append(FontRun(length: end - start, font: part.font))
      }
    }
    return runs
  }

  /// - Parameter pattern: The pattern of the font as Pango prepared it for the text. The properties of the font itself
  ///   are looked up: those of the pattern may be what was asked for.
  private mutating func font(
    _ pattern: OpaquePointer, _ path: String, _ index: Int
  ) throws(RenderError) -> PlannedFont {
    let own = installed(path, index) ?? pattern
    let hasOutlines = own.boolean(FC_OUTLINE) ?? true
    return PlannedFont(
      digest: try digest(of: path), index: index, format: own.string(FC_FONTFORMAT) ?? "TrueType",
      weight: own.number(FC_WEIGHT) ?? pattern.number(FC_WEIGHT) ?? 80,
      slant: Int(own.integer(FC_SLANT) ?? pattern.integer(FC_SLANT) ?? 0),
      variations: pattern.string(FC_FONT_VARIATIONS) ?? "", isColor: own.boolean(FC_COLOR) ?? false,
      pictureSize: hasOutlines ? nil : own.number(FC_PIXEL_SIZE))
  }

  /// fontconfig's pattern of an installed or an embedded font.
  private func installed(_ path: String, _ index: Int) -> OpaquePointer? {
    (embedded[path] == nil ? installed : added).first {
      $0.integer(FC_INDEX) == Int32(truncatingIfNeeded: index) && $0.string(FC_FILE) == path
    }
  }

  private mutating func digest(of path: String) throws(RenderError) -> String {
    if let known = digests[path] { return known }
    let bytes: [UInt8]
    do {
      if let font = embedded[path] {
        bytes = font.bytes
      } else {
        let file = try OpenFile.open(path)
        bytes = try file.read(at: 0, length: Int(file.status().st_size))
      }
    } catch {
      throw RenderError(.infrastructure, "the font \(path) could not be read: \(error)")
    }
    let digest = SHA256Digest.of(bytes).hex
    digests[path] = digest
    if !files.contains(where: { $0.digest == digest }) {
      let name = embedded[path]?.name ?? path.split(separator: "/").last.map(String.init) ?? path
      files.append(FontList.File(name: name, digest: digest, size: Int64(bytes.count)))
      contents.append(bytes)
    }
    return digest
  }
}

/// The values of a property of a fontconfig pattern: the first, or all; nil if it has none of this type.
extension OpaquePointer {
  func string(_ property: String) -> String? {
    var value: UnsafeMutablePointer<FcChar8>?
    guard FcPatternGetString(self, property, 0, &value) == FcResultMatch, let value else { return nil }
    return String(cString: value)
  }

  fileprivate func strings(_ property: String) -> [String] {
    var found: [String] = []
    var value: UnsafeMutablePointer<FcChar8>?
    while FcPatternGetString(self, property, Int32(found.count), &value) == FcResultMatch, let value {
      found.append(String(cString: value))
    }
    return found
  }

  func integer(_ property: String) -> Int32? {
    var value: Int32 = 0
    return FcPatternGetInteger(self, property, 0, &value) == FcResultMatch ? value : nil
  }

  func number(_ property: String) -> Double? {
    var value = 0.0
    return FcPatternGetDouble(self, property, 0, &value) == FcResultMatch ? value : nil
  }

  func boolean(_ property: String) -> Bool? {
    var value: FcBool = 0
    return FcPatternGetBool(self, property, 0, &value) == FcResultMatch ? value != 0 : nil
  }
}
