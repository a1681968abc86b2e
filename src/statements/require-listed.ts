import type { Principal } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
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
