/// The media types that a request accepts (RFC 9110, section 12.5.1): pure.
enum MediaRange {
  /// Whether a list of media ranges has a media type, with a quality above zero. The most specific range decides.
  /// - Parameters:
  ///   - list: The value of `Accept`.
  ///   - type: Its parameters do not matter.
  static func accept(_ list: String, _ type: String) -> Bool {
    let wanted = name(type[...])
    let family = wanted.prefix { $0 != "/" } + "/*"
    var best: (specificity: Int, isAccepted: Bool)?
    for item in list.split(separator: ",") {
      let range = name(item)
      let specificity = range == wanted ? 3 : range == family ? 2 : range == "*/*" ? 1 : 0
      guard specificity > best?.specificity ?? 0 else { continue }
      best = (specificity, !hasNoQuality(item))
    }
    // A list without a media range accepts everything.
    return best?.isAccepted ?? !list.contains("/")
  }

  /// Without parameters and spaces, in lower case.
  private static func name(_ item: Substring) -> String {
    item.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
  }

  private static func hasNoQuality(_ item: Substring) -> Bool {
    item.split(separator: ";").dropFirst().contains { parameter in
      let text = parameter.filter { $0 != " " && $0 != "\t" }.lowercased()
      return text.hasPrefix("q=") && Double(text.dropFirst(2)) == 0
    }
  }
}
