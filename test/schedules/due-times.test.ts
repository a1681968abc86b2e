import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueTimes } from '../../src/schedules/due-times.ts'
import { planRuns } from '../../src/schedules/plan-runs.ts'

/** The due times after a moment, as ISO times without seconds. */
async function timesAfter(cron: string, timezone: string, after: string, count: number): Promise<string[]> {
  const { due } = await dueTimes(
    { cron, timezone },
    new Date(after),
    new Date('2027-12-31T00:00Z'),
    count + 1,
  )
  return due.slice(1).map((time) => time.toISOString().slice(0, 16))
}

test('when the clock is set forward, a time that does not exist is due right after the gap', async () => {
  assert.deepEqual(await timesAfter('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2), [
    '2026-03-29T01:00',
    '2026-03-30T00:30',
  ])
  const hourly = await timesAfter('30 * * * *', 'Europe/Berlin', '2026-03-28T23:40Z', 3)
  assert.deepEqual(hourly, ['2026-03-29T00:30', '2026-03-29T01:30', '2026-03-29T02:30'])
})

test('when the clock is set back, a repeated fixed time is due once, and an hourly rule in both hours', async () => {
  assert.deepEqual(await timesAfter('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 2), [
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ])
  const hourly = await timesAfter('30 * * * *', 'Europe/Berlin', '2026-10-24T23:40Z', 3)
  assert.deepEqual(hourly, ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-25T02:30'])
})

test('words such as @daily mean midnight of the time zone', async () => {
  assert.deepEqual(await timesAfter('@daily', 'America/New_York', '2026-01-01T00:00Z', 1), [
    '2026-01-01T05:00',
  ])
})

test('a due time late by more than a minute is missed; catch_up last runs one of them', () => {
  const now = new Date('2026-01-31T10:00:30Z')
  const due = [9, 8, 2, 0].map((minutes) => new Date(Date.parse('2026-01-31T10:00:00Z') - minutes * 60_000))
  const plan = (catchUp: 'none' | 'last', times: readonly Date[], isOpen = false) =>
    planRuns({ overlap: 'skip', catchUp }, times, now, isOpen, true).map(({ skipped }) => skipped)
  assert.deepEqual(plan('none', due), ['missed', 'missed', 'missed', null])
  assert.deepEqual(plan('last', due), ['missed', 'missed', 'missed', null])
  assert.deepEqual(plan('none', due.slice(0, 3)), ['missed', 'missed', 'missed'])
  assert.deepEqual(plan('last', due.slice(0, 3)), ['missed', 'missed', null])
  assert.deepEqual(plan('none', due.slice(3), true), ['overlap'])
})
