import CompositionModel
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
