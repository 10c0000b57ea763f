import CompositionModel
import EditDocument

// The guides of Kdenlive, which are JSON in properties.

extension MLTReader {
  private static let properties = ["kdenlive:docproperties.guides", "kdenlive:sequenceproperties.guides"]

  mutating func guides(_ root: XMLElement) throws(TimeError) -> [TimelineMarker] {
    var markers: [TimelineMarker] = []
    // Newer versions have them twice: of the project and of its sequence.
    var known: Set<TimelineMarker> = []
    for element in root.children {
      for property in element.children("property") {
        guard let name = property["name"], Self.properties.contains(name) else { continue }
        for guide in entries(of: property) {
          place = property.place
          let marker = TimelineMarker(name: guide.name, time: try seconds(guide.frame), place: "")
          guard known.insert(marker).inserted else { continue }
          markers.append(TimelineMarker(name: marker.name, time: marker.time, place: property.place))
        }
      }
    }
    return markers
  }

  private mutating func entries(of property: XMLElement) -> [(name: String, frame: Int)] {
    let text = property.text.trimmed
    guard !text.isEmpty else { return [] }
    let value: JSONValue
    do throws(JSONSyntaxError) {
      value = try JSONReader.read(Array(text.utf8)).value
    } catch {
      note(property, "the guides", "not taken: they are not JSON at line \(error.line): \(error.message)")
      return []
    }
    guard case .array(let items) = value.content else {
      note(property, "the guides", "not taken: an array of them is expected, not \(value.shown)")
      return []
    }
    return items.compactMap { item in
      let members = item.members
      if case .number(let text)? = members["pos"]?.content, let frame = frames(text) {
        var name = ""
        if case .string(let comment)? = members["comment"]?.content { name = comment }
        return (name, frame)
      }
      note(property, "the guide \(item.pointer.text)", "not taken: it has no number 'pos' of a frame")
      return nil
    }
  }
}

extension JSONValue {
  /// Of an object; of another value none.
  fileprivate var members: [String: JSONValue] {
    guard case .object(let members) = content else { return [:] }
    return Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
  }
}
