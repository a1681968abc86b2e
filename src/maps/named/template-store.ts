import type { Pool, QueryResultRow } from 'pg'
import type { Account, CallerKey, Holder } from '../../auth/account.ts'
import { msLeft, readCallerKey } from '../../auth/account-store.ts'
import { advisoryLocks } from '../../postgres/advisory-locks.ts'
import { type Control, inTransaction } from '../../postgres/transaction.ts'

/** Who may open a template, and the key that it runs as. */
export type TemplateHead = Readonly<{
  name: string
  sealedTokens: Buffer | null
  revision: string
  /** The key that it runs as. */
  key: CallerKey
}>

export type StoredTemplate = TemplateHead & Readonly<{ template: string }>

export type NewTemplate = Pick<StoredTemplate, 'name' | 'template' | 'sealedTokens' | 'revision'>

/** Templates of one user. */
export const mostTemplates = 1_024

/** `taken`: there is one of this name. `full`: the user has too many. One at a time of a user, so that all are counted. */
export async function insertTemplate(
  control: Pool,
  { account, key }: Holder,
  { name, template, sealedTokens, revision }: NewTemplate,
): Promise<'made' | 'taken' | 'full'> {
  const { rows } = await inTransaction(control, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1, $2)', [advisoryLocks.mapTemplates, account.userId])
    return tx.query<{ is_taken: boolean; made: string | null }>(
      `with made as (
       insert into cartage.map_templates (user_id, name, key_id, template, sealed_tokens, revision)
       select $1, $2, $3, $4, $5, $6 where (select count(*) from cartage.map_templates where user_id = $1) < $7
       on conflict (user_id, name) do nothing returning name
     )
     select (select name from made) as made,
       exists (select from cartage.map_templates where user_id = $1 and name = $2) as is_taken`,
      [account.userId, name, key.id, template, sealedTokens, revision, mostTemplates],
    )
  })
  const { made, is_taken: isTaken } = rows[0]!
  if (made !== null) return 'made'
  return isTaken ? 'taken' : 'full'
}

/** False if there is none. It still runs as the key that made it. `keyId`: only one of this key. */
export async function updateTemplate(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
  { name, template, sealedTokens, revision }: NewTemplate,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.map_templates set template = $3, sealed_tokens = $4, revision = $5, updated_at = clock_timestamp()
     where user_id = $1 and name = $2 and ($6::integer is null or key_id = $6)`,
    [userId, name, template, sealedTokens, revision, keyId ?? null],
  )
  return rowCount === 1
}

/** False if there is none. */
export async function deleteTemplate(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
  name: string,
): Promise<boolean> {
  const { rowCount } = await control.query(
    'delete from cartage.map_templates where user_id = $1 and name = $2 and ($3::integer is null or key_id = $3)',
    [userId, name, keyId ?? null],
  )
  return rowCount === 1
}

export async function listTemplates(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select name from cartage.map_templates where user_id = $1 and ($2::integer is null or key_id = $2)
     order by name collate "C"`,
    [userId, keyId ?? null],
  )
  return rows.map(({ name }) => name)
}

export async function findTemplate(
  control: Control,
  account: Account,
  name: string,
): Promise<StoredTemplate | undefined> {
  return (await findTemplates(control, account, [name]))[0]
}

/** By the beginning of its revision. */
export async function findTemplateByRevision(
  control: Control,
  { userId }: Account,
  beginning: string,
): Promise<TemplateHead | undefined> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `select ${headColumns} ${fromTemplates} and left(t.revision, 8) = $2`,
    [userId, beginning],
  )
  return rows.map((row) => readHead(row, askedAt))[0]
}

/** The templates with these names that exist. */
export async function findTemplates(
  control: Control,
  { userId }: Account,
  names: readonly string[],
): Promise<readonly StoredTemplate[]> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `select ${headColumns}, t.template ${fromTemplates} and t.name = any ($2::text[])`,
    [userId, names],
  )
  return rows.map((row) => readStored(row, askedAt))
}

/** The same without their texts, which can be long. */
export async function findTemplateHeads(
  control: Control,
  { userId }: Account,
  names: readonly string[],
): Promise<readonly TemplateHead[]> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `select ${headColumns} ${fromTemplates} and t.name = any ($2::text[])`,
    [userId, names],
  )
  return rows.map((row) => readHead(row, askedAt))
}

const headColumns = `k.*, ${msLeft} as ms_left, t.name as template_name, t.sealed_tokens, t.revision`
const fromTemplates =
  'from cartage.map_templates t join cartage.api_keys k on k.id = t.key_id where t.user_id = $1'

const readStored = (row: QueryResultRow, askedAt: number): StoredTemplate => ({
  ...readHead(row, askedAt),
  template: row.template,
})

const readHead = (row: QueryResultRow, askedAt: number): TemplateHead => ({
  name: row.template_name,
  sealedTokens: row.sealed_tokens,
  revision: row.revision,
  key: readCallerKey(row, askedAt),
})
