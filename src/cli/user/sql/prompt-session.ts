import { hasCode } from '../../../client/cartage-error.ts'
import type { ClientSession } from '../../../client/client.ts'
import type { TransactionState } from '../../../contract/session-frames.ts'
import { FailedError } from '../../command-error.ts'
import { tell } from '../../terminal.ts'
import type { Service } from '../service.ts'

/**
 * The session of the interactive mode. The first statement opens it, and the service ends an idle session. Then the
 * user is told, and a statement that was meant for an open transaction is not run.
 */
export class PromptSession {
  #session: ClientSession | undefined
  #transaction: TransactionState = 'none'

  /** As in the prompt of psql. */
  get sign(): string {
    return signs[this.#transaction]
  }

  /** Runs `work` in the session. */
  async use(service: Service, work: (session: ClientSession) => Promise<void>): Promise<void> {
    this.#forgetLost()
    const session = this.#session ?? (await service.openSession(service.signal))
    this.#session = session
    try {
      await work(session)
    } catch (error) {
      if (hasCode(error, 'session-lost')) this.#forget()
      throw error
    } finally {
      this.#transaction = session.transaction
    }
  }

  close(): void {
    if (this.#transaction !== 'none' && !this.#session?.lost) tell('the open transaction was rolled back')
    this.#session?.close()
  }

  #forgetLost(): void {
    const lost = this.#session?.lost
    if (!lost) return
    const wasOpen = this.#transaction !== 'none'
    this.#forget()
    if (wasOpen)
      throw new FailedError(
        `${lost.message}. Its open transaction was rolled back, and the statement was not run: the next one begins a new session`,
      )
    tell(`${lost.message}. Its settings and temporary tables are gone: a new session begins`)
  }

  #forget(): void {
    this.#session = undefined
    this.#transaction = 'none'
  }
}

const signs = { none: '', open: '*', failed: '!' } as const satisfies Record<TransactionState, string>
