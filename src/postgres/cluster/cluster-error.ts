/** The embedded cluster cannot be had; the message says in a sentence why, and what to do about it. */
export class ClusterError extends Error {
  override name = 'ClusterError'
}

/** Another process looks after the cluster. */
export class ClusterHeld extends ClusterError {}
