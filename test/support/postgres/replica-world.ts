import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { addReplica } from '../../../src/hosts/replicas/add-replica.ts'
import type { RunningService } from '../../../src/service/service.ts'
import { copyTemplate, runSql } from '../runner/namespace.ts'
import { newInstallation } from '../service/installation.ts'
import { basic, eventually } from '../service/setup.ts'
import { type StandbyPair, standbyPair } from './standby-pair.ts'
import { startProxy } from './tcp-proxy.ts'
import { admin } from './two-hosts.ts'

/** The header that asks for a replica. */
export const toReplica = { 'x-read-from': 'replica' }

export type Sql = (text: string) => ReturnType<typeof runSql>

/** A control database elsewhere, users on a second host, and its standby as a replica behind a proxy. */
export async function startWithReplica(
  t: TestContext,
  config: Partial<Config> = {},
  processes = 1,
  given?: StandbyPair,
) {
  const pair = given ?? (await standbyPair())
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, pair.standbyUrl)
  await copyTemplate(pair.primaryUrl, pair.namespace, installation.config.namespace)
  const services: RunningService[] = []
  for (let count = 0; count < processes; count += 1) services.push(await installation.start({ config }))
  const [service] = services as [RunningService]
  const known = service.services.installation
  await addHost(known, 'second', pair.primaryUrl)
  await addReplica(known, { name: 'east', host: 'second', url: proxy.url })
  await userOf(service, 'elsewhere')
  const user = await userOf(service, 'reader')
  await eventually(async () => assert.notEqual((await user.sql('select 1', toReplica)).age, null))
  const standby: Sql = (text) => runSql({ connectionString: pair.standbyUrl }, text)
  return { service, services, proxy, pair, user, standby }
}

/** New users are placed on the emptiest host: the first one beside the control database. */
async function userOf(service: RunningService, username: string) {
  const operator = admin(service)
  const { api_key: token } = await operator.users.create({ username })
  operator.close()
  const caller = callerOf(service, username, token)
  const keys = caller.key
  return {
    ...caller,
    service,
    username,
    createKey: async (name: string, grants: unknown) =>
      (await keys('v4/keys', 'POST', { name, grants })).token as string,
    changeKey: (name: string, json: unknown) => keys(`v4/keys/${name}`, 'PATCH', json),
    deleteKey: (name: string) => keys(`v3/api_keys/${name}`, 'DELETE'),
  }
}

type SqlAnswer = Readonly<{
  status: number
  age: string | null
  text: string
  rows?: readonly Record<string, unknown>[]
}>

export function callerOf({ url }: RunningService, username: string, token: string) {
  const { authorization } = basic(username, token)
  const get = async (path: string, headers: Record<string, string> = {}): Promise<SqlAnswer> => {
    const response = await fetch(`${url}/user/${username}${path}`, {
      headers: { authorization, ...headers },
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      age: response.headers.get('x-data-age-ms'),
      text,
      ...(isJson && { rows: JSON.parse(text).rows }),
    }
  }
  const send = (path: string, headers?: Record<string, string>) => get(`/api/v2/sql${path}`, headers)
  const sql = (text: string, headers?: Record<string, string>) =>
    send(`?q=${encodeURIComponent(text)}`, headers)
  const key = async (path: string, method: string, json?: unknown) => {
    const response = await fetch(`${url}/user/${username}/api/${path}`, {
      method,
      headers: { authorization, ...(json !== undefined && { 'content-type': 'application/json' }) },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    assert.ok(response.ok, text)
    return text === '' ? {} : JSON.parse(text)
  }
  return { get, send, sql, key }
}

/** Pauses the replay of the standby during `work`. */
export async function paused(t: TestContext, standby: Sql, work: () => Promise<void>): Promise<void> {
  const resume = () => standby('select pg_wal_replay_resume()')
  t.after(resume)
  await standby('select pg_wal_replay_pause()')
  await eventually(async () => {
    const { rows } = await standby('select pg_get_wal_replay_pause_state() as state')
    assert.equal(rows[0].state, 'paused')
  })
  await work()
  await resume()
}

export async function setOn(t: TestContext, server: Sql, name: string, value: string): Promise<void> {
  const set = async (text: string) => {
    await server(text)
    await server('select pg_reload_conf()')
  }
  t.after(() => set(`alter system reset ${name}`))
  await set(`alter system set ${name} = '${value}'`)
  await eventually(async () => assert.equal((await server(`show ${name}`)).rows[0][name], value))
}
