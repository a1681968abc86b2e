/** One entry of an archive, as `pg_restore --list` prints it. */
type Entry = Readonly<{ line: string; oid: string; rest: string }>

/** What to restore of an archive: lines for `pg_restore --use-list`. */
export type Chosen = Readonly<{
  list: string
  /** The oids of the materialized views that hold rows, in the order in which they can be filled. */
  filled: readonly string[]
}>

/**
 * Chooses the entries that belong to these roles. Everything else of the database was made with it: extensions, schemas
 * and event triggers of the operator. `extensions`: the oids of those that the roles have installed. Filling
 * materialized views runs their queries, so that is left to their owners.
 */
export function chooseEntries(
  listed: string,
  roles: ReadonlySet<string>,
  extensions: ReadonlySet<string>,
): Chosen {
  const entries = listed.split('\n').flatMap((line) => readEntry(line) ?? [])
  const isFilling = ({ rest }: Entry) => rest.startsWith('MATERIALIZED VIEW DATA ')
  const isChosen = ({ oid, rest }: Entry) => {
    if (rest.startsWith('ACL ') || rest.startsWith('DEFAULT ACL ')) return false
    if (rest.startsWith('EXTENSION ')) return extensions.has(oid)
    // These have no owner in the list.
    if (rest.startsWith('CAST ') || rest.startsWith('BLOB')) return true
    return roles.has(rest.slice(rest.lastIndexOf(' ') + 1))
  }
  return {
    list: entries
      .filter((entry) => isChosen(entry) && !isFilling(entry))
      .map(({ line }) => line)
      .join('\n'),
    filled: entries.filter((entry) => isFilling(entry) && isChosen(entry)).map(({ oid }) => oid),
  }
}

/** `3512; 1259 16401 TABLE public cities owner`. Names may have blanks, but no line breaks. */
function readEntry(line: string): Entry | undefined {
  const [, oid, rest] = /^\d+; \d+ (\d+) (.*)$/.exec(line) ?? []
  return rest === undefined ? undefined : { line, oid: oid!, rest }
}
