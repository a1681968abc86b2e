/**
 * What `work` gives; or, as soon as the signal fires, an error that is its reason. The work itself goes on, and what
 * becomes of it then is not looked at.
 */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  signal.throwIfAborted()
  let tell = () => {}
  const aborted = new Promise<never>((_, reject) => {
    tell = () => reject(signal.reason)
    signal.addEventListener('abort', tell, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', tell)
  }
}
