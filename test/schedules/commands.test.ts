import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('the command line creates, lists, runs, pauses, resumes and deletes a schedule', async (t) => {
  const me = connection(await setup(t, { worker: true }))
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(me, 'schedule', ...args)
    assert.equal(code, 0, err)
    return out
  }
  const made = await run(
    'create',
    'nightly',
    '30 2 * * *',
    'select 1',
    'select 2',
    '--timezone',
    'Europe/Paris',
  )
  assert.match(made, /^nightly: next run \d{4}-/)
  const [listed] = JSON.parse(await run('list', '--json'))
  assert.deepEqual([listed.name, listed.cron, listed.timezone], ['nightly', '30 2 * * *', 'Europe/Paris'])
  const job = (await run('run', 'nightly')).trim()
  const { out } = await cartage(me, 'job', 'follow', job)
  assert.equal(out, `${job} done\n`)
  const [first] = JSON.parse(await run('runs', 'nightly', '--json'))
  assert.deepEqual([first.job, first.status], [job, 'done (on request)'])
  assert.match(await run('pause', 'nightly'), /paused/)
  assert.match(await run('resume', 'nightly'), /next run \d{4}-/)
  assert.equal(await run('delete', 'nightly'), 'deleted nightly\n')
  const gone = await cartage(me, 'schedule', 'show', 'nightly')
  assert.notEqual(gone.code, 0)
  const wrong = await cartage(me, 'schedule', 'create', 'x', '@daily', 'select 1', '--overlap', 'both')
  assert.match(wrong.err, /--overlap must be one of skip, queue/)
})
