import CPango
import Glibc

/// Tells sets of installed fonts apart. A text looks the same where the fonts are the same: their files' names, sizes
/// and versions, as fontconfig lists them. An identity, not a seal: nobody is kept from making two sets that look alike.
enum FontFingerprint {
  /// Such as `fonts-430-9f86d081884c7d65`: how many faces, and a 64-bit FNV-1a of their sorted list.
  static var installed: String {
    let faces = installedFaces().sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for face in faces {
      for byte in face.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      hash = (hash ^ 0x0a) &* 0x100_0000_01b3
    }
    let digits = String(hash, radix: 16)
    return "fonts-\(faces.count)-" + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// `name size version` of each face; the folder is left out, since the same fonts may lie elsewhere.
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

  /// -1 for a file that is not there any more.
  private static func byteCount(ofFile path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : -1
  }
}
