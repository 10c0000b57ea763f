import CompositionModel
import Coordinator
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import Runtime

/// Still pictures of a job's composition, made on request.
struct StillRoutes: Sendable {
  private let bodies: BodyReader
  private let quota: Quota

  init(_ bodies: BodyReader, _ quota: Quota) {
    self.bodies = bodies
    self.quota = quota
  }

  private static let longestSide = StillBody.longestSide

  var routes: [Route] {
    [
      Route(.get, "/v1/jobs/{job}/stills", for: .see, query: ["time", "format", "quality", "width", "height"]) { call in
        let request = try Self.request(call.query)
        return try await quota.run {
          guard let reply = try await call.farm.images(request, of: call.job) else { throw JobRoutes.absent(call.job) }
          guard reply.problems.isEmpty else { throw ProblemDetails(problems: reply.problems) }
          return try await response(reply.images, request.format, call.farm)
        }
      },
      Route(.post, "/v1/stills", for: .submit) { call in
        try await bodies.run(call, as: StillBody.self) { body in try await quota.run { try await make(body) } }
      },
    ]
  }

  private static func request(_ query: Query) throws(ProblemDetails) -> ImageRequest {
    guard let time = try query.text("time") else {
      throw ProblemDetails(.badRequest, "give the parameter time, as a document writes a time: 5, 1.5, 7/30 or 90f")
    }
    let formats: [ImageFormat] = try query.values("format")
    guard formats.count < 2 else { throw ProblemDetails(.badRequest, "a picture has one format") }
    let (width, height) = (
      try query.number("width", in: 1...longestSide), try query.number("height", in: 1...longestSide)
    )
    let box =
      width == nil && height == nil
      ? nil : PixelSize(width: width ?? longestSide, height: height ?? longestSide)
    return ImageRequest(
      times: .list([time]), format: formats.first ?? .jpeg,
      quality: try query.number("quality", in: 1...100) ?? ImageFormat.defaultQuality, box: box)
  }

  /// A picture of a document, or of a media file, without a job.
  private func make(_ body: DecodedBody<StillBody>) async throws -> Response {
    let sources = try body.value.assets.sources
    let images = try body.value.images
    let document = try body.documentIfAny
    var request: InspectionRequest
    var missing: [Problem] = []
    if let document {
      let output = try await DocumentRoutes.output(of: document, body.value.output)
      let found = try await body.farm.assets(of: SubmittedText(document, output: output), sources)
      missing = found.problems
      request = InspectionRequest(document: Data(document), assets: found.assets)
      request.output = output
    } else {
      guard sources.count == 1 else { throw ProblemDetails(.invalid, "give a document, or one asset") }
      request = InspectionRequest(assets: try await body.farm.assets(sources))
    }
    request.images = images
    var problems = missing
    var reply = InspectionReply()
    do {
      if missing.isEmpty {
        reply = try await body.farm.inspect(request)
        problems = reply.problems
      }
    } catch let error as DocumentError {
      problems = error.problems
    }
    guard problems.isEmpty else {
      let found = problems
      throw ProblemDetails(
        problems: try await BlockingWork.run(.planning) { document.map { found.located(in: $0) } ?? found })
    }
    return try await body.value.isList
      ? list(reply.images, body.farm) : response(reply.images, images.format, body.farm)
  }

  private struct Pictures: Encodable {
    struct Picture: Encodable {
      var requested: ImageReply.Time
      var actual: ImageReply.Time?
      var width: Int?
      var height: Int?
      var isDamaged: Bool
      var error: String?
      /// Its file in Base64. Nil: there is no picture.
      var data: Data?
    }

    var pictures: [Picture]
  }

  /// The most bytes of the pictures of a reply.
  private static let mostBytes: Int64 = 64 << 20

  private func list(_ images: ImageReply?, _ farm: FarmService) async throws -> Response {
    let found = images?.pictures ?? []
    let bytes = found.reduce(0) { $0 + ($1.place?.byteCount ?? 0) }
    guard found.count <= StillBody.mostPictures, bytes <= Self.mostBytes else {
      throw ProblemDetails(
        .invalid,
        "\(found.count) pictures of \(bytes) bytes; a reply has at most \(StillBody.mostPictures) pictures and "
          + "\(Self.mostBytes) bytes: ask for some of them, or for smaller ones")
    }
    var pictures: [Pictures.Picture] = []
    for picture in found {
      var shown = Pictures.Picture(
        requested: picture.requested, actual: picture.actual, width: picture.size?.width, height: picture.size?.height,
        isDamaged: picture.isDamaged, error: picture.error)
      if let place = picture.place, let digest = SHA256Digest(hex: place.digest) {
        shown.data = try await farm.read(digest, offset: place.offset, length: Int(place.byteCount))
      }
      pictures.append(shown)
    }
    return Response(json: Pictures(pictures: pictures))
  }

  /// The one picture of a reply, or its contact sheet.
  private func response(
    _ images: ImageReply?, _ format: ImageFormat, _ farm: FarmService
  ) async throws -> Response {
    let picture = images?.sheet ?? images?.pictures.first
    guard let place = picture?.place, let digest = SHA256Digest(hex: place.digest) else {
      throw ProblemDetails(.notFound, picture?.error ?? "there is no picture at this time")
    }
    let bytes = try await farm.read(digest, offset: place.offset, length: Int(place.byteCount))
    return Response(bytes: bytes, type: "image/\(format.rawValue)")
  }
}
