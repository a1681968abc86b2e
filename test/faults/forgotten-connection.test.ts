import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUser } from '../../src/accounts/create-user.ts'
import { copyUrl, send } from '../support/postgres/copying.ts'
import { silentProxy } from '../support/postgres/silent-proxy.ts'
import { runSql, withDatabase } from '../support/runner/namespace.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, eventually, randomName } from '../support/service/setup.ts'

test('a connection that the network forgot is dropped in seconds, a slow one is kept', async (t) => {
  const installation = await newInstallation(t)
  const proxy = await silentProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url }, parts: { worker: true } })
  const newCaller = async () => {
    const request = { username: randomName('user') }
    const { account, masterToken } = await createUser(service.services.installation, request)
    const caller = callerOf(`${service.url}/user/${request.username}`, request.username, masterToken)
    const connectionString = withDatabase(installation.keys.adminUrl, account.database)
    const admin = (text: string) => runSql({ connectionString }, text)
    await admin('create table public.log (n int); grant all on public.log to public')
    return { ...caller, admin, database: account.database }
  }
  const [forgotten, slow] = [await newCaller(), await newCaller()]
  const begun = await Promise.all([beginAll(forgotten, 2), beginAll(slow, 18)])
  proxy.silence(forgotten.database)
  const forgottenAt = performance.now()
  const { job, sql, copyfrom, copyto } = await begun[0].answers()
  assert.ok(performance.now() - forgottenAt < 30_000)
  assert.equal(job, 'done')
  assert.deepEqual([sql.status, sql.body.code], [503, 'statement-outcome-unknown'])
  assert.equal(sql.headers['retry-after'], undefined)
  assert.deepEqual([copyfrom.status, copyfrom.body.code], [503, 'copy-outcome-unknown'])
  assert.deepEqual([copyto.status, copyto.body.code], [503, 'database-unavailable'])
  const { rows } = await forgotten.admin('select n from public.log order by n')
  assert.deepEqual(rows, [{ n: 1 }, { n: 2 }])
  await eventually(async () => assert.equal(await countBackends(forgotten), 0))

  const patient = await begun[1].answers()
  assert.equal(patient.job, 'done')
  for (const name of ['sql', 'copyfrom', 'copyto'] as const)
    assert.equal(patient[name].status, 200, JSON.stringify(patient[name].body))
})

type Caller = ReturnType<typeof callerOf> & Readonly<{ admin: (text: string) => ReturnType<typeof runSql> }>

/** Runs one request of each kind for this many seconds; the end of the upload is sent equally late. */
async function beginAll(caller: Caller, seconds: number) {
  const job = caller.runJob(`insert into log select 1 from pg_sleep(${seconds})`)
  const sql = caller.sql(`insert into log select 2 from pg_sleep(${seconds})`)
  const copyto = caller.copyTo(`copy (select 3 from pg_sleep(${seconds})) to stdout`)
  const body = new PassThrough()
  body.write('4\n')
  const copyfrom = caller.copyFrom('copy log from stdin', body)
  await eventually(async () => assert.equal(await countBackends(caller, "and state = 'active'"), 4))
  const ended = sleep(seconds * 1000).then(() => body.end())
  return {
    answers: async () => {
      await ended
      return { job: await job, sql: await sql, copyto: await copyto, copyfrom: await copyfrom }
    },
  }
}

function callerOf(base: string, username: string, masterToken: string) {
  const headers = { ...basic(username, masterToken), 'content-type': 'application/json' }
  const user = { base, masterToken }
  return {
    runJob: async (query: string): Promise<string> => {
      const path = `${base}/api/v2/sql/job`
      const { body } = await send(path, { method: 'POST', headers }, JSON.stringify({ query }))
      for (;;) {
        const { status } = (await send(`${path}/${body.job_id}?wait=10`, { headers })).body
        if (status !== 'pending' && status !== 'running') return String(status)
      }
    },
    sql: (q: string) => send(`${base}/api/v2/sql`, { method: 'POST', headers }, JSON.stringify({ q })),
    copyTo: (q: string) => send(copyUrl(user, 'copyto', q)),
    copyFrom: (q: string, body: PassThrough) => send(copyUrl(user, 'copyfrom', q), { method: 'POST' }, body),
  }
}

/** Counts the backends of callers, not of the administrator. */
async function countBackends({ admin }: Pick<Caller, 'admin'>, condition = ''): Promise<number> {
  const { rows } = await admin(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name ~ '^cartage (sql|copy|job)$' ${condition}`,
  )
  return rows[0].n
}
