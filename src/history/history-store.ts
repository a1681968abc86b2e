import type { HistoryOutcome } from '../contract/documents.ts'
import { maxHistoryEntries } from '../contract/limits.ts'
import type { Control } from '../postgres/transaction.ts'

export type HistoryEntry = Readonly<{
  id: string
  text: string
  isCut: boolean
  outcome: HistoryOutcome
  runMs: number
  rowCount: number | null
  errorCode: string | null
}>

export type KeptEntry = HistoryEntry &
  Readonly<{
    number: number
    at: Date
    /** Null if the key that ran it was deleted. */
    key: string | null
  }>

/** By key id: all in the history of a key, or what ran with a key. */
export type HistoryOf = Readonly<{ history: number } | { ranAs: number }>

export type HistoryPage = Readonly<{
  days: number
  search: string | undefined
  before: number | undefined
  limit: number
}>

/** Undefined if the account has no key of this name. */
export async function findKeyId(control: Control, userId: number, name: string): Promise<number | undefined> {
  const { rows } = await control.query<{ id: number }>(
    'select id from cartage.api_keys where user_id = $1 and name = $2',
    [userId, name],
  )
  return rows[0]?.id
}

/** Keeps the newest of a key. One that is known already, or whose key was deleted meanwhile, changes nothing. */
export async function addEntry(
  control: Control,
  { keyId, ranAs }: Readonly<{ keyId: number; ranAs: number }>,
  { id, text, isCut, outcome, runMs, rowCount, errorCode }: HistoryEntry,
): Promise<void> {
  await control.query(
    `with added as (
       insert into cartage.statement_history
         (key_id, id, ran_as, text, is_cut, outcome, run_ms, row_count, error_code)
       select id, $2, $3, $4, $5, $6, $7, $8, $9 from cartage.api_keys where id = $1 for key share
       on conflict do nothing
       returning key_id
     )
     delete from cartage.statement_history where ctid = any (array(
       select ctid from cartage.statement_history where key_id = $1 order by number desc
       -- The new one is not seen here.
       offset ${maxHistoryEntries} - (select count(*) from added)
     ))`,
    [keyId, id, ranAs, text, isCut, outcome, runMs, rowCount, errorCode],
  )
}

/** The newest first, as many as fit. `hasMore`: there are older ones. */
export async function listEntries(
  control: Control,
  whose: HistoryOf,
  { days, search, before, limit }: HistoryPage,
): Promise<Readonly<{ entries: readonly KeptEntry[]; hasMore: boolean }>> {
  const { column, keyId } = placeOf(whose)
  const { rows } = await control.query<KeptEntry & { found: number }>(
    `select * from (
       select wanted.*, count(*) over ()::integer as found,
         sum(length(text)) over (order by number desc) - length(text) as characters
       from (
         select h.id, h.number::float8 as number, h.noted_at as at, k.name as key, h.text, h.is_cut as "isCut", h.outcome,
           h.run_ms::float8 as "runMs", h.row_count::float8 as "rowCount", h.error_code as "errorCode"
         from (
           select * from cartage.statement_history
           where ${column} = $1 and noted_at > clock_timestamp() - make_interval(days => $2)
             and ($3::bigint is null or number < $3)
           order by number desc limit ${mostSearched}
         ) h left join cartage.api_keys k on k.id = h.ran_as
         where $4::text is null or strpos(lower(left(h.text, ${searchedCharacters})), lower($4)) > 0
         order by h.number desc limit $5 + 1
       ) wanted
     ) page where characters < ${pageCharacters} order by number desc limit $5`,
    [keyId, days, before ?? null, search ?? null, limit],
  )
  return { entries: rows, hasMore: (rows[0]?.found ?? 0) > rows.length }
}

/** One statement must occupy neither the control database nor this process. */
const mostSearched = 1_000
const searchedCharacters = 2_000
const pageCharacters = 500_000

/** `ownKey`: only in its history; else in those of all keys of the account. Returns the keys that had it. */
export async function deleteEntry(
  control: Control,
  userId: number,
  ownKey: number | undefined,
  id: string,
): Promise<readonly Readonly<{ id: number; name: string }>[]> {
  const { rows } = await control.query<{ id: number; name: string }>(
    `with gone as (
       delete from cartage.statement_history where id = $3 and key_id in (
         select id from cartage.api_keys where user_id = $1 and ($2::integer is null or id = $2)
       ) returning key_id
     )
     select k.id, k.name from gone join cartage.api_keys k on k.id = gone.key_id`,
    [userId, ownKey ?? null, id],
  )
  return rows
}

/** How many. */
export async function deleteEntries(control: Control, whose: HistoryOf): Promise<number> {
  const { column, keyId } = placeOf(whose)
  const { rowCount } = await control.query(`delete from cartage.statement_history where ${column} = $1`, [
    keyId,
  ])
  return rowCount ?? 0
}

const placeOf = (whose: HistoryOf) =>
  'history' in whose
    ? ({ column: 'key_id', keyId: whose.history } as const)
    : ({ column: 'ran_as', keyId: whose.ranAs } as const)

/** Deletes some past their time. True: there may be more. */
export async function cleanHistory(control: Control, days: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.statement_history where ctid = any (array(
       select ctid from cartage.statement_history
       where noted_at < clock_timestamp() - make_interval(days => $1) limit ${stepRows}
       -- Rows of a key that is being deleted are gone with it.
       for update skip locked
     ))`,
    [days],
  )
  return (rowCount ?? 0) >= stepRows
}

const stepRows = 1_000
