import { plural } from '../../src/contract/text/format.ts'
import { serviceNow } from './browser/clock.ts'

export * from '../../src/contract/text/format.ts'

/** In the time zone of this computer: `2026-01-31 10:00:00`. */
export function formatTime(time: string | number | Date): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return String(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** `3 min ago`, by the clock of the service. */
export function formatAge(time: string | number | Date): string {
  const seconds = Math.max(0, (serviceNow() - new Date(time).getTime()) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${plural(Math.floor(seconds / 86_400), 'day')} ago`
}
