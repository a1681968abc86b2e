import type { Readable } from 'node:stream'
import type { Encoding } from './decoder.ts'

/** What a client sends to be stored. */
export type Upload = Readonly<{
  /** As it comes over the wire. */
  body: Readable
  encoding: Encoding | null
  /** Lets the client begin: it may be waiting for a sign. */
  begin: () => void
  /** Has the body arrived to its very end, as its framing says. */
  isComplete: () => boolean
  wait: ClientWait
  /** Fires when the client leaves. */
  gone: AbortSignal
}>

/** Times what we wait for the client, and only that. */
export type ClientWait = Readonly<{
  /** `onTooLong` is called if the client does nothing for too long. */
  begin: (onTooLong: (idleMs: number) => void) => void
  end: () => void
}>
