import { nameInUrl } from './download/file-name.ts'
import { stemOf, tableNameOf } from './files/names.ts'
import type { ImportSettings, ImportSource } from './import-record.ts'

/** The name of the table that an import makes, as far as it is known before the file is read. */
export function wantedTable(source: ImportSource, { tableName }: Pick<ImportSettings, 'tableName'>): string {
  if (tableName !== undefined) return tableNameOf(tableName)
  if (source.type === 'file') return tableNameOf(stemOf(source.name))
  if (source.type === 'url' && URL.canParse(source.url))
    return tableNameOf(stemOf(nameInUrl(new URL(source.url))))
  return 'untitled_table'
}
