import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkCron } from '../../src/schedules/due-times.ts'

const timezone = 'Europe/Berlin'

test('a rule is five fields of cron or a listed word, nothing else', () => {
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

test('a rule that is never due, or built to be slow, is refused within 50 ms', () => {
  checkCron({ cron: '@daily', timezone })
  const nearest = Array.from({ length: 31 }, (_, day) => `${day + 1}W`).join()
  for (const cron of [
    ...['0 0 31 2 *', '* * 30-31 feb *', '0 0 31 2,4,jun,9,11 *', '0 0 31 4-6/2 *', '0 0 31 2/2 *'],
    `0 0 ${nearest} * +0`,
  ]) {
    // The best of three: other processes may have the CPU meanwhile.
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
