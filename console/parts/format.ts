/** Numbers, sizes and times as people read them. One language, so that a screenshot means the same to everybody. */

const grouped = new Intl.NumberFormat('en-US')

export const formatCount = (count: number) => grouped.format(count)

export const plural = (count: number, word: string, words = `${word}s`) =>
  `${formatCount(count)} ${count === 1 ? word : words}`

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let size = bytes
  let unit = -1
  do {
    size /= 1000
    unit++
  } while (size >= 999.5 && unit < units.length - 1)
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`
}

const units = ['KB', 'MB', 'GB', 'TB', 'PB']

export function formatDuration(ms: number): string {
  if (ms < 1) return '< 1 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return minutes < 60 ? `${minutes} min ${rest} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** In the time of this computer: `2026-01-31 10:00:00`. */
export function formatTime(time: string | number | Date): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return String(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** `3 min ago`; a clock that is wrong gives no negative times. */
export function formatAge(time: string | number | Date): string {
  const seconds = Math.max(0, (Date.now() - new Date(time).getTime()) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${plural(Math.floor(seconds / 86_400), 'day')} ago`
}

/** A text for one line, cut where it is too long, with a sign that it was. */
export const shorten = (text: string, length = 80) => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
