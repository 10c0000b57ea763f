package import Composition

/// Finds out what is in a media file, exactly.
package enum AssetDescriber {
  /// - Parameter name: What messages call the file.
  package static func describe(_ source: any ByteSource, name: String) throws(MediaError) -> AssetDescription {
    throw MediaError(.unsupported, operation: "describing", subject: name, message: "not there yet")
  }
}
