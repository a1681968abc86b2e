import type { Upload } from '../../copy/upload.ts'
import { type AppError, errors } from '../../errors.ts'

/**
 * Reads the first `bytes` bytes of a body; the rest stays in it. Waits for the client no longer than a copy does, and
 * in total no longer than for any other small body.
 */
export function readStart({ body, begin, wait }: Upload, bytes: number, limitMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => fail(errors.clientTooSlow()), limitMs)
    const stop = () => {
      clearTimeout(limit)
      wait.end()
      body.off('readable', look).off('end', cut).off('error', cut).off('close', cut)
    }
    const fail = (reason: AppError) => {
      stop()
      reject(reason)
    }
    const cut = () => fail(errors.bodyIncomplete())
    const look = () => {
      // Fewer bytes only at the end of the body.
      const start: Buffer | null = body.read(bytes)
      if (!start) return
      if (start.length < bytes) return cut()
      stop()
      resolve(start)
    }
    begin()
    wait.begin((idleMs) => fail(errors.clientIdle(idleMs)))
    body.on('readable', look).on('end', cut).on('error', cut).on('close', cut)
    // The client may have left before this was called.
    if (body.destroyed) cut()
  })
}
