package import CompositionModel
import FoundationEssentials

/// The compositors that a worker's program has, by name.
package struct CompositorRegistry: Sendable {
  package static let none = CompositorRegistry()

  private var types: [String: any VideoCompositing.Type] = [:]

  private init() {}

  /// Throws if a name or a revision cannot be used, or if two compositors have the same name.
  package init(_ types: [any VideoCompositing.Type]) throws(CompositorError) {
    for type in types {
      guard CustomCompositor.isName(type.name) else {
        throw CompositorError(
          "the compositor \(type) has the name '\(type.name)'; a name has 1 to 40 ASCII letters, digits and '-', '_', '.'"
        )
      }
      guard (1...1_000_000).contains(type.revision) else {
        throw CompositorError(
          "the compositor '\(type.name)' has the revision \(type.revision); it must be 1 to 1000000")
      }
      guard self.types.updateValue(type, forKey: type.name) == nil else {
        throw CompositorError("there are two compositors with the name '\(type.name)'")
      }
    }
  }

  /// Sorted by name.
  package var list: [(name: String, revision: Int)] {
    types.sorted { $0.key < $1.key }.map { ($0.key, $0.value.revision) }
  }

  package func type(of compositor: CustomCompositor) throws(CompositorError) -> any VideoCompositing.Type {
    if let type = types[compositor.name] { return type }
    throw CompositorError("this worker's program has no compositor '\(compositor.name)'")
  }

  /// Throws if there is no such compositor, or if it refuses its parameters.
  package func make(_ compositor: CustomCompositor, size: PixelSize) throws(CompositorError) -> any VideoCompositing {
    func make<Compositor: VideoCompositing>(_ type: Compositor.Type) throws -> any VideoCompositing {
      let json = Data(compositor.parameters.utf8)
      return try Compositor(parameters: try JSONDecoder().decode(Compositor.Parameters.self, from: json), size: size)
    }
    let type = try type(of: compositor)
    do {
      return try make(type)
    } catch let error as DecodingError {
      throw CompositorError("\(compositor.title) cannot read its parameters: \(error.explanation)")
    } catch {
      throw CompositorError("\(compositor.title) refuses its parameters: \(error)")
    }
  }
}

extension CompositorRegistry {
  /// Why each compositor cannot be made; nil if it can.
  package func problems(with compositors: [CustomCompositor], size: PixelSize) -> [String?] {
    compositors.map { compositor -> String? in
      do throws(CompositorError) {
        _ = try make(compositor, size: size)
        return nil
      } catch {
        return error.description
      }
    }
  }
}

extension DecodingError {
  /// The place in the parameters, as a JSON pointer, and what is wrong there.
  fileprivate var explanation: String {
    let path: [any CodingKey]
    let text: String
    switch self {
    case .keyNotFound(let key, let context): (path, text) = (context.codingPath, "'\(key.stringValue)' is missing")
    case .valueNotFound(let type, let context): (path, text) = (context.codingPath, "null is not a \(type)")
    case .typeMismatch(let type, let context): (path, text) = (context.codingPath, "this is not a \(type)")
    case .dataCorrupted(let context): (path, text) = (context.codingPath, context.debugDescription)
    @unknown default: (path, text) = ([], "\(self)")
    }
    return (["/parameters"] + path.map { $0.intValue.map(String.init) ?? $0.stringValue }).joined(separator: "/")
      + ": " + text
  }
}
