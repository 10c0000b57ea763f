import CompositionModel
import Coordinator
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import Runtime

/// Documents and media without a job: checked, planned, described.
struct DocumentRoutes: Sendable {
  private let bodies: BodyReader

  init(_ bodies: BodyReader) {
    self.bodies = bodies
  }

  var routes: [Route] {
    [
      Route(.post, "/v1/check", for: .submit) { call in
        try await bodies.run(call, as: InspectionBody.self) { body in
          Response(json: try await check(body))
        }
      },
      Route(.post, "/v1/plan", for: .submit) { call in
        try await bodies.run(call, as: InspectionBody.self) { body in
          let inspected = try await inspect(body)
          guard inspected.problems.isEmpty, var plan = inspected.reply.plan else {
            throw ProblemDetails(problems: inspected.problems)
          }
          plan.warnings = try await located(plan.warnings, inspected.document)
          return Response(json: plan)
        }
      },
      Route(.post, "/v1/probe", for: .submit) { call in
        try await bodies.run(call, as: ProbeBody.self, limit: BodyReader.longestPlainBody) { try await probe($0) }
      },
      Route(.get, "/v1/schema") { _ in
        Response(bytes: Data(DocumentSchema.text.utf8), type: "application/schema+json")
      },
      Route(.get, "/v1/presets") { _ in Response(json: Presets(presets: PresetReport.all)) },
      Route(.post, "/v1/presets", for: .submit) { call in
        try await bodies.run(call, as: PresetsBody.self) { body in
          let reports = try await answer(body) { input throws(DocumentError) in try input.reports() }
          return Response(json: Presets(presets: reports))
        }
      },
      Route(.post, "/v1/presets/{preset}", for: .submit) { call in
        let name = call.parameter("preset")
        guard let choice = PresetChoice(name) else { throw ProblemDetails(.notFound, ExportPreset.unknown(name)) }
        return try await bodies.run(call, as: PresetsBody.self) { body in
          Response(json: try await answer(body) { input throws(DocumentError) in try input.settings(choice) })
        }
      },
    ]
  }

  private struct Presets: Encodable {
    var presets: [PresetReport]
  }

  // MARK: Documents

  private struct Inspected: Sendable {
    var document: [UInt8]
    var reply: InspectionReply
    /// With their places, and with those of files that are not there.
    var problems: [Problem]
  }

  /// The output with which a document is examined: one without an output gets the first container that can store what
  /// it names.
  /// - Parameter wish: That of the request. Nil: it has none.
  static func output(of document: [UInt8], _ wish: String?) async throws -> String {
    let examined = try await BlockingWork.run(.planning) { try? Document.examine(document) }
    let output = examined?.hasOutputs == true ? "" : wish ?? ""
    guard output.isEmpty, let examined, examined.lacksOutput else { return output }
    return examined.provisionalOutput
  }

  private func inspect(_ body: DecodedBody<InspectionBody>) async throws -> Inspected {
    let document = try body.document
    let output = try await Self.output(of: document, body.value.output)
    let (assets, missing) = try await body.farm.assets(
      of: SubmittedText(document, output: output), try body.value.assets.sources)
    var request = InspectionRequest(document: Data(document), assets: assets)
    request.options = body.value.options
    request.output = output
    let reply: InspectionReply
    do {
      reply = try await body.farm.inspect(request)
    } catch let error as DocumentError {
      throw ProblemDetails(problems: try await located(error.problems, document))
    }
    let places = Set(missing.map(\.pointer)).subtracting([""])
    let others = reply.problems.filter { !places.contains($0.pointer) }
    return Inspected(
      document: document, reply: reply, problems: try await located(others + missing, document))
  }

  private func check(_ body: DecodedBody<InspectionBody>) async throws -> CheckReport {
    let inspected = try await inspect(body)
    var warnings: [Problem] = []
    if let plan = inspected.reply.plan {
      warnings = plan.damage.map { Problem(pointer: "", message: $0.text) } + plan.warnings
    } else {
      // Without a plan there are only those about the media.
      for (asset, description) in inspected.reply.descriptions.sorted(by: { $0.key < $1.key }) {
        warnings += description.warnings.map { Problem(pointer: "/assets/\(asset)", message: $0) }
      }
    }
    return CheckReport(
      problems: inspected.problems, warnings: try await located(warnings, inspected.document),
      losses: inspected.reply.plan?.losses ?? [])
  }

  private func located(_ problems: [Problem], _ document: [UInt8]) async throws -> [Problem] {
    if problems.isEmpty { return [] }
    return try await BlockingWork.run(.planning) { problems.located(in: document) }
  }

  // MARK: Presets

  /// Answers about the presets of a document, or of media alone.
  private func answer<R: Sendable>(
    _ body: DecodedBody<PresetsBody>, _ answer: @escaping @Sendable (PresetInput) throws(DocumentError) -> R
  ) async throws -> R {
    let sources = try body.value.assets.sources
    let document = try body.documentIfAny
    var input = PresetInput(document: document, descriptions: [:])
    do {
      if let document {
        let (assets, missing) = try await body.farm.assets(of: SubmittedText(document, output: ""), sources)
        guard missing.isEmpty else { throw DocumentError(problems: missing) }
        if !assets.isEmpty { input.descriptions = try await body.farm.describe(assets) }
      } else {
        input.descriptions = try await body.farm.describe(try await body.farm.assets(sources))
      }
      return try await BlockingWork.run(.planning) { [input] in try answer(input) }
    } catch let error as DocumentError {
      throw ProblemDetails(problems: try await located(error.problems, document ?? []))
    }
  }

  // MARK: Media

  private func probe(_ body: DecodedBody<ProbeBody>) async throws -> Response {
    let descriptions = try await body.farm.describe(
      try await body.farm.assets([AssetBody]?.some(body.value.assets).sources))
    return Response(json: descriptions.mapValues { ProbeReport(description: $0) })
  }
}

extension FarmService {
  fileprivate func describe(_ assets: [SubmittedAsset]) async throws -> [AssetID: AssetDescription] {
    let reply = try await inspect(InspectionRequest(assets: assets))
    guard reply.problems.isEmpty else { throw ProblemDetails(problems: reply.problems) }
    return reply.descriptions
  }

  /// Files that a request names without a document.
  func assets(_ sources: [AssetSource]) async throws -> [SubmittedAsset] {
    guard (1...100).contains(sources.count) else { throw ProblemDetails(.invalid, "a request names 1 to 100 assets") }
    guard Set(sources.map(\.id)).count == sources.count else {
      throw ProblemDetails(.invalid, "each asset has an id of its own")
    }
    var assets: [SubmittedAsset] = []
    for source in sources {
      switch source.place {
      case .path(let path): assets.append(try await asset(source.id, path: path, written: path))
      case .content(let content):
        assets.append(SubmittedAsset(id: source.id, path: source.id, content: content, file: ""))
      }
    }
    return assets
  }
}
