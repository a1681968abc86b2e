import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CartageProcess } from '../../chaos/process.ts'
import { type Random, seededRandom } from '../../chaos/random.ts'
import type { ImportDocument } from '../../src/contract/documents.ts'
import { columnFile } from '../support/imports/column-files.ts'
import { made, places } from '../support/imports/import-api.ts'
import { startImportApi } from '../support/imports/import-processes.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const kills = Number(process.env.CARTAGE_TEST_KILLS ?? 3)
const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)

/** `name`: of an import that adds rows to the slow table. */
type Sent = Readonly<{ user: TestUser; id: string; rows: number; name?: string }>

test('workers that are killed while they import leave no part of an import and load none twice', {
  timeout: 3_600_000,
}, async (t) => {
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} CARTAGE_TEST_KILLS=${kills}`)
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // The processes of the service run without root.
  chmodSync(spool, 0o777)
  const house = await setup(t, { isIsolated: true })
  const users = [house.user, await house.createUser(), await house.createUser()]
  for (const user of users) await user.sql(slowTable)
  const api = importsAt(await startImportApi(t, house, spool))
  const start = () => startWorkerProcess(t, house, { CARTAGE_IMPORT_DIR: spool })
  const workers = [await start(), await start()]
  for (const worker of workers) worker.isRevived = true
  const sent: Sent[] = []
  const kinds = files()
  const stop = new AbortController()
  const senders = users.map((user, at) =>
    keepImporting(api, user, kinds, seededRandom(seed + at), sent, stop.signal),
  )
  const random = seededRandom(seed - 1)
  const hits = new Set<string>()
  for (let kill = 0; kill < kills; kill++)
    for (const id of await killAtWork(house, workers[kill % workers.length]!, random)) hits.add(id)
  stop.abort()
  await Promise.all(senders)
  const ends = new Map<Sent, ImportDocument>()
  for (const each of sent) ends.set(each, await api.ended(each))
  const failed = [...ends.values()].filter(({ success }) => !success)
  t.diagnostic(`${kills} kills hit ${hits.size} of ${sent.length} imports; ${failed.length} were given up`)
  assert.ok([...hits].every((id) => sent.some((one) => one.id === id)))
  // An import is given up after three crashes; no other failure is allowed.
  for (const { error_code, get_error_text } of failed)
    assert.equal(error_code, 6671, get_error_text?.what_about)
  for (const user of users)
    await checkTables(
      user,
      [...ends].filter(([each]) => each.user === user),
    )
  await eventually(
    () =>
      assert.deepEqual(
        readdirSync(spool).filter((name) => name !== '.id'),
        [],
      ),
    180_000,
  )
})

/** Rows are added and committed slowly, so that imports take time but no CPU. */
const slowTable = `create table slow (name text, n int);
  create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(0.4); return null; end';
  create trigger wait after insert on slow execute function wait();
  create function wait_once() returns trigger language plpgsql as
    'begin if new.n = 0 then perform pg_sleep(0.4); end if; return null; end';
  create constraint trigger wait_at_commit after insert on slow deferrable initially deferred
    for each row execute function wait_once()`

/** Kills a worker at a random moment of an import. Returns its unfinished imports. */
async function killAtWork(house: Setup, victim: CartageProcess, random: Random): Promise<string[]> {
  for (;;) {
    // After a kill, wait for the worker to come back.
    await eventually(
      async () => assert.ok(victim.isAlive && (await importsOf(house, victim.pid)).length > 0),
      120_000,
    )
    await sleep(random.between(0, 900))
    const { pid } = victim
    if (!victim.isAlive || (await importsOf(house, pid)).length === 0) continue
    process.kill(pid, 'SIGKILL')
    const hit = await importsOf(house, pid)
    if (hit.length > 0) return hit
  }
}

/** The imports that a worker has begun and not ended. */
async function importsOf(house: Setup, pid: number): Promise<string[]> {
  const { rows } = await house.service.services.databases.control.query<{ id: string }>(
    `select j.id from cartage.workers w join cartage.jobs j on j.worker_id = w.id
     join cartage.imports i on i.user_id = j.user_id and i.id = j.id
     where w.name like $1 and j.finished_at is null and i.at_work = j.claim`,
    [`% ${pid}`],
  )
  return rows.map(({ id }) => id)
}

/** Every complete import has its rows once, any other none; there is no other table. */
async function checkTables(
  user: TestUser,
  ends: readonly (readonly [Sent, ImportDocument])[],
): Promise<void> {
  const { rows } = await user.sql(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'S') order by 1`,
    [user.account.schema],
  )
  const newTables = ends.filter(([{ name }]) => name === undefined)
  const wanted = newTables.flatMap(([, { table_names: names }]) => names)
  const sequences = wanted.map((name) => `${name}_cartodb_id_seq`)
  assert.deepEqual(rows.map(({ name }) => name).sort(), [...wanted, ...sequences, 'slow'].sort())
  for (const [{ rows: count }, { table_name: name }] of newTables) {
    if (name === null) continue
    const counted = await user.sql(`select count(*)::int as rows from ${name}`)
    assert.deepEqual(counted.rows, [{ rows: count }], name)
  }
  const added = await user.sql(
    'select name, count(*)::int as rows, count(distinct n)::int as kinds from slow group by name order by name',
  )
  const complete = ends.filter(([{ name }, { success }]) => name !== undefined && success)
  assert.deepEqual(
    added.rows,
    complete
      .map(([{ name, rows: count }]) => ({ name, rows: count, kinds: count }))
      .sort((one, other) => (one.name! < other.name! ? -1 : 1)),
  )
}

