import Digest
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The page: HTML, a style sheet and modules of JavaScript that are in the program. They hold nothing of the farm, so
/// they are served without its token; the page asks for it and sends it with each request of the API.
struct PageRoutes: Sendable {
  /// The page runs its own modules alone, and connects to this server alone.
  static let policy =
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; "
    + "img-src 'self' blob:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  // Their names are constants that are valid.
  private static let contentTypeOptions = HTTPField.Name("X-Content-Type-Options")!
  private static let referrerPolicy = HTTPField.Name("Referrer-Policy")!

  var routes: [Route] {
    [
      Route(.get, "/", isOpen: true) { call in Self.reply(to: call, PageFile.index) },
      Route(.get, "/assets/{name}", isOpen: true) { call in
        let name = call.parameter("name")
        guard let file = PageFile.assets[name] else {
          throw ProblemDetails(.notFound, "the page has no file \(name.prefix(256))")
        }
        return Self.reply(to: call, file)
      },
    ]
  }

  private static func reply(to call: Call, _ file: PageFile) -> Response {
    var headers: HTTPFields = [
      .eTag: file.tag,
      // A browser keeps it, and asks each time whether the program has another one now.
      .cacheControl: "no-cache",
      .contentSecurityPolicy: policy,
      contentTypeOptions: "nosniff",
      referrerPolicy: "no-referrer",
    ]
    if EntityTags.contain(call.header(.ifNoneMatch), file.tag, isWeak: true) {
      return Response(status: .notModified, headers: headers)
    }
    headers[.contentType] = file.type
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes)))
  }
}
