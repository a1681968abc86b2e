/** Only files and disks give these. A write to a full disk has no path in its error. */
const diskCodes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EISDIR', 'EROFS', 'EMFILE', 'ENFILE']

/** Whether a file that the person named is missing, cannot be read or written, or its disk is full. */
export function isFileError(error: unknown): error is Error {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  if (!(error instanceof Error) || typeof code !== 'string') return false
  return diskCodes.includes(code) || (path !== undefined && /^E[A-Z]+$/.test(code))
}

/** `ENOENT: no such file or directory, open 'x'` becomes `x: no such file or directory`. */
export function explainFileError(error: Error): string {
  const { message, path } = error as NodeJS.ErrnoException
  const [, reason] = /^E[A-Z]+: (.+?), \w+/.exec(message) ?? []
  if (!reason) return message
  return path ? `${path}: ${reason}` : reason
}

/** Puts the name of the file into a file error that has none, or that has the name of its draft. */
export function withFileName(error: unknown, file: string): unknown {
  if (!isFileError(error)) return error
  const { path = file } = error as NodeJS.ErrnoException
  return path.startsWith(file) ? Object.assign(error, { path: file }) : error
}
