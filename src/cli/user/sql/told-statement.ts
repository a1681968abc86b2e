import { CartageError } from '../../../client/cartage-error.ts'
import type { Client } from '../../../client/client.ts'
import { InterruptedError } from '../../command-error.ts'

/** Runs a statement of a person, and then tells the history of the key what came of it. Nobody waits for that. */
export class ToldStatements {
  #telling: Promise<unknown> = Promise.resolve()

  async run(client: Client, text: string, work: () => Promise<void>): Promise<void> {
    const startedAt = performance.now()
    const tell = (error?: unknown) => {
      const ms = Math.round(performance.now() - startedAt)
      const code = error instanceof CartageError ? (error.sqlstate ?? error.code) : undefined
      const isStopped = error instanceof InterruptedError
      const outcome = isStopped ? 'stopped' : error === undefined ? 'done' : 'failed'
      // The service may be an older one.
      const told = client.history.add({ text, outcome, ms, ...(code && { code }) }).catch(() => undefined)
      this.#telling = Promise.all([this.#telling, told])
    }
    try {
      await work()
    } catch (error) {
      tell(error)
      throw error
    }
    tell()
  }

  /** Before the connections are closed. */
  async end(mostMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, mostMs)
    })
    await Promise.race([this.#telling, over])
    clearTimeout(timer)
  }
}
