import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import type { AccountsContext } from '../../src/accounts/accounts-context.ts'
import { doctor } from '../../src/accounts/doctor.ts'
import type { Check } from '../../src/accounts/doctor-check.ts'
import type { Config } from '../../src/config.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import { type Setup, setup } from '../setup.ts'

test('a healthy installation passes every check', async (t) => {
  const checks = await examine(await setup(t, { isIsolated: true }))
  // The cluster of the tests is fast instead of durable, and that is told.
  const { status, advice } = checks['host local: durability']!
  if (status !== 'ok') assert.match(advice, /^fsync, .*off: after a crash/)
  const troubled = Object.values(checks).filter((check) => check.status !== 'ok' && check.advice !== advice)
  assert.deepEqual(troubled, [])
})

test('databases and roles that belong to no account are found, and those that are missing', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { user, admin } = bundle
  const { namespace } = bundle.service.services.accounts
  await admin(`create role ${namespace}_u999_k1`)
  t.after(() => admin(`drop role ${namespace}_u999_k1`))
  const before = await examine(bundle)
  assert.equal(before['host local: roles']?.status, 'warn')
  assert.match(before['host local: roles']!.advice, /_u999_k1/)
  await admin(`alter role ${user.account.publicRole} rename to renamed_for_a_while`)
  t.after(() => admin('drop role if exists renamed_for_a_while'))
  const after = await examine(bundle)
  assert.equal(after['host local: roles']?.status, 'fail')
  assert.match(after['host local: roles']!.advice, new RegExp(`^Missing: ${user.account.publicRole}`))
  await admin(`alter role renamed_for_a_while rename to ${user.account.publicRole}`)
})

test('another secret than the one in use is found', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const checks = await examine(bundle, { secrets: deriveSecrets('quite another secret than before') })
  assert.equal(checks.secret?.status, 'fail')
})

test('more connections than the host allows are found', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const checks = await examine(bundle, {}, { connectionsPerHost: 5_000 })
  const { status, advice } = checks['host local: connections']!
  assert.equal(status, 'warn')
  assert.match(advice, /each makes do with what was free when it started: raise max_connections/)
})

async function examine(
  { service }: Setup,
  others: Partial<AccountsContext> = {},
  changes: Partial<Config> = {},
): Promise<Record<string, Check>> {
  const { accounts, config } = service.services
  const checks = await doctor({ ...accounts, ...others }, { ...config, dataDir: tmpdir(), ...changes })
  return Object.fromEntries(checks.map((check) => [check.name, check]))
}
