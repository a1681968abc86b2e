import type { ExportDocument, ExportLink } from '../../contract/documents.ts'
import type { SqlFormat } from '../../contract/formats.ts'
import type { Connection } from '../http/send.ts'
import { sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export type LinkOptions = Readonly<{
  /** By default `csv`. */
  format?: SqlFormat
  filename?: string
  /** Seconds: by default a day, at most a week. */
  expires_in?: number
  max_downloads?: number
}>

export function exportsOf(connection: Connection, name: string) {
  return {
    /** An address at which everyone can download the rows of one SELECT, as this key reads them, until it expires. */
    link: (q: string, options: LinkOptions = {}) =>
      sendForJson<ExportLink>(connection, 'createExport', { parameters: { name }, json: { q, ...options } }),
    list: () =>
      sendForJson<{ exports: readonly ExportDocument[] }>(connection, 'listExports', {
        parameters: { name },
      }),
    withdraw: async (exportId: string): Promise<void> => {
      await sendForText(connection, 'deleteExport', { parameters: { name, exportId } })
    },
  }
}
