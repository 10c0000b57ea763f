import Coordinator
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The film of a job while it is rendered: playlists that grow, and the segments that they name.
struct WatchRoutes: Sendable {
  private let quota: Quota

  init(_ quota: Quota) {
    self.quota = quota
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/jobs/{job}/watch/{name}", for: .see) { call in
        let file = try await quota.run { try await call.farm.watch(call.job, file: call.parameter("name")) }
        guard let tag = file.digest.map({ "\"\($0.hex)\"" }) else {
          return Response(bytes: Data(file.bytes), type: file.mediaType)
        }
        // A job that is planned again may have another segment of this name.
        let headers: HTTPFields = [.eTag: tag, .cacheControl: "private, no-cache"]
        if EntityTags.contain(call.header(.ifNoneMatch), tag, isWeak: true) {
          return Response(status: .notModified, headers: headers)
        }
        var response = Response(bytes: Data(file.bytes), type: file.mediaType)
        for field in headers { response.headers[field.name] = field.value }
        return response
      }
    ]
  }
}
