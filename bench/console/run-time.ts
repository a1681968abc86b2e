import type { Page } from 'playwright-core'
import { write } from './console-page.ts'

/** Milliseconds from the key press that runs a statement. */
export type RunTime = Readonly<{
  firstRowMs: number
  allMs: number
  /** The longest task of the main thread meanwhile; the browser reports only those of 50 ms and more. */
  longestTaskMs: number
}>

/**
 * Runs a statement in the editor and watches the page frame by frame. The first cell distinguishes this result from the
 * one before.
 */
export async function timeRun(page: Page, text: string, firstCell: string, rows: number): Promise<RunTime> {
  await write(page, text)
  // Not awaited here: it must watch before the key is pressed.
  await page.evaluate(`void (globalThis.watched = ${watcher(firstCell, rows)})`)
  await page.keyboard.press('Control+Enter')
  return page.evaluate('watched')
}

/** A string, because code that runs in the page must not be compiled here. */
const watcher = (firstCell: string, rows: number) => `new Promise((resolve, reject) => {
  const start = performance.now()
  const [firstCell, summary] = ${JSON.stringify([firstCell, `${rows.toLocaleString('en-US')} row`])}
  let begin, firstRowMs, longestTaskMs = 0
  const tasks = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration)
  })
  tasks.observe({ type: 'longtask' })
  const isRun = (event) => {
    if (event.key !== 'Enter') return
    begin = event.timeStamp
    removeEventListener('keydown', isRun, true)
  }
  addEventListener('keydown', isRun, true)
  const look = () => {
    const cell = document.querySelector('.grid-body [role="gridcell"]')?.textContent
    if (begin !== undefined && cell === firstCell) firstRowMs ??= performance.now() - begin
    const told = document.querySelector('[data-testid="summary"]')?.textContent ?? ''
    const isWhole = firstRowMs !== undefined && told.startsWith(summary)
    if (!isWhole && performance.now() - (begin ?? start) > ${patienceMs})
      return reject(new Error('waited for ' + firstCell + ', ' + summary + '; saw ' + cell + ', ' + told))
    if (!isWhole) return requestAnimationFrame(look)
    tasks.disconnect()
    resolve({ firstRowMs, allMs: performance.now() - begin, longestTaskMs })
  }
  look()
})`

const patienceMs = 60_000

/** Scrolls through all rows, one step per frame; returns how long the frames took. */
export function timeScrolling(page: Page, isMoving: boolean): Promise<readonly number[]> {
  return page.evaluate(`new Promise((resolve) => {
    const grid = document.querySelector('.grid-scroll')
    const times = []
    let former = performance.now()
    const step = (now) => {
      times.push(now - former)
      former = now
      if (${isMoving}) grid.scrollTop = (grid.scrollHeight * times.length) / ${frames}
      if (times.length < ${frames}) requestAnimationFrame(step)
      else resolve(times.slice(1))
    }
    requestAnimationFrame(step)
  })`)
}

const frames = 120

/** The heap of the page's main thread in MB, after a garbage collection. */
export async function heapMb(page: Page): Promise<number> {
  const debug = await page.context().newCDPSession(page)
  await debug.send('HeapProfiler.collectGarbage')
  const { usedSize } = await debug.send('Runtime.getHeapUsage')
  await debug.detach()
  return usedSize / 1e6
}
