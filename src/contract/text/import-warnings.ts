import type { ImportWarnings } from '../documents.ts'

/** What a person should know of an import, in sentences. */
export function importWarnings(warnings: ImportWarnings | null): readonly string[] {
  const found = warnings ?? {}
  const listed = (names: readonly string[]) => names.join(', ')
  return [
    found.renamed && `The name was taken, so the table is called ${listed(found.renamed)}.`,
    found.columns_as_text &&
      `Stored as text, as not all values fit another type: ${listed(found.columns_as_text)}.`,
    found.encoding !== undefined && `The text was read as ${found.encoding}.`,
    found.srid_assumed !== undefined &&
      `The file names no reference system: its coordinates were taken as EPSG:${found.srid_assumed}.`,
    found.closed_rings && `Polygons that the file leaves open were closed: ${listed(found.closed_rings)}.`,
    found.rounded_times && `Nanoseconds were rounded to microseconds: ${listed(found.rounded_times)}.`,
    found.feature_ids &&
      `The numbers in the id of the features were left out, as they are no properties: ${listed(found.feature_ids)}.`,
    found.rounded_numbers && `Numbers were rounded to 15 digits: ${listed(found.rounded_numbers)}.`,
    found.skipped_files && `Skipped in the archive: ${listed(found.skipped_files)}.`,
    found.skipped_tables && `Not imported, as the table exists: ${listed(found.skipped_tables)}.`,
    found.empty && `Without rows: ${listed(found.empty)}.`,
    found.missing_columns &&
      `Not in the file, so NULL where the column allows it: ${listed(found.missing_columns)}.`,
  ].filter((text) => typeof text === 'string')
}
