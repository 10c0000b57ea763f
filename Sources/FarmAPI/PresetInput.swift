package import CompositionModel
package import EditDocument

/// A document with the descriptions of its media, or media alone, for which presets are asked: pure.
package struct PresetInput: Sendable {
  /// Nil: the media alone.
  package var document: [UInt8]?
  package var descriptions: [AssetID: AssetDescription]

  package init(document: [UInt8]?, descriptions: [AssetID: AssetDescription]) {
    self.document = document
    self.descriptions = descriptions
  }

  /// Every preset, and copying, with why the input cannot meet it. Throws what no preset can mend.
  package func reports() throws(DocumentError) -> [PresetReport] {
    var reports = ExportPreset.allCases.map { PresetReport($0, problems: problems($0)) }
    // What no preset can do is wrong in the document.
    let wrong = (reports.first?.problems ?? []).filter { problem in
      !problem.pointer.hasPrefix("/export") && reports.allSatisfy { $0.problems?.contains(problem) == true }
    }
    guard wrong.isEmpty else { throw DocumentError(problems: wrong) }
    do throws(DocumentError) {
      reports.append(PresetReport(try passthrough().containers, problems: []))
    } catch {
      reports.append(PresetReport(PassthroughSettings.containers, problems: error.problems))
    }
    return reports
  }

  /// The settings that a preset gives for the input. Throws why it gives none.
  package func settings(_ choice: PresetChoice) throws(DocumentError) -> SettingsReport {
    switch choice {
    case .encode(let preset): SettingsReport(try settings(preset))
    case .passthrough: SettingsReport(try passthrough())
    }
  }

  private func settings(_ preset: ExportPreset) throws(DocumentError) -> SuggestedSettings {
    guard let document else { return try SuggestedSettings(preset: preset, media: Array(descriptions.values)) }
    return try SuggestedSettings(
      preset: preset, document: Document.examine(document, preset: .encode(preset)), assets: descriptions)
  }

  private func passthrough() throws(DocumentError) -> PassthroughSettings {
    guard let document else { return try PassthroughSettings(media: Array(descriptions.values)) }
    return try PassthroughSettings(
      document: Document.examine(document, preset: .passthrough), assets: descriptions)
  }

  private func problems(_ preset: ExportPreset) -> [Problem] {
    do {
      _ = try settings(preset)
      return []
    } catch {
      return error.problems
    }
  }
}
