import CompositionModel

/// Collects problems.
struct ProblemList: Sendable {
  /// A hostile document can have a problem in every byte. Problems beyond this number are only counted.
  static let limit = 500

  private var kept: [Problem] = []
  private var seen: Set<Problem> = []
  /// The places whose value is not known, and has its problem.
  private var unknown: Set<String> = []
  private(set) var count = 0
  /// How many were found in the shape of values: those that the JSON Schema says too.
  var shapeCount = 0

  /// The message is made only if it is kept. Equal messages at the same place are one problem.
  mutating func add(_ pointer: JSONPointer, _ message: @autoclosure () -> String) {
    guard unknown.isEmpty || !unknown.contains(pointer.text) else { return }
    count += 1
    guard kept.count < Self.limit else { return }
    let problem = Problem(pointer: pointer.text, message: message())
    if seen.insert(problem).inserted { kept.append(problem) } else { count -= 1 }
  }

  /// Adds a problem of another list.
  mutating func add(_ problem: Problem) {
    guard unknown.isEmpty || !unknown.contains(problem.pointer) else { return }
    count += 1
    guard kept.count < Self.limit else { return }
    if seen.insert(problem).inserted { kept.append(problem) } else { count -= 1 }
  }

  /// Adds a problem of a value's shape, which the JSON Schema of the value does not allow either.
  mutating func addShape(_ pointer: JSONPointer, _ message: @autoclosure () -> String) {
    shapeCount += 1
    add(pointer, message())
  }

  /// No problem is added at a place from now on: what its value will be is not known.
  mutating func passOver(_ pointer: JSONPointer) { unknown.insert(pointer.text) }

  /// The problems that are kept, and a last one with the number of the others.
  var problems: [Problem] {
    let hidden = count - kept.count
    return hidden == 0 ? kept : kept + [Problem(pointer: "", message: "and \(hidden) more problems, not shown")]
  }
}
