import CompositionModel

/// Reads JSON values as the entries of a document. It collects every problem and continues after each.
///
/// Each section of the document extends it in the section's own file. The functions here read single values. They
/// return nil and add a problem if a value is wrong, and return nil alone if there is no value.
struct DocumentReader {
  /// The output's path from the command line.
  let output: String?
  /// Takes the place of the document's preset. Nil: the document's.
  let preset: PresetChoice?
  /// How many documents this one is in, each an asset of the one before.
  var depth = 0
  var problems = ProblemList()
  /// What is read otherwise than it is written.
  var warnings = ProblemList()
  /// Whether a part of a document is read alone. The names that it refers to are those of any document.
  var isOfPart = false
  var names = DeclaredNames()
  var metadataTracks: [Document.MetadataTrack] = []
  /// How many values they have together.
  var metadataCount = 0
  var metadataUses: [MetadataUse] = []
  /// The overlays with a text of a metadata track, and how many different texts they have together.
  var trackTextOverlayCount = 0
  var trackTextCount = 0
  /// The frames and values of which these may still be computed.
  var trackTextFrames = TrackText.greatestFrameCount
  /// The duration of an output frame. Nil: the media decide it, or it is not read yet.
  var frameDuration: MediaTime?
  /// The numbers of overlays that come from metadata tracks.
  var numberTrackCount = 0
  /// The font files that texts name by their paths.
  var fontFiles: [AssetEntry] = []
  var fontFileNames: Set<AssetID> = []
  /// The place of the first message that lists the keys of a kind of object. What is read several times has the list
  /// each time.
  var listedKeys: [[String]: JSONPointer] = [:]

  /// An object without unknown keys.
  struct Fields {
    let pointer: JSONPointer
    private let members: [String: JSONValue]

    init(pointer: JSONPointer, members: [String: JSONValue]) {
      self.pointer = pointer
      self.members = members
    }

    subscript(_ key: String) -> JSONValue? { members[key] }
    func has(_ key: String) -> Bool { members[key] != nil }
  }

  /// Reads an object. Its keys are `keys`. Those of `notYet` belong to the document's language, but this version
  /// refuses them. `instead` has, for keys in small letters that people know from elsewhere, what to write here.
  /// - Parameters:
  ///   - noun: What the object is. If it need not be an object, `alternative` says so.
  ///   - elsewhere: Other objects of the document, whose keys are looked for here.
  mutating func fields(
    _ value: JSONValue, _ noun: String, alternative: String = "", keys: [String], notYet: [String] = [],
    instead: [String: String] = [:], elsewhere: [(noun: String, keys: [String])] = []
  ) -> Fields? {
    guard case .object(let members) = value.content else {
      let possible = listed(keys, of: noun, at: value.pointer, " with the keys")
      problems.addShape(
        value.pointer, "\(value.shown) is not \(noun): an object\(possible)\(alternative) should be here")
      return nil
    }
    var legal: [String: JSONValue] = [:]
    for (key, member) in members {
      if keys.contains(key) {
        legal[key] = member
      } else if notYet.contains(key) {
        problems.addShape(
          member.pointer, "'\(key)' is part of the document's language but this version cannot render it yet")
      } else {
        let possible = listed(keys, of: noun, at: member.pointer, "; the keys of \(noun) are")
        let place = elsewhere.first { $0.keys.contains(key) }
        let hint = (instead[key.lowercased()] ?? place.map { "'\(key)' is a key of \($0.noun)" }).map { " (\($0))" }
        problems.addShape(
          member.pointer,
          "unknown key '\(key.shortened)'\(hint ?? suggestion(for: key, among: keys))\(possible)")
      }
    }
    return Fields(pointer: value.pointer, members: legal)
  }

  /// The keys of an object for a message, after some words; empty if an earlier message has them.
  private mutating func listed(
    _ keys: [String], of noun: String, at pointer: JSONPointer, _ words: String
  ) -> String {
    // Of a hostile document's problems the others are only counted.
    guard problems.count < ProblemList.limit else { return "" }
    if let first = listedKeys[[noun] + keys], first != pointer { return "" }
    listedKeys[[noun] + keys] = pointer
    return "\(words) \(list(keys))"
  }

  /// The value of a key that must be there.
  /// - Parameter example: The key as it may be written, where a newcomer cannot guess that.
  mutating func required(_ fields: Fields, _ key: String, _ noun: String, example: String? = nil) -> JSONValue? {
    if let value = fields[key] { return value }
    problems.addShape(fields.pointer, "\(noun) needs '\(key)'" + (example.map { ", such as \($0)" } ?? ""))
    return nil
  }

  /// The values of an array.
  mutating func items(_ value: JSONValue?, _ noun: String) -> [JSONValue] {
    guard let value else { return [] }
    if case .array(let items) = value.content { return items }
    problems.addShape(value.pointer, "\(value.shown) should be an array of \(noun)")
    return []
  }

