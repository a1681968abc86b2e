/** The rows of a connection, as PostgreSQL counts them at the end of each command. */
export class RowCounts {
  /** Sent to us. */
  sent = 0
  /** Stored, changed or deleted. */
  stored = 0
  #sendsRows = false

  /** The command sends rows, or the data of a COPY. */
  sends(): void {
    this.#sendsRows = true
  }

  /** A command has ended with this tag, such as `INSERT 0 5`. */
  complete(tag: string): void {
    const count = Number(/^(?:SELECT|FETCH|COPY|INSERT \d+|UPDATE|DELETE|MERGE) (\d+)$/.exec(tag)?.[1] ?? 0)
    // Rows of RETURNING count twice: they are changed and sent. A SELECT that sends none makes a table.
    if (this.#sendsRows) this.sent += count
    if (!this.#sendsRows || /^[IUDM]/.test(tag)) this.stored += count
    this.#sendsRows = false
  }
}
