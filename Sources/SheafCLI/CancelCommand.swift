import ArgumentParser
import Client
import SwiftProtobuf
import Wire

struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Stop a job.", discussion: "Its finished pieces stay in the content store.")

  @Argument(help: "The job's name.")
  var job: String

  @OptionGroup var coordinator: CoordinatorOptions

  func run() async throws {
    try await reporting {
      let endpoint = try coordinator.endpoint()
      let state = try await CoordinatorClient.run(endpoint) { [job] client in
        guard case .cancelReply(let reply) = try await client.request(.cancelJob(.with { $0.job = job })) else {
          throw CoordinatorClient.unexpected
        }
        return reply.state
      }
      switch state {
      case .cancelled: break
      case .unspecified: throw CommandFailure(.work, "there is no job \(job)")
      default: throw CommandFailure(.work, "job \(job) had ended before: it is \(state.name)")
      }
    }
  }
}
