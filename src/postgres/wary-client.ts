import pg from 'pg'
import { errors } from '../errors.ts'

/**
 * A client that proves to know its password (SCRAM) and shows it to nobody. `pg` would send it in clear, or as an MD5 hash
 * that is as good, to whoever listens on the port and asks for it.
 */
export class WaryClient extends pg.Client {
  /** What `pg` calls when the server asks. */
  _handleAuthCleartextPassword(): void {
    this.#refuse('in clear')
  }

  _handleAuthMD5Password(): void {
    this.#refuse('as an MD5 hash')
  }

  #refuse(way: string): void {
    const { stream } = (this as unknown as { connection: { stream: { destroy(error: Error): void } } })
      .connection
    stream.destroy(errors.passwordNotShown(way))
  }
}
