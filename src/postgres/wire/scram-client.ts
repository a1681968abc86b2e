import pg from 'pg'
import { errors } from '../../errors.ts'

/**
 * A client that logs in by SCRAM only. `pg` would send the password in clear, or as an MD5 hash that is as good, to any
 * server that asks for it.
 */
export class ScramClient extends pg.Client {
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
