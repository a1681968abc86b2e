import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** The logger that is handed down. Nothing secret reaches it: what could carry a credential is cut out here. */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretPaths, censor: '[redacted]' },
      serializers: { err: describeError },
    },
    ...(destination ? [destination] : []),
  )
}

/** What an error says of itself. Not what hangs on it: an error of `pg` may carry a whole connection, keys and all. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { name, message, code, stack, cause } = error as NodeJS.ErrnoException
  return { type: name, message, code, stack, ...(cause ? { cause: describeError(cause) } : {}) }
}

const secretPaths = ['authorization', 'api_key', 'token', 'password', 'secret'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
])

/** A URL fit for a log: its path, and of its query the names only. */
export function withoutSecrets(url: string): string {
  const [path = '', query] = url.split('?', 2)
  if (!query) return path
  const names = query.split('&').map((pair) => pair.split('=', 1)[0])
  return `${path}?${names.join('&')}`
}
