import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPrimary } from '../../chaos/postgres/primary.ts'
import { sharedMemoryOf } from '../../chaos/postgres/shared-memory.ts'
import { serverProcesses } from '../../src/postgres/cluster/processes.ts'

test('a server that is killed for good leaves neither files nor shared memory behind', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-killed-'))
  await chmod(dataDir, 0o711)
  const primary = await startPrimary(dataDir)
  const { files, segments } = sharedMemoryOf(serverProcesses(primary.dataPath))
  const segmentsThere = async () => {
    const { stdout } = await promisify(execFile)('ipcs', ['-m'])
    return [...segments].filter((number) => new RegExp(` ${number} `).test(stdout))
  }
  assert.ok(files.size > 0 && segments.size > 0)
  assert.deepEqual(await segmentsThere(), [...segments])

  await primary.remove()
  assert.deepEqual([...files, dataDir].filter(existsSync), [])
  assert.deepEqual(await segmentsThere(), [])
})
