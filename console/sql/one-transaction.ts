import { signal } from '@preact/signals'
import { controlsTransaction, type Statement } from '../../src/contract/text/statements.ts'

/** Whether all statements are sent as one message: PostgreSQL then runs them in one transaction. */
export const isOneTransaction = signal(false)

/** Where a transaction is begun or ended, the statements must share a session. */
export const isRunAsOne = (statements: readonly Statement[]) =>
  statements.length > 1 &&
  (isOneTransaction.value || statements.some(({ text }) => controlsTransaction(text)))

/** From the first statement to the end of the last, as one. */
export function wholeOf(statements: readonly Statement[], text: string): Statement[] {
  const [first] = statements
  const last = statements.at(-1)
  if (!first || !last) return []
  return [{ from: first.from, to: last.to, text: text.slice(first.from, last.to) }]
}
