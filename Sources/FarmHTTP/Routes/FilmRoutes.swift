import Coordinator
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The film of a job that is done, and its several outputs: as files, in ranges.
struct FilmRoutes: Sendable {
  private let quota: Quota

  init(_ quota: Quota) {
    self.quota = quota
  }

  var routes: [Route] {
    [
      Route(.get, "/v1/jobs/{job}/film", for: .see) { call in
        let files = try await call.farm.films(of: call.job)
        guard files.count == 1 else {
          let names = files.map { "/v1/jobs/\(call.job)/outputs/\($0.name)" }.joined(separator: ", ")
          throw ProblemDetails(.conflict, "job \(call.job) has several outputs: \(names)")
        }
        return try await reply(to: call, files[0])
      },
      Route(.get, "/v1/jobs/{job}/outputs/{name}", for: .see) { call in
        let name = call.parameter("name")
        guard let file = try await call.farm.films(of: call.job).first(where: { $0.name == name }) else {
          throw ProblemDetails(.notFound, "job \(call.job) has no output \"\(name.prefix(256))\"")
        }
        return try await reply(to: call, file)
      },
      Route(.get, "/v1/jobs/{job}/waveform", for: .see, query: ["points", "rate"]) { call in
        let resolution = try Self.resolution(call.query)
        return try await quota.run { Response(json: try await call.farm.waveform(of: call.job, resolution)) }
      },
    ]
  }

  private static func resolution(_ query: Query) throws(ProblemDetails) -> WaveformData.Resolution {
    let points = try query.number("points", in: WaveformData.pointCounts)
    guard let text = try query.text("rate") else { return .points(points ?? 1000) }
    guard let rate = Double(text), WaveformData.rates.contains(rate) else {
      let (lowest, highest) = (WaveformData.rates.lowerBound, WaveformData.rates.upperBound)
      throw ProblemDetails(.badRequest, "rate is a number from \(lowest) to \(highest), not \"\(text.prefix(64))\"")
    }
    return .rate(rate)
  }

  /// The file, or the part of it that the request wants.
  private func reply(to call: Call, _ file: FilmFile) async throws -> Response {
    let size = file.content.size
    let tag = "\"\(file.content.digest.hex)\""
    var headers: HTTPFields = [
      .eTag: tag, .acceptRanges: "bytes", .contentDisposition: FetchedFile.disposition(file.name),
      // Whoever has the film may keep it, and asks whether the job is still there.
      .cacheControl: "private, no-cache",
    ]
    if EntityTags.contain(call.header(.ifNoneMatch), tag, isWeak: true) {
      return Response(status: .notModified, headers: headers)
    }
    headers[.contentType] = FetchedFile.mediaType(file.name)
    // Of a file that the client does not have, a part is of no use.
    let isSame = call.header(.ifRange).map { $0 == tag } ?? true
    // Ranges are for GET alone, and HEAD has no body.
    if call.request.method == .head {
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody(contentLength: Int(size)) { writer in try await writer.finish(nil) })
    }
    switch ByteRange(isSame ? call.header(.range) : nil, size: size) {
    case .unsatisfiable:
      var problem = ProblemDetails(.rangeNotSatisfiable, "the file has \(size) bytes")
      problem.headers[.contentRange] = "bytes */\(size)"
      return problem.response
    case .part(let range):
      headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
      return Response(status: .partialContent, headers: headers, body: try await body(file, range, of: call))
    case .whole:
      return Response(status: .ok, headers: headers, body: try await body(file, 0..<size, of: call))
    }
  }

  /// How much is read at a time, in bytes.
  private static let chunk: Int64 = 256 << 10

  /// Throws `FarmError` if the content store cannot read the first bytes: then nothing of a reply was sent.
  private func body(_ file: FilmFile, _ range: Range<Int64>, of call: Call) async throws -> ResponseBody {
    let (farm, job) = (call.farm, call.job)
    try await farm.auditDownload(of: file.content.digest, "\(file.name) of job \(job)")
    let first = try await farm.read(file, range, from: range.lowerBound, atMost: Self.chunk)
    return ResponseBody(contentLength: range.count) { writer in
      var offset = range.lowerBound
      var part = first
      while !part.isEmpty {
        try await writer.write(ByteBuffer(bytes: part))
        offset += Int64(part.count)
        part = try await farm.read(file, range, from: offset, atMost: Self.chunk)
      }
      try await writer.finish(nil)
      // A part is not the film, and one of several outputs is not all of them.
      let isFilm = file.source == file.content.digest && range.lowerBound == 0
      if isFilm, offset == file.content.size { await farm.markFetched(job) }
    }
  }
}

extension FarmService {
  /// The next bytes of a range of a file, at most `limit`. Empty at its end.
  fileprivate func read(
    _ file: FilmFile, _ range: Range<Int64>, from offset: Int64, atMost limit: Int64
  ) async throws -> Data {
    let length = min(limit, range.upperBound - offset)
    if length == 0 { return Data() }
    let data = try await read(file.source, offset: file.offset + offset, length: Int(length))
    // Without the rest the client sees that the reply is too short, and closes the connection.
    guard data.count == length else { throw FarmError(.lost, "the film has become shorter") }
    return data
  }
}
