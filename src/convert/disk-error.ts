import { ConversionError } from './convert-rows.ts'

/** The error of a disk that is full or broken as the reason why a file is not written. Others stay as they are. */
export function explainDiskError(error: unknown): unknown {
  const reason = reasons.get((error as NodeJS.ErrnoException).code)
  return reason === undefined ? error : new ConversionError(reason)
}

const full = 'the disk of the server is full'
const reasons: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOSPC', full],
  ['EDQUOT', full],
  ['EIO', 'the disk of the server has failed'],
])
