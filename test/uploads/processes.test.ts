import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CartageProcess } from '../../chaos/process.ts'
import { freePort } from '../support/http/free-port.ts'
import { codeOf, receivedOf, uploadApi } from '../support/imports/upload-api.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

const file = Buffer.alloc(40 * 1024 ** 2, 'a,b\n1,2\n')

test('after a kill an upload continues in another process, and two processes never write at once', {
  timeout: 180_000,
}, async (t) => {
  const spool = newSpool(t)
  const house = await setup(t, { isIsolated: true })
  const [first, second] = [await startApi(t, house, spool), await startApi(t, house, spool)]
  const of = ({ url }: Api) => uploadApi({ ...house.user, base: `${url}/user/${house.user.username}` })
  const [a, b] = [of(first), of(second)]
  const at = new URL(await a.make(file.length, { filename: 'big.csv' })).pathname
  const [there, here] = [`${first.url}${at}`, `${second.url}${at}`]

  // The first process waits for more bytes; the second one takes over the upload.
  const half = file.length / 2
  const waiting = await a.cutPatch(there, 0, file.subarray(0, half), file.length, { stay: true })
  await eventually(async () => assert.equal(await receivedOf(house.service, at), half), 30_000)
  const quarter = half / 2
  const taken = await b.patch(here, half, file.subarray(half, half + quarter))
  assert.deepEqual([taken.status, taken.headers.get('upload-offset')], [204, String(half + quarter)])
  await eventually(() => assert.equal(waiting.closed, true))

  // The first process has it again and is killed: the bytes it has counted are there.
  await a.cutPatch(there, half + quarter, file.subarray(half + quarter, -8), quarter, { stay: true })
  const counted = await eventually(async () => {
    const received = await receivedOf(house.service, at)
    assert.ok(received > half + quarter)
    return received
  }, 30_000)
  await first.process.end('SIGKILL')
  const last = await eventually(async () => {
    const offset = await b.offsetOf(here)
    assert.ok(offset >= counted)
    const answer = await b.patch(here, offset, file.subarray(offset))
    assert.equal(answer.status, 204)
    return answer
  }, 60_000)
  const id = last.headers.get('location')!.split('/').at(-1)!
  const { control } = house.service.services.databases
  const { rows } = await control.query('select count(*)::int as imports from cartage.imports')
  assert.deepEqual(rows, [{ imports: 1 }])
  assert.deepEqual(readdirSync(spool).sort(), ['.id', id])
})

test('the next request settles a load whose process was killed: nothing is stored, or everything once', {
  timeout: 180_000,
}, async (t) => {
  const { user, house, startPair } = await killable(t)
  await user.sql(`create table t (a int);
    create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger wait before insert on t for each row execute function wait()`)
  const { first, a, b, here } = await startPair()
  const at = new URL(await a.make(4, copy)).pathname
  const loading = a.patch(`${first.url}${at}`, 0, '1\n2\n').catch(() => 'cut')
  await eventually(async () => assert.equal((await b.show(here(at))).state, 'loading'), 30_000)
  await first.process.end('SIGKILL')
  assert.equal(await loading, 'cut')
  await user.sql('drop trigger wait on t')
  const refused = await eventually(async () => {
    const shown = await b.show(here(at))
    assert.equal(shown.state, 'refused')
    return shown
  }, 30_000)
  assert.deepEqual([refused.refusal!.code, refused.offset], ['upload-not-loaded', 3])
  assert.deepEqual((await user.sql('select from t')).rows, [])
  assert.equal((await b.patch(here(at), 3, '\n')).status, 200)
  assert.deepEqual((await user.sql('select a from t order by a')).rows, [{ a: 1 }, { a: 2 }])
  assert.deepEqual(readdirSync(house.spool), ['.id'])
})

