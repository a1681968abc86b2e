import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeTicks } from '../../../console/chart/draw/ticks.ts'
import { type PlainRow, plainRows } from '../../../console/chart/plain-rows.ts'
import type { ChartData } from '../../../console/chart/read/chart-data.ts'
import { atOnce, readChart } from '../../../console/chart/read/read-chart.ts'
import type { ChartDefinition } from '../../../src/contract/charts.ts'

const columns = [
  { name: 'name', type: 'string' },
  { name: 'at', type: 'date', pgtype: 'timestamptz' },
  { name: 'n', type: 'number' },
  { name: 'm', type: 'number' },
]

const read = (spec: ChartDefinition, rows: readonly PlainRow[]) =>
  atOnce(readChart(spec, columns, plainRows(columns, rows)))

function drawn(spec: ChartDefinition, rows: readonly PlainRow[]): ChartData {
  const made = read(spec, rows)
  assert.ok(!('problem' in made), JSON.stringify(made))
  return made
}

const labels = ({ x }: ChartData) => (x.form === 'names' ? x.labels.map(({ text }) => text) : [])

const numbered = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at))

test('a chart has at most 50 bars, 6 parts and 8 series; the rest is "others", and the chart says so', () => {
  const rows = numbered(300, (at) => ({ name: `v${at}`, n: at }))
  const bars = drawn({ kind: 'bar', x: 'name', y: ['n'] }, rows)
  assert.deepEqual(labels(bars).slice(0, 2), ['v299', 'v298'])
  assert.deepEqual([labels(bars).length, labels(bars).at(-1)], [50, 'others (251)'])
  assert.equal(bars.series[0]!.y.at(-1), (250 * 251) / 2)
  assert.deepEqual(bars.notes, ['name has 300 values: 251 of them are drawn as “others”.'])
  // The average of others is that of their rows, not of their averages.
  const averages = drawn({ kind: 'bar', x: 'name', y: ['n'], aggregate: 'average', order: 'name' }, rows)
  assert.deepEqual([labels(averages)[0], averages.series[0]!.y.at(-1)], ['v0', (49 + 299) / 2])
  assert.equal(labels(drawn({ kind: 'pie', x: 'name', y: ['n'] }, rows)).at(-1), 'others (295)')
  const split = drawn({ kind: 'stacked', x: 'n', series: 'name' }, rows)
  assert.deepEqual([split.series.length, split.series.at(-1)!.label.text], [8, 'others (293)'])
  const negative = read({ kind: 'pie', x: 'name', y: ['n'] }, [{ name: 'a', n: -1 }])
  assert.match((negative as { problem: string }).problem, /some are negative/)
})

test('bars over times are days, weeks or months in UTC, so clock changes do not make a day longer', () => {
  const hours = numbered(72, (at) => ({ at: new Date(Date.UTC(2026, 2, 28, at)).toISOString(), n: 1 }))
  const days = drawn({ kind: 'bar', x: 'at', y: ['n'] }, [
    ...hours,
    { at: null, n: 1 },
    { at: 'infinity', n: 1 },
  ])
  assert.deepEqual([...days.series[0]!.y.slice(0, 3)], [3, 3, 3])
  assert.deepEqual(days.notes, ['2 rows without a time in at are left out.', 'By 3 hours, in UTC.'])
  const years = numbered(1_000, (at) => ({ at: new Date(Date.UTC(2020, 0, 1 + at)).toISOString(), n: 1 }))
  const months = drawn({ kind: 'bar', x: 'at' }, years)
  assert.deepEqual([...months.series[0]!.y.slice(0, 3)], [31, 29, 31])
  assert.deepEqual(months.notes, ['By month, in UTC.'])
  const ticks = timeTicks(Date.UTC(2026, 2, 28, 1), Date.UTC(2026, 2, 30), 8)
  assert.deepEqual(
    ticks.slice(0, 5).map(({ lines }) => lines),
    [['06:00', '2026-03-28'], ['12:00'], ['18:00'], ['00:00', '2026-03-29'], ['06:00']],
  )
})

test('a line of a million rows keeps its peaks, and a gap where a value is NULL', () => {
  const rows = numbered(1_000_000, (at) => [null, null, at === 500_001 ? 9e9 : at % 7, at])
  const line = drawn({ kind: 'line', x: 'm', y: ['n'] }, rows)
  assert.ok(line.series[0]!.x.length <= 100_000)
  assert.ok(line.series[0]!.y.includes(9e9))
  assert.match(line.notes[0]!, /^Draws [\d,]+ of 1,000,000 points: the lowest and highest of them\.$/)
  const gap = drawn({ kind: 'line', x: 'm', y: ['n'] }, [
    [null, null, 3, 2],
    [null, null, null, 1],
    [null, null, 1, 0],
  ])
  assert.deepEqual([...gap.series[0]!.y], [1, Number.NaN, 3])
})

test('a histogram has round ranges, also for a single value, and a chart says why it cannot be drawn', () => {
  const ranges = drawn(
    { kind: 'histogram', x: 'n' },
    numbered(1_000, (at) => ({ n: at / 10 })),
  )
  assert.deepEqual(ranges.x.form === 'ranges' && [...ranges.x.edges].slice(0, 3), [0, 5, 10])
  assert.equal(
    ranges.series[0]!.y.reduce((sum, count) => sum + count),
    1_000,
  )
  const one = drawn({ kind: 'histogram', x: 'n' }, [{ n: 5 }])
  assert.deepEqual(one.x.form === 'ranges' && [...one.x.edges], [5, 6])
  const why = (spec: ChartDefinition, rows: readonly PlainRow[]) =>
    (read(spec, rows) as { problem: string }).problem
  assert.equal(why({ kind: 'bar', x: 'n' }, []), 'No rows.')
  assert.match(why({ kind: 'bar', x: 'gone' }, [{ n: 1 }]), /no column gone/)
  assert.match(why({ kind: 'histogram', x: 'name' }, [{ name: 'a' }]), /needs numbers or times/)
  assert.match(why({ kind: 'line', x: 'n', y: ['name'] }, [{ n: 1 }]), /name is not a column of numbers/)
  assert.match(why({ kind: 'line', x: 'm', y: ['n'] }, [{ m: 1, n: null }]), /No row has a number in n/)
})
