import { MessageChannel } from 'node:worker_threads'

/** For the end of a write, with or without an error. */
export type WriteEnd = (error?: Error | null) => void

/** Frees a chunk when it has been written, if it has its memory for itself. */
export function freeWhole(chunk: Buffer): WriteEnd {
  return freeIf(chunk.length === chunk.buffer.byteLength, chunk)
}

/** The same for what zlib makes. It fills one buffer after the other: whoever has the end of one is its last reader. */
export function freeFilled(chunk: Buffer): WriteEnd {
  return freeIf(chunk.byteOffset + chunk.length === chunk.buffer.byteLength, chunk)
}

function freeIf(isLast: boolean, chunk: Buffer): WriteEnd {
  // After an error it is not known who still reads it. The garbage collection finds out.
  return (error) => {
    if (isLast && !error) freeMemory(chunk)
  }
}

/**
 * Frees the memory of a buffer at once. V8 counts all that lies in wait for the garbage collection: it would collect the
 * whole heap for every 20 MB of a copy, which takes more time than the copy itself.
 */
function freeMemory({ buffer }: Buffer): void {
  // A message that nobody receives ends with what was transferred to it.
  nobody.postMessage(null, [buffer as ArrayBuffer])
}

const { port1: nobody, port2: receiver } = new MessageChannel()
receiver.close()
nobody.unref()
