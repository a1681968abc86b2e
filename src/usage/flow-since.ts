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

/** Of a connection that is not open yet. */
export const noFlow: Flow = { rowsOut: 0, rowsIn: 0, bytesOut: 0, bytesIn: 0 }
