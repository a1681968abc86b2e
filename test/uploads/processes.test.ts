import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CartageProcess } from '../../chaos/process.ts'
import { freePort } from '../support/http/free-port.ts'
import { receivedOf, uploadApi } from '../support/imports/upload-api.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

const file = Buffer.alloc(40 * 1024 ** 2, 'a,b\n1,2\n')

test('an upload goes on in another process after a kill, and two processes never write at once', {
  timeout: 180_000,
}, async (t) => {
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // Processes of the service give up root.
  chmodSync(spool, 0o777)
  const house = await setup(t, { isIsolated: true })
  const [first, second] = [await startApi(t, house, spool), await startApi(t, house, spool)]
  const of = ({ url }: Api) => uploadApi({ ...house.user, base: `${url}/user/${house.user.username}` })
  const [a, b] = [of(first), of(second)]
  const at = new URL(await a.make(file.length, { filename: 'big.csv' })).pathname
  const [there, here] = [`${first.url}${at}`, `${second.url}${at}`]

  // The first process waits for more bytes; the second one gets the upload from it.
  const half = file.length / 2
  const waiting = await a.cutPatch(there, 0, file.subarray(0, half), file.length, { stay: true })
  await eventually(async () => assert.equal(await receivedOf(house.service, at), half), 30_000)
  const quarter = half / 2
  const taken = await b.patch(here, half, file.subarray(half, half + quarter))
  assert.deepEqual([taken.status, taken.headers.get('upload-offset')], [204, String(half + quarter)])
  await eventually(() => assert.equal(waiting.closed, true))

  // The first process has it again, and is killed: the bytes that it has counted are there.
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
