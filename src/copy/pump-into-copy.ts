import type { StatementRun } from '../statements/statement-run.ts'
import type { QuotaShare } from './quota-ledger.ts'
import type { Upload } from './upload.ts'
import { UploadPump } from './upload-pump.ts'

type PumpInput = Readonly<{ run: StatementRun; upload: Upload; maxBytes: number; share: QuotaShare }>

/** Connects a whole upload with one COPY: the pump, and what the COPY calls. `end`: all has been sent. */
export function pumpIntoCopy({ run, upload, maxBytes, share }: PumpInput, end: () => void) {
  const pump = new UploadPump(upload, maxBytes, {
    write: (chunk, sent) => {
      share.spend(chunk.length)
      return run.wire.sendCopyData(chunk, sent)
    },
    end,
    fail: (reason) => run.stop(reason),
  })
  const handler = {
    feedCopy: () => pump.start(),
    copyDrained: () => pump.resume(),
    stopped: () => {
      pump.stop()
      run.wire.failCopy('the upload was stopped')
    },
  }
  return { pump, handler }
}
