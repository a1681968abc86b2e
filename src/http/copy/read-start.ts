import type { Upload } from '../../copy/upload.ts'
import { type AppError, errors } from '../../errors.ts'

/**
 * Takes so many bytes from the beginning of a body; the rest stays in it. Waits for the client no longer than a copy does,
 * and for all of them no longer than for any other body that is read whole.
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
      // Fewer only at the end of the body.
      const start: Buffer | null = body.read(bytes)
      if (!start) return
      if (start.length < bytes) return cut()
      stop()
      resolve(start)
    }
    begin()
    wait.begin((idleMs) => fail(errors.clientIdle(idleMs)))
    body.on('readable', look).on('end', cut).on('error', cut).on('close', cut)
    // It may have left before this was called.
    if (body.destroyed) cut()
  })
}
