import type { ClientBase } from 'pg'
import { isTokenInUse, lockToken } from '../auth/token-store.ts'
import { defaultToken } from '../contract/key-names.ts'
import { errors } from '../errors.ts'
import { emptiestHost } from '../hosts/host-store.ts'
import type { Installation } from '../hosts/installation.ts'
import { controlOnlyAdvice } from '../hosts/prepare-hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'

/** Throws if none of these hosts takes new users. */
export async function hostForNew(
  { databases: { hosts } }: Installation,
  tx: ClientBase,
  hostIds: readonly number[],
): Promise<number> {
  const id = await emptiestHost(tx, hostIds)
  if (id === undefined && hosts.forTenants().length === 0) throw errors.hostInvalid(controlOnlyAdvice)
  if (id === undefined)
    throw errors.hostInvalid('No host that answers takes new users (cartage host set NAME --new-users)')
  return id
}

export function checkQuota(quotaBytes: number | undefined): void {
  if (quotaBytes === undefined) return
  if (!Number.isSafeInteger(quotaBytes) || quotaBytes < 0) {
    throw errors.accountInvalid('quota_in_bytes must be a whole number of 0 (unlimited) or more')
  }
}

export function checkKeyQuota(keys: number | null | undefined): void {
  if (typeof keys === 'number' && !(Number.isInteger(keys) && keys >= 0 && keys < 2 ** 31)) {
    throw errors.accountInvalid('api_key_quota must be a whole number of 0 or more, or null for the default')
  }
}

/** A master token may be given, for a move from another installation. No other key may have it. */
export async function checkMasterToken(installation: Installation, token: string | undefined): Promise<void> {
  if (token === undefined) return
  if (!/^[\x21-\x7e]{16,255}$/.test(token) || token.includes(':') || token === defaultToken) {
    throw errors.accountInvalid(
      'api_key must be 16 to 255 printable ASCII characters without blanks and colons',
    )
  }
  await refuseUsed(installation.databases.control, installation.secrets.hashToken(token))
}

/** Checks again just before it is stored: another account may have taken it since. */
export async function reserveMasterToken(tx: ClientBase, secrets: Secrets, token: string): Promise<void> {
  const hash = secrets.hashToken(token)
  await lockToken(tx, hash)
  await refuseUsed(tx, hash)
}

async function refuseUsed(control: Queryable, hash: Buffer): Promise<void> {
  if (await isTokenInUse(control, hash)) throw errors.accountInvalid('api_key is in use already')
}
