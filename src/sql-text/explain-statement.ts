import { splitStatements } from './statements.ts'

/** A text to send, and how many characters stand in it before the statement. */
export type ExplainStep = Readonly<{ text: string; before: number }>

/**
 * What an explain sends. `plan` goes with `params: []`, because then PostgreSQL itself refuses more than one statement.
 * `analyze` carries the statement out and undoes it; it goes only after PostgreSQL has answered `plan`: that proves one
 * statement that has a plan, so no COMMIT. Options in parentheses leave no place for an ANALYZE of the text itself. `measure` is
 * `analyze` for a session, where it can have parameters: who sends it begins a transaction before and rolls it back.
 */
export type Explain = Readonly<{ plan: ExplainStep; analyze: ExplainStep; measure: ExplainStep }>

export function explainStatement(text: string, format: 'text' | 'json'): Explain {
  const analyze = `explain (analyze, buffers, format ${format}) `
  return {
    plan: step(`explain (format ${format}) `, text, ''),
    analyze: step(`begin; ${analyze}`, text, '\n; rollback'),
    measure: step(analyze, text, ''),
  }
}

/** Why a text has no plan, in words that help more than those of PostgreSQL. */
export function whyNotExplained(text: string): string | undefined {
  const { length } = splitStatements(text)
  return length === 1 ? undefined : `A plan is of one statement, and here are ${length || 'none'}`
}

const step = (head: string, text: string, tail: string): ExplainStep => ({
  text: `${head}${text}${tail}`,
  before: head.length,
})
