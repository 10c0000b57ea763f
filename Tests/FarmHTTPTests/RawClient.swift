import Foundation
import Glibc

/// A client of HTTP/1.1 that is as simple as can be, so that what the server writes is read by nothing of its own.
final class RawClient: @unchecked Sendable {
  // Unchecked, and safe: a test uses one from one task at a time.
  struct Reply: Sendable {
    var status: Int
    /// By their names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as a JSON object; empty if it is none.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }

    subscript(name: String) -> String? { headers[name.lowercased()] }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let socket: Int32
  private var buffer: [UInt8] = []

  init(port: Int) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
    // A test fails rather than waits for ever.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(socket) }

  // MARK: On a thread of its own

  private func blocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }

  func send(_ bytes: [UInt8]) async throws {
    try await blocking { [self] in
      var offset = 0
      while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes {
          Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
        offset += count
      }
    }
  }

  /// Sends a request and reads its reply.
  func request(
    _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
  ) async throws -> Reply {
    try await send(Self.head(method, path, headers, length: body?.count) + (body ?? []))
    return try await reply(to: method)
  }

  static func head(_ method: String, _ path: String, _ headers: [(String, String)], length: Int?) -> [UInt8] {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let length { text += "Content-Length: \(length)\r\n" }
    return Array((text + "\r\n").utf8)
  }

  /// Reads a reply.
  func reply(to method: String = "GET") async throws -> Reply {
    try await blocking { [self] in
      var reply = try readHead()
      while reply.status == 100 { reply = try readHead() }
      let hasBody = method != "HEAD" && reply.status != 204 && reply.status != 304
      if hasBody, let length = reply["content-length"].flatMap({ Int($0) }) {
        reply.body = try take(length)
      } else if hasBody, reply["transfer-encoding"] == "chunked" {
        while case let part = try readChunk(), !part.isEmpty { reply.body += part }
      }
      return reply
    }
  }

  /// Reads the head of a reply whose body follows in chunks.
  func head() async throws -> Reply { try await blocking { [self] in try readHead() } }

  /// An event of a stream.
  struct Event: Sendable {
    var id: String?
    var name: String
    var data: String

    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:] }
  }

  private var lines: [String] = []
  private var rest: [UInt8] = []
  private(set) var comments = 0

  /// Reads lines until so many comments have come. Returns false if the stream ends first, or an event comes.
  func readComments(_ count: Int) async throws -> Bool {
    try await blocking { [self] in
      while comments < count {
        guard let line = try readLine() else { return false }
        if line.hasPrefix(":") { comments += 1 } else if !line.isEmpty { return false }
      }
      return true
    }
  }

  /// The next event of a stream. Nil: the stream has ended.
  func event() async throws -> Event? {
    try await blocking { [self] in
      var event = Event(name: "message", data: "")
      while let line = try readLine() {
        if line.isEmpty {
          if !event.data.isEmpty { return event }
          continue
        }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        switch parts[0] {
        case "": comments += 1
        case "id": event.id = value
        case "event": event.name = value
        case "data": event.data += value
        default: break
        }
      }
      return nil
    }
  }

  /// A line of the body that comes in chunks. Nil: it has ended.
  private func readLine() throws -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest.removeFirst(end + 1) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let chunk = try readChunk()
      if chunk.isEmpty { return nil }
      rest += chunk
    }
  }

  /// Whether the server has closed the connection.
  func isClosed() async throws -> Bool {
    try await blocking { [self] in
      var bytes = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = recv(socket, &bytes, bytes.count, 0)
        if count == 0 || count < 0 && errno == ECONNRESET { return true }
        guard count > 0 else { return false }
      }
    }
  }

  /// Ends the client's side of the connection.
  func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

  /// Everything that the server still sends until it closes the connection.
  func rest() async throws -> String {
    try await blocking { [self] in
      while true {
        do { try receive() } catch let failure as Failure where failure.description == "closed" {
          return String(decoding: buffer, as: UTF8.self)
        }
      }
    }
  }

  // MARK: Reading

  private func readHead() throws -> Reply {
    while true {
      if let end = firstRange(of: [13, 10, 13, 10]) {
        let text = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeFirst(end + 4)
        let lines = text.components(separatedBy: "\r\n")
        let status = lines[0].split(separator: " ")
        guard status.count >= 2, status[0] == "HTTP/1.1", let code = Int(status[1]) else {
          throw Failure(description: "no status line: \(lines[0])")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          guard let colon = line.firstIndex(of: ":") else { throw Failure(description: "no header: \(line)") }
          headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return Reply(status: code, headers: headers, body: [])
      }
      try receive()
    }
  }

  private func readChunk() throws -> [UInt8] {
    while firstRange(of: [13, 10]) == nil { try receive() }
    let end = firstRange(of: [13, 10]) ?? 0
    guard let size = Int(String(decoding: buffer[..<end], as: UTF8.self), radix: 16) else {
      throw Failure(description: "no size of a chunk")
    }
    buffer.removeFirst(end + 2)
    let bytes = try take(size)
    _ = try take(2)
    return bytes
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try receive() }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  private func receive() throws {
    var bytes = [UInt8](repeating: 0, count: 65536)
    let count = recv(socket, &bytes, bytes.count, 0)
    guard count > 0 else {
      throw Failure(description: count == 0 ? "closed" : "receive: \(String(cString: strerror(errno)))")
    }
    buffer += bytes[..<count]
  }

  private func firstRange(of pattern: [UInt8]) -> Int? {
    guard buffer.count >= pattern.count else { return nil }
    return (0...(buffer.count - pattern.count)).first {
      buffer[$0] == pattern[0] && Array(buffer[$0..<($0 + pattern.count)]) == pattern
    }
  }
}
