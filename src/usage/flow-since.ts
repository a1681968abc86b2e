import type { Flow, Session } from '../postgres/session.ts'

/** What has gone through a connection since then. */
export function flowSince({ flow }: Session, then: Flow): Flow {
  return {
    rowsOut: flow.rowsOut - then.rowsOut,
    rowsIn: flow.rowsIn - then.rowsIn,
    bytesOut: flow.bytesOut - then.bytesOut,
    bytesIn: flow.bytesIn - then.bytesIn,
  }
}
