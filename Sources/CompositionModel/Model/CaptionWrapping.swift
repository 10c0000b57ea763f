/// Where the lines of a caption are broken so that none has more than so many characters.
///
/// Characters are grapheme clusters. A line is broken at spaces, which are left out there, and beside Chinese and
/// Japanese characters, which have none between their words, but not before closing punctuation nor after opening
/// punctuation. What cannot be broken and is longer stays as it is, on a line of its own.
///
/// Each line that is written becomes as few lines as possible. Of the ways to do so the longest line is the shortest
/// possible; of these the lines are as even as possible, by the least sum of the squares of their lengths; of these the
/// upper lines are the shorter ones.
package struct CaptionWrapping: Sendable {
  /// How many characters a line has at most.
  package let length: Int

  package init(_ length: Int) { self.length = max(1, length) }

  /// The scalars of a text in whose places its lines are broken, rising: those of spaces, or an empty range between two
  /// characters.
  /// - Parameter text: Without tags; its own lines are separated by `\n`.
  package func breaks(in text: String.UnicodeScalarView) -> [Range<Int>] {
    var breaks: [Range<Int>] = []
    var offset = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = CaptionWord.words(of: line)
      breaks += starts(words).map { offset + words[$0].space.lowerBound..<offset + words[$0].space.upperBound }
      offset += line.count + 1
    }
    return breaks
  }

  /// The words with which lines but the first one begin.
  private func starts(_ words: [CaptionWord]) -> [Int] {
    let whole = words.reduce(0) { $0 + $1.spaceWidth + $1.width }
    guard words.count > 1, whole > length else { return [] }
    let limit = shortestLimit(words)
    // For each word the best way to break the words from it on.
    var best = Array(repeating: (lines: 0, squares: 0, next: words.count), count: words.count + 1)
    for first in words.indices.reversed() {
      best[first] = (Int.max, 0, first)
      var width = 0
      for last in first..<words.count {
        width += (last > first ? words[last].spaceWidth : 0) + words[last].width
        if width > limit, last > first { break }
        let rest = best[last + 1]
        let (lines, squares) = (rest.lines + 1, rest.squares + width * width)
        // Of equal ones the first stays, whose line is the shortest.
        if (lines, squares) < (best[first].lines, best[first].squares) { best[first] = (lines, squares, last + 1) }
      }
    }
    var starts: [Int] = []
    var next = best[0].next
    while next < words.count {
      starts.append(next)
      next = best[next].next
    }
    return starts
  }

  /// The least length of lines with which there are no more of them than with the greatest.
  private func shortestLimit(_ words: [CaptionWord]) -> Int {
    func count(_ limit: Int) -> Int {
      var (count, width) = (1, words[0].width)
      for word in words.dropFirst() {
        if width + word.spaceWidth + word.width <= limit {
          width += word.spaceWidth + word.width
        } else {
          (count, width) = (count + 1, word.width)
        }
      }
      return count
    }
    let fewest = count(length)
    var (lower, upper) = (words.map(\.width).filter { $0 <= length }.max() ?? length, length)
    while lower < upper {
      let middle = (lower + upper) / 2
      if count(middle) == fewest { upper = middle } else { lower = middle + 1 }
    }
    return upper
  }
}

/// A part of a line that is not broken.
private struct CaptionWord {
  /// The scalars between it and the word before. Empty: the words follow each other.
  var space: Range<Int>
  /// In characters.
  var spaceWidth: Int
  /// The same. What is not seen alone counts as one, so that a line has no more words than its length.
  var width: Int

  /// The words of a line. The spaces at its beginning are those of its first word.
  static func words(of line: String.UnicodeScalarView.SubSequence) -> [CaptionWord] {
    var words: [CaptionWord] = []
    var (space, spaceWidth) = (0..<0, 0)
    var previous: Character?
    var offset = 0
    for character in String(line) {
      let range = offset..<offset + character.unicodeScalars.count
      offset = range.upperBound
      let width = character.isShown ? 1 : 0
      if character.isBreakingSpace {
        space = (space.isEmpty ? range.lowerBound : space.lowerBound)..<range.upperBound
        spaceWidth += width
      } else if words.isEmpty {
        words.append(CaptionWord(space: 0..<0, spaceWidth: 0, width: spaceWidth + width))
        (space, spaceWidth) = (0..<0, 0)
      } else if !space.isEmpty {
        words.append(CaptionWord(space: space, spaceWidth: spaceWidth, width: width))
        (space, spaceWidth) = (0..<0, 0)
      } else if let previous, previous.canEndLine(before: character) {
        words.append(CaptionWord(space: range.lowerBound..<range.lowerBound, spaceWidth: 0, width: width))
      } else {
        words[words.count - 1].width += width
      }
      previous = character
    }
    for index in words.indices { words[index].width = max(1, words[index].width) }
    return words
  }
}

extension Character {
  /// Punctuation and small letters with which no line of Japanese or Chinese begins, besides closing brackets.
  private static let never = Set(
    "、。，．・：；？！‼⁇⁈⁉…‥ーｰ〜～々〻ゝゞヽヾ,.:;?!%％｡､･ﾞﾟぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ"
  )
  private static let unbroken: Set<Unicode.Scalar> = ["\u{A0}", "\u{2007}", "\u{202F}"]

  private var first: Unicode.Scalar { unicodeScalars[unicodeScalars.startIndex] }

  /// Whether something is seen of it: a mark that joins words is not.
  fileprivate var isShown: Bool {
    self != "\u{200B}" && !unicodeScalars.allSatisfy { $0.properties.generalCategory == .format }
  }

  fileprivate var isBreakingSpace: Bool {
    guard unicodeScalars.count == 1 else { return false }
    return self == "\t" || self == "\u{200B}"
      || (first.properties.generalCategory == .spaceSeparator && !Self.unbroken.contains(first))
  }

  /// Whether it is of a script without spaces between words, in which lines end after any character.
  private var isIdeographic: Bool {
    switch first.value {
    case 0x2E80...0x2FDF, 0x3001...0x30FF, 0x3100...0x312F, 0x3190...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xF900...0xFAFF, 0xFE30...0xFE4F, 0xFF01...0xFF9F, 0x1B000...0x1B16F, 0x20000...0x3FFFF:
      true
    default: false
    }
  }

  fileprivate func canEndLine(before next: Character) -> Bool {
    guard isIdeographic || next.isIdeographic, isShown, next.isShown else { return false }
    guard !Self.unbroken.contains(first), !Self.unbroken.contains(next.first) else { return false }
    switch first.properties.generalCategory {
    case .openPunctuation, .initialPunctuation: return false
    default: break
    }
    switch next.first.properties.generalCategory {
    case .closePunctuation, .finalPunctuation: return false
    default: return !Self.never.contains(next) && !(0x31F0...0x31FF).contains(next.first.value)
    }
  }
}
