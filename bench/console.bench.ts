import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Console, openConsole, signIn } from './console/console-page.ts'
import { heapMb, timeRun, timeScrolling } from './console/run-time.ts'
import { openTableOfPoints, timeJump, timeMapOpened } from './console/table-map.ts'
import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { figure, medianOf, percentile, seconds } from './frame/measure.ts'
import { largeCity, tileAt } from './tiles/points.ts'

// For a trial: CARTAGE_BENCH_ROWS=50000 npm run bench -- console
const rows = Number(process.env.CARTAGE_BENCH_ROWS ?? 1_000_000)
const points = Number(process.env.CARTAGE_BENCH_ROWS ?? 10_000_000)

/**
 * Each time with another first number, which distinguishes the new result from the old one. PostgreSQL sends the first
 * row at once: with generate_series in FROM it would make all numbers before.
 */
const manyRows = (first: number) =>
  `select i, i * 2 as twice, 'name ' || i as name, i / 7.0 as seventh, i % 2 = 0 as is_even
   from (select generate_series(${first}, ${first + rows - 1}) as i) as numbers`

export const entries: readonly Entry[] = [
  {
    name: 'console-open',
    title: 'From the address of the console to the first letter in the editor, nothing cached',
    baseline: 'the page to sign in, nothing cached',
    unit: 's',
    aim: 'under 1 s',
    pairs: 9,
    prepare: inFrame(async (frame) => {
      const opened = await openConsole(frame, 'reader')
      const storage = await sessionOf(opened)
      return { baseline: () => timeSignInPage(opened), ours: () => timeFirstLetter(opened, storage) }
    }),
  },
  {
    name: 'console-select',
    title: 'From the key that runs `select 1` to its row',
    baseline: 'curl of the same',
    unit: 'ms',
    aim: 'under 60 ms',
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const opened = await openConsole(frame, 'reader')
      const page = await signIn(opened)
      let round = 0
      return {
        baseline: () => medianOf(15, async () => (await curl(opened, 'select 1')).totalMs),
        ours: () =>
          medianOf(15, async () => {
            round += 1
            return (await timeRun(page, `select ${round} as n`, String(round), 1)).firstRowMs
          }),
      }
    }),
  },
  manyRowsEntry('console-first-row', 'to the first of them', 'ms', 'under 150 ms'),
  manyRowsEntry('console-rows', 'to the last of them', 's', '2.5 or less'),
  {
    name: 'console-scroll',
    title: `The 95th percentile of the frames while one scrolls through ${rows} rows`,
    baseline: 'while nothing moves',
    unit: 'ms',
    aim: 'under 33 ms',
    pairs: 9,
    prepare: inFrame(async (frame) => {
      const page = await signIn(await openConsole(frame, 'reader'))
      await timeRun(page, manyRows(1), '1', rows)
      const scroll = async (isMoving: boolean) => percentile(await timeScrolling(page, isMoving), 95)
      return { baseline: () => scroll(false), ours: () => scroll(true) }
    }),
  },
  {
    name: 'console-heap',
    title: `What the main thread holds while ${rows} rows are shown`,
    baseline: 'before them',
    unit: 'MB',
    aim: 'under 30 MB',
    pairs: 3,
    prepare: inFrame(async (frame) => {
      const page = await signIn(await openConsole(frame, 'reader'))
      const held = async (text: string, count: number) => {
        await timeRun(page, text, '1', count)
        return heapMb(page)
      }
      return { baseline: () => held('select 1 as n', 1), ours: () => held(manyRows(1), rows) }
    }),
  },
  {
    name: 'console-map-far',
    title: `From the click on Map to the first dots of a table of ${points} points all over the world`,
    baseline: 'the SQL of the whole world as one tile by psql',
    unit: 's',
    aim: 'under 5 s',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const { page, psql } = await openTableOfPoints(frame, points)
      return { baseline: () => psql({ z: 0, x: 0, y: 0 }, points), ours: () => timeMapOpened(page) }
    }),
  },
  {
    name: 'console-map-near',
    title: `From a jump to zoom 10 to the first tile there, of a table of ${points} points`,
    baseline: 'the SQL of a tile by psql',
    unit: 'ms',
    aim: 'under 300 ms',
    pairs: 9,
    prepare: inFrame(async (frame) => {
      const { page, psql } = await openTableOfPoints(frame, points)
      await timeMapOpened(page)
      let round = 0
      return {
        baseline: async () => 1000 * (await psql(tileAt(largeCity(round % 10), 10), 0)),
        ours: () => timeJump(page, largeCity(round++ % 10), 10),
      }
    }),
  },
]

function manyRowsEntry(name: string, what: string, unit: 's' | 'ms', aim: string): Entry {
  const isFirst = unit === 'ms'
  return {
    name,
    title: `From the key that runs a statement of ${rows} rows and 5 columns ${what}`,
    baseline: 'curl of the same',
    unit,
    aim,
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const opened = await openConsole(frame, 'reader')
      const page = await signIn(opened)
      let first = 0
      let longestTaskMs = 0
      return {
        baseline: () =>
          medianOf(3, async () => {
            const { firstMs, totalMs } = await curl(opened, manyRows(1))
            return isFirst ? firstMs : totalMs / 1000
          }),
        ours: () =>
          medianOf(3, async () => {
            first += 1
            const taken = await timeRun(page, manyRows(first), String(first), rows)
            longestTaskMs = Math.max(longestTaskMs, taken.longestTaskMs)
            return isFirst ? taken.firstRowMs : taken.allMs / 1000
          }),
        notes: () =>
          longestTaskMs < 50 ? 'no task of 50 ms' : `the longest task ${figure(longestTaskMs)} ms, aim 50 ms`,
      }
    }),
  }
}

async function curl({ url, username, token }: Console, text: string) {
  const { stdout } = await promisify(execFile)('curl', [
    ...['-sS', '--fail-with-body', '-o', '/dev/null', '-w', '%{time_starttransfer} %{time_total}'],
    ...['-u', `${username}:${token}`, '--data-urlencode', `q=${text}`],
    `${url}/user/${username}/api/v2/sql`,
  ])
  const [firstMs, totalMs] = stdout.split(' ').map((taken) => Number(taken) * 1000)
  return { firstMs: firstMs!, totalMs: totalMs! }
}

/** The session that a signed-in tab stores. */
async function sessionOf(opened: Console): Promise<string> {
  const page = await signIn(opened)
  const kept = await page.evaluate(`JSON.stringify({ ...sessionStorage })`)
  await page.context().close()
  return String(kept)
}

async function timeSignInPage({ browser, url }: Console): Promise<number> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const taken = await seconds(async () => {
    await page.goto(`${url}/console/`)
    await page.getByLabel('API key').fill('x')
  })
  await context.close()
  return taken
}

async function timeFirstLetter({ browser, url }: Console, storage: string): Promise<number> {
  const context = await browser.newContext()
  await context.addInitScript(`Object.assign(sessionStorage, ${storage})`)
  const page = await context.newPage()
  const taken = await seconds(async () => {
    await page.goto(`${url}/console/sql`)
    await page.locator('.cm-content').focus()
    await page.keyboard.insertText('x')
    await page.locator('.cm-line', { hasText: 'x' }).first().waitFor()
  })
  await context.close()
  return taken
}
