import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { HeldUpload } from '../../imports/resumable/held-upload.ts'
import { UploadPart } from '../../imports/resumable/upload-part.ts'
import { type Spool, uploadedFile } from '../../imports/spool.ts'
import { sendContinue } from '../copy/expect-continue.ts'
import { Stall } from '../imports/stall.ts'
import { StandingWatch } from '../imports/standing-watch.ts'
import type { SentPart } from './request.ts'

type Receiving = Readonly<{
  principal: Principal
  request: FastifyRequest
  reply: FastifyReply
  held: HeldUpload
  spool: Spool
  idleMs: number
}>

/**
 * Stores the bytes of a request and answers up to where the file is there. After a cut the bytes that came count, unless
 * they have a checksum, which is of all of them.
 */
export async function receivePart(receiving: Receiving, part: SentPart): Promise<number> {
  const { held, spool } = receiving
  const { id, length } = held.record
  if (part.offset + (part.bytes ?? 0) > length) throw errors.importTooLarge(length)
  const path = join(spool.resumableOf(id), uploadedFile)
  const target = await UploadPart.open(path, part.offset, part.checksum)
  if (!part.checksum) held.countWith(() => target.flush())
  try {
    await pour(receiving, target)
    if (!target.isAsAnnounced()) throw errors.uploadChecksumWrong()
    held.count(await target.flush())
    return target.position
  } catch (error) {
    if (!part.checksum) held.count(await target.flush())
    throw error
  } finally {
    held.countWith(undefined)
    await target.close()
  }
}

async function pour(receiving: Receiving, target: UploadPart): Promise<void> {
  const { principal, request, reply, held, idleMs } = receiving
  const { raw } = request
  const standing = new StandingWatch(principal)
  const stall = new Stall(request, reply, idleMs)
  const leave = () => raw.destroy(errors.uploadLocked())
  held.taken.addEventListener('abort', leave, { once: true })
  if (held.taken.aborted) leave()
  try {
    sendContinue(reply.raw)
    for await (const chunk of stall.watch(raw) as AsyncIterable<Buffer>) {
      standing.check()
      const room = held.record.length - target.position
      await stall.paused(() => target.write(chunk.length > room ? chunk.subarray(0, room) : chunk))
      if (chunk.length > room) throw errors.importTooLarge(held.record.length)
    }
    if (!raw.complete) throw errors.bodyIncomplete()
  } catch (error) {
    throw standing.refusal ?? stall.reason ?? (raw.complete ? error : errors.bodyIncomplete())
  } finally {
    stall.end()
    held.taken.removeEventListener('abort', leave)
  }
}
