import type { Writable } from 'node:stream'
import type { ClientWait } from './upload.ts'

/** Where the data of a COPY ... TO STDOUT goes. */
export type Download = Readonly<{
  /** Called once, when there is something to send or nothing will come; until then an error can be told in words. */
  open: () => Writable
  wait: ClientWait
  /** Fires when the client leaves. */
  gone: AbortSignal
}>
