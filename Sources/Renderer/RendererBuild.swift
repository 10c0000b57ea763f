internal import CPango
internal import Digest
internal import Glibc

/// The part of the renderer's build that decides a task's output besides its payload and its media. The part of libav* is
/// `MediaBuild`.
package enum RendererBuild {
  /// Incremented with every change that may change a picture or a sample by one bit.
  private static let version = 1

  /// Such as `renderer-1 pango-1.50.12 cairo-1.16.0 libraries-67-0b6d0f81086c1d5a fonts-430-9f86d081884c7d65`. It lists
  /// the installed fonts, which takes about 10 ms, so it is for a worker's start and not for each task.
  /// - Parameter libraries: `LoadedLibraries.all()`.
  package static func identity(_ libraries: [LoadedLibrary]) -> String {
    let pango = String(cString: pango_version_string())
    let cairo = String(cString: cairo_version_string())
    return "renderer-\(version) pango-\(pango) cairo-\(cairo) \(LoadedLibraries.summary(libraries)) \(fonts)"
  }

  /// The number of installed faces, and the first 16 digits of the SHA-256 of their sorted list. A text is drawn alike if
  /// the fonts are the same: their files' names, sizes and versions, as fontconfig lists them.
  private static var fonts: String {
    let faces = installedFaces().sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let digest = SHA256Digest.of(faces.map { $0 + "\n" }.joined().utf8)
    return "fonts-\(faces.count)-\(digest.hex.prefix(16))"
  }

  /// `name size version` of each face. The folder is left out, because the same fonts may be in another one elsewhere.
  private static func installedFaces() -> [String] {
    let fields = sheaf_font_fields()
    let pattern = FcPatternCreate()
    defer {
      FcObjectSetDestroy(fields)
      FcPatternDestroy(pattern)
    }
    guard let set = FcFontList(nil, pattern, fields) else { return [] }
    defer { FcFontSetDestroy(set) }
    var sizes: [String: Int64] = [:]
    return (0..<Int(set.pointee.nfont)).compactMap { index in
      guard let font = set.pointee.fonts[index], let file = sheaf_font_file(font) else { return nil }
      let path = String(cString: file)
      let size = sizes[path] ?? byteCount(ofFile: path)
      sizes[path] = size
      let name = path.split(separator: "/").last.map(String.init) ?? path
      return "\(name) \(size) \(sheaf_font_version(font))"
    }
  }

  /// -1 for a file that no longer exists.
  private static func byteCount(ofFile path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : -1
  }
}
