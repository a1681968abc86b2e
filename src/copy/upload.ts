import type { Readable } from 'node:stream'
import type { ContentEncoding } from '../contract/formats.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { ClientWait } from '../statements/time-limits.ts'

/** A body that a client sends to be stored. */
export type Upload = Readonly<{
  /** The body as it was sent. */
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
