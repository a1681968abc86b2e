import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { connection } from '../support/http/call.ts'
import { userProgram } from '../support/service/program.ts'
import { setup } from '../support/service/setup.ts'

const run = promisify(execFile)

test('the service offers the command line as one file that works in an empty folder', async (t) => {
  const house = await setup(t)
  const answer = await fetch(`${house.url}/cli/cartage`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/octet-stream')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cartage"')
  assert.equal(answer.headers.get('cache-control'), 'no-cache')
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.deepEqual(bytes, await readFile(userProgram))
  const again = await fetch(`${house.url}/cli/cartage`, {
    headers: { 'if-none-match': answer.headers.get('etag')! },
  })
  assert.deepEqual([again.status, await again.text()], [304, ''])

  const folder = await mkdtemp(join(tmpdir(), 'empty-'))
  const file = join(folder, 'cartage')
  await writeFile(file, bytes)
  await chmod(file, 0o755)
  const options = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...connection(house) } }
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  assert.equal((await run(file, ['--version'], options)).stdout, `${version}\n`)
  assert.equal((await run(file, ['sql', 'select 1 as n'], options)).stdout, '{"n":1}\n')
  await assert.rejects(run(file, ['serve'], options), /runs on the machine of the service/)
  for (const words of [
    ['help', 'org', 'create'],
    ['org', 'create', '--help'],
  ])
    assert.match((await run(file, words, options)).stdout, /^usage: cartage org create NAME --owner USER /)
})
