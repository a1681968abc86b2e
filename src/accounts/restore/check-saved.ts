import type { Account } from '../../auth/account.ts'
import { apis, dataServices, tablePermissions } from '../../contract/grants.ts'
import {
  defaultKeyName,
  isKeyDescription,
  isPrintable,
  keyTypes,
  masterKeyName,
} from '../../contract/key-names.ts'
import { maxKeyNameLength } from '../../contract/limits.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { readLimits } from '../limits/check-limits.ts'
import type { Records } from '../moves/new-place.ts'
import { checkKeyQuota, checkQuota } from '../new-account.ts'
import type { SavedKey } from './restore-store.ts'

/** Refuses a user that no API could have made: anybody may have written the backup. */
export function checkSavedUser(
  { username, limits, quotaBytes, apiKeyQuota }: Account,
  keys: readonly SavedKey[],
): void {
  const what = `the user '${username}'`
  requireThat(isJsonObject(limits), what, 'limits must be an object')
  try {
    readLimits(limits)
    checkQuota(quotaBytes)
    checkKeyQuota(apiKeyQuota)
  } catch (error) {
    throw wrongRecord(what, (error as Error).message)
  }
  for (const key of keys) checkSavedKey(key)
}

function checkSavedKey(key: SavedKey): void {
  const { name, description, hasTableMetadata, expiresAt } = key
  const what = `the key ${shown(name)}`
  const isNamed = typeof name === 'string' && name.trim() !== '' && [...name].length <= maxKeyNameLength
  const isOwnName = name !== masterKeyName && name !== defaultKeyName
  requireThat(isNamed && isOwnName && isPrintable(name), what, 'its name is none that a key can have')
  requireThat(isKeyDescription(description), what, 'its description is none that a key can have')
  requireThat(typeof hasTableMetadata === 'boolean', what, 'has_table_metadata must be true or false')
  requireThat(expiresAt === null || timeOfPostgres.test(expiresAt), what, 'expires_at must be a time')
  requireAmong(apis, key.apis, what, 'apis')
  requireAmong(dataServices, key.services, what, 'services')
}

const isQuota = (text: unknown) =>
  typeof text === 'string' && /^\d+$/.test(text) && Number.isSafeInteger(Number(text))

const timeOfPostgres = /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d\d(?::\d\d){0,2}$/

/** The same for what the service keeps in the database of a user. */
export function checkSavedRecords({ quotas, roles, grants }: Records): void {
  for (const { username, bytes } of quotas)
    requireThat(isQuota(bytes), `the user ${shown(username)}`, 'its quota must be a whole number')
  for (const { role, type, services, version } of roles) {
    const what = `the role ${shown(role)}`
    requireThat(keyTypes.includes(type as (typeof keyTypes)[number]), what, 'its type is none of a key')
    requireThat(Number.isInteger(version) && version >= 0, what, 'its version must be a whole number')
    requireAmong(dataServices, services, what, 'services')
  }
  for (const { role_name, permissions } of grants)
    requireAmong(tablePermissions, permissions, `a grant of ${shown(role_name)}`, 'permissions')
}

function requireAmong(known: readonly string[], given: unknown, what: string, member: string): void {
  const isRight = Array.isArray(given) && given.every((each) => known.includes(each))
  requireThat(isRight, what, `${member} must be a list of ${known.join(', ')}`)
}

function requireThat(isRight: boolean, what: string, rule: string): void {
  if (!isRight) throw wrongRecord(what, rule)
}

const wrongRecord = (what: string, rule: string) =>
  errors.restoreRefused(`The backup has a wrong record of ${what}: ${rule}`)

const shown = (name: unknown) => `'${String(name).slice(0, 100)}'`
