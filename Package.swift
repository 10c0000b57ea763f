// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

// Without this SwiftPM builds C at -O0 in debug, and a test that runs a pixel kernel takes seconds.
let optimised: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]

let package = Package(
  name: "sheaf",
  products: [
    .library(name: "Composition", targets: ["Composition"]),
    .executable(name: "sheaf", targets: ["Coordinator"]),
    .executable(name: "sheaf-worker", targets: ["Worker"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // The ground floor: pure, no C, no I/O.
    .target(name: "Composition", swiftSettings: strict),
    .target(name: "Segmenter", dependencies: ["Composition"], swiftSettings: strict),

    // Media: the only rooms that see libav*.
    .systemLibrary(
      name: "CFFmpeg", pkgConfig: "libavformat libavcodec libswscale libswresample libavutil",
      providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev"])]),
    .target(name: "CMedia", dependencies: ["CFFmpeg"], cSettings: optimised),
    .target(name: "Media", dependencies: ["CMedia", "Composition"], swiftSettings: strict),
    .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
    .target(
      name: "Renderer", dependencies: ["Media", "Segmenter", "Composition", "CMedia", "CPango"], swiftSettings: strict),
    .target(name: "Stitcher", dependencies: ["Media", "Segmenter", "Composition"], swiftSettings: strict),

    // The farm: knows no media and no composition.
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "Digest", dependencies: ["CCrypto"], swiftSettings: strict),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .target(
      name: "Jobs", dependencies: ["CPostgres"],
      resources: [.embedInCode("Migrations/0001_farm.sql"), .embedInCode("Migrations/0002_second_lease.sql")],
      swiftSettings: strict),
    .target(
      name: "Wire",
      dependencies: nio + [
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
        logging, "Digest",
      ],
      exclude: ["sheaf.proto"], swiftSettings: strict),
    .target(name: "CSandbox", cSettings: optimised),

    // The two executables.
    .executableTarget(
      name: "Coordinator",
      dependencies: nio + [
        "Composition", "Segmenter", "Jobs", "Wire", "Digest", argumentParser, logging,
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "Worker",
      dependencies: nio + [
        "Wire", "Digest", "Renderer", "Stitcher", "Media", "Segmenter", "Composition", "CSandbox", argumentParser,
        logging,
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: strict),

    // What several test targets start their programs with.
    .target(name: "TestPrograms", path: "Tests/TestPrograms", swiftSettings: strict),
    .testTarget(name: "CompositionTests", dependencies: ["Composition"], swiftSettings: strict),
    .testTarget(name: "SegmenterTests", dependencies: ["Segmenter", "Composition"], swiftSettings: strict),
    .testTarget(name: "MediaTests", dependencies: ["Media", "Composition", "TestPrograms"], swiftSettings: strict),
    .testTarget(
      name: "RendererTests", dependencies: ["Renderer", "Media", "Segmenter", "Composition", "CMedia", "TestPrograms"],
      swiftSettings: strict),
    .testTarget(
      name: "StitcherTests", dependencies: ["Stitcher", "Media", "Segmenter", "Composition", "TestPrograms"],
      swiftSettings: strict),
    .testTarget(name: "JobsTests", dependencies: ["Jobs"], swiftSettings: strict),
    .testTarget(
      name: "WireTests",
      dependencies: nio + ["Wire", "Digest", logging, .product(name: "SwiftProtobuf", package: "swift-protobuf")],
      swiftSettings: strict),
    .testTarget(
      name: "CoordinatorTests",
      dependencies: nio + [
        "Coordinator", "Composition", "Segmenter", "Jobs", "Wire", "Digest", argumentParser, logging,
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      exclude: ["Help"], swiftSettings: strict),
    .testTarget(
      name: "WorkerTests",
      dependencies: nio + [
        "Worker", "Wire", "Digest", "TestPrograms", logging,
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: strict),
    // Runs the executables: they are named so that they are built first.
    .testTarget(name: "FarmTests", dependencies: ["Coordinator", "Worker", "TestPrograms"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
