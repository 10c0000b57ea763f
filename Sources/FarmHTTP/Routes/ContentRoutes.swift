import CompositionModel
import Coordinator
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Content by its digest: what the farm lacks, and uploads that can be resumed.
struct ContentRoutes: Sendable {
  // Their names are constants that are valid.
  private static let offset = HTTPField.Name("Upload-Offset")!
  private static let length = HTTPField.Name("Upload-Length")!
  private static let complete = HTTPField.Name("Upload-Complete")!

  private let bodies: BodyReader
  let quota: Quota

  init(_ bodies: BodyReader, _ limits: HTTPLimits) {
    self.bodies = bodies
    quota = Quota(limits.uploads, of: "uploads")
  }

  var routes: [Route] {
    [
      Route(.post, "/v1/content/missing", for: .submit) { try await missing($0) },
      Route(.head, "/v1/content/{digest}", for: .submit) { call in
        let received = try await call.farm.received(try Self.digest(call))
        return Self.reply(.noContent, received.bytes, isComplete: received.isComplete)
      },
      Route(.put, "/v1/content/{digest}", for: .submit) { call in
        let digest = try Self.digest(call)
        guard let size = try Self.number(.contentLength, of: call) else {
          throw ProblemDetails(.badRequest, "an upload needs the header Content-Length; use PATCH for a part")
        }
        return try await receive(call, Content(digest: digest, size: size), from: 0)
      },
      Route(.patch, "/v1/content/{digest}", for: .submit) { call in
        let digest = try Self.digest(call)
        guard let offset = try Self.number(Self.offset, of: call), let size = try Self.number(Self.length, of: call)
        else {
          throw ProblemDetails(
            .badRequest, "a part of an upload needs the headers Upload-Offset and Upload-Length, the whole size")
        }
        // Opening it as the shorter content would drop what is there.
        let received = try await call.farm.received(digest)
        if !received.isComplete, received.bytes > size {
          throw ProblemDetails(
            .badRequest, "Upload-Length is the whole size, and not \(size): \(received.bytes) bytes have arrived")
        }
        return try await receive(call, Content(digest: digest, size: size), from: offset)
      },
    ]
  }

  // MARK: Missing

  private struct Missing: Encodable {
    /// The digests.
    var missing: [String]
  }

  private func missing(_ call: Call) async throws -> Response {
    try await bodies.run(call, as: ContentsBody.self, limit: BodyReader.longestPlainBody) { body in
      let files = try body.value.contents.map { FarmService.OfferedFile(content: try $0.content, file: "") }
      return Response(json: Missing(missing: try await call.farm.missing(files).map(\.hex)))
    }
  }

  // MARK: Uploads

  /// Appends the body to an upload.
  /// - Parameter offset: Of the body's first byte in the content.
  private func receive(_ call: Call, _ content: Content, from offset: Int64) async throws -> Response {
    try call.requirePlainBody()
    return try await quota.run {
      guard let upload = try await call.farm.upload(content) else {
        return Self.reply(.ok, content.size, isComplete: true)
      }
      // A whole upload of what an interrupted one left begins anew where that ended.
      var skipped = call.request.method == .put ? upload.received : 0
      // The reply to a part states the offset from which the client goes on.
      let isPart = call.request.method == .patch
      guard offset + skipped == upload.received else {
        await upload.keep(isPromised: upload.received > 0)
        var problem = ProblemDetails(
          .conflict, "the next part of this upload is at \(upload.received), and not at \(offset)")
        problem.headers[Self.offset] = "\(upload.received)"
        problem.headers[Self.complete] = "?0"
        throw problem
      }
      do {
        for try await part in call.parts {
          var part = part
          let skips = Int(min(skipped, Int64(part.readableBytes)))
          part.moveReaderIndex(forwardBy: skips)
          skipped -= Int64(skips)
          if part.readableBytes > 0 { try await upload.write(Data(part.readableBytesView)) }
        }
        guard upload.received == content.size else {
          await upload.keep(isPromised: isPart)
          guard isPart else { throw ProblemDetails(.badRequest, "the body ended too early") }
          return Self.reply(.noContent, upload.received, isComplete: false)
        }
        try await upload.finish()
      } catch {
        await upload.keep(isPromised: isPart && upload.received > 0)
        throw error
      }
      return Self.reply(.created, content.size, isComplete: true)
    }
  }

  private static func reply(_ status: HTTPResponse.Status, _ bytes: Int64, isComplete: Bool) -> Response {
    Response(
      status: status,
      headers: [
        offset: "\(bytes)", complete: isComplete ? "?1" : "?0", .cacheControl: "no-store",
      ])
  }

  private static func digest(_ call: Call) throws(ProblemDetails) -> SHA256Digest {
    guard let digest = SHA256Digest(hex: call.parameter("digest")) else {
      throw ProblemDetails(.notFound, "content is named by its SHA-256, 64 lower-case hexadecimal digits")
    }
    return digest
  }

  private static func number(_ name: HTTPField.Name, of call: Call) throws(ProblemDetails) -> Int64? {
    guard let text = call.header(name) else { return nil }
    guard let number = Int64(text), number >= 0, !text.hasPrefix("+") else {
      throw ProblemDetails(.badRequest, "\(name) is a number of bytes, not \"\(text.prefix(64))\"")
    }
    return number
  }
}

/// The body that asks which contents the farm lacks.
private struct ContentsBody: RequestBody {
  static let keys = ["contents"]

  struct Item: Decodable, Sendable {
    var digest: String
    var size: Int64

    var content: Content {
      get throws(ProblemDetails) {
        guard let digest = SHA256Digest(hex: digest), size >= 0 else {
          throw ProblemDetails(.invalid, "content has a digest of 64 lower-case hexadecimal digits, and a size from 0")
        }
        return Content(digest: digest, size: size)
      }
    }
  }

  var contents: [Item]
}
