import { isBetweenWords, lexemes, textOf } from './lexemes.ts'

/** One statement of a text, without its semicolon and the comments before it. */
export type StatementRange = Readonly<{ from: number; to: number; text: string }>

/** Splits a text as psql does: by the semicolons that stand outside of everything. */
export function splitStatements(text: string): StatementRange[] {
  const statements: StatementRange[] = []
  let start: number | undefined
  let end = 0
  const finish = () => {
    if (start !== undefined) statements.push({ from: start, to: end, text: text.slice(start, end) })
    start = undefined
  }
  const bodies = new BodyDepth()
  let parentheses = 0
  let at = 0
  for (const lexeme of lexemes(text)) {
    const from = at
    at += textOf(lexeme).length
    if (isBetweenWords(lexeme)) continue
    const { kind, open } = lexeme
    if (kind === 'word') bodies.take(open)
    if (open === '(') parentheses++
    else if (open === ')') parentheses = Math.max(0, parentheses - 1)
    if (open === ';' && parentheses === 0 && bodies.depth === 0) {
      finish()
      bodies.reset()
      continue
    }
    start ??= from
    end = at
  }
  finish()
  return statements
}

/** The statement in which a position lies, or the last one before it. */
export function statementAt(text: string, position: number): StatementRange | undefined {
  const statements = splitStatements(text)
  return statements.findLast(({ from }) => from <= position) ?? statements[0]
}

/** A part of a text. If it has one statement it ends there, so that it can be a subquery: `select 1; -- note` cannot. */
export function statementWithin(text: string, from: number, to: number): StatementRange {
  const part = text.slice(from, to)
  const [one, another] = splitStatements(part)
  const length = one && !another ? one.to : part.length
  return { from, to: from + length, text: part.slice(0, length) }
}

/** The words of a statement outside of quotes, comments and parentheses, in capitals. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  let depth = 0
  for (const { kind, open } of lexemes(text)) {
    if (open === '(') depth++
    else if (open === ')') depth--
    else if (kind === 'word' && depth === 0) words.push(open.toUpperCase())
  }
  return words
}

/** The words and quoted names of a statement, outside of texts and comments, in small letters. */
export function namesIn(text: string): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { kind, open, body } of lexemes(text)) {
    if (kind === 'word') names.add(open.toLowerCase())
    else if (kind === 'quoted-identifier') names.add(body.replaceAll('""', '"').toLowerCase())
  }
  return names
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

/** Whether the catalogs may say something else afterwards: tables, columns, functions, rights, estimates, comments. */
export const changesCatalog = (text: string) => splitStatements(text).some((one) => isCatalogChange(one.text))

function isCatalogChange(text: string): boolean {
  const words = wordsOf(text)
  const [first = ''] = words
  // COMMIT shows to others what its transaction has created.
  if (/^(CREATE|ALTER|DROP|COMMENT|GRANT|REVOKE|ANALYZE|VACUUM|REFRESH|IMPORT|COMMIT|END)$/.test(first))
    return true
  if (!/^(SELECT|WITH|DO|CALL)$/.test(first)) return false
  return words.includes('INTO') || /\b(create|alter|drop|\w*cartodbfytable)\b/i.test(text)
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