  /// The members of an object of any keys.
  mutating func members(_ value: JSONValue?, _ noun: String) -> [(key: String, value: JSONValue)] {
    guard let value else { return [] }
    if case .object(let members) = value.content { return members }
    problems.addShape(value.pointer, "\(value.shown) should be an object of \(noun)")
    return []
  }

  mutating func string(_ value: JSONValue?) -> String? {
    guard let value else { return nil }
    if case .string(let text) = value.content { return text }
    problems.addShape(value.pointer, "\(value.shown) should be a string")
    return nil
  }

  /// A string that is not empty.
  mutating func name(_ value: JSONValue?, _ noun: String) -> String? {
    guard let value, let text = string(value) else { return nil }
    if !text.isEmpty, !text.utf8.contains(0) { return text }
    problems.addShape(value.pointer, "\(noun) must not be empty or contain a null character")
    return nil
  }

  mutating func boolean(_ value: JSONValue?) -> Bool? {
    guard let value else { return nil }
    if case .boolean(let flag) = value.content { return flag }
    problems.addShape(value.pointer, "\(value.shown) should be true or false")
    return nil
  }

  /// A whole number, such as `1920` or `1920.0`.
  mutating func integer(_ value: JSONValue?, in range: ClosedRange<Int>) -> Int? {
    guard let value else { return nil }
    if case .number(let text) = value.content, let exact = try? exactDecimal(text), exact.denominator == 1,
      let number = Int(exactly: exact.numerator), range.contains(number)
    {
      return number
    }
    problems.addShape(
      value.pointer, "\(value.shown) should be a whole number from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  /// A number. -0 is read as 0.
  mutating func number(_ value: JSONValue?, in range: ClosedRange<Double>) -> Double? {
    guard let value else { return nil }
    if case .number(let text) = value.content, let number = Double(text), range.contains(number) {
      return number == 0 ? 0 : number
    }
    problems.addShape(
      value.pointer, "\(value.shown) should be a number from \(plain(range.lowerBound)) to \(plain(range.upperBound))")
    return nil
  }

  /// An exact number: `1.5`, or a fraction of two whole numbers such as `"30000/1001"`.
  mutating func rational(_ value: JSONValue?, in range: ClosedRange<Rational>) -> Rational? {
    guard let value else { return nil }
    var number: Rational?
    var isShape = true
    switch value.content {
    case .number(let text):
      number = try? exactDecimal(text)
      let bounds = range.lowerBound.approximate...range.upperBound.approximate
      isShape = !(Double(text).map(bounds.contains) ?? false)
    case .string(let text):
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      let isFraction = parts.count == 2 && parts.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isNumber } }
      if isFraction, let above = Int64(parts[0]), let below = Int64(parts[1]) {
        number = try? Rational(Int128(above), Int128(below))
      }
      isShape = !isFraction || parts[0].isEmpty || !parts[1].contains { $0 != "0" }
    default: break
    }
    if let number, range.contains(number) { return number }
    let message =
      "\(value.shown) should be a number from \(range.lowerBound) to \(range.upperBound), or a fraction such as \"1/3\""
    if isShape { problems.addShape(value.pointer, message) } else { problems.add(value.pointer, message) }
    return nil
  }

  /// A time of a timeline.
  mutating func time(_ value: JSONValue?, _ scope: TimeScope = .plain) -> Document.Time? {
    guard let value else { return nil }
    do throws(TimeNotationError) {
      let time: Document.Time
      var isMeant = false
      switch value.content {
      case .number(let text):
        let meant = meantTime(ofNumber: text, at: value.pointer)
        isMeant = meant != nil
        time = if let meant { try Document.Time(text: meant) } else { try Document.Time(number: text) }
      case .string(let text):
        let meant = meantTime(text, at: value.pointer)
        isMeant = meant != text
        time = try Document.Time(text: meant)
      default: throw .notATime
      }
      guard use([time.origin], scope, at: value) else { return nil }
      // What is a little before 0 would be read as 0.
      let isNegative = time.isNegative || isMeant && value.startsWithMinus
      if scope.mayBeNegative || !isNegative { return time }
      problems.addShape(value.pointer, "\(value.shown) is before 0, where nothing can start")
    } catch {
      let message = "\(value.shown) is not a time: \(ForeignTime.hint(value))\(error.explanation(scope))"
      // How finely a time is divided is not seen in its notation; its sign is.
      if error == .notATime || !scope.mayBeNegative && value.startsWithMinus || !allowsOrigins(of: value, scope) {
        problems.addShape(value.pointer, message)
      } else {
        problems.add(value.pointer, message)
      }
    }
    return nil
  }

