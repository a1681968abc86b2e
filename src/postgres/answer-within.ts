import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../errors.ts'

/**
 * Returns the database's answer, or throws 503 if it is late. If this process itself was paused, data that arrived
 * meanwhile is read first. After a timeout the caller must drop the connection: it is still busy.
 */
export async function answerWithin<T>(ms: number, answer: Promise<T>): Promise<T> {
  const answered = new AbortController()
  const late = sleep(ms, undefined, { signal: answered.signal })
    .then(() => setImmediate(undefined, { signal: answered.signal }))
    .then(() => {
      throw errors.databaseUnavailable(new Error(`no answer within ${ms} ms`))
    })
  late.catch(() => undefined)
  try {
    return await Promise.race([answer, late])
  } finally {
    answered.abort()
  }
}
