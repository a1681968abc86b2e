import type { Session } from '../../postgres/session.ts'
import { DatabaseFault } from './database-fault.ts'

/** Runs a statement of ours in the transaction of the import, whose search_path is pg_catalog. */
export async function queryInCatalog<Row = Record<string, unknown>>(
  session: Session,
  text: string,
  values?: unknown[],
): Promise<readonly Row[]> {
  try {
    const result = await session.onClient((client) => client.query(text, values))
    return [result].flat().at(-1)!.rows as Row[]
  } catch (error) {
    throw faultOf(error)
  }
}

function faultOf(error: unknown): unknown {
  const { code, message = '', where, severity, ...rest } = error as Record<string, string | undefined>
  if (severity === undefined || code === undefined) return error
  const { column, detail, constraint } = rest
  return new DatabaseFault({ sqlstate: code, message, context: where, column, detail, constraint })
}

/** For statements that run code of the caller: its query, triggers of its table. */
export async function inCallersPath<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await queryInCatalog(session, 'set local search_path to default')
  const result = await work()
  await queryInCatalog(session, 'set local search_path to pg_catalog')
  return result
}

/** Runs `work`; if it throws, nothing of it stays. */
export async function inSavepoint<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await queryInCatalog(session, 'savepoint import_step')
  try {
    const result = await work()
    await queryInCatalog(session, 'release savepoint import_step')
    return result
  } catch (error) {
    await queryInCatalog(session, 'rollback to savepoint import_step; release savepoint import_step')
    throw error
  }
}

/** Stores rows with COPY ... FROM STDIN, as fast as the server takes them. Returns how many. */
export async function copyInto(
  session: Session,
  statement: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  let rows = 0
  let wake: () => void = () => undefined
  let isFed = false
  const wire = session.send(statement, {
    feedCopy: () => {
      isFed = true
      wake()
    },
    copyDrained: () => wake(),
    commandComplete: (tag) => {
      rows = Number(/^COPY (\d+)$/.exec(tag)?.[1] ?? rows)
    },
  })
  let isOver = false
  const done = wire.done.finally(() => {
    isOver = true
    wake()
  })
  done.catch(() => undefined)
  const turn = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  if (!isFed && !isOver) await turn()
  try {
    for await (const chunk of chunks) {
      if (isOver) break
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const next = turn()
      if (!wire.sendCopyData(bytes, () => undefined) && !isOver) await next
    }
    if (!isOver) wire.finishCopy()
  } catch (error) {
    if (!isOver) wire.failCopy('the file cannot be read further')
    await done.catch(() => undefined)
    throw error
  }
  const { error } = await done
  if (error) throw new DatabaseFault(error)
  return rows
}
