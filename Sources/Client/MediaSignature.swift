import CompositionModel
import Glibc
import SystemSupport

/// What a file that was given as a document is, if it is none, by its first bytes.
enum MediaSignature {
  /// For a message, such as `a film (MP4 or QuickTime)`. Nil: it may be a document.
  static func kind(of bytes: some Collection<UInt8>) -> String? {
    let head = Array(bytes.prefix(12))
    func has(_ text: String, at offset: Int = 0) -> Bool { head.dropFirst(offset).starts(with: text.utf8) }
    if has("ftyp", at: 4) || has("moov", at: 4) || has("mdat", at: 4) { return "a film (MP4 or QuickTime)" }
    if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return "a film (Matroska or WebM)" }
    if has("RIFF") { return has("AVI ", at: 8) ? "a film (AVI)" : has("WAVE", at: 8) ? "sound (WAV)" : "a media file" }
    if head.starts(with: [0x06, 0x0E, 0x2B, 0x34]) { return "a film (MXF)" }
    if head.starts(with: [0, 0, 1, 0xBA]) || head.starts(with: [0, 0, 1, 0xB3]) || head.first == 0x47 {
      return "a film (MPEG)"
    }
    if has("OggS") { return "a media file (Ogg)" }
    if has("fLaC") { return "sound (FLAC)" }
    if has("ID3") || head.starts(with: [0xFF, 0xFB]) { return "sound (MP3)" }
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "a picture (PNG)" }
    if head.starts(with: [0xFF, 0xD8, 0xFF]) { return "a picture (JPEG)" }
    if has("GIF8") { return "a picture (GIF)" }
    if has("FLV") { return "a film (Flash Video)" }
    return nil
  }

  /// The same of a file. Nil also if it cannot be read.
  static func kind(ofFile path: String) -> String? {
    guard let file = try? OpenFile.open(path, O_RDONLY | O_NONBLOCK), let head = try? file.read(at: 0, length: 12)
    else { return nil }
    return kind(of: head)
  }

  static func refusal(_ path: String, _ kind: String) -> String {
    "\(path) is \(kind), not a document: a document is JSON, and names such a file in its 'assets' "
      + "(to see what is in it: sheaf probe \(path))"
  }
}

/// Hints for the path of a file that is not there.
package enum NearbyFile {
  /// The most names of a folder that are compared.
  private static let mostNames = 5000

  /// What was most likely meant, in parentheses or after a semicolon; empty if nothing is near.
  package static func hint(_ path: String) -> String {
    if let home = homeHint(path) { return home }
    if let link = Directories.link(at: path) {
      return "; it is a link to \(link), which does not exist"
    }
    guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last, !name.isEmpty else { return "" }
    let folder = Directories.parent(of: path)
    var status = stat()
    guard stat(folder, &status) == 0 else { return "; there is no folder \(folder)" }
    // Of equally near names it is the first.
    let names = Directories.names(in: folder, most: mostNames).sorted()
    return nearest(to: String(name), among: names, most: mostNames).map { " (did you mean '\($0)'?)" } ?? ""
  }

  /// The hint for a path with a `~`, which a shell replaces and nothing else. Nil: it has none.
  static func homeHint(_ path: String) -> String? {
    // A relative path of a document is below the document's folder.
    guard path.hasPrefix("~") || path.contains("/~/") else { return nil }
    return "; only a shell replaces '~' by the home folder: write its path"
  }
}
