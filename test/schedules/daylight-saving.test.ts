import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueAfter, dueTimes } from '../../src/schedules/due-times.ts'

const minuteMs = 60_000

/** The due times from one time on and before another. */
async function dueBetween(
  cron: string,
  timezone: string,
  from: string,
  to: string,
): Promise<readonly string[]> {
  const rule = { cron, timezone }
  const first = dueAfter(rule, new Date(Date.parse(from) - 1))!
  const { due } = await dueTimes(rule, first, new Date(Date.parse(to) - 1), 5_000)
  return due.map((time) => time.toISOString().slice(0, 16))
}

/** On one day of UTC, without the date. */
const dueOn = async (day: string, cron: string, timezone: string) =>
  (await dueBetween(cron, timezone, `${day}T00:00Z`, `${day}T23:59:59Z`)).map((time) => time.slice(11))

// At 01:00 UTC the clock in Berlin goes from 02:00 to 03:00, and in autumn from 03:00 to 02:00.
test('a rule of fixed times is due right after a skipped hour, and once in a repeated hour', async () => {
  for (const [cron, spring, autumn] of [
    ['30 2 * * *', ['01:00'], ['00:30']],
    ['0 3 * * *', ['01:00'], ['02:00']],
    ['15,45 2 * * *', ['01:00'], ['00:15', '00:45']],
    ['0-2 2 * * *', ['01:00'], ['00:00', '00:01', '00:02']],
    ['30 2-3 * * *', ['01:00', '01:30'], ['00:30', '02:30']],
    ['30 2,14 * * *', ['01:00', '12:30'], ['00:30', '13:30']],
    ['0 2,3 * * *', ['01:00'], ['00:00', '02:00']],
    [
      '10-50/20 2-4/2 * * *',
      ['01:00', '02:10', '02:30', '02:50'],
      ['00:10', '00:30', '00:50', '03:10', '03:30', '03:50'],
    ],
    ['0 1 * * *', ['00:00', '23:00'], []],
    ['59 1 * * *', ['00:59', '23:59'], []],
  ] as const) {
    assert.deepEqual(await dueOn('2026-03-29', cron, 'Europe/Berlin'), spring, cron)
    assert.deepEqual(await dueOn('2026-10-25', cron, 'Europe/Berlin'), autumn, cron)
  }
})

test('a rule with * in its minute or hour is due whenever the clock shows the time', async () => {
  for (const [cron, spring, autumn] of [
    ['*/20 2 * * *', [], ['00:00', '00:20', '00:40', '01:00', '01:20', '01:40']],
    [
      '*/30 1-3 * * *',
      ['00:00', '00:30', '01:00', '01:30', '23:00', '23:30'],
      ['00:00', '00:30', '01:00', '01:30', '02:00', '02:30'],
    ],
    [
      '15 */2 * * *',
      [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22],
      [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23],
    ],
  ] as const) {
    const times = (hours: readonly (string | number)[]) =>
      hours.map((hour) => (typeof hour === 'string' ? hour : `${String(hour).padStart(2, '0')}:15`))
    assert.deepEqual(await dueOn('2026-03-29', cron, 'Europe/Berlin'), times(spring), cron)
    assert.deepEqual(await dueOn('2026-10-25', cron, 'Europe/Berlin'), times(autumn), cron)
  }
  for (const day of ['2026-03-29', '2026-10-25']) {
    assert.equal((await dueOn(day, '30 * * * *', 'Europe/Berlin')).length, 24)
    assert.equal((await dueOn(day, '@hourly', 'Europe/Berlin')).length, 24)
    assert.equal((await dueOn(day, '*/15 * * * *', 'Europe/Berlin')).length, 96)
    assert.equal((await dueOn(day, '* * * * *', 'Europe/Berlin')).length, 1_440)
  }
})

test('@daily is due each day, also when midnight is skipped or repeated, and with shifts of half an hour', async () => {
  // In Santiago 00:00 becomes 01:00, and 24:00 becomes 23:00; in Havana 01:00 becomes 00:00.
  assert.deepEqual(await dueBetween('@daily', 'America/Santiago', '2026-09-05T00:00Z', '2026-09-08T00:00Z'), [
    '2026-09-05T04:00',
    '2026-09-06T04:00',
    '2026-09-07T03:00',
  ])
  assert.deepEqual(await dueBetween('@daily', 'America/Havana', '2026-10-31T00:00Z', '2026-11-03T00:00Z'), [
    '2026-10-31T04:00',
    '2026-11-01T04:00',
    '2026-11-02T05:00',
  ])
  // On Lord Howe Island 02:00 becomes 02:30, and 02:00 becomes 01:30.
  assert.deepEqual(
    await dueBetween('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', '2026-10-05T00:00Z'),
    ['2026-10-03T15:30', '2026-10-04T15:15'],
  )
  assert.deepEqual(
    await dueBetween('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00Z', '2026-04-06T00:00Z'),
    ['2026-04-04T14:45', '2026-04-05T15:15'],
  )
})

