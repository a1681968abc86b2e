/** The other end of a session. */
export type Peer = Readonly<{
  /**
   * Sends a text or binary frame. `sent` is called when the network has taken it, or the peer is gone. A frame without
   * `sent` is small, so its sender does not wait.
   */
  send: (frame: string | Buffer, isBinary: boolean, sent?: () => void) => void
  /** Closes the connection after the frames that were sent. */
  close: (code: number) => void
}>
