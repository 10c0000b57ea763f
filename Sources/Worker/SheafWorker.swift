import ArgumentParser
import Dispatch

@main
enum SheafWorker {
  static func main() {
    // A task process confines its one thread, parses nothing, and starts nothing that it does not need.
    if CommandLine.arguments.dropFirst().first == TaskProcess.subcommand { TaskMain.run() }
    Task {
      do {
        let command = try WorkerCommand.parse()
        try await command.run()
        WorkerCommand.exit()
      } catch let exit as WorkerExit {
        exit.end()
      } catch {
        WorkerCommand.exit(withError: error)
      }
    }
    dispatchMain()
  }
}
