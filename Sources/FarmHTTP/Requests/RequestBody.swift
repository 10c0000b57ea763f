import CompositionModel
import Coordinator
import FarmAPI
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import Runtime

/// What the JSON of a request's body may be.
protocol RequestBody: Decodable, Sendable {
  /// The names of its members. Any other is a mistake.
  static var keys: [String] { get }
}

/// The body of a request as JSON.
struct DecodedBody<Body: RequestBody>: Sendable {
  var value: Body
  /// As they were sent.
  var bytes: [UInt8]
  /// The farm, as whoever sent them may ask it.
  var farm: FarmService
}

/// Reads the bodies of requests within a time, a rate and a size. So many long ones are read at a time, and so many
/// bodies are answered: a short one is read before it waits for its turn, so that it waits for no slow client.
struct BodyReader: Sendable {
  /// A document's text takes more bytes as a JSON string, and the members around it some.
  static let longestBody = Submission.longestDocument * 3 / 2 + (4 << 20)
  /// Of a body that has no document.
  static let longestPlainBody = 4 << 20

  /// One that is longer is decoded on a thread of its own, and waits until it is read on.
  private static let quickBody = 32 << 10

  private let limits: HTTPLimits
  private let readers: AsyncSemaphore
  private let slots: AsyncSemaphore

  /// - Parameter most: How many long bodies are read at a time, and how many bodies are answered.
  init(_ limits: HTTPLimits, most: Int) {
    self.limits = limits
    readers = AsyncSemaphore(capacity: most)
    slots = AsyncSemaphore(capacity: most)
  }

  /// Reads the body, and answers with it. Throws `.badRequest` if it is not JSON, `.invalid` with each problem that was
  /// found if it is other JSON than it should be.
  func run<Body: RequestBody>(
    _ call: Call, as type: Body.Type = Body.self, limit: Int = longestBody,
    _ answer: @escaping @Sendable (DecodedBody<Body>) async throws -> Response
  ) async throws -> Response {
    // Stated, because a browser sends bytes without a type for any page.
    let given = call.header(.contentType) ?? "none"
    let mediaType = given.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    guard mediaType == "application/json" else {
      throw ProblemDetails(.unsupportedMediaType, "the body must be application/json, not \(given.prefix(128))")
    }
    try call.requirePlainBody()
    if let length = call.header(.contentLength), Int64(length) ?? .max > limit { throw IncomingBody.tooLong(limit) }
    let watch = BodyWatch(limits)
    return try await withThrowingTaskGroup(of: Response?.self) { group in
      group.addTask {
        var body = IncomingBody(call, limit: limit, watch)
        if try await body.read(atMost: Self.quickBody) {
          watch.end()
          return try await self.answer(body.bytes, call.farm, answer)
        }
        watch.pause()
        guard await readers.enter() else { throw CancellationError() }
        defer { readers.leave() }
        watch.goOn()
        _ = try await body.read(atMost: limit)
        watch.end()
        return try await self.answer(body.bytes, call.farm, answer)
      }
      group.addTask {
        try await watch.run()
        return nil
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let response = ended { return response } }
      throw CancellationError()
    }
  }

  /// Answers in the body's turn.
  private func answer<Body: RequestBody>(
    _ bytes: [UInt8], _ farm: FarmService, _ answer: @Sendable (DecodedBody<Body>) async throws -> Response
  ) async throws -> Response {
    try await slots.withPermit {
      let value: Body =
        if bytes.count <= Self.quickBody { try Self.decode(bytes) } else {
          try await BlockingWork.run(.planning) { try Self.decode(bytes) }
        }
      return try await answer(DecodedBody(value: value, bytes: bytes, farm: farm))
    }
  }

  static func decode<Body: RequestBody>(_ bytes: [UInt8]) throws(ProblemDetails) -> Body {
    let decoder = JSONDecoder()
    let data = Data(bytes)
    do {
      let members = try decoder.decode(MemberNames.self, from: data)
      let unknown = members.names.filter { !Body.keys.contains($0) }.sorted().prefix(20)
      guard unknown.isEmpty else {
        let problems = unknown.map { name in
          let hint = nearest(to: name, among: Body.keys).map { "did you mean '\($0)'?" }
          return Problem(
            pointer: "/" + name.replacing("~", with: "~0").replacing("/", with: "~1"),
            message: "there is no such member; "
              + (hint ?? "the members are \(Body.keys.joined(separator: ", "))"))
        }
        throw ProblemDetails(.invalid, "\(problems[0])", problems: problems)
      }
      let value = try decoder.decode(Body.self, from: data)
      // What is not there is left out.
      if let name = members.nulls.first(where: { Body.keys.contains($0) }) {
        let problem = Problem(pointer: "/" + name, message: "it is null; leave it out")
        throw ProblemDetails(.invalid, "\(problem)", problems: [problem])
      }
      return value
    } catch let error as ProblemDetails {
      throw error
    } catch let error as DecodingError {
      throw ProblemDetails(error)
    } catch {
      throw ProblemDetails(.badRequest, "the body cannot be read as JSON")
    }
  }
}

/// The names of the members of a JSON object.
struct MemberNames: Decodable {
  struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  var names: [String]
  /// Those whose values are null.
  var nulls: [String]

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Name.self)
    names = container.allKeys.map(\.stringValue)
    nulls = try container.allKeys.filter { try container.decodeNil(forKey: $0) }.map(\.stringValue).sorted()
  }
}

extension ProblemDetails {
  /// Of a body that is not JSON, or is other JSON than it should be.
  init(_ error: DecodingError) {
    let (path, message): ([any CodingKey], String) =
      switch error {
      case .dataCorrupted(let context): (context.codingPath, context.debugDescription)
      case .keyNotFound(let key, let context): (context.codingPath, "the member '\(key.stringValue)' is missing")
      case .typeMismatch(let type, let context): (context.codingPath, "it is not \(Self.name(of: type))")
      case .valueNotFound(let type, let context): (context.codingPath, "it is null, and not \(Self.name(of: type))")
      @unknown default: ([], "\(error)")
      }
    if case .dataCorrupted = error, path.isEmpty {
      self.init(.badRequest, "the body is not JSON: \(message)")
      return
    }
    let pointer = path.map { key in
      "/" + (key.intValue.map { "\($0)" } ?? key.stringValue.replacing("~", with: "~0").replacing("/", with: "~1"))
    }.joined()
    let problem = Problem(pointer: pointer, message: message)
    self.init(.invalid, "\(problem)", problems: [problem])
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text"
    case is Bool.Type: "true or false"
    case is any BinaryInteger.Type: "a whole number"
    case is any BinaryFloatingPoint.Type: "a number"
    default: "\(type)".hasPrefix("Array") ? "an array" : "an object"
    }
  }
}
