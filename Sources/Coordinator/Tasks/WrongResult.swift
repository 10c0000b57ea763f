import FoundationEssentials

/// What a task returned is whole and not what it should return: reading it again does not help.
struct WrongResult: Error, Hashable, CustomStringConvertible {
  let description: String
}

extension WrongResult {
  /// Reads the JSON that a task returned.
  /// - Parameter title: What it should be, for a person.
  static func decode<Value: Decodable>(
    _: Value.Type, from json: Data, as title: String
  ) throws(WrongResult) -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: json)
    } catch let error as DecodingError {
      throw WrongResult(description: "what a worker returned is not \(title): \(error.place)")
    } catch {
      throw WrongResult(description: "what a worker returned is not \(title): \(error)")
    }
  }
}

extension DecodingError {
  /// Which field is wrong, and why, such as `tracks[0].video.size.width: 0 is not from 1 to 16384`.
  var place: String {
    let (context, missing): (Context, (any CodingKey)?) =
      switch self {
      case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context): (context, nil)
      case .keyNotFound(let key, let context): (context, key)
      @unknown default: (Context(codingPath: [], debugDescription: "\(self)"), nil)
      }
    var path = ""
    for key in context.codingPath + [missing].compactMap(\.self) {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += (path.isEmpty ? "" : ".") + key.stringValue
      }
    }
    let reason = missing == nil ? context.debugDescription : "it is missing"
    return path.isEmpty ? reason : "\(path): \(reason)"
  }
}
