import type { FullJobDocument, JobDocument } from '../../../contract/documents.ts'
import { type JobItem, partsOf } from '../../../contract/job-items.ts'
import { formatDuration } from '../../../contract/text/format.ts'
import { printable } from '../../printable.ts'
import type { Terminal } from '../../terminal.ts'

/** Shows the statements of a job with their times; on a terminal it redraws them until the job ends. */
export class JobView {
  readonly #terminal: Terminal
  /** It has drawn the statements and the progress. */
  readonly isLive: boolean
  /** When an item was first seen running, by our clock: the clock of the service may differ. */
  readonly #seenAt = new Map<number, number>()
  #job: JobDocument | undefined
  #drawnLines = 0
  #timer: NodeJS.Timeout | undefined

  /** The job may be read later: its id is shown at once. */
  constructor(terminal: Terminal, jobId: string, job?: JobDocument) {
    this.#terminal = terminal
    this.isLive = terminal.err.isTerminal && terminal.showsProgress
    this.#job = job
    terminal.say(`job ${jobId}`)
    if (this.isLive) this.#timer = setInterval(() => this.#draw(), 100)
  }

  update(job: JobDocument): void {
    this.#job = job
  }

  /** Shows a message; what was drawn stays above it. */
  say(text: string): void {
    this.#terminal.say(text)
    this.#drawnLines = 0
  }

  /** Draws the final state and stops. */
  end(): void {
    clearInterval(this.#timer)
    if (this.isLive) this.#draw()
  }

  #draw(): void {
    const { stream, columns } = this.#terminal.err
    if (!this.#job) return
    const { items } = partsOf(this.#job)
    const lines = items.map((item, place) => {
      const mark = markOf(item, this.#terminal)
      const text = cutAtWord(
        item.query,
        Math.min(widest, Math.max(10, columns - 18 - String(items.length).length)),
      )
      const line = `${String(place + 1).padStart(String(items.length).length)}  ${text}`
      const width = widest + 2 + String(items.length).length
      return `  ${mark} ${`${line.padEnd(Math.min(width, columns - 15))}${this.#timeOf(item, place).padStart(10)}`.trimEnd()}`
    })
    const progress = progressLine(this.#job, columns)
    if (progress) lines.push(progress)
    // What was drawn below is gone now.
    while (lines.length < this.#drawnLines) lines.push('')
    const up = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : ''
    stream.write(`${up}${lines.map((line) => `\r\x1b[K${line}\n`).join('')}`)
    this.#drawnLines = lines.length
  }

  #timeOf(item: JobItem, place: number): string {
    if (item.started_at && item.ended_at)
      return formatDuration(Date.parse(item.ended_at) - Date.parse(item.started_at))
    if (item.status !== 'running') return ''
    if (!this.#seenAt.has(place)) this.#seenAt.set(place, performance.now())
    return formatDuration(performance.now() - this.#seenAt.get(place)!)
  }
}

/** How far the running statement is, or what it waits for, if PostgreSQL tells. */
export function progressLine(job: FullJobDocument, columns: number): string | undefined {
  const { percent } = job.progress ?? {}
  const bar = percent === undefined ? [] : [`${barOf(percent)} ${percent.toFixed(0)} %`]
  const parts = [...bar, ...toldOf(job)]
  return parts.length === 0 ? undefined : `    ${parts.join('  ')}`.slice(0, columns - 1)
}

/** The same in words. */
export function progressText(job: FullJobDocument): string | undefined {
  const { item, items = 1, percent } = job.progress ?? {}
  const parts = [
    ...(items > 1 ? [`statement ${item} of ${items}`] : []),
    ...(percent === undefined ? [] : [`${percent.toFixed(0)} %`]),
    ...toldOf(job),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function toldOf(job: FullJobDocument): readonly string[] {
  if (job.status === 'pending' && job.position) {
    const { ahead, is_host_busy: isBusy } = job.position
    if (isBusy) return ['waiting for a slot of the database host']
    return ahead > 0 ? [`waiting: ${ahead} ${ahead === 1 ? 'job' : 'jobs'} ahead`] : []
  }
  const { phase, waits_for: waits, eta_ms: etaMs } = job.progress ?? {}
  const holders = waits?.sessions.map(({ pid }) => `, held up by pid ${pid}`) ?? []
  return [
    ...(phase ? [printable(phase)] : []),
    ...(waits ? [`waits for a lock (${waits.lock})${holders.join('')}`] : []),
    ...(etaMs !== undefined && etaMs > 0 ? [`about ${formatDuration(etaMs)} left`] : []),
  ]
}

function barOf(percent: number): string {
  const full = Math.round((percent / 100) * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`
}

const barWidth = 20
const widest = 32
const spinner = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

function markOf({ status }: JobItem, { err }: Terminal): string {
  if (status === 'done') return err.style('green', '✓')
  if (status === 'running') return spinner[Math.floor(performance.now() / 100) % spinner.length]!
  return status === 'pending' || status === 'skipped' ? ' ' : err.style('red', '✗')
}

/** A statement in one line, cut between words. */
export function cutAtWord(statement: string, width: number): string {
  const line = printable(statement.replace(/\s+/g, ' ').trim())
  if (line.length <= width) return line
  const cut = line.slice(0, width - 1)
  const space = cut.lastIndexOf(' ')
  return space > width / 2 ? `${cut.slice(0, space)} …` : `${cut}…`
}

/** The outcome of each statement of a cancelled job: `Statement 1 had been committed, 2 was undone, 3 did not run.` */
export function describeCancelled(job: JobDocument, before: JobDocument): string {
  const { items } = partsOf(job)
  const former = partsOf(before).items
  const outcomes = items.map((item, place) => outcomeOf(item, former[place]?.status === 'running'))
  if (items.length === 1) return `The statement ${outcomes[0]}.`
  const groups: { outcome: string; numbers: number[] }[] = []
  outcomes.forEach((outcome, place) => {
    const last = groups.at(-1)
    if (last?.outcome === outcome) last.numbers.push(place + 1)
    else groups.push({ outcome, numbers: [place + 1] })
  })
  const parts = groups.map(
    ({ outcome, numbers }) =>
      `${numbers.join(' and ')} ${numbers.length > 1 ? outcome.replace(/^was/, 'were') : outcome}`,
  )
  return `Statement ${parts.join(', ')}.`
}

/** The status `skipped` is the same for an item that was running and one that had not started. */
function outcomeOf({ status, started_at }: JobItem, wasRunning: boolean): string {
  if (status === 'done') return 'had been committed'
  if (status === 'unknown') return 'may have been committed'
  return status === 'failed' || started_at || wasRunning ? 'was undone' : 'did not run'
}
