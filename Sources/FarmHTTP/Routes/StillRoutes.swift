import CompositionModel
import Coordinator
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore

/// Still pictures of a job's composition, made on request.
struct StillRoutes: Sendable {
  private let farm: FarmService
  private let quota: Quota

  init(_ farm: FarmService, _ quota: Quota) {
    self.farm = farm
    self.quota = quota
  }

  /// The longest side that may be asked for, in pixels.
  private static let longestSide = 16_384

  var routes: [Route] {
    [
      Route(.get, "/v1/jobs/{job}/stills", query: ["time", "format", "quality", "width", "height"]) { call in
        let request = try Self.request(call.query)
        return try await quota.run { try await reply(to: call, request) }
      }
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

  private func reply(to call: Call, _ request: ImageRequest) async throws -> Response {
    guard let reply = try await farm.images(request, of: call.job) else { throw JobRoutes.absent(call.job) }
    guard reply.problems.isEmpty, let picture = reply.images?.pictures.first else {
      throw ProblemDetails(problems: reply.problems)
    }
    guard let place = picture.place, let digest = SHA256Digest(hex: place.digest) else {
      throw ProblemDetails(.notFound, picture.error ?? "there is no picture at this time")
    }
    let bytes = try await farm.read(digest, offset: place.offset, length: Int(place.byteCount))
    return Response(bytes: bytes, type: "image/\(request.format.rawValue)")
  }
}
