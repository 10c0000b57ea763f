import Foundation
import Glibc
import TestPrograms
import Testing

/// `sheaf verify`, as the program that was built with the tests. ffmpeg makes the films that differ, and openssl and
/// Python are the reference for statements.
@Suite(.timeLimit(.minutes(10))) struct VerifyTests {
  private let folder: TemporaryFolder

  /// A film of three segments, lossless, with sound.
  init() throws {
    folder = try TemporaryFolder()
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=3", "-f", "lavfi", "-i",
      "sine=frequency=400:sample_rate=48000:duration=3", "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-g", "1", "-c:a",
      "pcm_s16le", folder.path("source.mkv"))
    try write("edit.json", to: "film.mkv", start: 0)
  }

  /// - Parameter video: The settings of the film's video.
  private func write(
    _ name: String, to film: String, start: Int, video: String = #"{ "codec": "ffv1" }"#
  ) throws {
    let document = """
      { "sheaf": 1, "assets": { "a": "source.mkv" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "\(start)..3" } ] } ],
        "videoComposition": { "renderSize": [96, 64], "frameDuration": "1/25" },
        "export": { "to": "\(film)", "video": \(video),
          "audio": { "codec": "flac", "sampleRate": 48000, "channels": 1 } } }

      """
    try Data(document.utf8).write(to: folder.url.appending(path: name))
  }

  private func run(_ script: String) async throws -> ShellScript.Result { try await start(script).end() }

  private func start(_ script: String) throws -> ShellScript {
    try ShellScript(script, in: folder, ["SHEAF_SEGMENT_DURATION": "1"])
  }

  private func render(_ document: String) async throws {
    let result = try await run("sheaf render \(document) --workers 3")
    try #require(result.status == 0, "\(result.errors)")
  }

  /// The film of `edit.json`, which is rendered once for all tests.
  private func render() async throws {
    _ = try folder.write(try await Self.film.value, "film.mkv")
  }

  private static let film = Task {
    let tests = try VerifyTests()
    try await tests.render("edit.json")
    return try Data(contentsOf: tests.folder.url.appending(path: "film.mkv"))
  }

  /// What a verification leaves in the folder of the user's caches; none of it should be there.
  private var left: [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path(".cache/sheaf"))
    return (names ?? []).filter { $0 != "store" }
  }

  private func predicate(_ name: String) throws -> [String: Any] {
    let envelope = try JSONSerialization.jsonObject(with: Data(contentsOf: folder.url.appending(path: name)))
    let payload = try #require((envelope as? [String: Any])?["payload"] as? String)
    let statement = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: payload)))
    return try #require((statement as? [String: Any])?["predicate"] as? [String: Any])
  }

  private func tracks(_ name: String) throws -> [[String: Any]] {
    let films = try #require(try predicate(name)["films"] as? [[String: Any]])
    return try #require(films.first?["tracks"] as? [[String: Any]])
  }

  // MARK: Films

  @Test func `a film of several tasks at once equals that of one, and nothing is left behind`() async throws {
    // Its pieces are in the user's store then, from which none is taken.
    try await render("edit.json")
    let result = try await run("sheaf verify film.mkv edit.json > statement.json")
    #expect(result.status == 0 && result.errors.contains("film.mkv: the same bytes"), "\(result.errors)")
    #expect(result.errors.contains("the statement is not signed"))
    #expect(left.isEmpty)
    // The digests are those that ffmpeg computes.
    let tracks = try tracks("statement.json")
    let pictures = try Tool.ffmpeg("-i", folder.path("film.mkv"), "-map", "0:v", "-f", "rawvideo", "-")
    let samples = try Tool.ffmpeg("-i", folder.path("film.mkv"), "-map", "0:a", "-c:a", "pcm_s16le", "-f", "s16le", "-")
    for (track, bytes) in zip(tracks, [pictures, samples]) {
      try bytes.write(to: folder.url.appending(path: "bytes"))
      let digest = try await run("sha256sum < bytes").output.prefix(64)
      #expect(track["digest"] as? String == String(digest))
    }
    #expect(tracks.map { $0["count"] as? Int } == [75, 144_000])
    #expect(try predicate("statement.json")["result"] as? String == "identical")
    let inputs = try #require(try predicate("statement.json")["inputs"] as? [[String: Any]])
    let source = try await run("sha256sum < source.mkv").output.prefix(64)
    #expect(inputs.count == 1 && inputs[0]["name"] as? String == "source.mkv")
    #expect(inputs[0]["sha256"] as? String == String(source))
  }

  @Test func `one picture that differs is named, with how much`() async throws {
    try await render()
    try Tool.ffmpeg(
      "-i", folder.path("film.mkv"), "-map", "0", "-c:a", "copy", "-c:v", "ffv1", "-vf",
      "drawbox=x=8:y=8:w=16:h=16:c=black:t=fill:enable='eq(n,30)'", folder.path("wrong.mkv"))
    let result = try await run("sheaf verify wrong.mkv edit.json > statement.json")
    #expect(
      result.status == 3 && result.errors.contains("1 picture differs; the first is 30, at 1.2 s"), "\(result.errors)")
    let video = try tracks("statement.json")[0]
    let difference = try #require(video["difference"] as? [String: Any])
    #expect(difference["count"] as? Int == 1 && difference["first"] as? Int == 30 && difference["worst"] as? Int == 30)
    // Of the samples of all planes together.
    func picture(_ name: String) throws -> Data {
      try Tool.ffmpeg("-i", folder.path(name), "-vf", "select=eq(n\\,30)", "-frames:v", "1", "-f", "rawvideo", "-")
    }
    let pairs = zip(try picture("film.mkv"), try picture("wrong.mkv")).map { abs(Int($0) - Int($1)) }
    #expect(pairs.count == 96 * 64 * 3 / 2)
    let meanSquare = Double(pairs.reduce(0) { $0 + $1 * $1 }) / Double(pairs.count)
    let psnr = try #require(difference["psnr"] as? Double)
    #expect(abs(psnr - 10 * log10(255 * 255 / meanSquare)) < 1e-9)
    let largest = try #require(difference["largest"] as? Double)
    #expect(abs(largest - Double(pairs.max() ?? 0) / 255) < 1e-9)
    #expect(try tracks("statement.json")[1]["difference"] == nil)
    #expect(left.isEmpty)
  }

  @Test func `one sample that differs is named, with how much`() async throws {
    try await render()
    var samples = try Tool.ffmpeg("-i", folder.path("film.mkv"), "-map", "0:a", "-f", "s16le", "-")
    let place = 50_000 * 2
    let value = Int16(truncatingIfNeeded: Int(samples[place]) | Int(samples[place + 1]) << 8)
    let changed = UInt16(bitPattern: value > 0 ? value - 1024 : value + 1024)
    samples[place] = UInt8(changed & 255)
    samples[place + 1] = UInt8(changed >> 8)
    try samples.write(to: folder.url.appending(path: "samples.raw"))
    try Tool.ffmpeg(
      "-i", folder.path("film.mkv"), "-f", "s16le", "-ar", "48000", "-ac", "1", "-i", folder.path("samples.raw"),
      "-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", "flac", folder.path("wrong.mkv"))
    let result = try await run("sheaf verify wrong.mkv edit.json > statement.json")
    #expect(result.status == 3 && result.errors.contains("1 sample differs; the first is 50000"), "\(result.errors)")
    let difference = try #require(try tracks("statement.json")[1]["difference"] as? [String: Any])
    #expect(difference["largest"] as? Double == 1024.0 / 32768)
    #expect(try tracks("statement.json")[0]["difference"] == nil)
  }

  @Test func `a film in other bytes with the same pictures and samples is said to be so`() async throws {
    try await render()
    try Tool.ffmpeg(
      "-i", folder.path("film.mkv"), "-map", "0", "-c", "copy", "-metadata", "title=Other", folder.path("copy.mkv"))
    let result = try await run("sheaf verify copy.mkv edit.json > statement.json")
    #expect(result.status == 3)
    #expect(
      result.errors.contains("copy.mkv: the bytes differ, and all pictures, samples and times are the same"),
      "\(result.errors)")
    #expect(result.errors.contains("metadata title: Other, and not none"), "\(result.errors)")
    #expect(try predicate("statement.json")["result"] as? String == "sameContent")
  }

  @Test func `a film that is cut off differs, also where nothing of it can be read`() async throws {
    try await render()
    let size = try #require(
      try FileManager.default.attributesOfItem(atPath: folder.path("film.mkv"))[.size] as? Int)
    let cut = try await run("head -c \(size / 2) film.mkv > cut.mkv && sheaf verify cut.mkv edit.json > cut.json")
    #expect(cut.status == 3 && cut.errors.contains("pictures, and not 75"), "\(cut.errors)")
    let none = try await run("head -c 0 film.mkv > none.mkv; sheaf verify none.mkv edit.json > none.json")
    #expect(none.status == 3 && none.errors.contains("the file is empty"), "\(none.errors)")
    #expect(try predicate("none.json")["result"] as? String == "different")
    #expect(left.isEmpty)
  }

  @Test func `the film of another edit, and one whose source has changed since, differ`() async throws {
    try write("other.json", to: "other.mkv", start: 1)
    try await render("other.json")
    let other = try await run("sheaf verify other.mkv edit.json > statement.json")
    #expect(other.status == 3 && other.errors.contains("has 50 pictures, and not 75"), "\(other.errors)")
    try await render()
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=3,negate", "-pix_fmt", "yuv420p", "-c:v", "ffv1",
      folder.path("source.mkv"))
    let changed = try await run("sheaf verify film.mkv edit.json > statement.json")
    #expect(changed.status == 3 && changed.errors.contains("75 pictures differ"), "\(changed.errors)")
    #expect(changed.errors.contains("samples differ"), "\(changed.errors)")
    // The statement has the digest of the source as it is now.
    let inputs = try #require(try predicate("statement.json")["inputs"] as? [[String: Any]])
    let source = try await run("sha256sum < source.mkv").output.prefix(64)
    #expect(inputs[0]["sha256"] as? String == String(source))
  }

  @Test func `the files of several outputs are verified each`() async throws {
    let document = """
      { "sheaf": 1, "assets": { "a": "source.mkv" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a", "use": "0..3" } ] } ],
        "videoComposition": { "renderSize": [96, 64], "frameDuration": "1/25" },
        "export": { "outputs": [
          { "name": "large", "container": "mp4" }, { "name": "small", "container": "mkv", "size": [48, 32] },
          { "name": "sound", "container": "flac", "video": false } ] } }

      """
    try Data(document.utf8).write(to: folder.url.appending(path: "ladder.json"))
    let made = try await run("sheaf render ladder.json -o films")
    try #require(made.status == 0, "\(made.errors)")
    let equal = try await run("sheaf verify films ladder.json > statement.json")
    #expect(equal.status == 0, "\(equal.errors)")
    let share = try await run("sheaf verify films ladder.json --share 50 > statement.json")
    #expect(share.status == 0 && share.errors.contains("small.mkv: the segments"), "\(share.errors)")
    let wrong = try await run(
      "ffmpeg -v error -i films/large.mp4 -map 0:v -c copy -t 1 -f matroska films/small.mkv -y; "
        + "sheaf verify films ladder.json > statement.json")
    #expect(wrong.status == 3 && wrong.errors.contains("small.mkv: it differs"), "\(wrong.errors)")
    #expect(wrong.errors.contains("large.mp4: the same bytes"))
    let missing = try await run("rm films/sound.flac; sheaf verify films ladder.json > statement.json")
    #expect(missing.status == 65 && missing.errors.contains("there is no film films/sound.flac"), "\(missing.errors)")
    #expect(left.isEmpty)
  }

  // MARK: Shares

  @Test func `a share finds a wrong segment that is drawn, and not one that is not`() async throws {
    try await render()
    // The middle one of three segments is drawn by no share of two.
    let share = try await run("sheaf verify film.mkv edit.json --share 1 --seed s > statement.json")
    #expect(share.status == 0, "\(share.errors)")
    #expect(share.errors.contains("2 of 3 segments were rendered again (--share 1 --seed s): 0, 2"))
    let stated = try #require(try predicate("statement.json")["share"] as? [String: Any])
    #expect(stated["comparedSound"] as? Bool == true && stated["segmentCount"] as? Int == 3)
    let segments = try #require(stated["segments"] as? [[String: Int]])
    let drawn = segments.map { ($0["firstFrame"] ?? 0)..<($0["endFrame"] ?? 0) }
    #expect(drawn.first?.lowerBound == 0 && drawn.last?.upperBound == 75)
    for (name, picture) in [("middle", drawn[0].upperBound + 3), ("last", drawn[1].lowerBound + 3)] {
      let bytes = try changing(picture: picture)
      try bytes.write(to: folder.url.appending(path: "\(name).mkv"))
    }
    let middle = try await run("sheaf verify middle.mkv edit.json --share 1 --seed s > statement.json")
    #expect(middle.status == 0, "\(middle.errors)")
    let all = try await run("sheaf verify middle.mkv edit.json --share 99 > statement.json")
    #expect(all.status == 3 && all.errors.contains("1 picture differs"), "\(all.errors)")
    let last = try await run("sheaf verify last.mkv edit.json --share 1 > statement.json")
    #expect(last.status == 3 && last.errors.contains("1 picture differs"), "\(last.errors)")
    #expect(last.errors.contains("the first is \(drawn[1].lowerBound + 3)"), "\(last.errors)")
    #expect(left.isEmpty)
  }

  /// The film with one byte of a picture's packet changed.
  private func changing(picture: Int) throws -> Data {
    var film = try Data(contentsOf: folder.url.appending(path: "film.mkv"))
    let places = try Tool.ffprobe(
      "-select_streams", "v", "-show_entries", "packet=pos,size", folder.path("film.mkv"))
    let numbers = places[picture].compactMap { Int($0) }
    let (size, place) = (numbers[0], numbers[1])
    // Behind the head of the block, in the middle of the packet.
    film[place + size / 2] ^= 0x10
    return film
  }

  @Test func `films of which no share can be made are refused with the reason`() async throws {
    try write("sound.json", to: "film.flac", start: 0, video: "false")
    let made = try await run("sheaf render sound.json && sheaf verify film.flac sound.json --share 20")
    #expect(made.status == 65 && made.errors.contains("leave --share out"), "\(made.errors)")
    #expect(left.isEmpty)
  }

  // MARK: Ends

  @Test(arguments: [SIGINT, SIGTERM, SIGKILL].spread(2))
  func `nothing is left behind by a signal`(signal: Int32) async throws {
    try await render()
    // Of a folder without its lock nobody knows whether it was just made.
    var isLocked: Bool { left.contains { access(folder.path(".cache/sheaf/\($0)/lock"), F_OK) == 0 } }
    var result: ShellScript.Result
    repeat {
      // One that ends before the signal comes is no test.
      let script = try start("exec sheaf verify film.mkv edit.json")
      while script.program.isRunning, !isLocked { try await Task.sleep(for: .milliseconds(5)) }
      script.program.send(signal)
      result = try await script.end()
    } while result.status == 0
    switch signal {
    case SIGKILL:
      // The next one removes what is left.
      #expect(left.count == 1)
      let next = try await run("sheaf verify film.mkv edit.json")
      #expect(next.status == 0)
    default: #expect(result.status == 128 + signal, "\(result.errors)")
    }
    #expect(left.isEmpty)
  }

  // MARK: Statements

  @Test func `a signed statement is checked by others and by us, and one that was changed is not accepted`()
    async throws
  {
    try await render()
    let made = try await run(
      """
      openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem \
      && openssl genpkey -algorithm ed25519 -out other.pem && openssl pkey -in other.pem -pubout -out stranger.pem \
      && sheaf verify film.mkv edit.json --key key.pem --statement statement.json
      """)
    #expect(made.status == 0 && made.output.isEmpty, "\(made.errors)")
    let good = try await run("sheaf verify --check statement.json --public-key public.pem film.mkv")
    #expect(good.status == 0 && good.output.contains("film.mkv: the same bytes"), "\(good.errors)")
    #expect(try await run("sheaf verify --check statement.json --public-key public.pem").status == 0)
    // Who knows DSSE and Ed25519 needs nothing of ours.
    let independent = try await run(
      """
      python3 - <<'END' && openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in message -sigfile signature \
        && openssl pkey -pubin -in public.pem -outform DER | sha256sum
      import base64, json
      envelope = json.load(open("statement.json"))
      payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
      assert kind == b"application/vnd.in-toto+json"
      open("message", "wb").write(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
      open("signature", "wb").write(base64.b64decode(envelope["signatures"][0]["sig"]))
      open("keyid", "w").write(envelope["signatures"][0]["keyid"])
      statement = json.loads(payload)
      assert statement["_type"] == "https://in-toto.io/Statement/v1"
      assert statement["predicateType"] == "https://sheaf.video/verification/v1"
      assert [subject["name"] for subject in statement["subject"]] == ["film.mkv"]
      import hashlib
      film = hashlib.sha256(open("film.mkv", "rb").read()).hexdigest()
      assert statement["subject"][0]["digest"] == {"sha256": film}
      # Equal statements are equal bytes.
      assert payload == json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
      END
      """)
    #expect(independent.status == 0, "\(independent.output) \(independent.errors)")
    let key = try String(contentsOf: folder.url.appending(path: "keyid"), encoding: .utf8)
    #expect(independent.output.contains(key))

    let stranger = try await run("sheaf verify --check statement.json --public-key stranger.pem film.mkv")
    #expect(stranger.status == 4 && stranger.errors.contains("is not signed by the key"), "\(stranger.errors)")
    let film = try await run(
      "cp film.mkv changed.mkv; printf x >> changed.mkv; "
        + "sheaf verify --check statement.json --public-key public.pem changed.mkv")
    #expect(film.status == 3 && film.errors.contains("is not the film of the statement"), "\(film.errors)")

    // Any byte of the payload, of its type, and of the signature.
    let text = try Data(contentsOf: folder.url.appending(path: "statement.json"))
    let json = String(decoding: text, as: UTF8.self)
    for field in [#""payload":""#, #""sig":""#, #""payloadType":""#] {
      let start = try #require(json.range(of: field)?.upperBound)
      var bytes = Array(json.utf8)
      let place = json.utf8.distance(from: json.startIndex, to: start) + 20
      bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      try Data(bytes).write(to: folder.url.appending(path: "changed.json"))
      let changed = try await run("sheaf verify --check changed.json --public-key public.pem")
      #expect(changed.status == 4, "\(field): \(changed.errors)")
    }
  }

  @Test func `a statement that is not signed, or says that a film differs, is not one of a verified film`() async throws
  {
    try await render()
    try write("other.json", to: "other.mkv", start: 1)
    let made = try await run(
      """
      openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem
      sheaf verify film.mkv edit.json > unsigned.json
      sheaf verify film.mkv other.json --key key.pem --statement different.json
      """)
    #expect(made.status == 3, "\(made.output) \(made.errors)")
    let unsigned = try await run("sheaf verify --check unsigned.json --public-key public.pem film.mkv")
    #expect(unsigned.status == 4 && unsigned.errors.contains("is not signed"), "\(unsigned.errors)")
    let different = try await run("sheaf verify --check different.json --public-key public.pem film.mkv")
    #expect(different.status == 3 && different.output.contains("film.mkv: it differs"), "\(different.errors)")
  }

  @Test func `wrong command lines, keys and statements are refused before any work`() async throws {
    try await render()
    let made = try await run(
      """
      openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem \
      && openssl genpkey -algorithm ed25519 -aes256 -pass pass:word -out secret.pem \
      && openssl genpkey -algorithm ED448 -out other.pem
      """)
    #expect(made.status == 0, "\(made.errors)")
    let wrong: [(String, Int32, String)] = [
      ("film.mkv", 64, "a film and its document must be given"),
      ("film.mkv edit.json --share 0", 64, "must be a whole number from 1 to 99"),
      ("film.mkv edit.json --share 100", 64, "must be a whole number from 1 to 99"),
      ("film.mkv edit.json --seed a", 64, "--seed is for --share"),
      ("film.mkv edit.json --public-key public.pem", 64, "--public-key is for --check"),
      ("--check film.mkv", 64, "give --public-key"),
      ("--check film.mkv --public-key public.pem", 65, "is not an envelope of DSSE"),
      ("--check film.mkv --public-key key.pem", 65, "it is not a public key in PEM"),
      ("film.mkv edit.json --key public.pem", 65, "it is not a private key in PEM"),
      ("film.mkv edit.json --key secret.pem < /dev/null", 65, "without a passphrase"),
      ("film.mkv edit.json --key other.pem", 65, "it is not a key of Ed25519"),
      ("film.mkv edit.json --key nothing.pem", 65, "the key cannot be read"),
      ("film.mkv edit.json --statement film.mkv", 65, "would replace what is verified"),
      ("flim.mkv edit.json", 65, "there is no film flim.mkv (did you mean 'film.mkv'?)"),
      (". edit.json", 65, "must end in one of"),
    ]
    for (arguments, status, message) in wrong.spread(7) {
      let result = try await run("sheaf verify \(arguments)")
      #expect(result.status == status && result.errors.contains(message), "\(arguments): \(result)")
      #expect(!result.errors.contains("rendering"))
    }
    #expect(left.isEmpty)
  }
}
