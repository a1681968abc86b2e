import type { Principal } from '../auth/account.ts'
import { AppError, errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { isConnectionLoss, sqlstate } from '../postgres/sqlstate.ts'
import { judgeListed } from '../sql/listed-statement.ts'

/**
 * Callers without a key may run only listed statements: PostgreSQL lets every role run utility statements that lock or
 * change shared objects. A text that cannot be parsed is not sent.
 */
export function requireListed({ key }: Principal, text: string): void {
  if (key.type !== 'default') return
  const verdict = judgeListed(text)
  if (verdict === 'listed') return
  if (verdict === 'not-listed') throw errors.statementNotAllowed()
  const { code, message, position } = verdict
  if (code === 'unavailable') throw errors.parserUnavailable()
  if (code !== 'syntax-error') throw errors.badRequest(`${message}: callers without a key cannot send this`)
  throw errors.database('invalid', message, { sqlstate: sqlstate.syntaxError, position })
}

/** Waits for a connection, and returns it if the caller's key is still valid by then. */
export async function lendSession(principal: Principal, free: Promise<Session>): Promise<Session> {
  const session = await explainRevocation(principal, free, () => true)
  try {
    await principal.confirm()
    return session
  } catch (error) {
    session.release()
    throw error
  }
}

/**
 * Deleting a key or replacing its token ends the key's sessions, and a deleted key cannot log in. If the work failed
 * with a suspect error, checks the key and reports the revocation instead.
 */
export function explainRevocation<T>(
  principal: Principal,
  work: Promise<T>,
  isSuspect: (error: unknown) => boolean = isLoss,
): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (isSuspect(error)) await principal.confirm().catch(ignoreUnavailable)
    throw error
  })
}

/** If the key cannot be confirmed, the first error says more: it may leave the outcome in doubt. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof AppError) || error.kind !== 'unavailable') throw error
}

const isLoss = (error: unknown) =>
  error instanceof AppError ? lossCodes.has(error.code) : isConnectionLoss(error)

const lossCodes: ReadonlySet<string> = new Set(['database-unavailable', 'statement-outcome-unknown'])
