import { formatBytes, formatDuration } from '../../contract/text/format.ts'
import { clearProgressLine, drawProgressLine, type Terminal } from '../terminal.ts'

/** Shows a line on stderr and updates it, after half a second and only on a terminal. Returns how to remove it. */
export function showProgress(terminal: Terminal, line: () => string): () => void {
  if (!terminal.showsProgress || !terminal.err.isTerminal) return () => undefined
  const startedAt = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - startedAt < 500) return
    drawProgressLine(line().slice(0, terminal.err.columns - 1))
  }, 100)
  return () => {
    clearInterval(timer)
    clearProgressLine()
  }
}

/** `█████░░░  65 %  62 of 96 MB  41 MB/s  1 s left`; without a total `62 MB  41 MB/s  1.5 s`. */
export function transferLine(bytes: number, total: number | undefined, startedAt: number): string {
  const seconds = Math.max(0.001, (performance.now() - startedAt) / 1000)
  const rate = bytes / seconds
  if (!total) return `${formatBytes(bytes)}  ${formatBytes(rate)}/s  ${formatDuration(seconds * 1000)}`
  const part = Math.min(1, bytes / total)
  const bar = '█'.repeat(Math.round(part * 20)).padEnd(20, '░')
  const left = rate > 0 ? Math.ceil((total - bytes) / rate) : 0
  return `${bar}  ${Math.floor(part * 100)} %  ${ofTotal(bytes, total)}  ${formatBytes(rate)}/s  ${wholeSeconds(left)} left`
}

/** `62 of 96 MB`, or with two units `900 KB of 96 MB`. */
function ofTotal(bytes: number, total: number): string {
  const [sent, all] = [formatBytes(bytes), formatBytes(total)]
  const [number, unit] = sent.split(' ')
  return all.endsWith(` ${unit}`) ? `${number} of ${all}` : `${sent} of ${all}`
}

const wholeSeconds = (seconds: number) => (seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000))
