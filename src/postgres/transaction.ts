import type { ClientBase, Pool, QueryResult, QueryResultRow } from 'pg'

/** Anything that runs a statement: a pool, or the connection inside a transaction. */
export type Queryable = {
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>>
}

/** The control database, or a transaction on it. It runs prepared statements too. */
export type Control = Pick<Pool, 'query'>

/** Runs `work` in one transaction: committed if it returns, rolled back if it throws. */
export async function inTransaction<T>(pool: Pool, work: (tx: ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await onConnection(client, work)
    client.release()
    return result
  } catch (error) {
    client.release(client.getTransactionStatus() !== 'I')
    throw error
  }
}

/** The same on a connection that the caller holds. */
export async function onConnection<T>(client: ClientBase, work: (tx: ClientBase) => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    // If the rollback fails too, the connection is lost; report the first error.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}
