/** A name as SQL text. Always quoted, so that no word of SQL and no capital letter is a surprise. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`

/** schema.name, both quoted. */
export const quoteQualified = (schema: string, name: string) => `${quoteName(schema)}.${quoteName(name)}`

/** A name for people to read: quoted only where it must be. */
export const shownName = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reservedWords.has(name) ? name : quoteName(name)

/** A value as SQL text, whatever `standard_conforming_strings` says. */
export function quoteLiteral(value: string): string {
  const quoted = value.replaceAll("'", "''")
  return value.includes('\\') ? ` E'${quoted.replaceAll('\\', '\\\\')}'` : `'${quoted}'`
}

/** The words that PostgreSQL does not take as the name of a table or column. */
export const reservedWords: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation
  column concurrently constraint create cross current_catalog current_date current_role current_schema current_time
  current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze
  from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
  localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
  returning right select session_user similar some symmetric system_user table tablesample then to trailing true union
  unique user using variadic verbose when where window with`.split(/\s+/),
)

/** One word for any POSIX shell, whatever is in it. */
export const quoteShell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
