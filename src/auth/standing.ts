import type { Api } from '../contract/grants.ts'
import { errors } from '../errors.ts'
import type { Account, CallerKey } from './account.ts'
import type { Standing } from './account-store.ts'

/** Throws unless the caller may go on. Without a key it is a stranger. */
export function requireStanding(
  { key }: Readonly<{ key: CallerKey | undefined }>,
  { isKnown, isMoving, suspendedFor }: Standing,
): void {
  if (!isKnown) throw errors.unauthorized()
  if (isMoving) throw errors.accountMoving()
  if (suspendedFor !== null) throw accountSuspended(key, suspendedFor)
}

/** Throws if the key has lost the API since it was looked up. */
export function requireStillApi({ key }: Standing, api: Api): void {
  if (!key?.apis.includes(api)) throw errors.apiForbidden()
}

/** Throws if the account is suspended, or on its way to another host. */
export function refuseSuspended({ suspension, isMoving }: Account, key?: CallerKey): void {
  if (isMoving) throw errors.accountMoving()
  if (suspension) throw accountSuspended(key, suspension.reason)
}

/** Strangers do not see the reason. */
const accountSuspended = (key: CallerKey | undefined, reason: string) =>
  errors.accountSuspended(key && key.type !== 'default' ? reason : undefined)
