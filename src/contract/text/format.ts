/** Numbers, sizes and times as people read them. One language, so that a screenshot means the same to everybody. */

export const formatCount = (count: number) => count.toLocaleString('en-US')

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

/** A text for one line, cut where it is too long, with a sign that it was. */
export const shorten = (text: string, length = 80) => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${beginningOf(line, length - 1)}…`
}

/** At most this many characters of JavaScript, never half of one that has two. */
export const beginningOf = (text: string, most: number) =>
  text.slice(0, /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most)
