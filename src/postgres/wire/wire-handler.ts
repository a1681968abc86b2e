import type { WireError } from './wire-error.ts'

/**
 * Receives the answers to a statement, message by message. A payload is a range of a buffer that is valid only during
 * the call: copy what you keep.
 */
export type WireHandler = {
  /** A longer row is neither collected nor delivered. By default 64 KB, for statements whose rows are ignored. */
  longestRow?: number
  /** The server has parsed a statement, and has it under its name. */
  parsed?(): void
  rowDescription?(buffer: Buffer, start: number, end: number): void
  /** A row was longer than `longestRow`. */
  rowTooLong?(): void
  dataRow?(buffer: Buffer, start: number, end: number): void
  copyOut?(): void
  /** The text contains COPY ... FROM STDIN, which was refused with CopyFail. */
  copyIn?(): void
  /**
   * The server waits for the data of COPY ... FROM STDIN: send it with `sendCopyData`. Without this handler it is
   * refused.
   */
  feedCopy?(): void
  /** More COPY data can be sent. */
  copyDrained?(): void
  /**
   * The data of COPY ... TO STDOUT in one read. These bytes stay valid until `giveBack` is called. Data that arrives
   * together with an error is dropped.
   */
  copyData?(data: Buffer, giveBack: () => void): void
  commandComplete?(tag: string): void
  notice?(notice: WireError): void
  /** One of the messages has been answered in full. */
  answered?(outcome: WireOutcome): void
  /** A reported setting has changed, such as client_encoding. */
  parameterStatus?(name: string, value: string): void
  /** All messages of one read have been delivered: a good moment to send bytes on. */
  flush?(): void
}

/** The outcome of a message: the error, if any, and the transaction status. */
export type WireOutcome = Readonly<{ error: WireError | null; transactionStatus: 'I' | 'T' | 'E' }>
