import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkCron, dueAfter } from '../../src/schedules/due-times.ts'

const timezone = 'Europe/Berlin'

/** The due times of a day in UTC. */
function dueOn(day: string, cron: string): readonly string[] {
  const times: string[] = []
  // The day of Berlin begins an hour or two before.
  let time = new Date(Date.parse(`${day}T00:00:00Z`) - 7_200_001)
  for (;;) {
    time = dueAfter({ cron, timezone }, time)!
    const text = time.toISOString()
    if (text.slice(0, 10) > day || times.length > 100) return times
    if (text.startsWith(day)) times.push(text.slice(11, 16))
  }
}

// At 01:00 UTC the clock goes from 02:00 to 03:00, and in autumn from 03:00 to 02:00.
test('a rule with a list, a range or a step is not due in the hour that is left out, and is due in both that are one', () => {
  for (const [cron, spring, autumn] of [
    ['15,45 2 * * *', [], ['00:15', '00:45', '01:15', '01:45']],
    ['*/20 2 * * *', [], ['00:00', '00:20', '00:40', '01:00', '01:20', '01:40']],
    ['30 2-3 * * *', ['01:30'], ['00:30', '01:30', '02:30']],
    ['30 2,14 * * *', ['12:30'], ['00:30', '01:30', '13:30']],
  ] as const) {
    assert.deepEqual(dueOn('2026-03-29', cron), spring, cron)
    assert.deepEqual(dueOn('2026-10-25', cron), autumn, cron)
  }
  assert.equal(dueOn('2026-03-29', '30 * * * *').length, 24)
  assert.equal(dueOn('2026-10-25', '30 * * * *').length, 24)
})

test('only five fields of cron, or a listed word, make a rule', () => {
  for (const cron of [
    '@daily',
    '@Hourly',
    '*/5 0-6,22 1,15 jan-MAR,12 sun,Mon-5',
    '0 0 31 2 1',
    '0 0 29 feb *',
  ])
    checkCron({ cron, timezone })
  for (const cron of [
    ...['2030-01-01T00:00:00', '0 0 L * *', '0 0 15W * *', '0 0 * * 1#2', '0 0 * * 5L', '0 0 ? * *'],
    ...['0 0 1 * +1', '@reboot', '@daily @daily', '0 0 * 1-99999999999 *', '0 0 * * jan', '0 0 mon * *'],
    `${'1,'.repeat(60)}1 * * * *`,
  ])
    assert.throws(() => checkCron({ cron, timezone }), { code: 'schedule-invalid' }, cron)
})

test('a rule that is never due, or made to be slow, is refused within 50 ms', () => {
  checkCron({ cron: '@daily', timezone })
  const nearest = Array.from({ length: 31 }, (_, day) => `${day + 1}W`).join()
  for (const cron of [
    ...['0 0 31 2 *', '* * 30-31 feb *', '0 0 31 2,4,jun,9,11 *', '0 0 31 4-6/2 *', '0 0 31 2/2 *'],
    `0 0 ${nearest} * +0`,
  ]) {
    // The best of three: others may have the processor meanwhile.
    const tries = [1, 2, 3].map(() => {
      const startedAt = performance.now()
      assert.throws(() => checkCron({ cron, timezone }), { code: 'schedule-invalid' }, cron)
      return performance.now() - startedAt
    })
    const tookMs = Math.min(...tries)
    assert.ok(tookMs < 50, `${cron}: ${tookMs}`)
  }
})

test('the parser sees one spelling of a time zone, and no offset is a time zone', (t) => {
  const made: unknown[] = []
  const { DateTimeFormat } = Intl
  t.mock.method(Intl, 'DateTimeFormat', function (this: unknown, locale: string, options: object) {
    if ('hour' in options) made.push(options)
    return new DateTimeFormat(locale, options)
  })
  for (const spelling of ['asia/tokyo', 'ASIA/TOKYO', 'Asia/tokyo'])
    checkCron({ cron: '@daily', timezone: spelling })
  assert.equal(made.length, 1)
  for (const offset of ['+02:00', '-03:30', '+0200'])
    assert.throws(() => checkCron({ cron: '@daily', timezone: offset }), /timezone must be a name/)
})
