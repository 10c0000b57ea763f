import CPango
import CompositionModel
import Glibc
import Media
import RenderTasks
import Synchronization

/// The fonts of one text as a fontconfig configuration that has nothing else: no folder, no setting of the machine.
///
/// Each font has a family name of its own, by which a part of the text asks for it, and covers the characters of the
/// text that it was found for. The rules for slanting, emboldening and scaling are fontconfig's defaults, and are the
/// same on every machine.
struct FontSet {
  let map: FontMap
  /// The text that the fonts are of.
  private let text: String
  /// The family of each part of the text.
  private var ofText: [(length: Int, family: String)] = []
  /// The index of the font of each character, of those that it is found for.
  private var fontOfCharacter: [UInt32: Int] = [:]

  /// - Parameter inputs: The fonts' files by digest.
  init(_ fonts: TextFonts, of text: String, inputs: [String: any ByteSource]) throws(RenderError) {
    self.text = text
    guard let config = FcConfigCreate() else { throw FontSet.noMemory }
    defer { FcConfigDestroy(config) }
    // The configuration gets an empty set of fonts by being asked to add a file that does not exist.
    FcConfigAppFontAddFile(config, "/dev/null/font")
    guard FcConfigParseAndLoadFromMemory(config, FontSet.rules, 1) != 0,
      let set = FcConfigGetFonts(config, FcSetApplication)
    else { throw FontSet.noMemory }
    var rest = Array(text.utf8)[...]
    var covered = Array(repeating: Set<UInt32>(), count: fonts.fonts.count)
    for run in fonts.runs {
      guard run.length > 0, run.length <= rest.count, fonts.fonts.indices.contains(run.font) else {
        throw RenderError(.task, "the fonts of a text are not those of its characters")
      }
      for scalar in String(decoding: rest.prefix(run.length), as: UTF8.self).unicodeScalars {
        covered[run.font].insert(scalar.value)
        if fontOfCharacter[scalar.value] == nil { fontOfCharacter[scalar.value] = run.font }
      }
      rest = rest.dropFirst(run.length)
      ofText.append((run.length, FontSet.family(run.font)))
    }
    guard rest.isEmpty else { throw RenderError(.task, "a part of a text has no font") }
    for (index, font) in fonts.fonts.enumerated() {
      guard let source = inputs[font.digest] else {
        throw RenderError(.task, "the font \(font.digest) is not among the task's inputs")
      }
      let path = try FontFiles.path(of: font.digest, source)
      let pattern = try FontSet.pattern(font, family: FontSet.family(index), path: path, covering: covered[index])
      guard FcFontSetAdd(set, pattern) != 0 else { throw FontSet.noMemory }
    }
    map = try FontMap(config)
  }

  /// The family of each part of a text, in bytes of UTF-8: the fonts' own, or one whose characters it has.
  func families(of text: String) throws(RenderError) -> [(length: Int, family: String)] {
    if text == self.text { return ofText }
    var parts: [(length: Int, family: String)] = []
    for scalar in text.unicodeScalars {
      guard let font = fontOfCharacter[scalar.value] else {
        throw RenderError(.task, "the character \(scalar) of a text has no font")
      }
      let (family, length) = (FontSet.family(font), UTF8.width(scalar))
      if let last = parts.last, last.family == family {
        parts[parts.count - 1].length += length
      } else {
        parts.append((length, family))
      }
    }
    return parts
  }

  private static var noMemory: RenderError {
    RenderError(.infrastructure, "the font engine (fontconfig) did not start")
  }

  private static func family(_ index: Int) -> String { "font \(index)" }

  private static func pattern(
    _ font: PlannedFont, family: String, path: String, covering characters: Set<UInt32>
  ) throws(RenderError) -> OpaquePointer {
    guard let pattern = FcPatternCreate(), let charset = FcCharSetCreate() else { throw noMemory }
    defer { FcCharSetDestroy(charset) }
    for character in characters { FcCharSetAddChar(charset, character) }
    FcPatternAddString(pattern, FC_FAMILY, family)
    // Pango asks for this family where characters are shown as pictures, whatever the text asks for.
    if font.isColor { FcPatternAddString(pattern, FC_FAMILY, "emoji") }
    FcPatternAddString(pattern, FC_FILE, path)
    FcPatternAddInteger(pattern, FC_INDEX, Int32(truncatingIfNeeded: font.index))
    FcPatternAddString(pattern, FC_FONTFORMAT, font.format)
    FcPatternAddDouble(pattern, FC_WEIGHT, font.weight)
    FcPatternAddInteger(pattern, FC_SLANT, Int32(truncatingIfNeeded: font.slant))
    FcPatternAddBool(pattern, FC_OUTLINE, font.pictureSize == nil ? 1 : 0)
    FcPatternAddBool(pattern, FC_SCALABLE, 1)
    FcPatternAddBool(pattern, FC_COLOR, font.isColor ? 1 : 0)
    if let size = font.pictureSize {
      FcPatternAddDouble(pattern, FC_PIXEL_SIZE, size)
      // As fontconfig has it for pictures. Cairo would look for outlines otherwise.
      FcPatternAddBool(pattern, FC_ANTIALIAS, 0)
    }
    if !font.variations.isEmpty { FcPatternAddString(pattern, FC_FONT_VARIATIONS, font.variations) }
    FcPatternAddCharSet(pattern, FC_CHARSET, charset)
    return pattern
  }

