import ArgumentParser
import Dispatch

@main
enum SheafWorker {
  static func main() {
    // The nursery has one thread, parses nothing, and starts nothing that task processes do not need.
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == NurseryMain.subcommand { NurseryMain.run() }
    if arguments.first == ConfinementReport.subcommand { ConfinementReport.run(arguments) }
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
