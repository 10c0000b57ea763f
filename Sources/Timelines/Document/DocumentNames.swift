import EditDocument

/// The names that a document has for what a timeline names freely.
struct DocumentNames {
  private var assets: Set<String> = []
  private var clips: Set<String> = []
  private var markers: Set<String> = []
  private var tracks: Set<String> = []

  /// A name of an asset that no other has.
  mutating func asset(_ wanted: String) -> String {
    // A slash is before the names in a document that is an asset, and braces are those of templates.
    let base = String(wanted.map { $0 == "/" || $0 == "{" || $0 == "}" ? "_" : $0 })
    return Self.unique(base.isEmpty ? "asset" : base, in: &assets) { "\($0) \($1)" }
  }

  mutating func clip(_ wanted: String) -> String {
    Self.unique(Self.thing(wanted, or: "clip"), in: &clips) { "\($0)_\($1)" }
  }

  mutating func marker(_ wanted: String) -> String {
    Self.unique(Self.thing(wanted, or: "marker"), in: &markers) { "\($0)_\($1)" }
  }

  /// The name of a clip or a marker: letters, digits, `_`, and `-` before a letter or `_`.
  private static func thing(_ wanted: String, or standard: String) -> String {
    func isLetter(_ scalar: Unicode.Scalar) -> Bool {
      !scalar.isASCII || scalar == "_" || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
    let scalars = Array(wanted.unicodeScalars)
    var base = ""
    for (index, scalar) in scalars.enumerated() {
      let isJoint = scalar == "-" && !base.isEmpty && index + 1 < scalars.count && isLetter(scalars[index + 1])
      let isKept = isLetter(scalar) || ("0"..."9").contains(scalar) || isJoint
      base.unicodeScalars.append(isKept ? scalar : "_")
    }
    if base.allSatisfy({ $0 == "_" }) { base = standard }
    if let first = base.unicodeScalars.first, ("0"..."9").contains(first) { base = "_" + base }
    return base
  }

  /// The name of a track. A dot is in those of its sound and of its second lane.
  mutating func track(_ wanted: String) -> String {
    Self.unique(String(wanted.map { $0 == "." || $0 == "{" || $0 == "}" ? "_" : $0 }), in: &tracks) { "\($0) \($1)" }
  }

  private static func unique(_ base: String, in names: inout Set<String>, _ next: (String, Int) -> String) -> String {
    var name = base
    var number = 2
    while !names.insert(name).inserted {
      name = next(base, number)
      number += 1
    }
    return name
  }
}
