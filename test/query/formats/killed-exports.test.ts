import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownMark } from '../../../src/postgres/cluster/processes.ts'
import { eventually, setup } from '../../support/service/setup.ts'

const startOf = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}

test('a start removes the files of killed exports, also those of a process that had the same id, and no others', async (t) => {
  const other = spawn('sleep', ['600'])
  t.after(() => other.kill())
  const { pid: ended } = spawnSync('true')
  const left = [`${ended}`, `${ended}-1`, `${process.pid}`, `${process.pid}-1`, `${other.pid}-1`]
  const used = [ownMark, `${other.pid}`, `${other.pid}-${await startOf(other.pid!)}`]
  const nameOf = (mark: string) => `cartage-export-${mark}-test${process.pid}`
  for (const mark of [...left, ...used]) {
    const folder = join(tmpdir(), nameOf(mark))
    t.after(() => rm(folder, { recursive: true, force: true }))
    // From then on, services of other tests may remove it.
    const made = `${folder}.made`
    await mkdir(made)
    await writeFile(join(made, 'input.csv'), 'a\n1\n')
    await rename(made, folder)
  }
  await setup(t, { isFresh: true })
  await eventually(async () => {
    const found = (await readdir(tmpdir())).filter((name) => name.endsWith(`-test${process.pid}`))
    assert.deepEqual(found.sort(), used.map(nameOf).sort())
  })
})
