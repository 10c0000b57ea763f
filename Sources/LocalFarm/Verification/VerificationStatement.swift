package import CompositionModel
import Digest
package import FarmAPI
import FoundationEssentials
import SystemSupport

/// What a verification has found, in a form that others can check: a statement of in-toto
/// (https://in-toto.io/Statement/v1) about the files of a film. Its JSON is stable: keys may be added, but are never
/// changed.
package struct VerificationStatement: Sendable, Hashable, Codable {
  package static let payloadType = "application/vnd.in-toto+json"
  package static let statementType = "https://in-toto.io/Statement/v1"
  package static let predicateType = "https://sheaf.video/verification/v1"

  package struct Digests: Sendable, Hashable, Codable {
    /// In lower-case hexadecimal.
    package var sha256: String
  }

  package struct Subject: Sendable, Hashable, Codable {
    package var name: String
    package var digest: Digests
  }

  package struct File: Sendable, Hashable, Codable {
    /// Nil: it has none, as a font.
    package var name: String?
    package var sha256: String
    package var bytes: Int64
  }

  package struct Segment: Sendable, Hashable, Codable {
    /// From 0.
    package var number: Int
    package var firstFrame: Int
    package var endFrame: Int
  }

  package struct Share: Sendable, Hashable, Codable {
    package var percent: Int
    package var seed: String
    package var segmentCount: Int
    package var segments: [Segment]
    /// Whether all of the sound was compared.
    package var comparedSound: Bool
  }

  package struct Film: Sendable, Hashable, Codable {
    package var name: String
    package var result: FilmVerification.Result
    /// Of the file that was rendered again. Nil: only some segments were.
    package var renderedSha256: String?
    package var tracks: [FilmComparison.Track]
    /// What differs beside what is seen and heard.
    package var remarks: [String]
    /// Why the film could not be read as far as the one that was rendered again.
    package var problem: String?
  }

  package struct Predicate: Sendable, Hashable, Codable {
    /// Of Sheaf.
    package var version: String
    /// Everything of the worker that the bytes of the film depend on: its libraries, the renderer, the processor.
    package var build: String
    package var slots: Int
    package var verifiedAt: Timestamp
    package var document: File
    /// The SHA-256 of the document with the values of its parameters and the documents that are its assets.
    package var resolvedDocumentSha256: String
    package var parameters: [String: String]
    /// As given. Nil: the default.
    package var segmentDuration: String?
    package var inputs: [File]
    package var fonts: [File]
    /// Nil: all of the film was rendered again.
    package var share: Share?
    package var result: FilmVerification.Result
    package var films: [Film]
  }

  private enum CodingKeys: String, CodingKey {
    case type = "_type"
    case subject, predicateType, predicate
  }

  package var type = VerificationStatement.statementType
  package var subject: [Subject]
  package var predicateType = VerificationStatement.predicateType
  package var predicate: Predicate

  /// - Parameters:
  ///   - parameters: The values that the document's parameters were given.
  ///   - segmentDuration: As given; empty: the default.
  package init(
    _ verification: FilmVerification, parameters: [String: String], segmentDuration: String, at time: Timestamp
  ) {
    subject = verification.films.map {
      Subject(name: $0.name, digest: Digests(sha256: $0.content.digest.hex))
    }
    predicate = Predicate(
      version: Product.version, build: verification.build, slots: verification.slots, verifiedAt: time,
      document: File(verification.document), resolvedDocumentSha256: verification.resolvedDocument.hex,
      parameters: parameters, segmentDuration: segmentDuration.isEmpty ? nil : segmentDuration,
      inputs: verification.sources.map { File($0) },
      fonts: verification.fonts.map { File(name: nil, sha256: $0.digest.hex, bytes: $0.size) },
      share: verification.share.map { Share($0) }, result: verification.result,
      films: verification.films.map { Film($0, isShare: verification.share != nil) })
  }

  /// As JSON on one line. Equal statements are equal bytes.
  package func encoded() throws -> [UInt8] { try [UInt8](JSONCoding.encoder.encode(self)) }

  /// Reads the payload of an envelope. Throws `Unreadable` if it is no statement of a verification.
  package init(_ payload: [UInt8], type: String) throws(Unreadable) {
    guard type == Self.payloadType else { throw Unreadable("its payload is \(type), and not \(Self.payloadType)") }
    do {
      self = try JSONDecoder().decode(VerificationStatement.self, from: Data(payload))
    } catch {
      throw Unreadable("its payload is no statement of a verification")
    }
    guard self.type == Self.statementType, predicateType == Self.predicateType else {
      throw Unreadable("it is a statement of \(predicateType), and not of \(Self.predicateType)")
    }
  }

  package struct Unreadable: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }
  }
}

extension VerificationStatement.File {
  fileprivate init(_ source: FilmVerification.Source) {
    self.init(name: source.name, sha256: source.content.digest.hex, bytes: source.content.size)
  }
}

extension VerificationStatement.Share {
  fileprivate init(_ share: FilmVerification.Share) {
    self.init(
      percent: share.percent, seed: share.seed, segmentCount: share.segmentCount,
      segments: share.segments.map {
        VerificationStatement.Segment(
          number: $0.number, firstFrame: $0.frames.lowerBound, endFrame: $0.frames.upperBound)
      }, comparedSound: share.hasSound)
  }
}

extension VerificationStatement.Film {
  fileprivate init(_ film: FilmVerification.Film, isShare: Bool) {
    self.init(
      name: film.name, result: film.result, renderedSha256: isShare ? nil : film.rendered.digest.hex,
      tracks: film.comparison.tracks, remarks: film.comparison.remarks, problem: film.comparison.problem)
  }
}
