import type { Writable } from 'node:stream'
import type { ClientWait } from '../statements/client-wait.ts'

/** Where a long answer is written, and the clock that cuts a client that stops reading it. */
export type AnswerTarget = Readonly<{ sink: Writable; wait: ClientWait }>
