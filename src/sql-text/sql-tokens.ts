import { type LexemeKind, lexemes, textOf } from './lexemes.ts'

export type SqlTokenKind =
  | 'line-comment'
  | 'block-comment'
  | 'string'
  | 'quoted-identifier'
  | 'word'
  | 'number'
  | 'operator'
  | 'symbol'

/** `gap`: the spaces before it. */
export type SqlToken = Readonly<{ kind: SqlTokenKind; text: string; gap: string }>

const kinds: Readonly<Partial<Record<LexemeKind, SqlTokenKind>>> = {
  'line-comment': 'line-comment',
  'block-comment': 'block-comment',
  string: 'string',
  'escape-string': 'string',
  'unicode-string': 'string',
  'bit-string': 'string',
  'dollar-string': 'string',
  'quoted-identifier': 'quoted-identifier',
  'unicode-identifier': 'quoted-identifier',
  word: 'word',
  number: 'number',
}

/**
 * The tokens of a text as PostgreSQL's scanner parts them, and its comments: an operator is one, and so is a string that goes on in the next line.
 */
export function tokensOf(text: string): readonly SqlToken[] {
  const tokens: SqlToken[] = []
  let gap = ''
  let run = ''
  const add = (kind: SqlTokenKind, written: string) => {
    tokens.push({ kind, text: written, gap })
    gap = ''
  }
  const endRun = () => {
    for (const operator of operatorsIn(run)) add('operator', operator)
    run = ''
  }
  for (const lexeme of lexemes(text)) {
    const written = textOf(lexeme)
    const isOperator = lexeme.kind === 'symbol' && isOperatorCharacter.test(written)
    if (!isOperator) endRun()
    if (isOperator) run += written
    else if (lexeme.kind === 'space') gap += written
    else add(kinds[lexeme.kind] ?? 'symbol', written)
  }
  endRun()
  return joinStrings(tokens)
}

const isOperatorCharacter = /[-+*/<>=~!@#%^&|`?]/

/** `<-` is `<` and `-`, and `@-` is one: only an operator with one of certain characters can end in `+` or `-`. */
function operatorsIn(run: string): string[] {
  if (run === '') return []
  const hasMark = /[~!@#%^&|`?]/.test(run)
  const ends = hasMark || run.length === 1 ? '' : (/[-+]+$/.exec(run)?.[0] ?? '')
  const signs = ends.length === run.length ? ends.slice(1) : ends
  const first = run.slice(0, run.length - signs.length)
  return [first, ...operatorsIn(signs)]
}

/** `'a'` and `'b'` in the next line are one string, also with comments between them. */
function joinStrings(tokens: readonly SqlToken[]): readonly SqlToken[] {
  const joined: SqlToken[] = []
  for (const token of tokens) {
    const at = joined.findLastIndex(({ kind }) => kind !== 'line-comment')
    const before = joined[at]
    const between = joined.slice(at + 1)
    const gap = [...between, token].map((one) => one.gap).join('')
    const goesOn =
      token.kind === 'string' && before?.kind === 'string' && token.text.startsWith("'") && /[\n\r]/.test(gap)
    if (!goesOn) joined.push(token)
    else {
      const text = [before, ...between, token].map((one, place) => (place === 0 ? '' : one.gap) + one.text)
      joined.splice(at, joined.length, { ...before, text: text.join('') })
    }
  }
  return joined
}

/** Whether two texts differ only in spaces that mean nothing. Comments count. */
export function isSameSql(one: string, other: string): boolean {
  const [a, b] = [tokensOf(one), tokensOf(other)]
  return (
    a.length === b.length &&
    a.every((token, place) => {
      const there = b[place]!
      const isGlued = place > 0 && mustStay(a[place - 1]!, token)
      return (
        token.kind === there.kind &&
        token.text === there.text &&
        (!isGlued || (token.gap === '') === (there.gap === ''))
      )
    })
  )
}

/** `a.b`, `:name`, `$1`, `a::int` and `1a` are read in another way with a space. */
export function mustStay(before: SqlToken, after: SqlToken): boolean {
  if (/^[.:$]$/.test(before.text) || after.text === '.') return true
  if (before.kind === 'number') return /^(word|number)$/.test(after.kind) || /^[:$]$/.test(after.text)
  return before.kind === 'word' && after.text === ':'
}