  /// A range of a timeline.
  mutating func range(_ value: JSONValue?, _ scope: TimeScope = .plain) -> Document.TimeRange? {
    guard let value else { return nil }
    let notation = "a range is written \(Document.TimeRange.notations)\(scope.notations)"
    guard case .string(let text) = value.content else {
      problems.addShape(value.pointer, "\(value.shown) is not a range: \(ForeignTime.rangeHint(value))\(notation)")
      return nil
    }
    do throws(TimeNotationError) {
      let meant = meantTime(text, at: value.pointer)
      let range = try Document.TimeRange(text: meant)
      guard use([range.start.origin, range.end.origin], scope, at: value) else { return nil }
      let isNegative = range.start.isNegative || meant != text && value.startsWithMinus
      if scope.mayBeNegative || !isNegative { return range }
      problems.addShape(value.pointer, "\(value.shown) starts before 0, where nothing can start")
    } catch .notATime {
      problems.addShape(value.pointer, "\(value.shown) is not a range: \(ForeignTime.rangeHint(value))\(notation)")
    } catch {
      let message = "\(value.shown) is not a range: \(error.explanation(scope))"
      if !scope.mayBeNegative && value.startsWithMinus || !allowsOrigins(of: value, scope) {
        problems.addShape(value.pointer, message)
      } else {
        problems.add(value.pointer, message)
      }
    }
    return nil
  }

  /// One of the names of an enumeration.
  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ value: JSONValue?, _ noun: String, notYet: [String] = []
  ) -> Choice? where Choice.RawValue == String {
    guard let name = choice(value, noun, among: Choice.allCases.map(\.rawValue), notYet: notYet) else {
      return nil
    }
    return Choice(rawValue: name)
  }

  /// One of `names`. Those of `notYet` belong to the document's language, but this version refuses them.
  mutating func choice(
    _ value: JSONValue?, _ noun: String, among names: [String], notYet: [String] = []
  ) -> String? {
    guard let value else { return nil }
    guard case .string(let name) = value.content else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be one of \(list(names.map { "\"\($0)\"" }))"
          + (ForeignNames.hint(value.shown, for: noun).map { "; \($0)" } ?? ""))
      return nil
    }
    if names.contains(name) { return name }
    if notYet.contains(name) {
      problems.addShape(
        value.pointer,
        "the \(noun) '\(name)' is part of the document's language but this version cannot render it yet; "
          + "it can render \(list(names))")
    } else {
      problems.addShape(
        value.pointer,
        "unknown \(noun) '\(name.shortened)'"
          + (ForeignNames.hint(name, for: noun).map { " (\($0))" } ?? suggestion(for: name, among: names))
          + "; allowed are \(list(names))")
    }
    return nil
  }

  /// `#rrggbb` or `#rrggbbaa`.
  mutating func color(_ value: JSONValue?) -> Color? {
    guard let value else { return nil }
    if case .string(let text) = value.content, text.hasPrefix("#"), text.utf8.count == 7 || text.utf8.count == 9,
      text.dropFirst().allSatisfy(\.isHexDigit), let number = UInt32(text.dropFirst(), radix: 16)
    {
      let bits = text.utf8.count == 7 ? number << 8 | 0xFF : number
      return Color(
        red: UInt8(bits >> 24), green: UInt8(bits >> 16 & 0xFF), blue: UInt8(bits >> 8 & 0xFF),
        alpha: UInt8(bits & 0xFF))
    }
    problems.addShape(value.pointer, "\(value.shown) is not a colour: one is written \"#rrggbb\" or \"#rrggbbaa\"")
    return nil
  }

  /// One of `numbers`.
  mutating func member(_ value: JSONValue?, of numbers: [Int], _ noun: String) -> Int? {
    guard let value else { return nil }
    if case .number(let text) = value.content, let exact = try? exactDecimal(text),
      let number = numbers.first(where: { Rational($0) == exact })
    {
      return number
    }
    problems.addShape(value.pointer, "\(value.shown) is not \(noun); allowed are \(list(numbers.map(String.init)))")
    return nil
  }

  /// Two whole numbers, width and height.
  mutating func size(_ value: JSONValue?, in range: ClosedRange<Int>) -> PixelSize? {
    guard let value else { return nil }
    guard case .array(let items) = value.content, items.count == 2 else {
      problems.addShape(value.pointer, "\(value.shown) should be a size: an array of a width and a height in pixels")
      return nil
    }
    let (width, height) = (integer(items[0], in: range), integer(items[1], in: range))
    guard let width, let height else { return nil }
    return PixelSize(width: width, height: height)
  }
}

/// The names that a document declares, to which its other parts refer.
struct DeclaredNames {
  var assets: [AssetID] = [] {
    didSet { knownAssets = Set(assets) }
  }
  private(set) var knownAssets: Set<AssetID> = []
  /// Assets that something in the document refers to.
  var usedAssets: Set<AssetID> = []
  /// Assets that are declared, but whose path cannot be read. A reference to one is not a problem of its own.
  var damagedAssets: Set<AssetID> = []
  /// The type of each track, including the audio of video tracks.
  var tracks: [TrackID: MediaType] = [:]
  /// In the document's order.
  var videoTracks: [TrackID] = []
  var audioTracks: [TrackID] = []
  /// How many of `audioTracks` are the audio of a video track.
  var videoTrackAudioCount = 0
  /// False if a track's name could not be read.
  var tracksAreKnown = true
  /// The clips and markers that times can count from.
  var things = DeclaredThings()
}