/** The minutes or hours of a field. */
function valuesOf(field: string, count: number): readonly number[] {
  return field.split(',').flatMap((item) => {
    const [range = '', step = '1'] = item.split('/')
    const [first = 0, last = first] = range === '*' ? [0, count - 1] : range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, place) => first + place).filter(
      (_, place) => place % Number(step) === 0,
    )
  })
}

/** The clock's time at each minute. */
function shownIn(timezone: string, from: number, to: number): readonly number[] {
  const format = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' })
  return Array.from({ length: (to - from) / minuteMs }, (_, place) =>
    Date.parse(`${format.format(from + place * minuteMs).replace(' ', 'T')}Z`),
  )
}

/** What cron does, minute by minute: it runs fixed times late if the clock skips them, and never twice. */
function asCron(cron: string, from: number, shownFrom: readonly number[]): readonly string[] {
  const [minutes, hours] = [valuesOf(cron.split(' ')[0]!, 60), valuesOf(cron.split(' ')[1]!, 24)]
  const isFixed = !cron.split(' ').slice(0, 2).join().includes('*')
  const matches = (shown: number) => {
    const clock = new Date(shown)
    return minutes.includes(clock.getUTCMinutes()) && hours.includes(clock.getUTCHours())
  }
  const due: string[] = []
  let latest = shownFrom[0]! - minuteMs
  for (const [place, shown] of shownFrom.entries()) {
    let isDue = matches(shown)
    if (isFixed) {
      isDue = false
      for (let each = latest + minuteMs; each <= shown; each += minuteMs) isDue ||= matches(each)
    }
    if (isDue) due.push(new Date(from + place * minuteMs).toISOString().slice(0, 16))
    latest = Math.max(latest, shown)
  }
  return due
}

test('in every zone the due times around a clock change are those of cron', async () => {
  const rules = [
    ...['*/15 * * * *', '0 * * * *', '*/15 1-3 * * *', '20 */3 * * *', '5,35 * * * *'],
    ...[
      '0 0 * * *',
      '30 0 * * *',
      '30 1 * * *',
      '30 2 * * *',
      '0 3 * * *',
      '15,45 0-3 * * *',
      '0-59/20 1,2 * * *',
    ],
  ]
  for (const [timezone, ...days] of [
    ['Europe/Berlin', '2026-03-29', '2026-10-25'],
    ['America/New_York', '2026-03-08', '2026-11-01'],
    ['Australia/Lord_Howe', '2026-04-05', '2026-10-04'],
    ['America/Santiago', '2026-04-05', '2026-09-06'],
    ['America/Havana', '2026-03-08', '2026-11-01'],
    ['Pacific/Auckland', '2026-04-05', '2026-09-27'],
    ['Atlantic/Azores', '2026-03-29', '2026-10-25'],
    ['Asia/Kolkata', '2026-03-29', '2026-10-25'],
  ] as const)
    for (const day of days) {
      const middle = Date.parse(`${day}T00:00Z`)
      const [from, to] = [middle - 18 * 60 * minuteMs, middle + 30 * 60 * minuteMs]
      const shown = shownIn(timezone, from, to)
      for (const cron of rules) {
        const found = await dueBetween(
          cron,
          timezone,
          new Date(from).toISOString(),
          new Date(to).toISOString(),
        )
        assert.deepEqual(found, asCron(cron, from, shown), `${cron} in ${timezone} on ${day}`)
      }
    }
})

test('a due time far ahead is found, across clock changes', () => {
  const next = (cron: string) =>
    dueAfter({ cron, timezone: 'Europe/Berlin' }, new Date('2026-03-01T00:00Z'))!.toISOString()
  assert.equal(next('0 12 1 7 *'), '2026-07-01T10:00:00.000Z')
  assert.equal(next('*/30 12 1 7 *'), '2026-07-01T10:00:00.000Z')
  assert.equal(next('*/30 2 29 3 *'), '2027-03-29T00:00:00.000Z')
  assert.equal(next('30 2 29 3 *'), '2026-03-29T01:00:00.000Z')
  assert.equal(next('* * 29 2 *'), '2028-02-28T23:00:00.000Z')
})
