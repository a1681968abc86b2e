import pg from 'pg'
import { errors } from '../../errors.ts'
import { promotedRefused, standbyRefused, standbyStatus } from './standby.ts'

/**
 * A client that logs in only by SCRAM, and only to a primary, or only to a standby. `pg` would send the password in clear, or
 * as an MD5 hash that is as good, to any server that asks for it. The wrong server is refused before the first statement. A
 * standby that is promoted later says so before it ends the answer to a statement: that answer never counts.
 */
export class ScramClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig, wanted: 'primary' | 'standby' = 'primary') {
    super(config)
    this.#connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName !== standbyStatus) return
      if (wanted === 'primary' && parameterValue === 'on') this.#drop(standbyRefused())
      if (wanted === 'standby' && parameterValue === 'off') this.#drop(promotedRefused())
    })
  }

  /** Called by `pg` when the server asks. */
  _handleAuthCleartextPassword(): void {
    this.#drop(errors.passwordNotShown('in clear'))
  }

  _handleAuthMD5Password(): void {
    this.#drop(errors.passwordNotShown('as an MD5 hash'))
  }

  #drop(reason: Error): void {
    // The same read may contain ReadyForQuery, and `pg` would consider the login done.
    this.#connection.removeAllListeners('readyForQuery')
    this.#connection.stream.destroy(reason)
  }

  get #connection(): PgConnection {
    return (this as unknown as { connection: PgConnection }).connection
  }
}

/** Internals of `pg`, which emits every protocol message by name. */
type PgConnection = Readonly<{
  stream: Readonly<{ destroy: (reason: Error) => void }>
  removeAllListeners: (name: 'readyForQuery') => void
  on: (
    name: 'parameterStatus',
    listener: (message: Readonly<{ parameterName: string; parameterValue: string }>) => void,
  ) => void
}>
