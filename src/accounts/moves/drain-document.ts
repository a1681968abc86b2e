import type { DrainDocument } from '../../contract/documents.ts'
import type { Drain, Left } from './drain-host.ts'
import { moveDocument } from './move-document.ts'

/** A drain as the admin API and `--json` of the command line show it. */
export const drainDocument = ({
  host,
  moves,
  left,
}: Pick<Drain, 'host' | 'moves' | 'left'>): DrainDocument => ({
  host,
  moves: moves.map(moveDocument),
  left: left.map(leftDocument),
})

const leftDocument = ({ kind, name, reason }: Left) => ({
  username: kind === 'user' ? name : null,
  organization: kind === 'organization' ? name : null,
  reason,
})
