import assert from 'node:assert/strict'
import { access, chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { tarEntry } from '../../../src/cli/backup/tar-entry.ts'
import { createLog } from '../../../src/log/log.ts'
import { restoreCluster } from '../../../src/postgres/cluster/restore.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { eventually } from '../../support/service/setup.ts'

test('a cancelled restore ends the program that checks the backup, and leaves no files', async (t) => {
  const [directory, dataDir] = [await newDataDir(t), await newDataDir(t)]
  const program = join(directory, 'pg_verifybackup')
  await writeFile(program, '#!/bin/sh\n: > "$0.started"\nexec sleep 300\n', { mode: 0o755 })
  // The programs may run as another user.
  await chmod(directory, 0o777)
  const stopping = new AbortController()
  const tar = Readable.from([tarEntry('PG_VERSION', Buffer.from('17\n')), Buffer.alloc(1024)])
  const restoring = restoreCluster(dataDir, {
    binaries: { directory, major: 17 },
    tar,
    log: createLog('silent'),
    signal: stopping.signal,
    isTemporary: true,
  })
  const refused = assert.rejects(restoring, /given up/)
  await eventually(() => access(`${program}.started`), 30_000)
  const startedAt = performance.now()
  stopping.abort(new Error('given up'))
  await refused
  assert.ok(performance.now() - startedAt < 10_000)
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.includes('restore')),
    [],
  )
})

test('a cancelled restore does not wait for a file that does not answer, and leaves no files', async (t) => {
  const dataDir = await newDataDir(t)
  const stopping = new AbortController()
  // As a file on a lost file server: neither a read nor the end of the stream is ever answered.
  const tar = new Readable({ read: () => undefined, destroy: () => undefined })
  const restoring = restoreCluster(dataDir, {
    binaries: { directory: dataDir, major: 17 },
    tar,
    log: createLog('silent'),
    signal: stopping.signal,
    isTemporary: true,
  })
  const refused = assert.rejects(restoring, /given up/)
  const drafts = async () =>
    (await readdir(join(dataDir, 'postgres')).catch(() => [])).filter((name) => name.endsWith('.restore'))
  await eventually(async () => assert.equal((await drafts()).length, 1), 30_000)
  tar.destroy()
  stopping.abort(new Error('given up'))
  await refused
  assert.deepEqual(await drafts(), [])
})
