import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore
import SystemSupport

extension Response {
  /// A value as JSON, in the form of `--json`.
  init(json value: some Encodable, status: HTTPResponse.Status = .ok, type: String = "application/json") {
    do {
      let data = try JSONCoding.encoder.encode(value)
      self.init(bytes: data, type: type, status: status)
    } catch {
      // A number that JSON does not have, such as an infinity.
      self = ProblemDetails(.internal, "the reply cannot be written as JSON: \(error)").response
    }
  }

  init(bytes: Data, type: String, status: HTTPResponse.Status = .ok) {
    self.init(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    // What a farm answers changes, and is for whoever has asked.
    headers[.cacheControl] = "no-store"
  }

  init(text: String, type: String = "text/plain; charset=utf-8") {
    self.init(bytes: Data(text.utf8), type: type)
  }
}
