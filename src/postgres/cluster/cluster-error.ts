/** The embedded cluster is not available; the message says why, and what to do. */
export class ClusterError extends Error {
  override name = 'ClusterError'
}

/** Another process is the keeper of the cluster. */
export class ClusterHeld extends ClusterError {}
