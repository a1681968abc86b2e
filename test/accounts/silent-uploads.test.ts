import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { copyUrl, readReply } from '../support/postgres/copying.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('an upload that completes no row delays the deletion of an account for seconds only', async (t) => {
  const at = await setup(t, { isIsolated: true })
  const other = await at.createUser()
  const upload = await startUpload(at, 'x')
  await deleteUser(at.service.services.installation, other.username)
  assert.equal((await upload.answered).status, 503)
  await upload.end()
  assert.equal((await at.user.sql('select from t')).rowCount, 0)
})

test('an upload that completes rows continues while other accounts are deleted', async (t) => {
  const at = await setup(t, { isIsolated: true })
  const other = await at.createUser()
  const upload = await startUpload(at, 'x\n')
  await deleteUser(at.service.services.installation, other.username)
  assert.equal((await upload.end()).status, 200)
})

async function startUpload({ admin, user }: Setup, text: string) {
  await user.sql('create table t (a text)')
  const sent = request(copyUrl(user, 'copyfrom', 'copy t from stdin'), { method: 'POST', agent: false })
  sent.on('error', () => undefined)
  const answered = once(sent, 'response').then(([response]) => readReply(response))
  const isOver = new AbortController()
  const trickled = trickle(sent, text, isOver.signal)
  await eventually(async () => {
    const { rowCount } = await admin(
      'select from pg_stat_progress_copy where datname = $1 and bytes_processed > 0',
      [user.account.database],
    )
    assert.equal(rowCount, 1)
  })
  const end = async () => {
    isOver.abort()
    await trickled
    sent.end()
    return answered
  }
  return { answered, end }
}

async function trickle(sent: ReturnType<typeof request>, text: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (!sent.writableEnded && !sent.destroyed) sent.write(text)
    await sleep(300)
  }
}
