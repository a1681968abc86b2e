import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openInTime } from '../../../src/accounts/restore/backup-folder.ts'
import { eachInTime } from '../../../src/waiting/each-in-time.ts'
import { eventually } from '../../support/service/setup.ts'

test('a folder of backups that does not answer is not asked again before it does', async () => {
  const closed: string[] = []
  const close = (late: string) => void closed.push(late)
  let answer: (late: string) => void = () => undefined
  const opening = new Promise<string>((resolve) => {
    answer = resolve
  })
  await assert.rejects(
    openInTime('/silent', () => opening, close, 20),
    /CARTAGE_BACKUP_DIR does not answer in time/,
  )
  const unasked = () => assert.fail('it is asked again')
  await assert.rejects(openInTime('/silent', unasked, close), /CARTAGE_BACKUP_DIR does not answer in time/)
  assert.equal(await openInTime('/other', async () => 'opened', close), 'opened')
  answer('late')
  await eventually(async () => {
    assert.equal(await openInTime('/silent', async () => 'again', close), 'again')
  })
  assert.deepEqual(closed, ['late'])
})

test('of a backup that stops in the middle the restore fails after its patience', async () => {
  const begun = async function* () {
    yield 'first'
    await new Promise(() => undefined)
  }
  const read: string[] = []
  const reading = async () => {
    for await (const item of eachInTime(begun(), 50, () => new Error('too late'))) read.push(item)
  }
  await assert.rejects(reading(), /too late/)
  assert.deepEqual(read, ['first'])
})
