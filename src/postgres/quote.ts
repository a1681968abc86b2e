import pg from 'pg'

export const quoteIdentifier = pg.escapeIdentifier
export const quoteLiteral = pg.escapeLiteral

/** schema.name, both quoted. */
export const quoteQualified = (schema: string, name: string) =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
