import type { Readable } from 'node:stream'
import type { ContentEncoding } from '../contract/formats.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'

/** A body that a client sends to be stored. */
export type Upload = Readonly<{
  /** As it comes over the wire. */
  body: Readable
  encoding: ContentEncoding | null
  /** Asks for the body: a client that sent `Expect: 100-continue` waits for that. */
  begin: () => void
  /** True if the whole body has arrived, by its length or its last chunk. */
  isComplete: () => boolean
  wait: ClientWait
  /** Fires when the client leaves. */
  gone: AbortLike
}>

/** Measures how long we wait for the client, not how long the client waits for us. */
export type ClientWait = Readonly<{
  /** `onTooLong` is called if the client does nothing for too long. */
  begin: (onTooLong: (idleMs: number) => void) => void
  end: () => void
}>
