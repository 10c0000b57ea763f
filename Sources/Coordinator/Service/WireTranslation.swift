import Jobs
import SwiftProtobuf
import Wire

extension Lease {
  init(_ message: Sheaf_Lease) throws(WireError) {
    guard let task = TaskID(message.task), message.task.utf8.count <= 96 else {
      throw WireError(.violation, "\"\(message.task.prefix(96))\" is no task")
    }
    self.init(task: task, epoch: message.epoch)
  }

  var message: Sheaf_Lease {
    .with {
      $0.task = task.description
      $0.epoch = epoch
    }
  }
}

extension TaskKind {
  var message: Sheaf_TaskKind {
    switch self {
    case .describe: .describe
    case .picture: .picture
    case .sound: .sound
    case .stitch: .stitch
    }
  }
}

extension PublishOutcome? {
  var message: Sheaf_PublishReply.Outcome {
    switch self {
    case .published: .published
    case .duplicate: .duplicate
    case .stale: .stale
    case nil: .missingContent
    }
  }
}
