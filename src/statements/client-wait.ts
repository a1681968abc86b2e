/** Measures how long we wait for the client, not how long the client waits for us. */
export type ClientWait = Readonly<{
  /** `onTooLong` is called if the client does nothing for too long. */
  begin: (onTooLong: (idleMs: number) => void) => void
  end: () => void
}>
