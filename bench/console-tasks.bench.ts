import type { Page } from 'playwright-core'
import { mostCompared } from '../console/result/worker/protocol.ts'
import { createClient } from '../src/client/client.ts'
import { drawCharts, readCells, runToEnd, showChanges, switchTabs } from './console/acts.ts'
import { type Console, openConsole, signIn } from './console/console-page.ts'
import { type LongestTask, longestTask } from './console/longest-task.ts'
import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { figure } from './frame/measure.ts'

// A trial: CARTAGE_BENCH_ROWS=50000 npm run bench -- console-tasks
const rows = Number(process.env.CARTAGE_BENCH_ROWS ?? 1_000_000)
const compared = Math.min(rows, mostCompared)
const few = 1_000
const patienceMs = 180_000

/** About one row of a hundred is another one in the next run. */
const manyRows = (count: number) =>
  `select i, timestamp '2020-01-01' + i * interval '1 minute' as at, 'name ' || i % 40 as name, sin(i / 1000.0) * i as wave,
     i % 7 as sort, case when random() < 0.01 then 0 else i end as sometimes
   from generate_series(1, ${count}) as i`

const rowsWithLargeValues = (count: number) =>
  `select i, case i when 1 then repeat('lorem ipsum ', 100000) end as long_text,
     case i when 2 then (select json_agg(json_build_object('n', n, 'of', array[n])) from generate_series(1, 100000) as n) end as large_json,
     case i when 3 then
       (select st_makeline(st_point(n / 1000.0, 10 * sin(n / 500.0), 4326) order by n) from generate_series(1, 100000) as n) end as shape
   from generate_series(1, ${count}) as i`

export const entries: readonly Entry[] = [
  tasksEntry('rows', `a statement of ${rows} rows runs`, async (page, isMany) => {
    await runToEnd(page, 'select 1')
    return () => runToEnd(page, manyRows(isMany ? rows : few))
  }),
  tasksEntry('chart', `charts of all kinds are drawn of ${rows} rows`, async (page, isMany) => {
    await runToEnd(page, manyRows(isMany ? rows : few))
    return () => drawCharts(page)
  }),
  tasksEntry(
    'changes',
    `a statement runs again and its changes are shown, of ${compared} rows, the most that are compared`,
    async (page, isMany) => {
      const text = manyRows(isMany ? compared : few * 50)
      await runToEnd(page, text)
      return async () => {
        await runToEnd(page, text)
        await showChanges(page)
      }
    },
  ),
  tasksEntry(
    'cells',
    `cells of ${rows} rows are shown, among them a text, JSON and a shape of megabytes`,
    async (page, isMany) => {
      const count = isMany ? rows : few
      await runToEnd(page, rowsWithLargeValues(count))
      return () => readCells(page, count)
    },
  ),
  tasksEntry(
    'tabs',
    `one switches between two results of ${rows} rows, and between their views`,
    async (page, isMany) => {
      const text = manyRows(isMany ? rows : few)
      await runToEnd(page, `${text};\n${text}`, 'Control+Shift+Enter')
      return () => switchTabs(page)
    },
  ),
  tasksEntry(
    'dashboard',
    `a dashboard over ${rows} rows is opened and read again`,
    async (page, isMany, { url }) => {
      await page.goto(`${url}/console/dashboards`)
      await page.getByRole('link', { name: 'many', exact: true }).waitFor()
      return () => openDashboard(page, isMany ? 'many' : 'few')
    },
    makeDashboards,
  ),
]

const describe = ({ ms, cpuMs, part }: LongestTask) =>
  `at most ${figure(cpuMs)} ms, most of it ${part}; with what else the machine did ${figure(ms)} ms`

/** Brings the page to where the act begins. */
type Prepare = (page: Page, isMany: boolean, opened: Console) => Promise<() => Promise<unknown>>

function tasksEntry(
  name: string,
  what: string,
  prepareAct: Prepare,
  setUp?: (opened: Console) => Promise<void>,
): Entry {
  return {
    name: `console-tasks-${name}`,
    title: `CPU time of the longest task of the page while ${what}`,
    baseline: `the same of ${few} rows`,
    unit: 'ms',
    aim: 'under 50 ms',
    pairs: 3,
    prepare: inFrame(async (frame) => {
      const opened = await openConsole(frame, 'reader')
      await setUp?.(opened)
      let longest: LongestTask | undefined
      const time = async (isMany: boolean) => {
        const page = await signIn(opened)
        page.setDefaultTimeout(patienceMs)
        const act = await prepareAct(page, isMany, opened)
        const found = await longestTask(opened.browser, act)
        if (isMany && found.cpuMs > (longest?.cpuMs ?? 0)) longest = found
        await page.context().close()
        return found.cpuMs
      }
      return {
        baseline: () => time(false),
        ours: () => time(true),
        notes: () => (longest ? describe(longest) : ''),
      }
    }),
  }
}

const parts = [
  { id: 'rows', query: 'rows', as: 'table', x: 0, y: 0, w: 6, h: 5 },
  { id: 'count', query: 'count', as: 'number', x: 6, y: 0, w: 6, h: 2 },
  { id: 'bars', query: 'rows', as: 'chart', chart: { kind: 'bar', x: 'name', y: ['wave'] } },
  {
    id: 'cloud',
    query: 'rows',
    as: 'chart',
    chart: { kind: 'scatter', x: 'i', y: ['wave'], aggregate: 'none' },
  },
] as const

async function makeDashboards({ url: baseUrl, username, token }: Console): Promise<void> {
  const client = createClient({ baseUrl, username, token })
  for (const [name, count] of [
    ['few', few],
    ['many', rows],
  ] as const) {
    await client.jobs.run([`create table ${name} as ${manyRows(count)}`, `analyze ${name}`])
    await client.queries.save(`${name}-rows`, { sql: `select * from ${name}` })
    await client.queries.save(`${name}-count`, { sql: `select count(*) from ${name}` })
    await client.dashboards.save(name, {
      title: name,
      parts: parts.map((part, at) => ({
        ...{ x: 6 * (at % 2), y: 5 * Math.floor(at / 2), w: 6, h: 5 },
        ...part,
        query: `${name}-${part.query}`,
      })),
    })
  }
  client.close()
}

async function openDashboard(page: Page, name: string): Promise<void> {
  const isRead = async () => {
    await page.locator('.part-table').waitFor()
    await page.locator('.part-number').waitFor()
    await page.locator('.chart-canvas').nth(1).waitFor()
    await page.locator('.part[aria-busy="true"]').first().waitFor({ state: 'detached' })
  }
  await page.getByRole('link', { name, exact: true }).click()
  await isRead()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await isRead()
}
