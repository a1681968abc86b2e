import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { inTransaction } from '../postgres/transaction.ts'
import {
  countTableRecords,
  forgetCollected,
  lockTurn,
  markCollected,
  type NotedDatabase,
  recordNotes,
  type TableNote,
  takeTurn,
} from './table-note-store.ts'

/**
 * Moves the notes of a tenant database into the audit record, each once: they are recorded and marked in one transaction
 * of the control database, then deleted in the tenant database, and then the marks go. If it is cut off, the next
 * collection finds the marks. The turn keeps a process that stood still from recording what another has collected since.
 * False: there may be more, as a tenant can make notes faster than they are collected.
 */
export async function collectTableNotes(
  databases: Databases,
  place: NotedDatabase,
  mostBatches = 20,
): Promise<boolean> {
  for (let batch = 0; batch < mostBatches; batch++) {
    // Most databases that were written to have none.
    if ((await readNotes(databases, place, 1)).length === 0) return true
    const turn = await takeTurn(databases.control, place)
    if (turn === undefined) return true
    await collectBatch(databases, place, turn)
  }
  return false
}

async function collectBatch(databases: Databases, place: NotedDatabase, turn: string): Promise<void> {
  const notes = await readNotes(databases, place, batchNotes)
  if (!(await record(databases, place, turn, notes))) return
  const ids = notes.map(({ id }) => id)
  await deleteNotes(databases, place, ids)
  // These were all that could be marked: marks that another process has left go too.
  await forgetCollected(databases.control, place, turn, notes.length < batchNotes ? 'all' : ids)
}

const batchNotes = 500

/** False: it is another process's turn. */
function record(
  { control }: Databases,
  place: NotedDatabase,
  turn: string,
  notes: readonly TableNote[],
): Promise<boolean> {
  return inTransaction(control, async (tx) => {
    if (!(await lockTurn(tx, place, turn))) return false
    const ids = notes.map(({ id }) => id)
    const unknown = await markCollected(tx, place, ids)
    const fresh = notes.filter(({ id }) => unknown.has(id))
    const usernames = [...new Set(fresh.map(({ username }) => username))]
    await recordNotes(tx, withinLimit(fresh, await countTableRecords(tx, usernames)))
    return true
  })
}

/** Each note by itself, as long as its user has few records of this hour. Others are counted together. */
function withinLimit(
  notes: readonly TableNote[],
  recorded: ReadonlyMap<string, number>,
): readonly TableNote[] {
  const counts = new Map(recorded)
  const alone: TableNote[] = []
  const together = new Map<string, TableNote & { details: { count: number } }>()
  for (const note of notes) {
    const count = (counts.get(note.username) ?? 0) + 1
    counts.set(note.username, count)
    if (count <= recordsPerHour) {
      alone.push(note)
      continue
    }
    const kind = JSON.stringify([note.role, note.action, note.account])
    const known = together.get(kind)?.details.count ?? 0
    together.set(kind, { ...note, subject: null, details: { count: known + 1 } })
  }
  return [...alone, ...together.values()]
}

/** For one user: a loop that makes and drops tables must not fill the record. */
const recordsPerHour = 1_000

function readNotes(databases: Databases, place: NotedDatabase, most: number): Promise<readonly TableNote[]> {
  return onPlace(databases, place, async (session) => {
    const { rows } = await session.query<TableNote>(
      `select id::text, at::text, username, role_name as role, action, account, subject, details
       from cartage.table_notes order by at limit $1`,
      [most],
    )
    return rows
  })
}

async function deleteNotes(
  databases: Databases,
  place: NotedDatabase,
  ids: readonly string[],
): Promise<void> {
  await onPlace(databases, place, (session) =>
    session.query('delete from cartage.table_notes where id = any ($1::uuid[])', [ids]),
  )
}

const onPlace = <T>(
  { admin, hosts }: Databases,
  { hostId, database }: NotedDatabase,
  work: Parameters<typeof admin.use<T>>[1],
) => admin.use(adminTarget(hosts, hostId, database), work)
