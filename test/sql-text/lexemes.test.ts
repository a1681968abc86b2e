import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { loadModule, scanSync } from 'libpg-query'
import { type Lexeme, lexemes, textOf } from '../../src/sql-text/lexemes.ts'

before(() => loadModule())

const pieces = fc.array(
  fc.constantFrom(
    ...[
      "'",
      "''",
      '"',
      '\\',
      "E'",
      "e'",
      "U&'",
      'U&"',
      "B'",
      "x'",
      '$$',
      '$a$',
      '$',
      'a',
      'E',
      '1',
      ' ',
      '\n',
    ],
    ...['--', '/*', '*/', '/', '*', '-', ';', '(', ')', ',', 'select'],
  ),
  { maxLength: 14, size: 'max' },
)

test('joining the lexemes of any text gives the text', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        pieces.map((each) => each.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        assert.equal([...lexemes(text)].map(textOf).join(''), text)
      },
    ),
    { numRuns: 2000 },
  )
})

test("strings, quoted identifiers and comments are where PostgreSQL's scanner finds them", () => {
  let compared = 0
  fc.assert(
    fc.property(pieces, (each) => {
      const text = each.join('')
      const expected = scanned(text)
      if (expected === undefined) return
      compared++
      assert.deepEqual(found(text), expected, text)
    }),
    { numRuns: 5000 },
  )
  assert.ok(compared > 500, `only ${compared} texts could be compared`)
})

test('a hole is its own lexeme, and a string on a new line continues the kind before it', () => {
  const kinds = [...lexemes("E'a'\n'b\\'' --\n<%= x %> c", /<%= x %>/)].filter(isVisible)
  assert.deepEqual(
    kinds.map(({ kind, fillsIn }) => [kind, fillsIn]),
    [
      ['escape-string', undefined],
      ['escape-string', undefined],
      ['hole', 'escape-string'],
      ['word', undefined],
    ],
  )
})

// SCONST, USCONST, BCONST, XCONST, UIDENT, SQL_COMMENT and C_COMMENT; the library does not name them all.
const quotedTokens = new Set([261, 262, 263, 264, 259, 275, 276])

/** What the scanner takes for quoted; undefined if it refuses the text. */
function scanned(text: string): string[] | undefined {
  // Unlike PostgreSQL, the library does not continue a string after a comment.
  if (/'\s*--/.test(text)) return undefined
  try {
    return scanSync(text)
      .tokens.filter(({ tokenType, start }) => quotedTokens.has(tokenType) || text[start] === '"')
      .map(({ start, end }) => text.slice(start, end))
  } catch {
    return undefined
  }
}

function found(text: string): string[] {
  const quoted: string[] = []
  let pending = ''
  let isContinuable = false
  for (const lexeme of lexemes(text)) {
    const isString = lexeme.kind.endsWith('string')
    const continues = isString && lexeme.open === "'" && isContinuable && /[\r\n]/.test(pending)
    if (continues) quoted.push(quoted.pop() + pending + textOf(lexeme))
    else if (isQuoted(lexeme)) quoted.push(textOf(lexeme))
    pending = isString ? '' : pending + textOf(lexeme)
    isContinuable =
      (isString && lexeme.kind !== 'dollar-string') || (isContinuable && lexeme.kind === 'space')
  }
  return quoted
}

function isVisible({ kind }: Lexeme): boolean {
  return kind !== 'space' && kind !== 'line-comment'
}

function isQuoted({ kind }: Lexeme): boolean {
  return kind !== 'space' && kind !== 'word' && kind !== 'number' && kind !== 'symbol'
}
