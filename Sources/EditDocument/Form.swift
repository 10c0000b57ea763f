import CompositionModel

/// How a value of the document is written: how it is read and written, its JSON Schema, and its type in the reference.
/// What is read, what is written and what the schema allows are declared together, so that they agree.
///
/// A form reports what is wrong with the value alone with `ProblemList.addShape`: what its schema says too. What
/// depends on other parts of the document, and what a schema cannot say, such as how finely a time may be divided, is
/// added with `ProblemList.add`.
struct Form<Value: Sendable>: Sendable {
  /// Such as `0 to 1`, in Markdown.
  var type: String
  var schema: JSONValue
  /// The value as it is read again: equal to it.
  let write: @Sendable (_ value: Value) -> JSONValue
  /// Nil and a problem if the value is wrong.
  let read: @Sendable (_ reader: inout DocumentReader, _ value: JSONValue) -> Value?

  init(
    _ type: String, _ schema: JSONValue, write: @escaping @Sendable (Value) -> JSONValue,
    _ read: @escaping @Sendable (inout DocumentReader, JSONValue) -> Value?
  ) {
    self.type = type
    self.schema = schema
    self.write = write
    self.read = read
  }
}

extension Form {
  /// A form whose schema is one of `SharedForms`.
  static func shared(
    _ type: String, _ name: String, write: @escaping @Sendable (Value) -> JSONValue,
    _ read: @escaping @Sendable (inout DocumentReader, JSONValue) -> Value?
  ) -> Form { Form(type, .reference(name), write: write, read) }

  @Sendable private func writeAll(_ values: [Value]) -> JSONValue { .array(values.map(write)) }

  /// An array of at most so many values; those that are wrong are left out.
  /// - Parameter noun: What the values are, with an example for a newcomer.
  static func array<Element>(of element: Form<Element>, _ noun: String) -> Form where Value == [Element] {
    Form("array of \(noun)", ["type": "array", "items": element.schema], write: element.writeAll) {
      reader, value in
      reader.items(value, noun).compactMap { element.read(&reader, $0) }
    }
  }

  /// An array that its section reads.
  static func items(_ type: String, of element: JSONValue, _ noun: String) -> Form where Value == [JSONValue] {
    Form(type, ["type": "array", "items": element], write: JSONValue.array) { reader, value in
      reader.items(value, noun)
    }
  }

  /// A value that its section reads with what it knows of other parts of the document.
  static func raw(_ type: String, _ schema: JSONValue) -> Form where Value == JSONValue {
    Form(type, schema, write: JSONValue.written) { _, value in value }
  }
}

// MARK: Scalars

extension Form where Value == Bool {
  static var boolean: Form { Form("boolean", ["type": "boolean"], write: JSONValue.boolean) { $0.boolean($1) } }
}

extension Form where Value == String {
  static var text: Form { Form("string", ["type": "string"], write: JSONValue.text) { $0.string($1) } }

  /// A string that is not empty.
  static func name(_ noun: String) -> Form { shared("string", "name", write: JSONValue.text) { $0.name($1, noun) } }

  static var language: Form { shared("three letters", "language", write: JSONValue.text) { $0.language($1) } }

  /// One of `names`.
  static func choice(_ noun: String, among names: [String], notYet: [String] = []) -> Form {
    Form(codes(names), ["enum": .array(names)], write: JSONValue.text) {
      $0.choice($1, noun, among: names, notYet: notYet)
    }
  }
}

extension Form where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the names of an enumeration.
  static func choice(_ noun: String, notYet: [String] = []) -> Form {
    let names = Value.allCases.map(\.rawValue)
    return Form(codes(names), ["enum": .array(names)], write: JSONValue.written) { $0.choice($1, noun, notYet: notYet) }
  }
}

extension Form where Value == Int {
  static func integer(_ range: ClosedRange<Int>) -> Form {
    Form(
      "\(range.lowerBound) to \(range.upperBound)",
      ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)],
      write: JSONValue.integer
    ) { $0.integer($1, in: range) }
  }

  /// One of `numbers`.
  static func member(of numbers: [Int], _ noun: String) -> Form {
    Form(list(numbers.map(String.init)), ["enum": .array(numbers)], write: JSONValue.integer) {
      $0.member($1, of: numbers, noun)
    }
  }
}

extension Form where Value == Double {
  static func number(_ range: ClosedRange<Double>) -> Form {
    Form("\(plain(range.lowerBound)) to \(plain(range.upperBound))", .number(range), write: JSONValue.decimal) {
      $0.number($1, in: range)
    }
  }

  /// A factor of samples: a number, or decibels.
  static func volume(_ range: ClosedRange<Double>) -> Form {
    Form("a volume", .any(.number(range), .reference("decibels")), write: JSONValue.decimal) {
      $0.volume($1, in: range)
    }
  }

  /// A number of decibels, with or without the unit.
  static func decibels(_ range: ClosedRange<Double>) -> Form {
    Form(
      "\(plain(range.lowerBound)) to \(plain(range.upperBound))", .any(.number(range), .reference("decibels")),
      write: JSONValue.decimal
    ) {
      $0.decibels($1, in: range)
    }
  }
}

extension Form where Value == Rational {
  /// A number, or a fraction of two whole numbers such as `"1/3"`.
  static func rational(_ range: ClosedRange<Rational>) -> Form {
    Form(
      "\(range.lowerBound) to \(range.upperBound)",
      .any(.number(range.lowerBound.approximate...range.upperBound.approximate), .reference("fraction")),
      write: JSONValue.rational
    ) { $0.rational($1, in: range) }
  }
}

// MARK: Times, colours, sizes

extension Form where Value == Document.Time {
  static var time: Form { time(.plain) }
  static func time(_ scope: TimeScope) -> Form { shared("time", scope.timeName) { $0.time($1, scope) } }
}

extension Form where Value == Document.TimeRange {
  static var range: Form { range(.plain) }
  static func range(_ scope: TimeScope) -> Form { shared("range", scope.rangeName) { $0.range($1, scope) } }
}

extension Form where Value == Color {
  static var color: Form { shared("colour", "color", write: JSONValue.color) { $0.color($1) } }
  /// One that is not transparent.
  static var solidColor: Form { shared("colour", "solidColor", write: JSONValue.color) { $0.background($1) } }
}

extension Form where Value == PixelSize {
  static func size(_ range: ClosedRange<Int>) -> Form {
    let side = Form<Int>.integer(range).schema
    return Form("`[width, height]`", .tuple(side, side)) { $0.size($1, in: range) }
  }
}

extension Form where Value == AssetID {
  /// The name of an asset that the document declares.
  static var asset: Form { Form("string", ["type": "string"], write: JSONValue.text) { $0.asset($1) } }
}

/// Names in Markdown's backticks, after one another.
private func codes(_ names: [String]) -> String { list(names.map { "`\($0)`" }) }
