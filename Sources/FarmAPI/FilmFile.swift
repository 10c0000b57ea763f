package import Digest

/// The film of a job that is done, or one of its several outputs, as a file that a client fetches.
package struct FilmFile: Sendable, Hashable {
  /// The file's own name, such as `film.mp4`.
  package var name: String
  /// Of the file.
  package var content: Content
  /// The content of the content store in which its bytes are: its own, or the package of all outputs.
  package var source: SHA256Digest
  /// The place of its first byte in `source`.
  package var offset: Int64

  package init(name: String, content: Content, source: SHA256Digest, offset: Int64) {
    self.name = name
    self.content = content
    self.source = source
    self.offset = offset
  }
}
