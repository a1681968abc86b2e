/** A file that a person named and that is not there, or not ours to read. */
export function isFileTrouble(error: unknown): error is Error {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  return path !== undefined && typeof code === 'string' && /^E[A-Z]+$/.test(code)
}

/** `ENOENT: no such file or directory, open 'x'` in the words of other programs. */
export function explainFile(error: Error): string {
  const { message, path } = error as NodeJS.ErrnoException
  const [, reason] = /^E[A-Z]+: (.+?), \w+/.exec(message) ?? []
  return reason ? `${path}: ${reason}` : message
}
