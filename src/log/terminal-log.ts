/** A log writes one JSON line at a time to it. */
export type LogDestination = Readonly<{ write: (line: string) => void }>

/**
 * A log for people: time of day, level, message, then the details. Successful requests are left out unless requested,
 * as they hide what a person at a terminal wants to see.
 */
export function terminalLog(terminal: NodeJS.WriteStream, showsRequests: boolean): LogDestination {
  const hasColours = terminal.isTTY && terminal.getColorDepth() > 1
  return {
    write: (line) => {
      const { level, time, msg, err, ...rest } = JSON.parse(line) as LogEntry
      if (msg === 'request' && !showsRequests && !(Number(rest.status) >= 500)) return
      const head = `${time.slice(11, 19)} ${paint(hasColours, levelName(level), colourOf(level))} ${plain(msg ?? '')}`
      const about = Object.entries(rest).map(([name, value]) => ` ${name}=${plain(value)}`)
      terminal.write(`${head}${about.join('')}${err ? describe(err, level) : ''}\n`)
    },
  }
}

type LogEntry = Readonly<{ level: number; time: string; msg?: string; err?: LoggedError }> &
  Record<string, unknown>
type LoggedError = Readonly<{ message?: string; stack?: string; cause?: LoggedError }>

const levelName = (level: number) => (levels[level] ?? String(level)).padEnd(5)
const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

const colourOf = (level: number) => (level >= 50 ? 31 : level >= 40 ? 33 : 2)

function paint(hasColours: boolean, text: string, colour: number): string {
  return hasColours ? `\x1b[${colour}m${text}\x1b[0m` : text
}

/** In full if it may be a bug, else only its message. */
function describe({ message = '', stack, cause }: LoggedError, level: number): string {
  const said = level >= 50 && stack ? stack.split('\n').map(harmless).join('\n    ') : harmless(message)
  return `: ${said}${cause?.message ? ` (${harmless(cause.message)})` : ''}`
}

function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return harmless(text ?? '')
}

/** A tenant's text must not control the operator's terminal. */
function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is about
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/[\x7f-\x9f]/, '?'),
  )
}
