import { hasCode } from '../../src/client/cartage-error.ts'
import type { MeDocument } from '../../src/contract/documents.ts'
import { ApiError } from '../api/api-error.ts'
import { requestJson } from '../api/request.ts'
import { type Session, signIn, signInAsOperator } from '../api/session.ts'

/** Reads from the service which key it is, and signs in. Throws the error that the form shows. */
export async function checkAndSignIn(username: string, token: string): Promise<void> {
  const as = { kind: 'key', username, token } as const
  const me = await requestJson<MeDocument>('whoAmI', { as }).catch(explain)
  if (me.username !== username && me.organization?.name !== username) throw new Error(wrong)
  signIn({
    username: me.username,
    token,
    isMaster: me.key.type === 'master',
    keyName: me.key.name,
    organization: me.organization?.name ?? null,
  })
}

/** Without a key: with the rights of the public role of the account. */
export async function browsePublicData(username: string): Promise<void> {
  const next: Session = { username, token: null, isMaster: false, keyName: null, organization: null }
  const as = { kind: 'key', username, token: null } as const
  await requestJson('query', { as, parameters: { name: username }, json: { q: 'select 1' } })
  signIn(next)
}

export async function checkOperator(token: string): Promise<void> {
  await requestJson('listHosts', { as: { kind: 'operator', adminToken: token } }).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 404) throw new Error('The admin API is off. Set CARTAGE_ADMIN_TOKEN to turn it on')
    throw error.status === 401 ? new Error('Wrong admin token') : error
  })
  signInAsOperator(token)
}

const wrong = 'Wrong user or API key'

function explain(error: unknown): never {
  if (hasCode(error, 'account-suspended')) throw error
  if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
    throw new Error(error.hint ? `${wrong}. ${error.hint}` : wrong)
  }
  throw error
}
