import { signal } from '@preact/signals'
import type { SqlValue } from '../../src/client/api/sql-statement.ts'
import type { ClientSession } from '../../src/client/session/client-session.ts'
import type { TransactionState } from '../../src/contract/session-frames.ts'
import { controlsTransaction, type StatementRange } from '../../src/sql-text/statements.ts'
import type { Feed } from '../result/result.ts'
import type { RunAs } from './run-as.ts'

/** The open transaction of the editor; `lost`: why it was rolled back. */
export type EditorTransaction = Readonly<{
  state: Exclude<TransactionState, 'none'> | 'lost'
  as: RunAs
  reason?: string
}>

export const transaction = signal<EditorTransaction | undefined>(undefined)

type Held = Readonly<{ session: ClientSession; as: RunAs }>

/** A session is held only while a transaction is open, because others may need it. */
let held: Held | undefined

/** Statements of a transaction share a session; all others run by themselves. */
export const isForSession = (statements: readonly StatementRange[]) =>
  held !== undefined || statements.some(({ text }) => controlsTransaction(text))

/** The label of the key, if the open transaction runs with another one. */
export const otherHolder = (as: RunAs) =>
  held && held.as.credential.token !== as.credential.token ? held.as.label : undefined

/** The session of the open transaction, or a new one. */
export async function takeSession(as: RunAs, stop: AbortSignal): Promise<ClientSession> {
  if (held) return held.session
  const session = await openSession(as, stop)
  held = { session, as }
  void session.ended.then((error) => tellLost(session, as, error.message))
  return session
}

/** The code of sessions is loaded with the first one. */
async function openSession(as: RunAs, signal: AbortSignal): Promise<ClientSession> {
  const code = await import('./open-session.ts')
  return code.openSession(as, signal)
}

/** Runs one statement with its values in a session of its own, and undoes what it did. */
export function rolledBack(as: RunAs, text: string, params: readonly unknown[]): Feed {
  async function* bytes(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const session = await openSession(as, signal)
    try {
      await session.sql('begin', { signal })
      yield* await session.download(text, { format: 'json', signal, params: params as readonly SqlValue[] })
      await session.sql('rollback', { signal })
    } finally {
      session.close()
    }
  }
  return async (signal) => bytes(signal)
}

/** Call it after a statement: shows the transaction, or ends the session that is no longer needed. */
export function noteTransaction(): void {
  if (!held || held.session.lost) return
  const { session, as } = held
  const { transaction: state } = session
  if (state !== 'none') transaction.value = { state, as }
  else leaveTransaction()
}

/** Ends the session. An open transaction is rolled back. */
export function leaveTransaction(): void {
  const left = held
  held = undefined
  transaction.value = undefined
  left?.session.close()
}

function tellLost(session: ClientSession, as: RunAs, reason: string): void {
  if (held?.session !== session) return
  held = undefined
  transaction.value = transaction.value && { state: 'lost', as, reason }
}

/** If true, all statements are sent as one message, which PostgreSQL runs in one transaction. */
export const isOneTransaction = signal(false)

/** Statements with BEGIN, COMMIT or the like run one by one in a session. */
export const isRunAsOne = (statements: readonly StatementRange[]) =>
  statements.length > 1 && isOneTransaction.value && !isForSession(statements)

/** All statements as one, from the start of the first to the end of the last. */
export function wholeOf(statements: readonly StatementRange[], text: string): StatementRange[] {
  const [first] = statements
  const last = statements.at(-1)
  if (!first || !last) return []
  return [{ from: first.from, to: last.to, text: text.slice(first.from, last.to) }]
}
