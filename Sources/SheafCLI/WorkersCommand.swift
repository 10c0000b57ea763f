import ArgumentParser
import Client
import SwiftProtobuf
import Wire

struct WorkersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workers", abstract: "Show the farm's workers.",
    discussion: "--json prints an array: name, id, slots, busy, build, connectedSeconds, coordinator.")

  @OptionGroup var coordinator: CoordinatorOptions
  @OptionGroup var json: JSONOption

  private struct View: Encodable {
    var name: String
    var id: String
    var slots: UInt32
    var busy: UInt32
    var build: String
    var connectedSeconds: Double
    var coordinator: String
  }

  func run() async throws {
    try await reporting(json: json.isOn) {
      let endpoint = try coordinator.endpoint()
      let workers = try await CoordinatorClient.run(endpoint) { client in
        guard case .workersReply(let reply) = try await client.request(.workersQuery(.init())) else {
          throw CoordinatorClient.unexpected
        }
        return reply.workers
      }
      if json.isOn {
        Console.printJSON(
          workers.map { worker in
            View(
              name: worker.name, id: worker.id, slots: worker.slots, busy: worker.busy, build: worker.build,
              connectedSeconds: Double(worker.connectedMilliseconds) / 1000, coordinator: worker.coordinator)
          })
      } else if workers.isEmpty {
        Console.print("no workers")
      } else {
        for worker in workers {
          let seconds = worker.connectedMilliseconds / 1000
          Console.print(
            "\(worker.name)  \(worker.busy)/\(worker.slots) busy  \(seconds) s  at \(worker.coordinator)  \(worker.build)"
          )
        }
      }
    }
  }
}