test('a load that a killed process committed is done, with its answer', {
  timeout: 180_000,
}, async (t) => {
  const { user, house, startPair } = await killable(t)
  // The commit takes long enough to stop what comes after it.
  await user.sql(`create table t (a int);
    create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(2); return new; end $$;
    create constraint trigger wait after insert on t deferrable initially deferred for each row execute function wait()`)
  const { control } = house.service.services.databases
  const { first, a, b, here } = await startPair()
  const at = new URL(await a.make(2, copy)).pathname
  const id = at.split('/').at(-1)!
  const loading = a.patch(`${first.url}${at}`, 0, '7\n').catch(() => 'cut')
  await eventually(async () => {
    const { rows } = await control.query('select from cartage.uploads where id = $1 and answer is not null', [
      id,
    ])
    assert.equal(rows.length, 1)
  }, 30_000)
  const blocker = await control.connect()
  await blocker.query('begin')
  await blocker.query('select from cartage.uploads where id = $1 for update', [id])
  await eventually(async () => assert.equal((await user.sql('select from t')).rowCount, 1), 30_000)
  await first.process.end('SIGKILL')
  assert.equal(await loading, 'cut')
  // PostgreSQL would still run what the process had sent.
  await house.admin(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where query like 'update cartage.uploads%' and wait_event_type = 'Lock' and datname = $1`,
    [house.service.services.config.namespace],
  )
  await blocker.query('rollback')
  blocker.release()
  assert.equal((await b.show(here(at))).state, 'loading')
  const removed = await eventually(async () => {
    const answer = await b.remove(here(at))
    assert.notEqual(answer.status, 423)
    return answer
  }, 30_000)
  assert.deepEqual(await codeOf(removed), [409, 'upload-stored'])
  const done = await b.show(here(at))
  assert.deepEqual([done.state, done.answer!.total_rows, done.offset], ['done', 1, 2])
  const again = await b.patch(here(at), 0, '7\n')
  assert.deepEqual([again.status, ((await again.json()) as { total_rows: number }).total_rows], [200, 1])
  assert.deepEqual((await user.sql('select a from t')).rows, [{ a: 7 }])
  assert.deepEqual(readdirSync(house.spool), ['.id'])
  assert.equal((await b.remove(here(at))).status, 204)
})

test('without a shared folder an upload continues only on the machine that created it', {
  timeout: 180_000,
}, async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const [first, second] = [await startApi(t, house, newSpool(t)), await startApi(t, house, newSpool(t))]
  const of = ({ url }: Api) => uploadApi({ ...user, base: `${url}/user/${user.username}` })
  const [a, b] = [of(first), of(second)]
  const make = async () => new URL(await a.make(8, { filename: 'two.csv' })).pathname
  const [at, unwanted] = [await make(), await make()]
  assert.equal((await a.patch(`${first.url}${at}`, 0, 'a\n1\n')).status, 204)

  const there = `${second.url}${at}`
  const refused = await b.patch(there, 4, '2\n3\n')
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.deepEqual(await codeOf(refused), [503, 'upload-elsewhere'])
  assert.equal(await b.offsetOf(there), 4)
  assert.equal((await b.show(there)).state, 'open')
  assert.equal((await b.remove(`${second.url}${unwanted}`)).status, 204)
  assert.equal((await a.head(`${first.url}${unwanted}`)).status, 404)

  const last = await a.patch(`${first.url}${at}`, 4, '2\n3\n')
  assert.equal(last.status, 204)
  const location = last.headers.get('location')
  assert.match(location ?? '', /\/api\/v1\/imports\//)
  // Its answer was lost, and the repeated request reached the other machine.
  const again = await b.patch(there, 4, '2\n3\n')
  assert.deepEqual(
    [again.status, again.headers.get('location')?.split('/').at(-1)],
    [204, location!.split('/').at(-1)],
  )
})

const copy = { kind: 'copyfrom', q: 'copy t from stdin with (format csv)' } as const

/** Two processes over one spool; the first is to be killed. */
async function killable(t: TestContext) {
  const spool = newSpool(t)
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const startPair = async () => {
    const [first, second] = [await startApi(t, house, spool), await startApi(t, house, spool)]
    const of = ({ url }: Api) => uploadApi({ ...user, base: `${url}/user/${user.username}` })
    return { first, a: of(first), b: of(second), here: (at: string) => `${second.url}${at}` }
  }
  return { user, house: { ...house, spool }, startPair }
}

function newSpool(t: TestContext): string {
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // The processes of the service run without root.
  chmodSync(spool, 0o777)
  return spool
}

type Api = Readonly<{ url: string; process: CartageProcess }>

async function startApi(t: TestContext, { keys, service }: Setup, spool: string): Promise<Api> {
  const port = await freePort()
  const api = new CartageProcess('serve', {
    ...process.env,
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_NAMESPACE: service.services.config.namespace,
    CARTAGE_LOG_LEVEL: 'silent',
    CARTAGE_WORKER: 'off',
    CARTAGE_PORT: String(port),
    CARTAGE_IMPORT_DIR: spool,
  })
  api.isRevived = false
  t.after(() => api.end('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => assert.equal((await fetch(`${url}/health/ready`)).status, 200), 60_000)
  return { url, process: api }
}
