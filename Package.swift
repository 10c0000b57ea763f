// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

// SwiftPM refuses such flags of a package that another depends on by version.
let isDependency = Context.packageDirectory.contains("/checkouts/")
// Without this SwiftPM builds C at -O0 in debug, and a test that runs a pixel kernel takes seconds.
let optimised: [CSetting] = isDependency ? [] : [.unsafeFlags(["-O2"], .when(configuration: .debug))]
// And Swift's generics in debug, such as those of exact numbers, take ten times as long: so do planning, reading
// documents and rows, what tests compute as references, and their plain twins of kernels.
let optimisedSwift: [SwiftSetting] = isDependency ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

// `make demo`: what reads documents, and what hands out and counts tasks, is compiled without optimisation, in a
// quarter of the time. What handles frames and samples is not.
let cold: [SwiftSetting] =
  Context.environment["SHEAF_QUICK_BUILD"] == nil || isDependency
  ? [] : [.unsafeFlags(["-Onone"], .when(configuration: .release))]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let csv: Target.Dependency = .product(name: "SwiftCSV", package: "SwiftCSV")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]

let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

let package = Package(
  name: "sheaf",
  products: [
    // Editing, reading, writing and export from Swift.
    .library(name: "Sheaf", targets: ["Sheaf"]),
    .library(name: "CompositionModel", targets: ["CompositionModel"]),
    // Documents, read and lowered.
    .library(name: "EditDocument", targets: ["EditDocument"]),
    // A worker with compositors of one's own.
    .library(name: "SheafWorker", targets: ["SheafWorker"]),
    .executable(name: "sheaf", targets: ["SheafCLI"]),
    .executable(name: "sheaf-server", targets: ["SheafServer"]),
    .executable(name: "sheaf-worker", targets: ["SheafWorkerCLI"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swiftcsv/SwiftCSV", from: "0.10.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    // For the HTTP API, and so for `sheaf-server` alone.
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
  ],
  targets: [
    // Pure: no C, no I/O.
    .target(name: "CompositionModel", swiftSettings: strict + optimisedSwift),
    // The JSON document. Pure.
    .target(name: "EditDocument", dependencies: ["CompositionModel"], swiftSettings: strict + optimisedSwift + cold),
    .target(name: "RenderTasks", dependencies: ["CompositionModel"], swiftSettings: strict + optimisedSwift + cold),
    .target(
      name: "Segmenter", dependencies: ["CompositionModel", "RenderTasks"], swiftSettings: strict + optimisedSwift),

    // What several rooms need: descriptors, folders, threads, settings, JSON; SHA-256.
    .target(name: "SystemSupport", dependencies: [systemPackage], swiftSettings: strict + optimisedSwift),
    // What programs of many tasks need: threads for work that blocks, a semaphore, the handlers of the log, messages to
    // a service manager.
    .target(
      name: "Runtime", dependencies: [.product(name: "NIOPosix", package: "swift-nio"), logging, "SystemSupport"],
      swiftSettings: strict + optimisedSwift),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "CDigest", cSettings: optimised),
    .target(
      name: "Digest", dependencies: ["CCrypto", "CDigest", "SystemSupport"], swiftSettings: strict + optimisedSwift),

    // The file of a piece, and its packets as fragments of a movie. Pure.
    .target(name: "PieceFiles", dependencies: ["CompositionModel", "Digest"], swiftSettings: strict + optimisedSwift),

    // Media: the only rooms that see libav*.
    .systemLibrary(
      name: "CFFmpeg", pkgConfig: "libavformat libavcodec libswscale libswresample libavutil",
      providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev"])]),
    .target(name: "CMedia", dependencies: ["CFFmpeg"], cSettings: optimised),
    // The kernels of pictures and of sound. Nothing of libav*.
    .target(name: "CKernels", cSettings: optimised),
    .target(
      name: "Media",
      dependencies: ["CKernels", "CMedia", "CompositionModel", "CZlib", "Digest", "PieceFiles", "SystemSupport"],
      swiftSettings: strict + optimisedSwift),
    // What an author's own compositor sees. No C.
    .target(name: "SheafCompositing", dependencies: ["CompositionModel"], swiftSettings: strict + optimisedSwift),
    .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
    .systemLibrary(name: "CRubberBand", pkgConfig: "rubberband", providers: [.apt(["librubberband-dev"])]),
    .systemLibrary(name: "CEBUR128", pkgConfig: "libebur128", providers: [.apt(["libebur128-dev"])]),
    .systemLibrary(name: "CAss", pkgConfig: "libass", providers: [.apt(["libass-dev"])]),
    .systemLibrary(name: "CVidStab", providers: [.apt(["libvidstab-dev"])]),
    .target(
      name: "Renderer",
      dependencies: [
        "Media", "RenderTasks", "CompositionModel", "CAss", "CEBUR128", "CKernels", "CPango", "CRubberBand", "CVidStab",
        "Digest", "PieceFiles", "SheafCompositing", "SystemSupport",
      ],
      swiftSettings: strict + optimisedSwift),
    .target(
      name: "Stitcher",
      dependencies: ["Media", "RenderTasks", "CompositionModel", "Digest", "PieceFiles", "SystemSupport"],
      swiftSettings: strict + optimisedSwift
    ),

    // The farm. FarmModel, Jobs and Wire contain no code for media and no composition.
    .target(name: "FarmModel", swiftSettings: strict + optimisedSwift + cold),
    .target(name: "Jobs", dependencies: ["Digest", "FarmModel"], swiftSettings: strict + optimisedSwift + cold),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    // The job store of a farm. A machine that renders alone builds none of it.
    .target(
      name: "PostgresJobs", dependencies: ["CPostgres", "Digest", "FarmModel", "Jobs", "SystemSupport"],
      resources: [.embedInCode("Migrations")],
      swiftSettings: strict + optimisedSwift),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // libssl is the system's, as libcrypto is. swift-nio-ssl would build BoringSSL, which takes a minute or two.
    .systemLibrary(name: "CSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .target(
      name: "TLS", dependencies: nio + [logging, "CSSL", "Runtime", "SystemSupport"],
      swiftSettings: strict + optimisedSwift + cold),
    .target(
      name: "Wire", dependencies: nio + [protobuf, logging, "CZlib", "Digest", "Runtime", "SystemSupport", "TLS"],
      exclude: ["sheaf.proto"], swiftSettings: strict + optimisedSwift),
    .target(name: "CFiles", cSettings: optimised),
    .target(name: "CMemory", cSettings: optimised),
    .target(
      name: "ContentStorage", dependencies: ["CFiles", "Digest", "SystemSupport"],
      swiftSettings: strict + optimisedSwift),
    // What a farm can be asked, and what it answers. Pure; its JSON is that of `--json`.
    .target(
      name: "FarmAPI", dependencies: ["CompositionModel", "EditDocument", "Digest", "FarmModel"],
      swiftSettings: strict + optimisedSwift + cold),
    .target(
      name: "FarmWire",
      dependencies: ["CompositionModel", "Digest", "FarmAPI", "FarmModel", "SystemSupport", "Wire", protobuf],
      swiftSettings: strict + optimisedSwift + cold),
    .target(
      name: "Coordinator",
      dependencies: [
        "CMemory", "CompositionModel", "EditDocument", "RenderTasks", "Segmenter", "FarmAPI", "FarmModel", "FarmWire",
        "Jobs", "Wire",
        "ContentStorage", "Digest", "PieceFiles", "Runtime", "SystemSupport", "TLS", protobuf, logging,
      ],
      swiftSettings: strict + optimisedSwift + cold),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .target(
      name: "Client",
      dependencies: [
        "CYAML", "CompositionModel", "EditDocument", "FarmAPI", "FarmModel", "FarmWire", "Wire", "ContentStorage",
        "Digest",
        "Runtime", "SystemSupport", "TLS",
        protobuf,
      ],
      swiftSettings: strict + optimisedSwift + cold),
    // The HTTP face of a coordinator. Of Hummingbird its server alone, without its router, files and middleware.
    .target(
      name: "FarmHTTP",
      dependencies: nio + [
        "CompositionModel", "Coordinator", "Digest", "FarmAPI", "FarmModel", "Runtime", "SystemSupport", "TLS",
        "Wire", logging,
        .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
      ],
      resources: [.embedInCode("Page")],
      swiftSettings: strict),
    .systemLibrary(name: "CXML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    // What editors write, as documents, and back.
    .target(
      name: "Timelines", dependencies: ["CXML", "CompositionModel", "EditDocument", "SystemSupport"],
      swiftSettings: strict + optimisedSwift + cold),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    // What is sent to other servers: messages about jobs.
    .target(
      name: "Webhooks",
      dependencies: [
        "CCurl", "Coordinator", "Digest", "FarmAPI", "FarmModel", "Runtime", "SystemSupport", logging,
      ],
      swiftSettings: strict),
    // A coordinator and a worker of this machine, for commands that need no farm.
    .target(
      name: "LocalFarm",
      dependencies: [
        "Client", "Coordinator", "CompositionModel", "EditDocument", "FarmAPI", "FarmModel", "Jobs", "Wire",
        "ContentStorage", "Digest",
        "Runtime", "SystemSupport", logging, subprocess, systemPackage,
      ] + nio,
      swiftSettings: strict + cold),
    .target(name: "CSandbox", cSettings: optimised),
    .target(
      name: "Worker",
      dependencies: nio + [
        "Wire", "ContentStorage", "Digest", "SystemSupport", "Renderer", "Stitcher", "Media", "RenderTasks",
        "CompositionModel", "CSandbox", "FarmModel", "FarmWire", "Runtime", "SheafCompositing", "TLS", argumentParser,
        logging,
        protobuf,
        systemPackage,
        unixSignals,
      ],
      exclude: ["Control/control.proto"],
      swiftSettings: strict + optimisedSwift + cold),
    .target(
      name: "SheafWorker", dependencies: ["Worker", "SheafCompositing", "CompositionModel"], swiftSettings: strict),

    .target(
      name: "Sheaf",
      dependencies: [
        "Client", "CompositionModel", "EditDocument", "ContentStorage", "Digest", "FarmAPI", "FarmModel", "LocalFarm",
        "Media", "PieceFiles",
        "RenderTasks", "Renderer", "Runtime", "Segmenter", "SheafCompositing", "Stitcher", "SystemSupport", "TLS",
        "Wire",
      ],
      swiftSettings: strict),

    // The three executables. `sheaf` has nothing of HTTP, so that a machine without a farm builds none of it.
    .executableTarget(
      name: "SheafCLI",
      dependencies: [
        "Client", "CompositionModel", "EditDocument", "FarmAPI", "FarmModel", "LocalFarm", "Wire", "ContentStorage",
        "Digest",
        "Runtime", "SystemSupport", "TLS", "Timelines", argumentParser, csv, protobuf, unixSignals,
      ],
      swiftSettings: strict + cold),
    .executableTarget(
      name: "SheafServer",
      dependencies: [
        "Client", "ContentStorage", "Coordinator", "FarmHTTP", "Jobs", "LocalFarm", "PostgresJobs", "Runtime",
        "SystemSupport", "TLS", "Webhooks", "Wire", argumentParser, logging, subprocess, systemPackage, unixSignals,
      ],
      swiftSettings: strict),
    .executableTarget(name: "SheafWorkerCLI", dependencies: ["SheafWorker"], swiftSettings: strict),
    // For `make demo`.
    .target(
      name: "OneMachine", dependencies: ["SheafCLI", "SheafWorkerCLI"], path: "scripts/one-machine",
      swiftSettings: strict),

    // Workers that render nothing, for Benchmarks/load.
    .executableTarget(
      name: "FarmLoad",
      dependencies: [
        "FarmModel", "Jobs", "PostgresJobs", "Wire", "Digest", "SystemSupport", argumentParser, protobuf,
      ],
      path: "Benchmarks/FarmLoad", swiftSettings: strict),

    // The compositor alone, for Benchmarks/transitions.
    .executableTarget(
      name: "FrameLoad",
      dependencies: [
        "Renderer", "Media", "RenderTasks", "Segmenter", "CompositionModel", "EditDocument", "SystemSupport",
        argumentParser,
      ],
      path: "Benchmarks/FrameLoad", swiftSettings: strict),

    // What several test targets share: programs that they start, temporary folders, a random generator.
    .target(
      name: "TestPrograms", dependencies: ["Digest", "SystemSupport"], path: "Tests/TestPrograms",
      exclude: ["fork-server.c"],
      swiftSettings: strict + optimisedSwift),
    // Descriptions of media without files, and documents of them.
    .target(
      name: "TestEdits", dependencies: ["CompositionModel", "EditDocument"], path: "Tests/TestEdits",
      swiftSettings: strict),
    .testTarget(
      name: "CompositionModelTests", dependencies: ["CompositionModel", "TestEdits", "TestPrograms"],
      swiftSettings: strict),
    .testTarget(
      name: "EditDocumentTests", dependencies: ["EditDocument", "CompositionModel", "TestEdits", "TestPrograms"],
      exclude: ["complete-documents", "validate-documents"], swiftSettings: strict),
    .testTarget(
      name: "TimelinesTests", dependencies: ["Timelines", "CompositionModel", "EditDocument", "TestPrograms"],
      exclude: ["otio-items"], swiftSettings: strict),
    .testTarget(
      name: "SegmenterTests",
      dependencies: ["Segmenter", "RenderTasks", "CompositionModel", "TestPrograms"],
      swiftSettings: strict + optimisedSwift),
    // Media files, frames and pieces for the tests of the three rooms that handle them.
    .target(
      name: "TestMedia", dependencies: ["Digest", "Media", "CompositionModel", "PieceFiles", "TestPrograms"],
      path: "Tests/TestMedia",
      swiftSettings: strict + optimisedSwift),
    .testTarget(
      name: "MediaTests",
      dependencies: ["Media", "CMedia", "CompositionModel", "Digest", "PieceFiles", "TestMedia", "TestPrograms"],
      swiftSettings: strict + optimisedSwift),
    .testTarget(
      name: "RendererTests",
      dependencies: [
        "Renderer", "Media", "RenderTasks", "Segmenter", "CompositionModel", "EditDocument", "CKernels", "CPango",
        "PieceFiles", "SheafCompositing",
        "SystemSupport", "TestMedia", "TestPrograms",
      ],
      swiftSettings: strict + optimisedSwift),
    .testTarget(
      name: "ExactnessTests",
      dependencies: [
        "Renderer", "Media", "RenderTasks", "Segmenter", "CompositionModel", "EditDocument", "Digest", "TestMedia",
        "TestPrograms",
      ],
      swiftSettings: strict + optimisedSwift),
    .testTarget(
      name: "StitcherTests",
      dependencies: [
        "Stitcher", "Media", "RenderTasks", "Segmenter", "CompositionModel", "Digest", "PieceFiles", "TestMedia",
        "TestPrograms",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "JobsTests",
      dependencies: ["FarmModel", "Jobs", "PostgresJobs", "Digest", "SystemSupport", "TestPrograms"],
      swiftSettings: strict),
    .testTarget(
      name: "RuntimeTests", dependencies: ["Runtime", "SystemSupport", "TestPrograms", logging], swiftSettings: strict),
    .testTarget(
      name: "WireTests",
      dependencies: nio + [
        .product(name: "NIOEmbedded", package: "swift-nio"), "Wire", "Digest", "SystemSupport", "TestPrograms", "CSSL",
        "TLS", logging, protobuf,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ContentStorageTests", dependencies: ["ContentStorage", "Digest", "SystemSupport", "TestPrograms"],
      swiftSettings: strict),
    .testTarget(
      name: "CoordinatorTests",
      dependencies: nio + [
        "Coordinator", "Client", "ContentStorage", "CompositionModel", "EditDocument", "FarmAPI", "FarmModel",
        "FarmWire",
        "RenderTasks",
        "Segmenter", "Jobs", "Wire", "Digest", "SystemSupport", "TestPrograms", logging, protobuf,
      ],
      exclude: ["Mutation/descriptions.json"], swiftSettings: strict),
    .testTarget(
      name: "FarmHTTPTests",
      dependencies: nio + [
        "FarmHTTP", "CompositionModel", "ContentStorage", "Coordinator", "Digest", "FarmAPI", "FarmModel", "Jobs",
        "SystemSupport", "TestPrograms", "TLS", "Wire", logging,
      ],
      exclude: ["schemathesis.toml"], swiftSettings: strict),
    .testTarget(
      name: "WebhooksTests",
      dependencies: [
        "Webhooks", "ContentStorage", "Coordinator", "Digest", "FarmAPI", "FarmModel", "Jobs", "TestPrograms", "Wire",
        logging,
      ],
      exclude: ["receiver.py"], swiftSettings: strict),
    .testTarget(name: "SystemSupportTests", dependencies: ["SystemSupport", "TestPrograms"], swiftSettings: strict),
    // The other end of a client's connection, for the tests of clients.
    .target(
      name: "TestCoordinator", dependencies: ["Wire", "Digest", logging, protobuf], path: "Tests/TestCoordinator",
      swiftSettings: strict),
    .testTarget(
      name: "ClientTests",
      dependencies: [
        "Client", "CompositionModel", "ContentStorage", "EditDocument", "FarmAPI", "FarmModel", "FarmWire", "Wire",
        "Digest",
        "SystemSupport", "TestCoordinator", "TestPrograms", protobuf,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FarmWireTests",
      dependencies: [
        "FarmWire", "CompositionModel", "Digest", "FarmAPI", "FarmModel", "SystemSupport", "Wire", protobuf,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "LocalFarmTests",
      dependencies: [
        "LocalFarm", "Client", "CompositionModel", "ContentStorage", "Digest", "FarmAPI", "SystemSupport",
        "TestPrograms",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "SheafCLITests",
      dependencies: [
        "SheafCLI", "SheafServer", "Client", "CompositionModel", "EditDocument", "FarmAPI", "FarmModel", "Wire",
        "Digest",
        "SystemSupport", "TestCoordinator", "TestPrograms", argumentParser, protobuf, unixSignals,
      ],
      exclude: ["Help"], swiftSettings: strict),
    .testTarget(
      name: "WorkerTests",
      dependencies: nio + [
        "Worker", "CompositionModel", "RenderTasks", "FarmModel", "Wire", "Media", "Digest", "Runtime", "SystemSupport",
        "TestPrograms", logging, protobuf,
      ],
      swiftSettings: strict),
    // The examples of the library, each a package of its own as well.
    .executableTarget(
      name: "ExampleReencode", dependencies: ["Sheaf"], path: "Examples/reencode/Sources/Reencode",
      swiftSettings: strict),
    .executableTarget(
      name: "ExampleEditing", dependencies: ["Sheaf"], path: "Examples/editing/Sources/EditTwoClips",
      swiftSettings: strict),
    .executableTarget(
      name: "ExampleExport", dependencies: ["Sheaf"], path: "Examples/export/Sources/ExportFilm",
      swiftSettings: strict),
    // Runs `sheaf`, `sheaf-worker` and the examples: they are named so that they are built first.
    .testTarget(
      name: "SheafTests",
      dependencies: [
        "Sheaf", "SheafCLI", "SheafServer", "SheafWorkerCLI", "ExampleReencode", "ExampleEditing", "ExampleExport",
        "Client", "CompositionModel", "EditDocument", "FarmAPI", "LocalFarm", "TestPrograms", "Wire",
      ],
      swiftSettings: strict),
    // Workers with compositors of their own: the example's, and one for failures.
    .executableTarget(
      name: "ExampleWorker", dependencies: ["SheafWorker"], path: "Examples/custom-transition/Sources/BlindsWorker",
      swiftSettings: strict),
    .executableTarget(
      name: "TestWorker", dependencies: ["SheafWorker"], path: "Tests/TestWorker",
      swiftSettings: strict + optimisedSwift),
    // Runs the executables: they are named so that they are built first.
    .testTarget(
      name: "FarmTests",
      dependencies: [
        "SheafCLI", "SheafServer", "SheafWorkerCLI", "ExampleWorker", "TestWorker", "Client", "CompositionModel",
        "ContentStorage", "Digest", "FarmAPI", "Jobs", "LocalFarm", "PostgresJobs", "SystemSupport", "TestMedia",
        "TestPrograms", "TLS", "Wire",
      ],
      exclude: ["check-playlist", "check-presentation", "play-playlist", "play-presentation"],
      swiftSettings: strict + optimisedSwift),
  ],
  swiftLanguageModes: [.v6]
)

// `make test T=Segmenter`, `make quick`: the tests of some rooms alone are built.
if let rooms = Context.environment["SHEAF_TEST_ROOMS"], !rooms.isEmpty {
  let names = rooms.split(separator: ",").map { "\($0)Tests" }
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
