import { accountNameRule } from '../contract/limits.ts'
import { errors } from '../errors.ts'

/** Checks the name of a user or an organization; throws an error that says what is wrong. */
export function checkAccountName(
  kind: 'username' | 'organization name',
  name: unknown,
): asserts name is string {
  if (typeof name !== 'string') throw errors.accountInvalid(`The ${kind} must be a string`)
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    throw errors.accountInvalid(`The ${kind} must be ${accountNameRule} and begin with a letter or digit`)
  }
  if (reserved.has(name) || name.startsWith('pg-'))
    throw errors.accountInvalid(`The ${kind} '${name}' is reserved`)
}

const reserved = new Set([
  'postgres',
  'postgis',
  'public',
  'cartodb',
  'cartage',
  'admin',
  'root',
  'none',
  'template0',
  'template1',
  'information-schema',
])
