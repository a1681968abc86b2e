import { pathOf } from '../../contract/operations.ts'
import type { Numbers } from '../exact-json.ts'
import type { Transport } from '../http/transport.ts'
import { ClientSession } from '../session/client-session.ts'
import { SessionLink } from '../session/session-link.ts'
import type { Waiting } from './until-answered.ts'

export type SessionsOf = Readonly<{
  baseUrl: string
  account: string
  username: string
  /** Null: without a key. */
  token: string | null
  numbers: Numbers
  transport: Pick<Transport, 'webSocket'>
}>

export type TransactionOptions = Waiting &
  Readonly<{ isolation?: 'read committed' | 'repeatable read' | 'serializable'; isReadOnly?: boolean }>

/** A session inside of its transaction. */
export type Transaction = Pick<ClientSession, 'sql' | 'rows' | 'download'>

export function sessionsOf({ baseUrl, account, username, token, numbers, transport }: SessionsOf) {
  const path = pathOf('openSession', { name: account })
  const open = { username, ...(token === null ? {} : { token }) }

  const session = async ({ signal }: Waiting = {}): Promise<ClientSession> => {
    const link = new SessionLink({ baseUrl, path, open, Socket: await transport.webSocket(), signal })
    await link.opened
    return new ClientSession(link, numbers)
  }

  /**
   * Runs `work` in one transaction: committed if it returns, rolled back if it throws. A statement that failed fails the
   * transaction, even if `work` caught its error.
   */
  const transaction = async <T>(
    work: (tx: Transaction) => Promise<T>,
    { signal, ...options }: TransactionOptions = {},
  ): Promise<T> => {
    const tx = await session(signal ? { signal } : {})
    try {
      await tx.sql(beginning(options))
      const result = await work(tx)
      signal?.throwIfAborted()
      // COMMIT of a failed transaction would be a rollback without an error.
      if (tx.transaction === 'failed') await tx.sql('select 1')
      await tx.sql('commit')
      return result
    } finally {
      tx.close()
    }
  }
  return { session, transaction }
}

function beginning({ isolation, isReadOnly }: TransactionOptions): string {
  const level = isolation ? ` isolation level ${isolation}` : ''
  return `begin${level}${isReadOnly ? ' read only' : ''}`
}
