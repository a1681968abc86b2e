/** One entry of an archive, as `pg_restore --list` prints it. */
type ArchiveEntry = Readonly<{ line: string; catalog: string; oid: string; rest: string }>

/** Entries that follow each other and belong to one user. */
export type DumpPart = Readonly<{
  /** The master role of the user. */
  owner: string
  /** Lines for `pg_restore --use-list`. */
  list: string
  hasRoutines: boolean
}>

/** What to restore of an archive. */
export type Chosen = Readonly<{
  /** In the order in which they can be restored. */
  parts: readonly DumpPart[]
  /** The oids of the materialized views that hold rows, in the order in which they can be filled. */
  filled: readonly string[]
}>

export type Owners = Readonly<{
  /** The master role of each role whose objects are chosen. */
  masterOf: ReadonlyMap<string, string>
  /** The owners of extensions and casts, which have none in the list: by the oids of their catalog and their own. */
  roleOfUnnamed: ReadonlyMap<string, string>
  /** For the rest without an owner. */
  first: string
  /** Schemas that were made with the database. */
  schemas: ReadonlySet<string>
}>

/**
 * Chooses the entries that belong to these owners. Everything else of the database was made with it: extensions, schemas
 * and event triggers of the operator. Filling materialized views runs their queries, so that is left to their owners.
 */
export function chooseEntries(listed: string, owners: Owners): Chosen {
  const parts: { owner: string; lines: string[]; hasRoutines: boolean }[] = []
  const filled: string[] = []
  for (const entry of listed.split('\n').flatMap((line) => readEntry(line) ?? [])) {
    const owner = ownerOf(entry, owners)
    if (owner === undefined) continue
    if (entry.rest.startsWith('MATERIALIZED VIEW DATA ')) {
      filled.push(entry.oid)
      continue
    }
    const last = parts.at(-1)
    const part = last?.owner === owner ? last : { owner, lines: [], hasRoutines: false }
    if (part !== last) parts.push(part)
    part.lines.push(entry.line)
    part.hasRoutines ||= /^(FUNCTION|PROCEDURE|AGGREGATE) /.test(entry.rest)
  }
  return { parts: parts.map(({ lines, ...part }) => ({ ...part, list: lines.join('\n') })), filled }
}

/** The master role of the user that it belongs to; undefined if it is not chosen. */
function ownerOf({ rest, catalog, oid }: ArchiveEntry, owners: Owners): string | undefined {
  if (rest.startsWith('ACL ') || rest.startsWith('DEFAULT ACL ')) return undefined
  const unnamed = owners.masterOf.get(owners.roleOfUnnamed.get(`${catalog} ${oid}`) ?? '')
  if (rest.startsWith('EXTENSION ')) return unnamed
  if (rest.startsWith('CAST ') || rest.startsWith('BLOB')) return unnamed ?? owners.first
  const [, schema] = /^SCHEMA - (.*) [^ ]*$/.exec(rest) ?? []
  if (schema !== undefined && owners.schemas.has(schema)) return undefined
  return owners.masterOf.get(rest.slice(rest.lastIndexOf(' ') + 1))
}

/** `3512; 1259 16401 TABLE public cities owner`. Names may have blanks, but no line breaks. */
function readEntry(line: string): ArchiveEntry | undefined {
  const [, catalog, oid, rest] = /^\d+; (\d+) (\d+) (.*)$/.exec(line) ?? []
  return rest === undefined ? undefined : { line, catalog: catalog!, oid: oid!, rest }
}
