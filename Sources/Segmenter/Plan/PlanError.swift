package import CompositionModel

/// Why an edit could not be planned. Lowering has checked everything that a person can have got wrong, so what is left
/// is a time that cannot be kept exactly, or a caller that did not describe an asset.
package struct PlanError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable, Hashable {
    case time(TimeError)
    case assetNotDescribed(AssetID)
    case noTrack(asset: AssetID, index: Int)
  }

  package var code: Code
  /// What was being planned, such as `the clip of 'beach' at 4`.
  package var subject: String

  package init(_ code: Code, _ subject: String) {
    self.code = code
    self.subject = subject
  }

  package var description: String {
    switch code {
    case .time(let error): "\(subject): \(error)"
    case .assetNotDescribed(let asset): "\(subject): asset '\(asset)' has not been described"
    case .noTrack(let asset, let index): "\(subject): asset '\(asset)' has no usable track \(index)"
    }
  }
}

/// Runs an exact computation and says what it was for if it fails.
func timed<Result>(
  _ subject: @autoclosure () -> String, _ body: () throws(TimeError) -> Result
) throws(PlanError) -> Result {
  do { return try body() } catch { throw PlanError(.time(error), subject()) }
}
