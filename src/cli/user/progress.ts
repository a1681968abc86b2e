import { formatBytes, formatDuration } from '../../client/format.ts'
import { printable } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

/** Keeps a line on a terminal's stderr up to date, from half a second on; in a log there is none. Answers how to end it. */
export function showProgress(terminal: Terminal, line: () => string): () => void {
  const { isTerminal, stream } = terminal.err
  if (!terminal.showsProgress || !isTerminal) return () => undefined
  const startedAt = performance.now()
  let isShown = false
  const timer = setInterval(() => {
    if (performance.now() - startedAt < 500) return
    isShown = true
    stream.write(`\r\x1b[K${printable(line()).slice(0, terminal.err.columns - 1)}`)
  }, 100)
  return () => {
    clearInterval(timer)
    if (isShown) stream.write('\r\x1b[K')
    isShown = false
  }
}

/** `█████░░░  65 %  62 of 96 MB  41 MB/s  1 s left`; without a total what is known. */
export function transferLine(bytes: number, total: number | undefined, startedAt: number): string {
  const seconds = Math.max(0.001, (performance.now() - startedAt) / 1000)
  const rate = bytes / seconds
  if (!total) return `${formatBytes(bytes)}  ${formatBytes(rate)}/s  ${formatDuration(seconds * 1000)}`
  const part = Math.min(1, bytes / total)
  const bar = '█'.repeat(Math.round(part * 20)).padEnd(20, '░')
  const left = rate > 0 ? Math.ceil((total - bytes) / rate) : 0
  return `${bar}  ${Math.floor(part * 100)} %  ${ofTotal(bytes, total)}  ${formatBytes(rate)}/s  ${wholeSeconds(left)} left`
}

/** `62 of 96 MB`: the unit once, if it is the same. */
function ofTotal(bytes: number, total: number): string {
  const [sent, all] = [formatBytes(bytes), formatBytes(total)]
  const [number, unit] = sent.split(' ')
  return all.endsWith(` ${unit}`) ? `${number} of ${all}` : `${sent} of ${all}`
}

const wholeSeconds = (seconds: number) => (seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000))
