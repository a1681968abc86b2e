/** An import that cannot be done, with the code that clients know. The text is for the client. */
export class ImportFailure extends Error {
  readonly code: ImportErrorCode

  constructor(code: ImportErrorCode, text: string, options?: ErrorOptions) {
    super(text, options)
    this.name = 'ImportFailure'
    this.code = code
  }
}

/** The codes of the classic service, and 6672. Their titles are for people. */
export const importErrorTitles = {
  1001: 'The file could not be downloaded',
  1002: 'Unsupported file type',
  1003: 'The archive cannot be opened',
  1005: 'The file is empty',
  1006: 'The shapefile is not complete',
  1014: 'The table name is not valid',
  1018: 'The archive has a password',
  1019: 'Too many tables',
  1020: 'Download timeout',
  1022: 'A table with this name exists already',
  1100: 'The address cannot be reached',
  1101: 'The address needs a login',
  1102: 'The address was not found',
  1103: 'The server of the address failed',
  2001: 'The data could not be loaded',
  2003: 'The CSV file is malformed',
  2004: 'Too many columns',
  2006: 'Unknown text encoding',
  2011: 'Unusable cartodb_id',
  2012: 'The data does not fit the table',
  2013: 'The table is in use',
  3007: 'This is not GeoJSON',
  3008: 'Unknown reference system',
  3101: 'No reference system',
  6666: 'The file is too big',
  6667: 'The import took too long',
  6668: 'Too many rows',
  6671: 'The import was given up',
  6672: 'The import was cancelled',
  8001: 'The quota is used up',
  8003: 'The query is not valid',
  99999: 'Unknown error',
} as const

export type ImportErrorCode = keyof typeof importErrorTitles