/** Sends imports one after another. */
async function keepImporting(
  api: ReturnType<typeof importsAt>,
  user: TestUser,
  kinds: readonly SentFile[],
  random: Random,
  sent: Sent[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const kind = random.isLucky(0.7) ? slowFile() : random.pick(kinds)
    const id = await api.post(user, kind)
    if (id === undefined) await sleep(200)
    else sent.push({ user, id, rows: kind.rows, ...(kind.name !== undefined && { name: kind.name }) })
  }
}

/** `name`: of its rows in the table they are added to. */
type SentFile = Readonly<{ query: string; content: Buffer; rows: number; name?: string }>

function files(): readonly SentFile[] {
  const lines = Array.from({ length: 100 }, (_, at) => `${at},${at % 90},text of row ${at}`)
  return [
    { query: 'filename=small.csv', content: Buffer.from(`lon,lat,c\n${lines.join('\n')}\n`), rows: 100 },
    { query: 'filename=some.gpkg', content: made('GPKG', 'a.gpkg', places).get('a.gpkg')!, rows: 3 },
    { query: 'filename=some.parquet', content: columnFile('pyarrow.parquet'), rows: 3 },
  ]
}

function slowFile(): SentFile {
  const name = randomUUID()
  const content = Buffer.from(`name,n\n${Array.from({ length: 50 }, (_, n) => `${name},${n}`).join('\n')}\n`)
  return { query: 'filename=slow.csv&collision_strategy=append', content, rows: 50, name }
}

function importsAt(url: string) {
  const address = ({ username, masterToken }: TestUser, path: string) =>
    `${url}/user/${username}/api/v1/imports${path}api_key=${masterToken}`
  const post = async (user: TestUser, { query, content }: SentFile): Promise<string | undefined> => {
    const answer = await fetch(address(user, `?${query}&`), {
      method: 'POST',
      body: new Uint8Array(content),
    })
    const body = await answer.json()
    // All slots of the user are taken.
    if (answer.status === 429) return undefined
    assert.equal(answer.status, 200, JSON.stringify(body))
    return (body as { item_queue_id: string }).item_queue_id
  }
  const ended = ({ user, id }: Sent) =>
    eventually(async () => {
      const document = (await (await fetch(address(user, `/${id}?wait=5&`))).json()) as ImportDocument
      assert.ok(document.success !== undefined, JSON.stringify(document))
      return document
    }, 180_000)
  return { post, ended }
}
