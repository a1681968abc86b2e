import { MessageChannel } from 'node:worker_threads'

/** Callback at the end of a write, with or without an error. */
export type WriteEnd = (error?: Error | null) => void

/** Frees a chunk when it has been written, if its memory is not shared. */
export function freeWhole(chunk: Buffer): WriteEnd {
  return freeIf(chunk.length === chunk.buffer.byteLength, chunk)
}

/**
 * The same for zlib's output. zlib fills one buffer after the other: only the chunk that reaches the end of a buffer
 * may free it.
 */
export function freeFilled(chunk: Buffer): WriteEnd {
  return freeIf(chunk.byteOffset + chunk.length === chunk.buffer.byteLength, chunk)
}

function freeIf(isLast: boolean, chunk: Buffer): WriteEnd {
  // After an error it may still be in use. Leave it to the garbage collection.
  return (error) => {
    if (isLast && !error) freeMemory(chunk)
  }
}

/**
 * Frees the memory of a buffer at once. V8 counts all memory that waits for garbage collection: it would collect the
 * whole heap for every 20 MB of a copy, which takes longer than the copy itself.
 */
function freeMemory({ buffer }: Buffer): void {
  // A message without a receiver is freed with the buffers transferred to it.
  sender.postMessage(null, [buffer as ArrayBuffer])
}

const { port1: sender, port2: receiver } = new MessageChannel()
receiver.close()
sender.unref()
