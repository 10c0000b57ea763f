// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "custom-transition",
  dependencies: [.package(name: "sheaf", path: "../..")],
  targets: [
    .executableTarget(name: "BlindsWorker", dependencies: [.product(name: "SheafWorker", package: "sheaf")])
  ]
)
