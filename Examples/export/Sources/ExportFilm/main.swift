// A part of a film in another format, without the metadata that say who, where and when.
//
//   export INPUT OUTPUT START END         such as: export holiday.mov clip.mp4 2 5/2
//
// It renders on this machine, or on the farm at SHEAF_COORDINATOR, to the same bytes.

import Foundation
import Sheaf

guard CommandLine.arguments.count == 5, let start = MediaTime(notation: CommandLine.arguments[3]),
  let end = MediaTime(notation: CommandLine.arguments[4])
else { fatalError("usage: export INPUT OUTPUT START END") }
let output = URL(fileURLWithPath: CommandLine.arguments[2])

var edit = Edit()
let source = edit.add(try await Asset(path: CommandLine.arguments[1]).load())
try edit.composition.insert(source.range(from: start, to: end))

// What the container stores best, at a constant quality; an average bit rate is `bitRate`.
if !source.contents.tracks.contains(where: { $0.type == .video }) { edit.export.video = .none }
edit.export.metadata = source.contents.metadata.filter { key, _ in
  ["title", "album", "genre", "copyright"].contains(key)
}
edit.export.optimizeForNetworkUse = true

// Every problem, before any work.
let problems = edit.validate(against: [source.id: source.contents], output: output.path)
guard problems.isEmpty else {
  for problem in problems { print(problem) }
  exit(65)
}

let environment = ProcessInfo.processInfo.environment
let place: ExportSession.Place =
  if let address = environment["SHEAF_COORDINATOR"] {
    .farm(try Farm(address, token: environment["SHEAF_TOKEN"] ?? ""))
  } else {
    .thisMachine
  }
do {
  let film = try await ExportSession(edit, to: output, on: place).export()
  print("\(film.frames) frames, \(film.bytes) bytes, SHA-256 \(film.digest)")
} catch {
  print("\(error)")
  exit(error.code == .invalidEdit ? 65 : 1)
}
