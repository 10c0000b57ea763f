import CompositionModel

/// A key of an object together with the property of a Swift value that it is read into and written from.
struct Property<Object>: Sendable {
  let key: any DeclaredKey
  /// Reads a value of the key into the property. What is wrong leaves the property as it is.
  let read: @Sendable (_ reader: inout DocumentReader, _ value: JSONValue, _ object: inout Object) -> Void
  /// The value of the key. Nil: it is not written.
  let write: @Sendable (_ object: Object) -> JSONValue?

  /// The property of an object that has this one as a part: the keys of both are in one object of the document.
  func within<Whole>(_ path: any WritableKeyPath<Whole, Object> & Sendable) -> Property<Whole> {
    Property<Whole>(key: key) { reader, value, whole in
      read(&reader, value, &whole[keyPath: path])
    } write: { whole in
      write(whole[keyPath: path])
    }
  }

  /// The property without its reading: the object's reader reads it by what it knows of other parts of the document.
  var readBySection: Property { Property(key: key, read: { _, _, _ in }, write: write) }
}

extension Key {
  /// Of a property that is nil if the key is absent.
  func of<Object>(_ path: any WritableKeyPath<Object, Value?> & Sendable) -> Property<Object> {
    Property(key: self) { [form] reader, value, object in
      if let read = form.read(&reader, value) { object[keyPath: path] = read }
    } write: { [form] object in
      object[keyPath: path].map(form.write)
    }
  }

  /// Of a property that always has a value. It is always written.
  func of<Object>(_ path: any WritableKeyPath<Object, Value> & Sendable) -> Property<Object> {
    Property(key: self) { [form] reader, value, object in
      if let read = form.read(&reader, value) { object[keyPath: path] = read }
    } write: { [form] object in
      form.write(object[keyPath: path])
    }
  }

  /// Of a property that has a standard value if the key is absent. That value is not written.
  func of<Object>(_ path: any WritableKeyPath<Object, Value> & Sendable, standard: Value) -> Property<Object>
  where Value: Equatable {
    Property(key: self) { [form] reader, value, object in
      if let read = form.read(&reader, value) { object[keyPath: path] = read }
    } write: { [form] object in
      let value = object[keyPath: path]
      return value == standard ? nil : form.write(value)
    }
  }

  /// Of a key whose value is read by the object's reader, together with other keys.
  func written<Object>(_ value: @escaping @Sendable (Object) -> Value?) -> Property<Object> {
    Property(key: self, read: { _, _, _ in }, write: { [form] in value($0).map(form.write) })
  }

  /// Of a key that has the same value in every object.
  func always<Object>(_ value: Value) -> Property<Object> { written { _ in value } }

  /// Of a list that is empty if the key is absent.
  func of<Object, Element>(list path: any WritableKeyPath<Object, [Element]> & Sendable) -> Property<Object>
  where Value == [Element] {
    Property(key: self) { [form] reader, value, object in
      if let read = form.read(&reader, value) { object[keyPath: path] = read }
    } write: { [form] object in
      object[keyPath: path].isEmpty ? nil : form.write(object[keyPath: path])
    }
  }
}

extension DocumentReader {
  /// Reads the keys of an object into the properties of a value, in the order of the properties.
  /// - Parameter isRead: Which of the keys are read.
  mutating func read<Object>(
    _ fields: Fields, _ properties: [Property<Object>], into object: inout Object,
    where isRead: (any DeclaredKey) -> Bool = { _ in true }
  ) {
    for property in properties where isRead(property.key) {
      if let value = fields[property.key.name] { property.read(&self, value, &object) }
    }
  }
}

extension JSONValue {
  /// An object of the document: the keys of properties that have a value, in the order of the properties.
  static func object<Object>(_ object: Object, _ properties: [Property<Object>]) -> JSONValue {
    .object(properties.compactMap { property in property.write(object).map { (property.key.name, $0) } })
  }
}

extension [any DeclaredKey] {
  /// The keys of properties.
  init(_ properties: [Property<some Any>]) { self = properties.map(\.key) }
}

/// What is known of a value and no part of it, such as its place in a document: values that differ in it alone are
/// equal.
@propertyWrapper package struct Incidental<Value: Sendable>: Sendable, Hashable {
  package var wrappedValue: Value

  package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  package static func == (left: Self, right: Self) -> Bool { true }
  package func hash(into hasher: inout Hasher) {}
}
