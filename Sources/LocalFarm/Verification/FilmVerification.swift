package import CompositionModel
package import Digest

/// What was found when a film was rendered again and compared.
package struct FilmVerification: Sendable {
  package enum Result: String, Sendable, Hashable, Codable {
    /// The files are the same bytes.
    case identical
    /// The packets of the segments that were drawn are the same bytes, and the sound, if it was compared, is the same.
    case sameShare
    /// What is seen and heard is the same, and the bytes are not.
    case sameContent
    case different

    package var isProven: Bool { self == .identical || self == .sameShare }
  }

  /// A file that the film was rendered from.
  package struct Source: Sendable {
    package var name: String
    package var content: Content
  }

  /// One of the output's files.
  package struct Film: Sendable {
    package var name: String
    package var content: Content
    /// The same output as it was rendered again. Of a share it is another file.
    package var rendered: Content
    /// Of a film that is the same bytes, what is in it.
    package var comparison: FilmComparison
    package var result: Result
  }

  /// The segments that were drawn.
  package struct Share: Sendable {
    package var percent: Int
    package var seed: String
    package var segmentCount: Int
    package var segments: [(number: Int, frames: Range<Int>)]
    package var hasSound: Bool
  }

  /// As it is written.
  package var document: Source
  /// With the values of its parameters and the documents that are its assets.
  package var resolvedDocument: SHA256Digest
  package var sources: [Source]
  package var fonts: [Content]
  package var films: [Film]
  /// Nil: all of the film was rendered again.
  package var share: Share?
  /// Of the worker that rendered it.
  package var build: String
  package var slots: Int
  package var seconds: Double

  /// The worst of all files.
  package var result: Result {
    for result in [Result.different, .sameContent, .sameShare] where films.contains(where: { $0.result == result }) {
      return result
    }
    return .identical
  }
}
