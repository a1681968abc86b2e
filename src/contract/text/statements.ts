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

/**
 * Whether it begins or ends a transaction, or a part of one. Sent by itself such a statement does not mean what it says: each
 * text has a session of its own.
 */
export function controlsTransaction(text: string): boolean {
  const [first = '', second] = wordsOf(text)
  if (first === 'START' || first === 'PREPARE') return second === 'TRANSACTION'
  const isControl = /^(BEGIN|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)$/.test(first)
  return isControl && second !== 'PREPARED'
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

/**
 * What a token begins with, or all of it, by the rules of PostgreSQL's scan.l: a comment, a quote, a dollar quote, a word, a
 * number, any other character. Every character beyond ASCII is a letter, a space of that kind too, and a dollar inside of a
 * word is part of it.
 */
const token =
  /--[^\n\r]*|\/\*|[eE]'|'|"|\$(?:[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$|[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*|0[xXoObB][\dA-Fa-f_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d[\d_]*)?|[^ \t\n\r\f\v]/g

export function* tokensOf(text: string): Generator<Token> {
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
  return /^[A-Za-z_\x80-\uffff]/.test(found) ? 'word' : 'other'
}

function endOf(text: string, from: number, found: string): number {
  const after = from + found.length
  if (found === '/*') return commentEnd(text, from)
  if (/^[eE]?'$/.test(found)) return textEnd(text, after, found.length === 2)
  if (found === '"') return quoteEnd(text, after, '"', false)
  // `$1` is a parameter; `$$` and `$tag$` begin a text.
  if (!/^\$.*\$$/.test(found)) return after
  const end = text.indexOf(found, after)
  return end < 0 ? text.length : end + found.length
}

/** A text goes on after a line break, where another quote begins: with escapes, if it began with them. */
function textEnd(text: string, from: number, hasEscapes: boolean): number {
  for (let begin = from; ; begin = continuation.lastIndex) {
    const end = quoteEnd(text, begin, "'", hasEscapes)
    continuation.lastIndex = end
    if (!continuation.test(text)) return end
  }
}

/** There is one way only to read it, however many dashes there are. */
const continuation = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'/y

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
  #words: string[] = []

  take(word: string): void {
    const upper = word.toUpperCase()
    const former = this.#words.at(-1)
    this.#words.push(upper)
    if (this.depth === 0) this.depth = former === 'BEGIN' && upper === 'ATOMIC' && this.#isRoutine() ? 1 : 0
    // A column may be called so.
    else if (former === 'AS') return
    else if (upper === 'CASE') this.depth++
    else if (upper === 'END') this.depth--
  }

  reset(): void {
    this.depth = 0
    this.#words = []
  }

  #isRoutine(): boolean {
    return /^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE)\b/.test(this.#words.slice(0, 4).join(' '))
  }
}
