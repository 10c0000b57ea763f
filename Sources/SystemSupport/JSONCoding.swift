package import FoundationEssentials

/// How Sheaf writes JSON: with sorted keys, so that equal values are equal bytes.
package enum JSONCoding {
  /// On one line.
  package static var encoder: JSONEncoder { encoder([.sortedKeys, .withoutEscapingSlashes]) }

  /// With line breaks and indentation.
  package static var prettyEncoder: JSONEncoder {
    encoder([.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
  }

  private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    return encoder
  }
}
