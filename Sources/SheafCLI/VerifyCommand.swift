import ArgumentParser
import Client
import CompositionModel
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import LocalFarm
import Runtime
import SystemSupport

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Render a film again on this machine and compare it, or check such a statement.",
    discussion: """
      The document is rendered with nothing that was rendered before, one task at a time, into a folder that is removed. \
      The bytes are compared and, if they differ, the pictures, the samples and what the files state. --share renders \
      only some segments again: the first, the last, and others by chance. The result is printed as a statement of \
      in-toto in an envelope of DSSE, with the digests of the film, the document, its media and fonts, and the build; \
      --key signs it. --check checks the signature of such a statement, and with FILM that it is about that film.

      Exit codes besides the usual ones: 3 the film differs (also if only its bytes do), or is not that of the \
      statement; 4 the statement is not signed by the key.
      """)

  @Argument(help: ArgumentHelp("The film, or the folder of a document with several outputs.", valueName: "film"))
  var film: String?

  @Argument(help: ArgumentHelp("The document; - reads it from standard input.", valueName: "edit.json"))
  var edit: String?

  @Option(
    help: ArgumentHelp(
      "Render only so many of a hundred segments again, from 1 to 99. [SHEAF_SHARE]", valueName: "percent"))
  var share: String?

  @Option(
    help: ArgumentHelp(
      "What draws the segments of --share: who gives it again gets the same ones. The default is drawn by chance. [SHEAF_SEED]",
      valueName: "text"))
  var seed: String?

  @Option(
    help: ArgumentHelp(
      "A private key of Ed25519 in PEM, which signs the statement. [SHEAF_SIGNING_KEY]", valueName: "file"))
  var key: String?

  @Option(
    help: ArgumentHelp("The statement's file; the default is standard output. [SHEAF_STATEMENT]", valueName: "file"))
  var statement: String?

  @Option(help: ArgumentHelp("A statement to check; nothing is rendered. [SHEAF_CHECK]", valueName: "statement"))
  var check: String?

  @Option(help: ArgumentHelp("The public key in PEM, for --check. [SHEAF_PUBLIC_KEY]", valueName: "file"))
  var publicKey: String?

  @Option(
    help: ArgumentHelp(
      """
      Where the film is rendered to, which needs room for it; the default is ~/.cache/sheaf (or under XDG_CACHE_HOME). \
      [SHEAF_VERIFY_FOLDER]
      """, valueName: "dir"))
  var folder: String?

  @Option(help: ArgumentHelp("How many tasks run at once; the default is 1. [SHEAF_VERIFY_WORKERS]", valueName: "n"))
  var workers: String?

  @Option(
    help: ArgumentHelp(
      "The worker's program, for documents with compositors of your own; the default is sheaf-worker. [SHEAF_WORKER_EXECUTABLE]",
      valueName: "file"))
  var workerExecutable: String?

  @OptionGroup var parameters: ParameterOptions
  @OptionGroup var segments: SegmentOptions

  func run() async throws {
    try await reporting(document: edit) {
      if let check = Setting.text(check, "SHEAF_CHECK") { return try await self.check(check) }
      guard let film, let edit else { throw ValidationError("a film and its document must be given") }
      guard publicKey == nil else { throw ValidationError("--public-key is for --check; --key signs") }
      try await verify(film, edit)
    }
  }

  // MARK: Verifying

  private func verify(_ film: String, _ path: String) async throws {
    let values = try parameters.values
    let options = RenderOptions(segmentDuration: try segments.value)
    let part = try part()
    let slots = try Setting.number(workers, "--workers", "SHEAF_VERIFY_WORKERS", in: 1...1024) ?? 1
    let key = try signingKey()
    // A place that cannot be written is reported before any work.
    let written = try Setting.text(statement, "SHEAF_STATEMENT").map { try statementFile($0, beside: [film, path]) }
    let edit = try EditFile(path, output: film, values: values)
    if !edit.document.hasOutputs { try edit.checkOutput(film) }
    let folder = try Setting.text(folder, "SHEAF_VERIFY_FOLDER") ?? ProcessEnvironment.cacheDirectory
    let verification = LocalVerification(
      edit: edit, film: film, options: options, part: part, folder: folder, slots: Int(slots),
      worker: workerExecutable)
    let progress = ProgressReport()
    defer { progress.end() }
    let found = try await edit.locating {
      try await Interruption.cancelling {
        try await verification.run { step in
          switch step {
          case .rendering(let status): if status.state != .done { progress.report(status) }
          case .comparing(let name):
            progress.end()
            Console.printError("comparing \(name)")
          }
        }
      }
    }
    progress.end()
    let made = VerificationStatement(
      found, parameters: Dictionary(values.map { ($0.name, $0.text) }) { first, _ in first },
      segmentDuration: options.segmentDuration, at: Timestamp.now)
    let envelope = SignedEnvelope(try made.encoded(), type: VerificationStatement.payloadType, key: key)
    for line in VerificationText.lines(made) { Console.printError(line) }
    Console.printError(
      key.map { "the statement is signed by the key \($0.id)" }
        ?? "the statement is not signed: anybody can change it; give --key to sign it")
    if let written {
      let json = try [UInt8](JSONCoding.encoder.encode(envelope)) + [UInt8(ascii: "\n")]
      try await BlockingWork.run { try written.write(json) }
    } else {
      try Console.printJSON(envelope, lines: false)
    }
    if !found.result.isProven { throw ExitCode(CommandFailure.Code.difference.rawValue) }
  }

  private func part() throws -> LocalVerification.Part? {
    let seed = Setting.text(seed, "SHEAF_SEED")
    guard let percent = try Setting.number(share, "--share", "SHEAF_SHARE", in: 1...99) else {
      guard seed == nil else { throw ValidationError("--seed is for --share") }
      return nil
    }
    return LocalVerification.Part(percent: Int(percent), seed: seed ?? SegmentDraw.newSeed())
  }

  private func statementFile(_ path: String, beside inputs: [String]) throws -> OutputFile {
    let target = try? Directories.resolve(path)
    guard target == nil || !inputs.contains(where: { (try? Directories.resolve($0)) == target }) else {
      throw CommandFailure(.document, "the statement \(path) would replace what is verified; choose another file")
    }
    return try OutputFile(path)
  }

  private func signingKey() throws -> Ed25519Key? {
    guard let path = Setting.text(key, "SHEAF_SIGNING_KEY") else { return nil }
    return try Self.key(path) { pem throws(Ed25519Key.Fault) in try Ed25519Key(privatePEM: pem) }
  }

  /// The longest file of a key, in bytes.
  private static let longestKey = 64 << 10

  private static func key(
    _ path: String, _ read: ([UInt8]) throws(Ed25519Key.Fault) -> Ed25519Key
  ) throws -> Ed25519Key {
    do {
      return try read(try OpenFile.contents(of: path, limit: longestKey))
    } catch let error as SystemError {
      throw CommandFailure(.document, "the key cannot be read: \(error)")
    } catch {
      throw CommandFailure(.document, "the key \(path) cannot be used: \(error)")
    }
  }

  // MARK: Checking

  /// The longest statement, in bytes: of a film with thousands of segments.
  private static let longestStatement = 64 << 20

  private func check(_ path: String) async throws {
    guard edit == nil else { throw ValidationError("--check takes a film at most, and no document") }
    guard let publicKey = Setting.text(publicKey, "SHEAF_PUBLIC_KEY") else {
      throw ValidationError("--check needs the public key: give --public-key")
    }
    let key = try Self.key(publicKey) { pem throws(Ed25519Key.Fault) in try Ed25519Key(publicPEM: pem) }
    let statement = try await BlockingWork.run { try Self.read(path, key) }
    if let film { try await BlockingWork.run { try Self.check(film, statement) } }
    for line in VerificationText.lines(statement) { try Console.print(line) }
    try Console.print("signed by the key \(key.id)")
    guard statement.predicate.result.isProven else { throw ExitCode(CommandFailure.Code.difference.rawValue) }
  }

  /// Reads a statement whose signature is of a key.
  private static func read(_ path: String, _ key: Ed25519Key) throws -> VerificationStatement {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try OpenFile.contents(of: path, limit: longestStatement)
    } catch {
      throw CommandFailure(.document, "the statement cannot be read: \(error)")
    }
    guard let envelope = try? JSONDecoder().decode(SignedEnvelope.self, from: Data(bytes)) else {
      throw CommandFailure(.document, "\(path) is not an envelope of DSSE, which is what 'sheaf verify' writes")
    }
    guard !envelope.signatures.isEmpty else { throw CommandFailure(.untrusted, "the statement \(path) is not signed") }
    guard envelope.isSigned(by: key) else {
      throw CommandFailure(
        .untrusted,
        "the statement \(path) is not signed by the key \(key.id): it was changed, or another key has signed it")
    }
    do throws(VerificationStatement.Unreadable) {
      return try VerificationStatement([UInt8](envelope.payload), type: envelope.payloadType)
    } catch {
      throw CommandFailure(.document, "the statement \(path) cannot be read: \(error)")
    }
  }

  /// Throws unless a film is what a statement is about.
  private static func check(_ film: String, _ statement: VerificationStatement) throws {
    let isFolder = statement.subject.count > 1 || Directories.isFolder(film)
    for subject in statement.subject {
      let path = isFolder ? "\(film)/\(subject.name)" : film
      let digest: SHA256Digest
      do throws(SystemError) {
        digest = try OpenFile.open(path).content().digest
      } catch {
        throw CommandFailure(.document, "the film \(path) cannot be read: \(error)")
      }
      guard digest.hex == subject.digest.sha256 else {
        throw CommandFailure(
          .difference,
          "\(path) is not the film of the statement: its SHA-256 is \(digest), and that of the statement is "
            + subject.digest.sha256)
      }
    }
  }
}