  /// As in fontconfig's 90-synthetic.conf and 10-scale-bitmap-fonts.conf.
  private static let rules = """
    <?xml version="1.0"?>
    <fontconfig>
      <match target="font">
        <test name="slant"><const>roman</const></test>
        <test target="pattern" name="slant" compare="not_eq"><const>roman</const></test>
        <edit name="matrix" mode="assign">
          <times>
            <name>matrix</name>
            <matrix><double>1</double><double>0.2</double><double>0</double><double>1</double></matrix>
          </times>
        </edit>
        <edit name="slant" mode="assign"><const>oblique</const></edit>
        <edit name="embeddedbitmap" mode="assign"><bool>false</bool></edit>
      </match>
      <match target="font">
        <test name="weight" compare="less_eq"><const>medium</const></test>
        <test target="pattern" name="weight" compare="more_eq"><const>bold</const></test>
        <edit name="embolden" mode="assign"><bool>true</bool></edit>
        <edit name="weight" mode="assign"><const>bold</const></edit>
      </match>
      <match target="font">
        <test name="outline" compare="eq"><bool>false</bool></test>
        <edit name="pixelsizefixupfactor" mode="assign">
          <divide><name target="pattern">pixelsize</name><name target="font">pixelsize</name></divide>
        </edit>
        <edit name="matrix" mode="assign">
          <times>
            <name>matrix</name>
            <matrix>
              <name>pixelsizefixupfactor</name><double>0</double>
              <double>0</double><name>pixelsizefixupfactor</name>
            </matrix>
          </times>
        </edit>
        <edit name="size" mode="assign">
          <divide><name>size</name><name>pixelsizefixupfactor</name></divide>
        </edit>
      </match>
    </fontconfig>
    """
}

/// The font files that texts were set in, as files in memory: the font engine opens files by path, and a task process
/// can open no path of a font. They stay until the process ends, because the engine keeps faces by path.
enum FontFiles {
  private static let paths = Mutex<[String: String]>([:])

  static func path(of digest: String, _ source: any ByteSource) throws(RenderError) -> String {
    try paths.withLock { paths throws(RenderError) in
      if let path = paths[digest] { return path }
      let path = FontFiles.path(of: try file(source))
      paths[digest] = path
      return path
    }
  }

  /// The path of a font's file in memory with these bytes.
  static func path(of bytes: [UInt8]) throws(RenderError) -> String {
    let descriptor = try file()
    do throws(RenderError) {
      try bytes.withUnsafeBufferPointer { bytes throws(RenderError) in
        try write(UnsafeRawBufferPointer(bytes), to: descriptor, at: 0)
      }
    } catch {
      close(descriptor)
      throw error
    }
    return path(of: descriptor)
  }

  /// Calls `body` with the path of a font's file in memory, which is removed afterwards.
  static func withPath<Result>(
    _ source: any ByteSource, _ body: (String) throws(RenderError) -> Result
  ) throws(RenderError) -> Result {
    let descriptor = try file(source)
    defer { close(descriptor) }
    return try body(path(of: descriptor))
  }

  private static func path(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  private static func file() throws(RenderError) -> Int32 {
    let descriptor = sheaf_memory_file("font")
    guard descriptor >= 0 else {
      throw RenderError(.infrastructure, "no file in memory for a font: \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// A new file in memory with a source's bytes.
  private static func file(_ source: any ByteSource) throws(RenderError) -> Int32 {
    let descriptor = try file()
    do throws(RenderError) {
      try copy(source, to: descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  private static func copy(_ source: any ByteSource, to descriptor: Int32) throws(RenderError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < source.byteCount {
      let count = try mapErrors(to: RenderError.during("reading a font")) { () throws(MediaError) in
        try source.read(at: offset, into: buffer)
      }
      guard count > 0 else { throw RenderError(.infrastructure, "a font is shorter than its content") }
      try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: descriptor, at: Int(offset))
      offset += Int64(count)
    }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int
  ) throws(RenderError) {
    var written = 0
    while written < bytes.count {
      let more = pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, offset + written)
      guard more > 0 else {
        throw RenderError(.infrastructure, "a font could not be kept in memory: \(String(cString: strerror(errno)))")
      }
      written += more
    }
  }
}
