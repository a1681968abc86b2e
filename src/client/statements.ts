/** One statement of a text, without its semicolon and the comments before it. */
export type Statement = Readonly<{ from: number; to: number; text: string }>

/** Splits a text as psql does: by the semicolons that stand outside of everything. */
export function splitStatements(text: string): Statement[] {
  const statements: Statement[] = []
  let start: number | undefined
  let end = 0
  const finish = () => {
    if (start !== undefined) statements.push({ from: start, to: end, text: text.slice(start, end) })
    start = undefined
  }
  const bodies = new BodyDepth()
  let parentheses = 0
  for (const token of tokensOf(text)) {
    if (token.kind === 'comment') continue
    if (token.kind === 'word') bodies.take(token.text)
    if (token.text === '(') parentheses++
    else if (token.text === ')') parentheses = Math.max(0, parentheses - 1)
    if (token.text === ';' && parentheses === 0 && bodies.depth === 0) {
      finish()
      bodies.reset()
      continue
    }
    start ??= token.from
    end = token.to
  }
  finish()
  return statements
}

/** The statement in which a position lies, or the last one before it. */
export function statementAt(text: string, position: number): Statement | undefined {
  const statements = splitStatements(text)
  return statements.findLast(({ from }) => from <= position) ?? statements[0]
}

/** The words of a statement outside of quotes, comments and parentheses, in capitals. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  let depth = 0
  for (const { kind, text: token } of tokensOf(text)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (kind === 'word' && depth === 0) words.push(token.toUpperCase())
  }
  return words
}

/** Why one should look twice before it is run. */
export function whatItRisks(text: string): string | undefined {
  const words = wordsOf(text)
  const [first = ''] = words
  if (first === 'DROP' || first === 'TRUNCATE') return `${first} takes data away for good.`
  const isBroad = (first === 'UPDATE' || first === 'DELETE') && !words.includes('WHERE')
  return isBroad ? `${first} without WHERE changes every row of the table.` : undefined
}

/** Whether tables or columns may be others afterwards. */
export const changesCatalog = (text: string) =>
  /^(CREATE|ALTER|DROP|SELECT|DO|CALL)$/.test(wordsOf(text)[0] ?? '') &&
  /\b(create|alter|drop|cartodbfytable)\b/i.test(text)

type Token = Readonly<{
  kind: 'word' | 'quoted' | 'comment' | 'other'
  from: number
  to: number
  text: string
}>

/** What a token begins with, or all of it: a comment, a quote, a dollar quote, a word, a number, any other character. */
const token =
  /--[^\n]*|\/\*|[eE]'|'|"|\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$|[\p{L}_][\p{L}\p{N}_$]*|\d[\p{L}\p{N}_.]*|\S/gu

function* tokensOf(text: string): Generator<Token> {
  const pattern = new RegExp(token)
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [found] = match
    const from = match.index
    const kind = kindOf(found)
    const to = endOf(text, from, found)
    pattern.lastIndex = to
    yield { kind, from, to, text: text.slice(from, to) }
  }
}

function kindOf(found: string): Token['kind'] {
  if (found.startsWith('--') || found === '/*') return 'comment'
  if (/^(?:[eE]?'|"|\$)/.test(found)) return 'quoted'
  return /^[\p{L}_]/u.test(found) ? 'word' : 'other'
}

function endOf(text: string, from: number, found: string): number {
  const after = from + found.length
  if (found === '/*') return commentEnd(text, from)
  if (/^[eE]?'$|^"$/.test(found)) return quoteEnd(text, after, found.at(-1)!, found.length === 2)
  // `$1` is a parameter; `$$` and `$tag$` begin a text.
  if (!/^\$.*\$$/.test(found)) return after
  const end = text.indexOf(found, after)
  return end < 0 ? text.length : end + found.length
}

/** A quote that stands twice is part of the text; so is one after a backslash, in a text that has escapes. */
function quoteEnd(text: string, from: number, quote: string, hasEscapes: boolean): number {
  for (let at = from; at < text.length; at++) {
    if (hasEscapes && text[at] === '\\') at++
    else if (text[at] !== quote) continue
    else if (text[at + 1] === quote) at++
    else return at + 1
  }
  return text.length
}

/** Comments of this kind stand inside each other. */
function commentEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text.startsWith('/*', at)) {
      depth++
      at++
    } else if (text.startsWith('*/', at)) {
      depth--
      at++
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

/** `CREATE FUNCTION … BEGIN ATOMIC …; … END`: semicolons that end nothing. CASE has an END too. */
class BodyDepth {
  depth = 0
  #words = 0
  #isCreate = false
  #isRoutine = false

  take(word: string): void {
    const upper = word.toUpperCase()
    this.#words++
    if (this.#words === 1) this.#isCreate = upper === 'CREATE'
    if (this.#words <= 4 && this.#isCreate && /^(FUNCTION|PROCEDURE)$/.test(upper)) this.#isRoutine = true
    if (!this.#isRoutine) return
    if (upper === 'BEGIN') this.depth++
    else if (upper === 'CASE' && this.depth > 0) this.depth++
    else if (upper === 'END' && this.depth > 0) this.depth--
  }

  reset(): void {
    this.depth = 0
    this.#words = 0
    this.#isCreate = false
    this.#isRoutine = false
  }
}
