/** What only files and disks say, with or without the name of the file: a write to a full disk knows none. */
const diskCodes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EISDIR', 'EROFS', 'EMFILE', 'ENFILE']

/** A file that a person named and that is not there, not ours to read, or has no room on its disk. */
export function isFileTrouble(error: unknown): error is Error {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  if (!(error instanceof Error) || typeof code !== 'string') return false
  return diskCodes.includes(code) || (path !== undefined && /^E[A-Z]+$/.test(code))
}

/** `ENOENT: no such file or directory, open 'x'` in the words of other programs. */
export function explainFile(error: Error): string {
  const { message, path } = error as NodeJS.ErrnoException
  const [, reason] = /^E[A-Z]+: (.+?), \w+/.exec(message) ?? []
  if (!reason) return message
  return path ? `${path}: ${reason}` : reason
}

/** The same error with the name of the file as the person gave it, where it has none, or that of its draft. */
export function withFile(error: unknown, file: string): unknown {
  if (!isFileTrouble(error)) return error
  const { path = file } = error as NodeJS.ErrnoException
  return path.startsWith(file) ? Object.assign(error, { path: file }) : error
}
