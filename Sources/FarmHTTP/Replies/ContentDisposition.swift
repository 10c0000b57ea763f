/// Names and media types of the files that are fetched: pure.
enum FetchedFile {
  /// The value of `Content-Disposition` (RFC 6266): the name as ASCII, and as it is (RFC 8187) if that is more.
  static func disposition(_ name: String) -> String {
    let plain = String(
      name.map { character in
        guard let byte = character.asciiValue, (0x20...0x7E).contains(byte), !"\"\\/%".contains(character) else {
          return "_"
        }
        return character
      })
    let text = "attachment; filename=\"\(plain)\""
    return plain == name ? text : text + "; filename*=UTF-8''\(PercentEncoding.encoded(name))"
  }

  /// By the extension of a film's or a picture's name.
  static func mediaType(_ name: String) -> String {
    let parts = name.split(separator: ".")
    let types = [
      "mp4": "video/mp4", "m4v": "video/x-m4v", "mov": "video/quicktime", "mkv": "video/x-matroska",
      "webm": "video/webm", "mxf": "application/mxf", "m4a": "audio/mp4", "wav": "audio/wav", "flac": "audio/flac",
      "mp3": "audio/mpeg", "ogg": "audio/ogg", "png": "image/png", "jpg": "image/jpeg", "webp": "image/webp",
      "gif": "image/gif", "apng": "image/apng", "m3u8": "application/vnd.apple.mpegurl",
      "mpd": "application/dash+xml", "vtt": "text/vtt",
    ]
    return parts.count > 1
      ? types[parts[parts.count - 1].lowercased()] ?? "application/octet-stream"
      : "application/octet-stream"
  }
}
