/** A file that a person named and that is not there, or not ours to read. */
export function isFileTrouble(error: unknown): error is Error {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  return path !== undefined && typeof code === 'string' && /^E[A-Z]+$/.test(code)
}
