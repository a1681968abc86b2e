import { type Bindings, type DestinationStream, type LogFn, type Logger, pino } from 'pino'

export type Log = Logger

/** Creates the logger. Anything that could carry a credential is redacted here. */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretPaths, censor: '[redacted]' },
      serializers: { err: describeError },
      hooks: { logMethod: titleErrors },
    },
    ...(destination ? [destination] : []),
  )
}

/**
 * Describes an error for the log. Omits attached objects: an error of `pg` may carry a whole connection, keys included.
 * Omits foreign texts: PostgreSQL's messages repeat the caller's SQL, Fastify's repeat the URL.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { name, message, code, stack, cause, extras } = error as ErrorToLog
  if (code?.startsWith('FST_')) return { type: name, code }
  if (code === 'database') return { type: name, code, sqlstate: extras?.sqlstate }
  return { type: name, message, code, stack, ...(cause ? { cause: describeError(cause) } : {}) }
}

/** Without a title, pino would use the error's message, which may be a foreign text. */
function titleErrors(this: Logger, args: unknown[], method: (...args: unknown[]) => void): void {
  const [first] = args
  const error = first instanceof Error ? first : (first as { err?: unknown } | null | undefined)?.err
  if (args.length === 1 && error instanceof Error) {
    method.call(this, { err: error }, (error as ErrorToLog).code ?? error.name)
  } else method.apply(this, args)
}

/** A log that creates its children on first use. Every request has one, and most log nothing. */
export class LazyLog {
  readonly level: string
  readonly #make: () => Log
  #made: Log | undefined

  constructor(level: string, make: () => Log) {
    this.level = level
    this.#make = make
  }

  get fatal(): LogFn {
    return this.#method('fatal')
  }

  get error(): LogFn {
    return this.#method('error')
  }

  get warn(): LogFn {
    return this.#method('warn')
  }

  get info(): LogFn {
    return this.#method('info')
  }

  get debug(): LogFn {
    return this.#method('debug')
  }

  get trace(): LogFn {
    return this.#method('trace')
  }

  get silent(): LogFn {
    return this.#method('silent')
  }

  child(bindings: Bindings): LazyLog {
    return new LazyLog(this.level, () => this.#log.child(bindings))
  }

  get #log(): Log {
    this.#made ??= this.#make()
    return this.#made
  }

  #method(level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'): LogFn {
    return this.#log[level].bind(this.#log)
  }
}

type ErrorToLog = NodeJS.ErrnoException & { extras?: { sqlstate?: string } }

const secretPaths = ['authorization', 'api_key', 'token', 'password', 'secret'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
])
