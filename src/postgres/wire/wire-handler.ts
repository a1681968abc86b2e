import type { WireError } from './wire-error.ts'

/**
 * What a statement sends back, message by message. Payloads are handed over as bounds in a buffer that is
 * only valid during the call: copy what must stay.
 */
export type WireHandler = {
  /** A row longer than this is not gathered and not handed over. Without this, all are short: nobody looks at them. */
  longestRow?: number
  rowDescription?(buffer: Buffer, start: number, end: number): void
  /** A row that was longer. */
  rowTooLong?(): void
  dataRow?(buffer: Buffer, start: number, end: number): void
  copyOut?(): void
  /** The text has a COPY ... FROM STDIN, which is refused with CopyFail. */
  copyIn?(): void
  /** The server waits for the data of a COPY ... FROM STDIN: send it with `sendCopyData`. Without this it is refused. */
  feedCopy?(): void
  /** There is room for more COPY data again. */
  copyDrained?(): void
  /**
   * The data of a COPY ... TO STDOUT that one read brought. Unlike all others these bytes stay valid, until `giveBack`
   * is called. Data that arrives together with an error is dropped.
   */
  copyData?(data: Buffer, giveBack: () => void): void
  commandComplete?(tag: string): void
  notice?(notice: WireError): void
  /** One of the messages has been answered in full. */
  answered?(outcome: WireOutcome): void
  /** A setting that the server reports has changed, such as client_encoding. */
  parameterStatus?(name: string, value: string): void
  /** The messages of one read from the socket have been handed over: a good moment to pass bytes on. */
  flush?(): void
}

/** How the server ended it: the error if one was raised, and whether a transaction is left open. */
export type WireOutcome = Readonly<{ error: WireError | null; transactionStatus: 'I' | 'T' | 'E' }>
