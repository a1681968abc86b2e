import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPrimary } from '../../chaos/postgres/primary.ts'
import { mapsOf, segmentsOf } from '../../chaos/postgres/shared-memory.ts'
import { serverProcesses } from '../../src/postgres/cluster/processes.ts'

test('an embedded server that is killed leaves neither files nor shared memory behind', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-killed-'))
  await chmod(dataDir, 0o711)
  const primary = await startPrimary(dataDir)
  const pids = serverProcesses(primary.dataPath)
  const segments = segmentsOf(pids)
  const segmentsThere = async () => {
    const { stdout } = await promisify(execFile)('ipcs', ['-m'])
    return [...segments].filter((number) => new RegExp(` ${number} `).test(stdout))
  }
  assert.equal(segments.size, 1)
  assert.deepEqual(await segmentsThere(), [...segments])
  // Everything else it shares is in its folder.
  for (const pid of pids) assert.doesNotMatch(mapsOf(pid), / \/dev\/shm\/PostgreSQL/)

  await primary.remove()
  assert.ok(!existsSync(dataDir))
  assert.deepEqual(await segmentsThere(), [])
})
