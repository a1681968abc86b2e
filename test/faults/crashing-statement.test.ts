import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedSuperuser } from '../support/service/data-dir.ts'
import { startEmbedded } from '../support/service/embedded-service.ts'

test('a statement that takes PostgreSQL down each time runs ten times, then it failed', async (t) => {
  const { newUser, dataDir } = await startEmbedded(t)
  const client = await newUser('alice')
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await control.query<{ name: string }>('select master_role as name from cartage.users')
  control.on('error', () => undefined)
  const tenant = await embeddedSuperuser(t, dataDir, rows[0]!.name)
  tenant.on('error', () => undefined)
  const folder = await mkdtemp(join(tmpdir(), 'crashing-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  // PostgreSQL writes into it as its own user.
  await chmod(folder, 0o777)
  const attempts = join(folder, 'attempts')
  await tenant.query(`create function public.crash() returns void language plpgsql security definer as $$
    begin execute pg_catalog.format('copy (select 1) to program %L', 'echo >> ${attempts}; kill -9 ' || pg_catalog.pg_backend_pid()); end $$`)
  const job = await client.jobs.create('select public.crash()')
  const ended = await client.jobs.finished(job.job_id)
  assert.equal(ended.status, 'failed')
  assert.equal((await readFile(attempts, 'utf8')).length, 10)
  assert.match(ended.failed_reason ?? '', /^PostgreSQL, the worker or the network stopped 10 times/)
})
