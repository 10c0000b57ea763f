import CXML

/// An element of an XML file, read by libxml2.
struct XMLElement: Sendable {
  var name: String
  private var attributes: [String: String]
  var children: [XMLElement]
  /// The text in it, without that of its children.
  var text: String
  /// From 1.
  var line: Int

  subscript(_ attribute: String) -> String? { attributes[attribute] }

  var attributeNames: [String] { attributes.keys.sorted() }

  func children(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }
  func child(_ name: String) -> XMLElement? { children.first { $0.name == name } }

  var place: String { "line \(line)" }

  /// Reads a file without its DTD and without any other file. One that declares entities is refused: a few of them can
  /// stand for any amount of text, or for a file.
  static func read(_ bytes: [UInt8]) throws(TimelineError) -> XMLElement {
    let options =
      XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
      | XML_PARSE_BIG_LINES.rawValue
    let document = bytes.withUnsafeBytes { bytes in
      xmlReadMemory(
        bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count), nil, nil,
        Int32(options | XML_PARSE_NOCDATA.rawValue))
    }
    guard let document else {
      let error = xmlGetLastError()
      let message = error?.pointee.message.map { String(cString: $0).trimmed } ?? "it is empty"
      throw TimelineError("line \(error?.pointee.line ?? 1)", "it is no XML: \(message)")
    }
    defer { xmlFreeDoc(document) }
    for subset in [document.pointee.intSubset, document.pointee.extSubset] {
      guard let subset, subset.pointee.entities != nil || subset.pointee.pentities != nil else { continue }
      throw TimelineError("line 1", "its document type declares entities, which are not read: write out what they are")
    }
    guard let root = xmlDocGetRootElement(document) else { throw TimelineError("", "it is XML without an element") }
    return XMLElement(root)
  }

  /// Its depth is limited by libxml2.
  private init(_ node: UnsafeMutablePointer<xmlNode>) {
    name = Self.text(node.pointee.name)
    line = Int(xmlGetLineNo(node))
    (attributes, children, text) = ([:], [], "")
    var attribute = node.pointee.properties
    while let current = attribute {
      let value = xmlNodeGetContent(UnsafeMutableRawPointer(current).assumingMemoryBound(to: xmlNode.self))
      attributes[Self.text(current.pointee.name)] = Self.text(value)
      sheaf_xml_free(value)
      attribute = current.pointee.next
    }
    var child = node.pointee.children
    while let current = child {
      switch current.pointee.type {
      case XML_ELEMENT_NODE: children.append(XMLElement(current))
      case XML_TEXT_NODE: text += Self.text(current.pointee.content)
      default: break
      }
      child = current.pointee.next
    }
  }

  private static func text(_ characters: UnsafePointer<UInt8>?) -> String {
    characters.map { String(cString: $0) } ?? ""
  }
}

extension XMLElement {
  /// The same with another value of an attribute. Nil: without it.
  func setting(_ attribute: String, to value: String?) -> XMLElement {
    var element = self
    element.attributes[attribute] = value
    return element
  }
}
